"""The text of a page: its byte order mark, what the server says, what the page says, else what its bytes look like.

The order is that of the HTML standard (§13.2.3.2); names of encodings mean what browsers take them for.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

from openviking.ingest.decode import decode

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, ""), (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
_PARAMETER: Final = re.compile(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_META: Final = re.compile(rb"<meta\s[^>]{0,300}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_HEAD: Final = 4096
_FAMILIES: Final = re.compile(
    r"utf-?8|utf-?16(?:-?[lb]e)?|(?:windows-|cp)(?:125[0-8]|874|932|936|949|950)|iso-?8859-?\d{1,2}|koi8-[ru]|gbk|gb2312|gb18030"
    r"|big5(?:-hkscs)?|shift[_-]jis|sjis|euc-(?:jp|kr)|iso-2022-jp|macintosh|ibm866|latin1|us-ascii|ascii|tis-620"
)
_AS_BROWSERS: Final = {
    "iso-8859-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252", "ascii": "cp1252", "iso-8859-9": "cp1254",
    "gbk": "gb18030", "gb2312": "gb18030", "cp936": "gb18030", "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932",
    "euc-kr": "cp949", "big5": "big5hkscs", "macintosh": "mac_roman", "tis-620": "cp874", "iso-8859-11": "cp874",
    "utf-16": "utf-16-le",
}  # fmt: skip


def declared(content_type: str) -> str:
    """The codec that a Content-Type names, "" for none that is known."""
    found = _PARAMETER.search(content_type)
    return _codec(found[1]) if found else ""


def page_text(data: bytes, content_type: str) -> str:
    """The text of an HTML page; what can't be decoded is U+FFFD, and there is no NUL."""
    for mark, name in _MARKS:
        if data.startswith(mark) and name:
            return _clean(data[len(mark) :].decode(name, "replace"))
    named = declared(content_type)
    if not named and (found := _META.search(data[:_HEAD])):
        # A page that says UTF-16 in ASCII letters is none.
        named = _codec(found[1].decode("ascii")).replace("utf-16-le", "utf-8").replace("utf-16-be", "utf-8")
    if named:
        return _clean(data.decode(named, "replace"))
    guessed = decode(data)
    return _clean(guessed[0] if guessed else data.decode("cp1252", "replace"))


def other_text(data: bytes, content_type: str) -> str | None:
    """The text as the server says it is encoded, where its bytes alone would be read otherwise; else None."""
    named = declared(content_type)
    if not named or any(data.startswith(mark) for mark, _ in _MARKS):
        return None
    try:
        text = data.decode(named)
    except UnicodeDecodeError:
        return None
    guessed = decode(data)
    return None if guessed is None or guessed[0] == text or "\0" in text else text


def _codec(label: str) -> str:
    name = label.strip().lower()
    if not _FAMILIES.fullmatch(name):
        return ""
    name = _AS_BROWSERS.get(name, name)
    try:
        return codecs.lookup(name).name
    except LookupError:
        return ""


def _clean(text: str) -> str:
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()

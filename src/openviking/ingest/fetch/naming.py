"""What a fetched file is called: as its server says, else as its address says, with an extension that fits."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Mapping
from email.message import Message
from pathlib import PurePath
from typing import Final
from urllib.parse import unquote

from openviking.ingest.fetch.web_address import WebAddress
from openviking.names import kept_name
from openviking.parse.languages import language_of

_HTML: Final = frozenset(("text/html", "application/xhtml+xml"))
_UNTOLD: Final = frozenset(
    ("", "application/octet-stream", "binary/octet-stream", "application/unknown", "unknown/unknown")
)
_EXTENSIONS: Final = {
    "text/plain": ".txt", "text/markdown": ".md", "text/x-markdown": ".md", "application/json": ".json",
    "application/ld+json": ".json", "application/pdf": ".pdf", "application/xml": ".xml", "text/xml": ".xml",
    "text/csv": ".csv", "text/css": ".css", "text/javascript": ".js", "application/javascript": ".js",
    "application/yaml": ".yaml", "text/yaml": ".yaml", "application/toml": ".toml", "application/zip": ".zip",
    "image/jpeg": ".jpg", "image/png": ".png", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
    "application/rss+xml": ".xml", "application/atom+xml": ".xml",
}  # fmt: skip
_HTML_START: Final = re.compile(
    rb"\s*(?:<!--.{0,2000}?-->\s*)*<(?:!doctype\s+html|html|head|body)[\s>]", re.IGNORECASE | re.DOTALL
)
_HTML_NAME: Final = re.compile(r"\.(?:html?|xhtml|php|aspx?|jsp|cgi|do)", re.IGNORECASE)
_SEPARATORS: Final = re.compile(r"[/\\]")


def media_type(headers: Mapping[str, str]) -> str:
    """The content type without parameters, in lower case; "" for none."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def is_page(kind: str, name: str, data: bytes) -> bool:
    """Whether a body is an HTML page: as its server says, and if it says nothing as name and first bytes do."""
    if kind in _HTML:
        return True
    return kind in _UNTOLD and _HTML_START.match(data[:4096]) is not None and not _known(name, ("html", ""))


def leaf(where: WebAddress) -> str:
    """The last part of an address' path, its host if there is none."""
    parts = [part for part in where.path.split("/") if part]
    last = unquote(parts[-1]) if parts else where.host
    last = _SEPARATORS.split(last)[-1].strip()
    return kept_name(last) if last.strip(". ") else where.host


def file_name(where: WebAddress, headers: Mapping[str, str], data: bytes) -> str:
    """The name of a file that is kept as it is."""
    kind = media_type(headers)
    given = _disposition(headers.get("content-disposition", ""))
    name = given or leaf(where)
    if is_page(kind, name, data):
        return page_names(name, where)[1]
    extension = _EXTENSIONS.get(kind) or ("" if kind in _UNTOLD else mimetypes.guess_extension(kind) or "")
    has_one = PurePath(name).suffix.lower() if name != where.host else ""
    known = has_one and (
        has_one in {extension, ".md"} or mimetypes.guess_type(f"x{has_one}")[0] or _known(f"x{has_one}", ("",))
    )
    return name if known or _known(name, ("",)) or not extension else name + extension


def page_names(name: str, where: WebAddress) -> tuple[str, str]:
    """What the Markdown of a page and its original are called."""
    suffix = PurePath(name).suffix
    stem = name[: -len(suffix)] if name != where.host and suffix and _HTML_NAME.fullmatch(suffix) else name
    return f"{stem}.md", f"{stem}.html"


def _known(name: str, but: tuple[str, ...]) -> bool:
    """Whether the name alone says how to read a file, in another language than those of ``but``."""
    return language_of(name, "") not in but


def _disposition(header: str) -> str:
    """The file name of a Content-Disposition (RFC 6266), without any directory."""
    if not header:
        return ""
    message = Message()
    message["content-disposition"] = header[:2_000]
    try:
        found = message.get_filename() or ""
    except (ValueError, TypeError, LookupError):
        # The parser of the standard library meets its limits: a name that it can't read is none.
        return ""
    last = _SEPARATORS.split(found.replace("\0", ""))[-1].strip()
    # Servers put bytes of UTF-8 into a header that is read as Latin-1.
    try:
        last = last.encode("latin-1").decode()
    except UnicodeError:
        last = last.encode("utf-8", "replace").decode()
    return kept_name(last) if last.strip(". ") else ""

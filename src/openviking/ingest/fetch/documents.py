"""An answer of the web as files: a page as Markdown beside its HTML, anything else as it came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from openviking.ingest.delivery import Cancelled, Scan, UnreadableError, too_large
from openviking.ingest.fetch.charset import other_text, page_text
from openviking.ingest.fetch.client import Answer
from openviking.ingest.fetch.naming import file_name, is_page, leaf, media_type, page_names
from openviking.ingest.fetch.page import markdown_of
from openviking.ingest.ignore import SkipRules

_ZIPS: Final = frozenset(("application/zip", "application/x-zip-compressed"))


@dataclass(frozen=True, slots=True)
class Documents:
    """Files by name; ``originals`` are stored and not indexed, because another file is made of each."""

    files: Mapping[str, bytes]
    originals: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()


def documents_of(answer: Answer) -> Documents:
    """The files of an answer."""
    data = answer.body
    name = file_name(answer.where, answer.headers, data)
    told = answer.headers.get("content-type", "")
    if is_page(media_type(answer.headers), leaf(answer.where), data):
        markdown_name, _ = page_names(name, answer.where)
        page = markdown_of(page_text(data, told), str(answer.where))
        if not page.markdown:
            return Documents({name: data}, warnings=(f"{name}: {page.why}",))
        return Documents({markdown_name: page.markdown.encode(), name: data}, frozenset((name,)))
    text = other_text(data, told)
    if text is None:
        return Documents({name: data})
    # Its bytes alone would be misread: what the server says of them is lost with its answer.
    stem, dot, extension = name.rpartition(".")
    readable = f"{stem}.utf-8.{extension}" if dot and stem else f"{name}.utf-8.txt"
    return Documents({readable: text.encode(), name: data}, frozenset((name,)))


def is_zip(answer: Answer, name: str) -> bool:
    """Whether an answer is an archive that is to be unpacked."""
    return answer.body.startswith(b"PK") and (name.lower().endswith(".zip") or media_type(answer.headers) in _ZIPS)


class DocumentsDelivery:
    """Files that are in memory."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    def scan(self, rules: SkipRules, cancelled: Cancelled) -> Scan:
        """All of them: no rule keeps out what was named explicitly."""
        del rules, cancelled
        return Scan(files=list(self._documents.files), originals=set(self._documents.originals))

    def read(self, name: str, limit: int) -> bytes:
        """The bytes of a file."""
        data = self._documents.files[name]
        if len(data) > limit:
            raise UnreadableError(too_large(len(data), limit))
        return data

    def close(self) -> None:
        """Nothing is held open."""

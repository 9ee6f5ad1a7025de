"""Bytes into everything that is derived from them: text, passages, terms and the file's own L0 and L1.

Pure and deterministic; it happens before any transaction begins.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

from openviking.index import analyse as analysis
from openviking.ingest.decode import decode
from openviking.parse import cut, file_abstract, file_overview, parse
from openviking.parse.document import Passage
from openviking.store.batch import FileContent, StoredPassage

PARSER_VERSION: Final = 1
"""Rises with every change of what passages or summaries a file gives."""

PREPARED: Final = analysis.VERSION * 1000 + PARSER_VERSION
"""What `FileContent.prepared` is now; files prepared by another version are prepared anew in the background."""


def prepare(name: str, data: bytes) -> FileContent:
    """The content of a file named ``name``, with everything derived; never raises for odd bytes."""
    decoded = decode(data)
    if decoded is None:
        return FileContent(data, None, "", "binary", "", "", "", "", (), PREPARED)
    text, encoding = decoded
    document = parse(name, text)
    title = " ".join((document.title, *document.keywords))
    encoded = text.encode()
    return FileContent(
        data=data,
        text=data if encoded == data else encoded,
        encoding=encoding,
        kind=document.kind,
        language=document.language,
        title=document.title,
        abstract=file_abstract(name, document, text),
        overview=file_overview(name, document, text),
        passages=tuple(_stored(title, passage) for passage in cut(document, text)),
        prepared=PREPARED,
    )


def prepare_sidecar(title: str, text: str) -> tuple[StoredPassage, ...]:
    """The passages of a directory's L0 or L1; ``title`` is the directory's name."""
    return tuple(_stored(title, passage) for passage in cut(parse("sidecar.md", text), text))


def _stored(title: str, passage: Passage) -> StoredPassage:
    heading = f"{passage.breadcrumb} {passage.symbol}".strip()
    title_terms, heading_terms, body_terms = _terms(title), analysis.analyse(heading), analysis.analyse(passage.body)
    embedded = f"{title}\n{passage.breadcrumb}\n{passage.symbol}\n{passage.body}"
    return StoredPassage(
        start=passage.start,
        end=passage.end,
        first_line=passage.first_line,
        last_line=passage.last_line,
        breadcrumb=passage.breadcrumb,
        symbol=passage.symbol,
        hash=hashlib.sha256(embedded.encode()).digest(),
        title_terms=title_terms.joined,
        heading_terms=heading_terms.joined,
        body_terms=body_terms.joined,
        length=heading_terms.length + body_terms.length,
    )


@lru_cache(maxsize=256)
def _terms(text: str) -> analysis.Terms:
    return analysis.analyse(text)


class PathAnalyser:
    """The `openviking.store.port.Analyser` that goes with `prepare`."""

    version = analysis.VERSION

    def __init__(self) -> None:
        self.name_terms = lru_cache(maxsize=1 << 16)(analysis.name_terms)

"""Bytes into everything that is derived from them: text, passages, terms and the file's own L0 and L1.

Pure and deterministic but for the log; it happens before any transaction begins.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from openviking.index import analyse as analysis
from openviking.index.hidden_fields import visible
from openviking.ingest.decode import decode
from openviking.ingest.picture_content import picture_content
from openviking.parse import cut, file_abstract, file_overview, parse
from openviking.parse.document import Document, Passage
from openviking.parse.pictures import format_of
from openviking.parse.plain import parse_plain
from openviking.store.batch import FileContent, StoredPassage

PARSER_VERSION: Final = 3
"""Rises with every change of what passages, titles or summaries a file gives."""

PREPARED: Final = analysis.VERSION * 1000 + PARSER_VERSION
"""What `FileContent.prepared` is now; files prepared by another version are prepared anew in the background."""

BOOKKEEPING: Final = "bookkeeping"
"""The kind of a file of text that is read but is no record: it tells of OpenViking's own work, not of anybody's world."""

_log = logging.getLogger(__name__)


def prepare(
    name: str,
    data: bytes,
    digest: bytes | None = None,
    *,
    parser: Callable[[str, str], Document] = parse,
    bookkeeping: bool = False,
    description: str = "",
) -> FileContent:
    """The content of a file named ``name``, with everything derived; never raises, whatever the bytes are.

    ``digest`` is the SHA-256 of ``data`` where the caller has it. A text that ``parser`` trips over is taken as plain
    text, which is logged and noted in `FileContent.fault`. ``bookkeeping`` is a text of ours that can be read and not found.
    ``description`` is what is said of the bytes if they are a picture.
    """
    digest = hashlib.sha256(data).digest() if digest is None else digest
    decoded = decode(data)
    if decoded is None:
        picture = format_of(data)
        if picture is None:
            return unindexed(data, digest)
        return picture_content(data, digest, picture, description, prepared=PREPARED)
    text, encoding = decoded
    encoded = text.encode()
    same = encoded == data
    stored = (data, digest) if same else (encoded, hashlib.sha256(encoded).digest())
    # What a memory carries behind its text is nothing to be found by.
    text = visible(text)
    if bookkeeping:
        wordless = tuple(_stored("", passage) for passage in _one_without_words(text))
        return FileContent(data, digest, *stored, encoding, BOOKKEEPING, "json", "", "", "", wordless, PREPARED)
    try:
        return _derived(name, data, digest, text, stored, encoding, parser(name, text))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001
        # The edge of the parsers: one that trips over a document must not keep it from being stored and found.
        _log.exception("%s could not be parsed and was taken as plain text", name)
        fault = f"{type(error).__name__}: {error}"
        return _derived(name, data, digest, text, stored, encoding, parse_plain(text), fault)


def unindexed(data: bytes, digest: bytes) -> FileContent:
    """The content of a file that is stored as it is, and neither read as text nor found."""
    return FileContent(data, digest, None, None, "", "binary", "", "", "", "", (), PREPARED)


def embedded_texts(name: str, text: str, *, bookkeeping: bool = False) -> dict[bytes, str]:
    """What a model reads of each passage of a file with this ``text``, by the passage's content hash."""
    text = visible(text)
    if bookkeeping:
        return {content_hash("", "", "", ""): ""}
    try:
        return _embedded(parse(name, text), text)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001
        # As `prepare` took it.
        return _embedded(parse_plain(text), text)


def _one_without_words(text: str) -> tuple[Passage, ...]:
    """The passages that every text has, of one that is not to be found."""
    return (Passage(0, len(text.encode()), 1, text.rstrip("\n").count("\n") + 1, "", "", ""),)


def _embedded(document: Document, text: str) -> dict[bytes, str]:
    parts = [(_title(document), one.breadcrumb, one.symbol, one.body) for one in cut(document, text)]
    return {content_hash(*part): embedded_text(*part) for part in parts}


def embedded_text(title: str, breadcrumb: str, symbol: str, body: str) -> str:
    """What a model reads of a passage: what is not blank of its parts, a line or more each; "" for a blank passage."""
    return "\n".join(part for part in (title, breadcrumb, symbol, body) if part.strip())


def content_hash(title: str, breadcrumb: str, symbol: str, body: str) -> bytes:
    """The SHA-256 that covers all of a passage that a model reads; its vectors are keyed by it."""
    return hashlib.sha256(f"{title}\n{breadcrumb}\n{symbol}\n{body}".encode()).digest()


def _title(document: Document) -> str:
    # People name the language in their questions; code hardly ever does.
    language = (document.language,) if document.kind == "code" else ()
    return " ".join((document.title, *document.keywords, *language)).strip()


def _derived(
    name: str,
    data: bytes,
    digest: bytes,
    text: str,
    stored: tuple[bytes, bytes],
    encoding: str,
    document: Document,
    fault: str = "",
) -> FileContent:
    title = _title(document)
    return FileContent(
        data=data,
        hash=digest,
        text=stored[0],
        text_hash=stored[1],
        encoding=encoding,
        kind=document.kind,
        language=document.language,
        title=title,
        abstract=file_abstract(name, document, text),
        overview=file_overview(name, document, text),
        passages=tuple(_stored(title, passage) for passage in cut(document, text)),
        prepared=PREPARED,
        fault=fault,
    )


def prepare_sidecar(title: str, text: str) -> tuple[StoredPassage, ...]:
    """The passages of a directory's L0 or L1; ``title`` is the directory's name."""
    return tuple(_stored(title, passage) for passage in cut(parse("sidecar.md", text), text))


def _stored(title: str, passage: Passage) -> StoredPassage:
    heading = f"{passage.breadcrumb} {passage.symbol}".strip()
    title_terms, heading_terms, body_terms = _terms(title), analysis.analyse(heading), analysis.analyse(passage.body)
    return StoredPassage(
        start=passage.start,
        end=passage.end,
        first_line=passage.first_line,
        last_line=passage.last_line,
        breadcrumb=passage.breadcrumb,
        symbol=passage.symbol,
        hash=content_hash(title, passage.breadcrumb, passage.symbol, passage.body),
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

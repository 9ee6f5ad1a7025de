"""The content of a file that is a picture: its bytes, and what a model says of them as its text.

A description is data, whatever it says: one paragraph without markup that is cut, found and told like any text.
"""

from __future__ import annotations

import hashlib
from typing import Final

from openviking.index import analyse as analysis
from openviking.model.node import PICTURE
from openviking.parse import cut
from openviking.parse.pictures import told
from openviking.parse.plain import parse_plain
from openviking.store.batch import FileContent, StoredPassage
from openviking.text import shorten

ABSTRACT_CHARS: Final = 256
NOT_DESCRIBED: Final = "no model has described it"

_NO_TERMS: Final = analysis.analyse("").joined


def picture_content(data: bytes, digest: bytes, kind: str, description: str = "", *, prepared: int) -> FileContent:
    """The content of a picture of the format ``kind``, with its ``description`` if there is one.

    It has a passage in any case, which carries its vector: the first one stands for the picture, too, so that its hash is
    over both (`picture_hash`).
    """
    text = description.encode()
    about = told(kind, data)
    return FileContent(
        data=data,
        hash=digest,
        text=text,
        text_hash=hashlib.sha256(text).digest(),
        encoding="",
        kind=PICTURE,
        language="",
        title="",
        abstract=shorten(description, ABSTRACT_CHARS) if description else f"{about}; {NOT_DESCRIBED}",
        overview=f"{about}\n\n{description}" if description else f"{about}; {NOT_DESCRIBED}",
        passages=_passages(digest, description),
        prepared=prepared,
    )


def picture_hash(digest: bytes, body: str) -> bytes:
    """The SHA-256 by which the vectors of a picture with the bytes ``digest`` and what is said of it are kept."""
    return hashlib.sha256(b"picture\n" + digest + b"\n" + body.encode()).digest()


def _passages(digest: bytes, description: str) -> tuple[StoredPassage, ...]:
    if not description:
        return (_stored(0, 0, 1, 1, picture_hash(digest, ""), ""),)
    found = []
    for number, passage in enumerate(cut(parse_plain(description), description)):
        body = passage.body
        key = hashlib.sha256(f"\n\n\n{body}".encode()).digest() if number else picture_hash(digest, body)
        found.append(_stored(passage.start, passage.end, passage.first_line, passage.last_line, key, body))
    return tuple(found)


def _stored(start: int, end: int, first: int, last: int, key: bytes, body: str) -> StoredPassage:
    terms = analysis.analyse(body)
    return StoredPassage(start, end, first, last, "", "", key, _NO_TERMS, _NO_TERMS, terms.joined, terms.length)

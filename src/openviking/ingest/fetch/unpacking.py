"""Undoing a content encoding piece by piece, within a bound: a packed kilobyte can be a gigabyte."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

from openviking.ingest.fetch.failures import FetchFailedError

ACCEPTED: Final = "gzip, deflate"
_PIECE: Final = 256 * 1024
_GZIP: Final = b"\x1f\x8b"


def unpacked(pieces: Iterable[bytes], encoding: str, limit: int, url: str) -> bytes:
    """The body of an answer, of at most ``limit`` bytes both as it came and unpacked.

    Raises `FetchFailedError` for more, for an encoding that was not asked for, and for one that breaks off.
    """
    names = [name for name in (part.strip().lower() for part in encoding.split(",")) if name not in {"", "identity"}]
    if len(names) > 1 or (names and names[0] not in {"gzip", "x-gzip", "deflate"}):
        raise FetchFailedError(f"{url} is encoded as {encoding[:80]}, which was not asked for", url=url)
    body = _bounded(pieces, limit, url)
    if not names:
        return b"".join(body)
    return b"".join(_bounded(_inflated(body, url, gzip=names[0] != "deflate"), limit, url))


def _bounded(pieces: Iterable[bytes], limit: int, url: str) -> Iterator[bytes]:
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > limit:
            raise too_large(url, limit)
        yield piece


def _inflated(pieces: Iterable[bytes], url: str, *, gzip: bool) -> Iterator[bytes]:
    engine = None
    try:
        for piece in pieces:
            data = piece
            while data:
                if engine is None:
                    engine = zlib.decompressobj(31 if gzip else _deflate_bits(data))
                out = engine.decompress(data, _PIECE)
                if out:
                    yield out
                data = engine.unconsumed_tail
                if engine.eof:
                    # Members may follow each other; anything else behind the end is nobody's.
                    data, engine = engine.unused_data, None
                    if not (gzip and data.startswith(_GZIP)):
                        return
                elif not out and not data:
                    break
        while engine is not None and not engine.eof:
            out = engine.decompress(engine.unconsumed_tail, _PIECE)
            if not out:
                raise FetchFailedError(f"{url} breaks off in the middle: its packed body has no end", url=url)
            yield out
    except zlib.error as error:
        raise FetchFailedError(f"{url} can't be unpacked: {error}", url=url) from error


def _deflate_bits(data: bytes) -> int:
    """Some servers send raw deflate where the standard says zlib (RFC 9110 §8.4.1.2)."""
    zlib_header = len(data) >= 2 and data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
    return 15 if zlib_header else -15


def too_large(url: str, limit: int) -> FetchFailedError:
    """What is larger than it may be."""
    return FetchFailedError(f"{url} has more than {limit:,} bytes, which is the most that is fetched", url=url)

"""Recognises pictures by their first bytes, and reads their size where the format says it there."""

from __future__ import annotations

import struct
from typing import Final

MAX_BYTES: Final = 10 * 1024 * 1024
"""Larger pictures are shown to no model."""

_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
)
_TELLING: Final = {"png": "PNG", "jpeg": "JPEG", "gif": "GIF", "webp": "WebP", "bmp": "BMP", "tiff": "TIFF"}
_MOST: Final = 1 << 24
_JPEG_LOOK: Final = 1 << 20
_JPEG_FRAMES: Final = frozenset({0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF})


def format_of(content: bytes) -> str | None:
    """The format of a picture as media types name it; None for what is none of PNG, JPEG, GIF, WebP, BMP and TIFF."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "webp"
    # Two letters alone begin many a file.
    if content[:2] == b"BM" and content[6:10] == b"\0\0\0\0" and len(content) > 25:
        return "bmp"
    return next((kind for signature, kind in _SIGNATURES if content.startswith(signature)), None)


def told(kind: str, content: bytes) -> str:
    """What can be said of a picture without looking at it: ``PNG image, 640 × 480 pixels``."""
    size = size_of(kind, content)
    return f"{_TELLING[kind]} image" + ("" if size is None else f", {size[0]} × {size[1]} pixels")


def size_of(kind: str, content: bytes) -> tuple[int, int] | None:
    """Width and height, None where the beginning does not tell, or tells nonsense."""
    try:
        size = _size(kind, content)
    except (struct.error, IndexError):
        return None
    return size if size is not None and all(0 < side < _MOST for side in size) else None


def _size(kind: str, content: bytes) -> tuple[int, int] | None:
    if kind == "png" and content[12:16] == b"IHDR":
        width, height = struct.unpack(">II", content[16:24])
    elif kind == "gif":
        width, height = struct.unpack("<HH", content[6:10])
    elif kind == "bmp":
        width, height = struct.unpack("<ii", content[18:26])
        height = abs(height)
    elif kind == "jpeg":
        return _jpeg_size(content)
    else:
        return None
    return width, height


def _jpeg_size(content: bytes) -> tuple[int, int] | None:
    place = 2
    while place < min(len(content), _JPEG_LOOK):
        if content[place] != 0xFF:
            return None
        marker = content[place + 1]
        if marker == 0xFF:
            place += 1
            continue
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack(">HH", content[place + 5 : place + 9])
            return width, height
        (length,) = struct.unpack(">H", content[place + 2 : place + 4])
        if length < 2:
            return None
        place += 2 + length
    return None

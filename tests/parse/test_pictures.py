"""Pictures are told by their first bytes, and what these say of their size."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openviking.parse.pictures import format_of, size_of, told

PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", 640, 480)
GIF = b"GIF89a" + struct.pack("<HH", 12, 7)
BMP = b"BM" + bytes(16) + struct.pack("<ii", 30, -20)
JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xc2\x00\x11\x08" + struct.pack(">HH", 90, 160)


@pytest.mark.parametrize(
    ("content", "kind", "text"),
    [
        (PNG, "png", "PNG image, 640 × 480 pixels"),
        (PNG[:20], "png", "PNG image"),
        (GIF, "gif", "GIF image, 12 × 7 pixels"),
        (BMP, "bmp", "BMP image, 30 × 20 pixels"),
        (JPEG, "jpeg", "JPEG image, 160 × 90 pixels"),
        (JPEG[:12], "jpeg", "JPEG image"),
        (b"\xff\xd8\xff\xe0\x00\x00" + bytes(40), "jpeg", "JPEG image"),
        (PNG[:16] + struct.pack(">II", 0, 1 << 31), "png", "PNG image"),
        (b"RIFF....WEBPVP8 ", "webp", "WebP image"),
        (b"II*\x00", "tiff", "TIFF image"),
        (b"BM is how this text begins, and it goes on", None, ""),
        (b"", None, ""),
    ],
)
def test_format_and_size(content: bytes, kind: str | None, text: str) -> None:
    assert format_of(content) == kind
    assert kind is None or told(kind, content) == text


@given(st.sampled_from([PNG[:12], GIF[:6], BMP[:10], JPEG[:4]]), st.binary(max_size=64))
def test_no_bytes_break_it(start: bytes, rest: bytes) -> None:
    content = start + rest
    kind = format_of(content)
    assert kind is None or size_of(kind, content) is None or min(size_of(kind, content) or ()) > 0

"""Pictures as the wire carries them: the URL of one, or its bytes in a ``data:`` URI."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias

from openviking_sdk.errors import InvalidArgumentError

Image: TypeAlias = str | bytes | os.PathLike[str]
"""A path, the bytes of a picture, or a ``data:``, ``http(s)://`` or ``viking://`` address."""

MAX_IMAGE_BYTES: Final = 32 * 1024 * 1024
_ADDRESSES: Final = ("data:", "http://", "https://", "viking://")
_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
)


def image_url(image: Image) -> str:
    """The address to send for a picture; a path is read now, at most 32 MiB.

    Raises `InvalidArgumentError` for a path that can't be read, for bytes that are no picture in PNG, JPEG, GIF, WebP,
    BMP, TIFF or SVG, and for larger ones.
    """
    if isinstance(image, str) and image.startswith(_ADDRESSES):
        return image
    if isinstance(image, bytes):
        return _data_uri(image, "the picture")
    try:
        path = Path(image).expanduser()
        with path.open("rb") as file:
            content = file.read(MAX_IMAGE_BYTES + 1)
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidArgumentError(
            f"The picture {os.fspath(image)!r} can't be read ({error}); an address begins with {', '.join(_ADDRESSES)}"
        ) from error
    return _data_uri(content, str(path))


def image_urls(image: Image | Sequence[Image] | None) -> str | list[str] | None:
    """`image_url` of one picture or of each of several; None for none."""
    if image is None:
        return None
    if isinstance(image, str | bytes | os.PathLike):
        return image_url(image)
    return [image_url(one) for one in image]


def _data_uri(content: bytes, name: str) -> str:
    if len(content) > MAX_IMAGE_BYTES:
        raise InvalidArgumentError(f"{name} is larger than {MAX_IMAGE_BYTES} bytes")
    return f"data:{_media_type(content, name)};base64,{base64.b64encode(content).decode('ascii')}"


def _media_type(content: bytes, name: str) -> str:
    for signature, media_type in _SIGNATURES:
        if content.startswith(signature):
            return media_type
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    start = content[:1024].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if start.startswith(b"<") and b"<svg" in start:
        return "image/svg+xml"
    raise InvalidArgumentError(f"{name} is no picture in PNG, JPEG, GIF, WebP, BMP, TIFF or SVG")

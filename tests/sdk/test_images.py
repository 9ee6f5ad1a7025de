"""Pictures: paths, bytes and addresses, and what is none."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from openviking_sdk import ImagePart, errors, images

if TYPE_CHECKING:
    from tests.sdk.conftest import ScriptedServer

KINDS = [
    (b"\x89PNG\r\n\x1a\n...", "image/png"),
    (b"\xff\xd8\xff\xe0...", "image/jpeg"),
    (b"GIF89a...", "image/gif"),
    (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
    (b"BM......", "image/bmp"),
    (b"II*\x00....", "image/tiff"),
    (b'<?xml version="1.0"?>\n<SVG xmlns="x"/>', "image/svg+xml"),
]


@pytest.mark.parametrize(("content", "media_type"), KINDS, ids=[kind for _, kind in KINDS])
def test_bytes_and_paths_become_data(tmp_path: Path, content: bytes, media_type: str) -> None:
    uri = f"data:{media_type};base64,{base64.b64encode(content).decode()}"
    path = tmp_path / "picture without a suffix"
    path.write_bytes(content)
    assert images.image_url(content) == images.image_url(path) == images.image_url(str(path)) == uri
    assert ImagePart(path).to_dict() == {"type": "image_url", "image_url": {"url": uri}}


@pytest.mark.parametrize(
    "address", ["data:image/png;base64,AA==", "http://x/y", "https://x/y.png", "viking://resources/c.png"]
)
def test_addresses_stay(address: str) -> None:
    assert images.image_url(address) == address


@pytest.mark.parametrize(
    "image", ["/no/such.png", "~nobody-of-that-name/x.png", b"no picture", b"", "a\0b", Path(__file__)]
)
def test_what_is_no_picture_is_refused_before_anything_is_sent(client: Any, server: ScriptedServer, image: Any) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="picture"):
        client.find("q", image=image)
    assert server.take() == []


def test_a_picture_has_a_largest_size(tmp_path: Path) -> None:
    with (tmp_path / "large.png").open("wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        file.truncate(images.MAX_IMAGE_BYTES + 1)
    with pytest.raises(errors.InvalidArgumentError, match="larger than"):
        images.image_url(tmp_path / "large.png")


def test_several_pictures_keep_their_order(client: Any, server: ScriptedServer) -> None:
    client.search("q", image=["https://a", "https://b"])
    assert server.take()[0].json["image_url"] == ["https://a", "https://b"]

"""The pictures of a query: from what a caller names to bytes that a model may see (contract/retrieval.md §3.11)."""

from __future__ import annotations

import base64
import binascii
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias

from openviking.config.settings import FetchSettings
from openviking.errors import DeadlineExceededError, InvalidArgumentError, NotFoundError
from openviking.ingest.fetch.failures import FetchCancelled
from openviking.ingest.fetch.fetcher import Fetcher
from openviking.model.identity import Identity
from openviking.parse.pictures import MAX_BYTES, format_of
from openviking.service.access import resolve
from openviking.service.accounts import Accounts
from openviking.text import quoted
from openviking.uri import SCHEME

Image: TypeAlias = str | bytes | os.PathLike[str]
"""A path, the bytes of a picture, or a ``data:``, ``http(s)://`` or ``viking://`` address."""

FORMS: Final = ("data:image/", "http://", "https://", SCHEME)

MAX_PICTURES: Final = 8
MAX_BYTES_TOGETHER: Final = 20 * 1024 * 1024

FETCH_S: Final = 10.0
"""So long the pictures of one query may take to be fetched."""

_DATA: Final = re.compile(r"data:image/[a-z0-9.+-]{1,40}(?:;[a-z-]+=[^;,]{0,80})*;base64,", re.IGNORECASE)


def named(value: object) -> tuple[str, ...]:
    """The addresses of pictures in a request, none for None and ``[]``.

    Raises `InvalidArgumentError` for more than 8 and for what does not begin as one of `FORMS` does.
    """
    given = [value] if isinstance(value, str) else value
    if given is None or given == []:
        return ()
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        raise _wrong(f"image_url must be a URL or a list of URLs, not {quoted(value)}")
    if len(given) > MAX_PICTURES:
        raise _wrong(f"image_url names {len(given)} pictures, at most {MAX_PICTURES} are allowed")
    for one in given:
        if not one.startswith(FORMS):
            raise _wrong(f"image_url is {quoted(one)}, it must start with {', '.join(FORMS)}")
    return tuple(given)


def addresses_of(image: Image | Sequence[Image] | None) -> str | list[str] | None:
    """What ``image_url`` is for pictures in this process: bytes and paths become ``data:`` URIs, addresses stay.

    Raises `InvalidArgumentError` for a path that can't be read, and for what is no picture in one of the formats.
    """
    if image is None:
        return None
    if isinstance(image, str | bytes | os.PathLike):
        return _address(image)
    return [_address(one) for one in image]


def _address(image: Image) -> str:
    if isinstance(image, str) and image.startswith(("data:", *FORMS)):
        return image
    content, name = image, "the picture"
    if not isinstance(content, bytes):
        name = os.fspath(content)
        try:
            with Path(content).expanduser().open("rb") as file:
                content = file.read(MAX_BYTES + 1)
        except (OSError, RuntimeError, ValueError) as error:
            raise _wrong(
                f"image: {quoted(name)} can't be read ({getattr(error, 'strerror', None) or error}); an address begins with {', '.join(FORMS)}"
            ) from error
    kind = format_of(content)
    if kind is None or len(content) > MAX_BYTES:
        raise _wrong(f"image: {quoted(name)} is no PNG, JPEG, GIF, WebP, BMP or TIFF of at most {MAX_BYTES:,} bytes")
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"


class Pictures:
    """Gets pictures: out of the address itself, out of the store, or from the web within the limits of every fetch."""

    def __init__(self, accounts: Accounts, fetch: FetchSettings) -> None:
        self._accounts = accounts
        self._fetcher = Fetcher(fetch, accounts.path)

    def loaded(self, identity: Identity, addresses: Sequence[str]) -> list[str]:
        """The pictures as ``data:`` URIs, in order, whatever their addresses were: a model's service fetches nothing.

        PNG, JPEG, GIF, WebP, BMP or TIFF by their bytes, at most 10 MiB each and 20 MiB together. Raises
        `InvalidArgumentError` for what is none, `NotFoundError` and `PermissionDeniedError` for a file of the store, what
        a fetch raises for the web, `DeadlineExceededError` when that takes too long.
        """
        deadline = time.monotonic() + FETCH_S
        found, left = [], MAX_BYTES_TOGETHER
        for address in addresses:
            content = self._bytes(identity, address, deadline)
            left -= len(content)
            if len(content) > MAX_BYTES or left < 0:
                raise _wrong(
                    f"image_url: a picture may have {MAX_BYTES:,} bytes, and all together {MAX_BYTES_TOGETHER:,}"
                )
            kind = format_of(content)
            if kind is None:
                raise _wrong(f"image_url: {_shown(address)} is no picture in PNG, JPEG, GIF, WebP, BMP or TIFF")
            found.append(f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}")
        return found

    def _bytes(self, identity: Identity, address: str, deadline: float) -> bytes:
        if address.startswith("data:"):
            return _decoded(address)
        if address.startswith(SCHEME):
            return self._stored(identity, address)
        try:
            return self._fetcher.body(address, MAX_BYTES, lambda: time.monotonic() > deadline)
        except FetchCancelled as error:
            raise DeadlineExceededError(
                f"{_shown(address)} takes longer than {FETCH_S:g} s", operation="image_url", timeout=FETCH_S
            ) from error

    def _stored(self, identity: Identity, address: str) -> bytes:
        uri = resolve(identity, address)
        with self._accounts.store(identity).read() as view:
            node = view.get(uri.path)
            if node is None:
                raise NotFoundError(str(uri), "file")
            if node.is_dir or node.size > MAX_BYTES:
                what = "is a directory" if node.is_dir else f"has more than {MAX_BYTES:,} bytes"
                raise _wrong(f"image_url: {uri} {what}")
            return view.data(node)


def _decoded(address: str) -> bytes:
    head = _DATA.match(address)
    if head is None:
        raise _wrong(f"image_url: {_shown(address)} is not data:image/…;base64,…")
    if (len(address) - head.end()) * 3 // 4 > MAX_BYTES + 3:
        raise _wrong(f"image_url: a picture may have {MAX_BYTES:,} bytes")
    try:
        return base64.b64decode(address[head.end() :], validate=True)
    except (binascii.Error, ValueError) as error:
        raise _wrong(f"image_url: {_shown(address)} is not base64") from error


def _shown(address: str) -> str:
    return quoted(address[:60] if address.startswith("data:") else address.partition("?")[0])


def _wrong(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(message, field="image_url")

"""Addresses of model services, and the headers of calls to them."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from openviking.errors import InvalidArgumentError
from openviking.text import quoted


def checked_address(given: str, field: str, example: str) -> str:
    """``given`` without a slash at its end. Raises `InvalidArgumentError` if it is no address of HTTP."""
    address = given.strip().rstrip("/")
    try:
        parts = urlsplit(address)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        parts, right = SplitResult("", "", "", "", ""), False
    if not right or not address.isprintable() or " " in address or parts.query or parts.fragment:
        # In front of the @ stands a password.
        told = quoted(address.rpartition("@")[2])
        raise InvalidArgumentError(f"{field}: {told} is no address such as {example}", field=field)
    return address


def without_user(address: str) -> str:
    """``address`` fit to be shown: without name, password and parameters."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()


def bearer(api_key: str, extra: Mapping[str, str]) -> dict[str, str]:
    """The headers of a call with a key; ``extra`` win."""
    return ({"Authorization": f"Bearer {api_key}"} if api_key else {}) | dict(extra)

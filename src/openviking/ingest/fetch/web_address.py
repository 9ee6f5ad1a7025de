"""Web addresses, taken apart strictly: what two programs could read in two ways is refused."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urljoin

from openviking.errors import InvalidArgumentError
from openviking.ingest.fetch.addresses import Address
from openviking.model.watch import without_secrets
from openviking.text import quoted

MAX_CHARS: Final = 8_192
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_PARTS: Final = re.compile(
    r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<path>/[^?#]*)?(?P<query>\?[^#]*)?(?:#.*)?", re.IGNORECASE
)
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)
_LOCAL: Final = ("localhost", "localdomain", "ip6-localhost", "ip6-loopback")
_SAFE: Final = "!$%&'()*+,;=:@/?-._~[]|"

NEVER_PORTS: Final = frozenset(
    (1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
     111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
     540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
     6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080)
)  # fmt: skip
"""Ports of other protocols, to which no browser speaks either (WHATWG Fetch, "port blocking")."""


@dataclass(frozen=True, slots=True)
class WebAddress:
    """An http or https address: ``host`` in lower case without a final dot, ``target`` the path with its query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def literal(self) -> Address | None:
        """The address that the host spells, None if it is a name."""
        return _literal(self.host)

    @property
    def local_name(self) -> bool:
        """Whether the host is a name that always means this machine."""
        return self.host in _LOCAL or self.host.endswith(".localhost")

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def authority(self) -> str:
        """Host and port as a URL has them."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return shown if self.port == _DEFAULT_PORTS[self.scheme] else f"{shown}:{self.port}"

    @property
    def shown(self) -> str:
        """The address for messages: a query may hold what opens a door."""
        return f"{self.scheme}://{self.authority}{self.path}" + ("?…" if "?" in self.target else "")

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    def joined(self, location: str) -> WebAddress:
        """Where a redirect from here leads."""
        return web_address(urljoin(str(self), location.strip()))


def web_address(text: str) -> WebAddress:
    """``text`` as an address; raises `InvalidArgumentError` that never repeats what may be a password."""
    text = text.strip()
    found, shown = _PARTS.fullmatch(text), quoted(without_secrets(text))
    if len(text) > MAX_CHARS:
        raise _bad(f"The URL has {len(text):,} characters, at most {MAX_CHARS:,} are allowed")
    if found is None:
        raise _bad(f"{shown} is not an http or https URL")
    scheme, authority = found["scheme"].lower(), found["authority"]
    if "@" in authority:
        raise _bad("A URL with a user or password before the host is not taken: leave out what stands before the @")
    if "\\" in text or any(ord(char) < 33 or ord(char) == 127 for char in text):
        raise _bad(f"{shown} has a blank, a control character or a backslash; percent-encode it")
    host, port = _authority(authority, scheme)
    target = (found["path"] or "/") + (found["query"] or "")
    try:
        # All of it: what is behind a # is not asked for, and kept with the task.
        text.encode()
    except UnicodeEncodeError as error:
        raise _bad(f"{shown} holds half of a character") from error
    return WebAddress(scheme, host, port, quote(target, safe=_SAFE))


def _authority(authority: str, scheme: str) -> tuple[str, int]:
    found = re.fullmatch(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>[^:]*))?", authority)
    if found is None or not found["host"]:
        raise _bad(f"The host {quoted(authority)} can't be read: use name, name:port or [IPv6 address]:port")
    port = found["port"] or str(_DEFAULT_PORTS[scheme])
    if not re.fullmatch(r"[0-9]{1,5}", port) or not 0 < int(port) < 65_536:
        raise _bad(f"The port {quoted(port)} is none: 1 to 65535 are")
    if int(port) in NEVER_PORTS:
        raise _bad(f"Port {port} belongs to another protocol, and is not fetched from")
    return _host(found["host"]), int(port)


def _host(text: str) -> str:
    if text.startswith("["):
        try:
            # A zone (RFC 6874) names a network card of whoever fetches.
            return str(ipaddress.IPv6Address(text[1:-1].replace("%", "-")))
        except ValueError as error:
            raise _bad(f"{quoted(text)} is not an IPv6 address") from error
    host = _ascii(text).lower()
    host = host.removesuffix(".")
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise _bad(f"{quoted(text)} is not a host name")
    # Resolvers read 0x7f.1, 017700000001 and 2130706433 as addresses; a name that ends in a number is never meant.
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError as error:
            raise _bad(f"{quoted(text)} is an odd spelling of an address: use four decimal numbers") from error
    return host


def _ascii(text: str) -> str:
    """An internationalised name in its ASCII form."""
    if text.isascii():
        return text
    # Names in other scripts are rare, and the tables of IDNA 2008 come with the HTTP client.
    import httpx2  # noqa: PLC0415

    try:
        return httpx2.URL(f"https://{text}/").raw_host.decode()
    except (httpx2.InvalidURL, UnicodeError) as error:
        raise _bad(f"{quoted(text)} is not a host name") from error


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _bad(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(message, field="path")

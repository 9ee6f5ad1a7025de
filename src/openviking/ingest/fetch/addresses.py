"""Which internet addresses may be asked: public ones, and what the configuration allows.

An address is judged by where packets to it end up: one that wraps an IPv4 address (mapped, 6to4, NAT64, Teredo) is
judged by that as well.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _networks(*texts: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(text) for text in texts)


_PRIVATE: Final = (
    ("loopback", _networks("127.0.0.0/8", "::1/128")),
    ("private", _networks("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10")),
    ("link-local", _networks("169.254.0.0/16", "fe80::/10")),
    ("shared by a provider's customers", _networks("100.64.0.0/10")),
    ("for benchmarks", _networks("198.18.0.0/15", "2001:2::/48")),
)
"""What `Addresses` lets through with ``allow_private``."""

_NEVER: Final = (
    ("unspecified", _networks("0.0.0.0/8", "::/128")),
    ("multicast", _networks("224.0.0.0/4", "ff00::/8")),
    ("reserved", _networks(
        "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
        "64:ff9b:1::/48", "100::/64", "2001:db8::/32", "2001:10::/28", "2001:20::/28", "3fff::/20",
    )),
)  # fmt: skip

_METADATA: Final = frozenset(
    ipaddress.ip_address(one)
    for one in ("169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "192.0.0.192", "168.63.129.16",
                "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254")
)  # fmt: skip
"""Where clouds keep the credentials of a machine; nobody means these."""

_PUBLIC_V6: Final = ipaddress.IPv6Network("2000::/3")
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE: Final = ipaddress.IPv6Network("::/96")


@dataclass(frozen=True, slots=True)
class Addresses:
    """Judges addresses; ``networks`` are allowed whatever they are, private ones all if ``allow_private``."""

    allow_private: bool = False
    networks: tuple[Network, ...] = ()

    @classmethod
    def of(cls, allow_private: bool, allowed: Iterable[str]) -> Addresses:
        """From settings: of ``allowed`` those that are addresses or networks."""
        return cls(allow_private, tuple(found for text in allowed if (found := network_of(text)) is not None))

    def refusal(self, address: Address) -> str:
        """Why ``address`` may not be asked; "" if it may."""
        if any(address.version == one.version and address in one for one in self.networks):
            return ""
        if getattr(address, "scope_id", None):
            return "link-local"
        inner = _inner(address)
        if inner:
            return next((why for one in inner if (why := self.refusal(one))), "")
        if address in _METADATA:
            return "a cloud's metadata service"
        for kind, networks in _NEVER:
            if any(address.version == one.version and address in one for one in networks):
                return kind
        for kind, networks in _PRIVATE:
            if any(address.version == one.version and address in one for one in networks):
                return "" if self.allow_private else kind
        return "" if address.version == 4 or address in _PUBLIC_V6 else "reserved"


def network_of(text: str) -> Network | None:
    """The network, or the address as a network of one, that ``text`` spells; None if it is a name."""
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def _inner(address: Address) -> tuple[ipaddress.IPv4Address, ...]:
    """The IPv4 addresses that an IPv6 address stands for or passes through."""
    if not isinstance(address, ipaddress.IPv6Address):
        return ()
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):
        return (ipaddress.IPv4Address(int(address) & 0xFFFFFFFF),)
    return ()

"""Names into addresses that may be asked, within a time."""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from openviking.ingest.fetch.addresses import Address, Addresses
from openviking.ingest.fetch.failures import FetchCancelled, FetchFailedError, PassingError, RefusedAddressError
from openviking.ingest.fetch.web_address import WebAddress

MAX_LOOKUPS: Final = 32
"""Names that are looked up at once; the system can't be told to stop looking."""

_LOOK_S: Final = 0.1


class Resolver(Protocol):
    """Asks the name service."""

    def addresses(self, host: str, port: int) -> Sequence[str]:
        """The addresses of a name, the best first; raises `OSError`."""
        ...


class SystemResolver:
    """The name service of this machine."""

    def addresses(self, host: str, port: int) -> Sequence[str]:
        """What the system gives."""
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        return list(dict.fromkeys(str(one[4][0]) for one in found))


_slots = threading.BoundedSemaphore(MAX_LOOKUPS)


class Gate:
    """Gives the addresses of a host if every one of them may be asked.

    ``hosts`` are names that are allowed whatever their addresses are.
    """

    def __init__(self, addresses: Addresses, hosts: frozenset[str], resolver: Resolver) -> None:
        self._addresses = addresses
        self._hosts = hosts
        self._resolver = resolver

    def check_spelling(self, where: WebAddress) -> None:
        """Raises `RefusedAddressError` for what is refused without asking the name service."""
        literal = where.literal
        if where.host in self._hosts:
            return
        if literal is not None and (why := self._addresses.refusal(literal)):
            raise RefusedAddressError(where.host, why)
        if where.local_name and (why := self._addresses.refusal(ipaddress.IPv4Address("127.0.0.1"))):
            raise RefusedAddressError(where.host, why)

    def open(self, host: str, port: int, deadline: float, cancelled: Callable[[], bool]) -> list[str]:
        """The addresses to connect to.

        Raises `RefusedAddressError` if one of them may not be asked: of a name with good and bad addresses nobody
        means the bad ones. Raises `FetchFailedError` for a name that does not exist, `PassingError` if the name
        service does not answer, `FetchCancelled`.
        """
        try:
            found = [str(ipaddress.ip_address(host))]
        except ValueError:
            found = self._looked_up(host, port, deadline, cancelled)
        if host not in self._hosts:
            for one in found:
                why = self._addresses.refusal(_parsed(one))
                if why:
                    raise RefusedAddressError(host, why)
        return found

    def _looked_up(self, host: str, port: int, deadline: float, cancelled: Callable[[], bool]) -> list[str]:
        lookup = _Lookup(self._resolver, host, port)
        lookup.start(deadline)
        while not lookup.done.wait(_LOOK_S):
            if cancelled():
                raise FetchCancelled
            if time.monotonic() >= deadline:
                raise PassingError(f"the name {host} was not resolved in time")
        if isinstance(lookup.failure, socket.gaierror) and lookup.failure.errno == socket.EAI_AGAIN:
            raise PassingError(f"the name service does not answer for {host}")
        if isinstance(lookup.failure, (OSError, UnicodeError)):
            raise FetchFailedError(f"There is no host {host}: {lookup.failure}", host=host)
        if lookup.failure is not None:
            raise lookup.failure
        if not lookup.found:
            raise FetchFailedError(f"There is no address of {host}", host=host)
        return lookup.found


class _Lookup:
    """One question to the name service, in a thread of its own: the system has no time limit."""

    def __init__(self, resolver: Resolver, host: str, port: int) -> None:
        self._asked = (host, port)
        self._resolver = resolver
        self.done = threading.Event()
        self.found: list[str] = []
        self.failure: Exception | None = None

    def start(self, deadline: float) -> None:
        if not _slots.acquire(timeout=max(deadline - time.monotonic(), 0)):
            raise PassingError("too many names are being looked up")
        try:
            threading.Thread(target=self._run, name="openviking-lookup", daemon=True).start()
        except BaseException:
            _slots.release()
            raise

    def _run(self) -> None:
        try:
            self.found = list(self._resolver.addresses(*self._asked))
        except Exception as error:  # noqa: BLE001
            # The edge of the thread: whatever it is, somebody waits for it.
            self.failure = error
        finally:
            _slots.release()
            self.done.set()


def _parsed(text: str) -> Address:
    return ipaddress.ip_address(text)

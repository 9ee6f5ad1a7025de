"""Connections that go to a checked address and to no other, and end with their time or when they are told to.

The name is resolved, judged and connected to in one step, so that a second answer of the name service changes nothing;
TLS still checks the name.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import httpcore2

from openviking.ingest.fetch.failures import FetchCancelled, PassingError
from openviking.ingest.fetch.resolver import Gate

_SLICE_S: Final = 0.25
"""How long a read waits before it looks whether it is to stop."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When waiting ends: at ``deadline`` (of `time.monotonic`), ``idle`` seconds after the last byte, or when cancelled."""

    deadline: float
    connect: float
    idle: float
    cancelled: Callable[[], bool]

    def left(self, most: float) -> float:
        """Seconds that may be waited now; raises `FetchCancelled`, and `httpcore2.ReadTimeout` when there are none."""
        if self.cancelled():
            raise FetchCancelled
        left = min(most, self.deadline - time.monotonic())
        if left <= 0:
            raise httpcore2.ReadTimeout
        return left


class PinnedBackend(httpcore2.NetworkBackend):
    """Connects where the gate says; a new one for each fetch."""

    def __init__(self, gate: Gate, limits: Limits) -> None:
        self._gate = gate
        self._limits = limits

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """A connection to the first of the checked addresses that takes one."""
        del timeout, local_address, socket_options
        limits = self._limits
        until = min(limits.deadline, time.monotonic() + limits.connect)
        failure: OSError | None = None
        for address in self._gate.open(host, port, until, limits.cancelled):
            try:
                # An address, never a name: nothing is resolved again.
                connected = socket.create_connection((address, port), timeout=limits.left(limits.connect))
            except OSError as error:
                failure = error
                continue
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return _LimitedStream(connected, limits)
        if isinstance(failure, TimeoutError):
            raise httpcore2.ConnectTimeout(f"no connection after {limits.connect:g} s") from failure
        raise PassingError(f"no connection: {failure.strerror or failure if failure else 'no address'}")

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore2.NetworkStream:
        """Never: an address of the web is no file."""
        del timeout, socket_options
        raise httpcore2.ConnectError(f"{path} is no host")


class _LimitedStream(httpcore2.NetworkStream):
    """A connection whose every wait is a short one."""

    def __init__(self, connected: socket.socket, limits: Limits) -> None:
        self._socket = connected
        self._limits = limits

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Bytes as soon as there are any."""
        del timeout
        idle_until = time.monotonic() + self._limits.idle
        while True:
            self._socket.settimeout(self._limits.left(_SLICE_S))
            try:
                return self._socket.recv(max_bytes)
            except TimeoutError:
                if time.monotonic() >= idle_until:
                    raise httpcore2.ReadTimeout(f"nothing came for {self._limits.idle:g} s") from None
            except OSError as error:
                raise httpcore2.ReadError(error.strerror or str(error)) from error

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send a request, which is small."""
        del timeout
        self._socket.settimeout(self._limits.left(self._limits.idle))
        try:
            self._socket.sendall(buffer)
        except TimeoutError as error:
            raise httpcore2.WriteTimeout from error
        except OSError as error:
            raise httpcore2.WriteError(error.strerror or str(error)) from error

    def close(self) -> None:
        """Close it."""
        self._socket.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        """The same connection encrypted, with a server that proved its name."""
        del timeout
        try:
            self._socket.settimeout(self._limits.left(self._limits.connect))
            secured = ssl_context.wrap_socket(self._socket, server_hostname=server_hostname)
        except TimeoutError as error:
            self.close()
            raise httpcore2.ConnectTimeout from error
        except OSError as error:
            self.close()
            raise httpcore2.ConnectError(str(error)) from error
        except BaseException:
            self.close()
            raise
        return _LimitedStream(secured, self._limits)

    def get_extra_info(self, info: str) -> Any:
        """What the connection pool asks: nothing is kept alive, so nothing is readable."""
        return {"socket": self._socket, "is_readable": False}.get(info)

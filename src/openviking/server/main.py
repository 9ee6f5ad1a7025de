"""The life of the server's process: bound before anything is opened, stopped within seconds."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Final

import uvicorn
from fastapi import FastAPI

from openviking.config.settings import Settings
from openviking.errors import InvalidArgumentError, UnavailableError
from openviking.server.app import create_app
from openviking.server.connection import Connection
from openviking.service.authentication import Rules
from openviking.service.services import Services

ALL: Final = "all"
"""The host that stands for every address of the machine."""

DRAIN_S: Final = 3
"""Seconds that calls under way have to come to their end after a signal."""

GIVE_UP_S: Final = 2.5
"""Seconds after a signal when calls that are still under way are answered that it stops."""

MOST_CONNECTIONS: Final = 4096
OTHER_FILES: Final = 256
"""Of the files that a process may have open, so many are for other things than connections."""

LAST_S: Final = 15.0
"""Seconds after a signal when the process ends in any case; what was acknowledged is on the disk by then."""

BACKLOG: Final = 2048

_log = logging.getLogger(__name__)


def rules_of(settings: Settings) -> Rules:
    """How callers are told apart; raises `InvalidArgumentError` for what must not be started."""
    server = settings.server
    return Rules.of(
        server.auth_mode or None,
        server.root_api_key,
        _address(server.host),
        default_account=server.default_account,
        default_user=server.default_user,
    )


def bound(host: str, port: int) -> socket.socket:
    """A socket bound to ``host`` and ``port`` (0: any free one).

    Raises `UnavailableError` for a port that is taken, `InvalidArgumentError` for an address that is not this
    machine's.
    """
    try:
        found = socket.getaddrinfo(_address(host), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise InvalidArgumentError(f"The host {host!r} is not known: {error.strerror}", field="host") from error
    family, kind, protocol, _, address = found[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        raise _not_bound(host, port, error) from error
    made.set_inheritable(True)
    return made


def serve(settings: Settings, listening: Callable[[str], None] = lambda _: None) -> None:
    """Serve until a signal; ``listening`` is told the address when calls are answered.

    Raises `InvalidArgumentError` and `UnavailableError` for what keeps it from starting.
    """
    rules = rules_of(settings)
    with contextlib.closing(bound(settings.server.host, settings.server.port)) as sock:
        services = Services(settings, rules)
        host, port = sock.getsockname()[:2]
        app = create_app(services)
        config = uvicorn.Config(
            app,
            http=_connections(),
            proxy_headers=False,
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="on",
            ws="none",
            timeout_keep_alive=settings.server.timeout_keep_alive,
            timeout_graceful_shutdown=DRAIN_S,
        )
        shown = f"[{host}]" if ":" in host else host
        server = _Server(config, services, app, lambda: listening(f"http://{shown}:{port}"))
        server.run(sockets=[sock])
        if not server.started:
            raise UnavailableError("The server did not start; its log says why", service="server", reason="start-up")


class _Server(uvicorn.Server):
    """A server whose waiting calls end with the first signal."""

    def __init__(self, config: uvicorn.Config, services: Services, app: FastAPI, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._services = services
        self._app = app
        self._listening = listening
        self._last: threading.Timer | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._listening()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Before uvicorn ends what is under way without an answer.
        asyncio.get_running_loop().call_later(GIVE_UP_S, self._give_up)
        await super().shutdown(sockets)

    def _give_up(self) -> None:
        self._app.state.lanes.give_up()
        for connection in tuple(self.server_state.connections):
            if isinstance(connection, Connection):
                connection.give_up()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        # A signal ends the process in good order, with status 0, rather than once more at the end.
        before = {one: signal.signal(one, self._asked_to_stop) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)
            if self._last is not None:
                self._last.cancel()

    def _asked_to_stop(self, number: int, _frame: object) -> None:
        if self.should_exit and number == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True
        if self._last is None:
            self._last = threading.Timer(LAST_S, _end)
            self._last.daemon = True
            self._last.start()
            # It waits for a lock of the worker's, which the interrupted thread may hold.
            threading.Thread(target=self._services.begin_to_stop, daemon=True).start()


def _connections() -> type[Connection]:
    """Connections of which no more are open than the files of this process allow."""
    try:
        import resource  # noqa: PLC0415 - not everywhere
    except ImportError:
        return Connection
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    most = MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else min(MOST_CONNECTIONS, soft - OTHER_FILES)

    class Counted(Connection):
        limits = replace(Connection.limits, connections=max(most, 32))

    return Counted


def _end() -> None:
    _log.error("calls did not end within %g s; the process ends", LAST_S)
    sys.stderr.flush()
    os._exit(1)


def _address(host: str) -> str:
    return "0.0.0.0" if host == ALL else host.strip("[]")  # noqa: S104 - asked for by name, and refused without a key


def _not_bound(host: str, port: int, error: OSError) -> InvalidArgumentError | UnavailableError:
    if error.errno == errno.EADDRINUSE:
        return UnavailableError(
            f"Port {port} of {host} is taken: stop what listens there, or choose another with --port",
            service="server",
            reason="port taken",
        )
    if error.errno == errno.EACCES:
        return UnavailableError(
            f"Port {port} may not be used by this user: choose one above 1023 with --port",
            service="server",
            reason="port not allowed",
        )
    return InvalidArgumentError(f"Can't listen on {host} port {port}: {error.strerror}", field="host")

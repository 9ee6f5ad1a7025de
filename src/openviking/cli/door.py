"""Opening what a command works on: a data directory of this machine, or a server."""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from openviking.cli.connection import Directory, apply_habits, door
from openviking.cli.embedded import Embedded, only_on_a_server
from openviking.errors import OpenVikingError, UnavailableError, UnimplementedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openviking.cli.connection import Server
    from openviking.cli.options import Invocation
    from openviking.cli.remote import Remote

LOOK_S: Final = 1.0
"""How long a server that nobody named may take to answer."""

SUDO: Final = frozenset({"admin", "system", "reindex", "task status", "task list"})
"""Where the root key may be used; a group stands for all its commands."""


class ServerError(OpenVikingError):
    """What a server told, or what became of the connection to it; ``code`` is its own."""

    def __init__(self, code: str, message: str, details: dict[str, Any]) -> None:
        super().__init__(message)
        self.code = code  # type: ignore[misc]  # a server may have codes that this version does not know
        self.details = details


@contextmanager
def opened(invocation: Invocation, *, create: bool = False) -> Iterator[Embedded | Remote]:
    """What this call works on, closed at the end: methods of the same names, whichever door it is.

    Raises `NotFoundError` where there is no data directory, unless ``create``: a wrong ``--path`` must not look like
    an empty store. Raises `UnavailableError` where no server answers and nothing names one.
    """
    _check_sudo(invocation)
    way = door(invocation)
    if isinstance(way, Directory):
        with _directory(invocation, way, create=create) as store:
            yield store
    else:
        with connected(invocation, way) as remote:
            yield remote


@contextmanager
def served(invocation: Invocation) -> Iterator[Remote]:
    """The server of this call, for what only a server has. Raises `UnimplementedError` for a data directory."""
    _check_sudo(invocation)
    way = door(invocation)
    if isinstance(way, Directory):
        raise only_on_a_server(f"ov {_command()}")
    with connected(invocation, way) as remote:
        yield remote


def _command() -> str:
    context = click.get_current_context()
    return context.command_path.partition(" ")[2]


def _check_sudo(invocation: Invocation) -> None:
    if not invocation.sudo:
        return
    command = _command()
    if command not in SUDO and command.partition(" ")[0] not in SUDO:
        raise click.UsageError("--sudo is for admin, system, reindex, task status and task list.")


@contextmanager
def _directory(invocation: Invocation, way: Directory, *, create: bool) -> Iterator[Embedded]:
    if invocation.actor_peer_id is not None:
        raise UnimplementedError(
            "--actor-peer-id needs a server: with --path it is not part of this version", option="--actor-peer-id"
        )
    for option in ("path", "config"):
        if getattr(invocation, option) == "":
            kind = "directory" if option == "path" else "file"
            raise click.UsageError(f"--{option} is empty; name a {kind} or leave it out.")
    directory = None if way.path is None else Path(way.path).expanduser()
    if directory is not None and directory.exists() and not directory.is_dir():
        raise click.UsageError(f"--path {str(directory)!r} is not a directory.")
    from openviking import OpenViking

    # What is logged is shown by status; standard error is for one error, and in JSON for one line.
    logging.getLogger("openviking").addHandler(logging.NullHandler())
    account = invocation.account or os.environ.get("OPENVIKING_ACCOUNT") or "default"
    user = invocation.user or os.environ.get("OPENVIKING_USER") or "default"
    with OpenViking(directory, account=account, user=user, config=invocation.config, workers=0, create=create) as store:
        yield Embedded(store)


@contextmanager
def connected(invocation: Invocation, way: Server) -> Iterator[Remote]:
    """A server, disconnected at the end; what goes wrong with it is a `ServerError`."""
    from openviking.cli.remote import Remote
    from openviking_sdk.errors import OpenVikingError as SdkError
    from openviking_sdk.sync_client import SyncHTTPClient

    settings = way.settings
    client = SyncHTTPClient(
        settings.url, settings.api_key or "", settings.account or "", settings.user or "", settings.actor_peer_id or "",
        settings.timeout, settings.extra_headers, settings.profile, retries=2 if way.named else 0,
    )  # fmt: skip
    apply_habits(invocation)
    invocation.asked = settings.url
    try:
        with client, _profiled(invocation):
            if not way.named:
                _look_for(way)
            yield Remote(client, invocation)
    except SdkError as error:
        raise ServerError(error.code, error.message, error.details) from error


@contextmanager
def _profiled(invocation: Invocation) -> Iterator[None]:
    """Keep what the server tells of its calls; with ``--profile`` it stands beside the result."""
    if not invocation.profile:
        yield
        return
    log = logging.getLogger("openviking_sdk.profile")
    handler, level = _Keeping(invocation.profile_lines), log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


class _Keeping(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(record.getMessage())


def _look_for(way: Server) -> None:
    """Nothing if an OpenViking server answers at the default address; else an error that says what to do.

    Before anything is sent there: another program may listen at that port.
    """
    from openviking_sdk.calls.system import health_info
    from openviking_sdk.errors import OpenVikingError as SdkError
    from openviking_sdk.sync_sending import send_alone

    quick = replace(way.settings, timeout=LOOK_S, api_key=None, extra_headers={})
    try:
        if "status" in send_alone(health_info(), quick, 0):
            return
        reason = "what answers is no OpenViking server"
    except SdkError as error:
        reason = error.message
    raise UnavailableError(
        f"No OpenViking server answers at {way.settings.url}: start openviking-server, name one with --url, or a data "
        "directory of this machine with --path DIR",
        service=way.settings.url,
        reason=reason,
    )

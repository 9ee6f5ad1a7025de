"""Which door a call goes through: a data directory of this machine, or a server; and what ``ovcli.conf`` says.

A typed option goes before the environment, that before ``ovcli.conf``, and a data directory before a server of the same
rank. With nothing of all that it is a server on the default port, if one is there.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import click

if TYPE_CHECKING:
    from openviking.cli.options import Invocation
    from openviking_sdk.settings import Settings

PATH_VARIABLE: Final = "OPENVIKING_PATH"
URL_VARIABLE: Final = "OPENVIKING_URL"
OUTPUTS: Final = ("table", "json")


class ConfigurationError(click.UsageError):
    """A configuration that can't be used, or lacks what the call needs."""


@dataclass(frozen=True, slots=True)
class Directory:
    """A data directory of this machine; None is the one that its configuration names."""

    path: str | None


@dataclass(frozen=True, slots=True)
class Server:
    """A server; ``named`` says whether anybody named its address."""

    settings: Settings
    named: bool


def door(invocation: Invocation) -> Directory | Server:
    """Where the call goes. Raises `click.UsageError` and `ConfigurationError`."""
    if invocation.url is not None:
        for other in ("path", "config"):
            if getattr(invocation, other) is not None:
                raise click.UsageError(
                    f"--url and --{other} exclude each other: a server, or a directory of this machine."
                )
        return server(invocation)
    if invocation.path is not None or invocation.config is not None:
        return Directory(invocation.path or os.environ.get(PATH_VARIABLE))
    if path := os.environ.get(PATH_VARIABLE):
        return Directory(path)
    return server(invocation)


def server(invocation: Invocation) -> Server:
    """The server that the call would ask, whatever it says of a data directory."""
    if invocation.url == "":
        raise click.UsageError("--url is empty; name a server or leave it out.")
    from openviking_sdk.errors import InvalidArgumentError
    from openviking_sdk.settings import resolved

    conf = client_config()
    key = invocation.api_key
    if invocation.sudo:
        key = root_key(conf)
    try:
        settings = resolved(
            url=invocation.url, api_key=key, account=invocation.account, user=invocation.user,
            actor_peer_id=invocation.actor_peer_id, profile=True if invocation.profile else None,
        )  # fmt: skip
    except InvalidArgumentError as error:
        raise ConfigurationError(error.message) from error
    return Server(settings, bool(invocation.url or os.environ.get(URL_VARIABLE) or conf.get("url")))


def root_key(conf: dict[str, Any]) -> str:
    """The key of ``--sudo``. Raises `ConfigurationError` where there is none."""
    key = conf.get("root_api_key")
    if not isinstance(key, str) or not key:
        raise ConfigurationError(
            f"--sudo needs root_api_key in {client_file()}: ov config edit NAME --root-api-key-stdin puts it into a saved "
            "configuration (ov config add custom makes one)."
        )
    return key


def client_file() -> Path:
    """The ``ovcli.conf`` of this call."""
    from openviking_sdk.settings import config_file

    return config_file(os.environ)


def client_config() -> dict[str, Any]:
    """What ``ovcli.conf`` says. Raises `ConfigurationError`."""
    from openviking_sdk.errors import InvalidArgumentError
    from openviking_sdk.settings import read_config

    try:
        return read_config(client_file())
    except InvalidArgumentError as error:
        raise ConfigurationError(error.message) from error


def configured_output(invocation: Invocation) -> Literal["table", "json"]:
    """How results are written where no option says it; a file that can't be read says nothing here."""
    if invocation.path is not None or invocation.config is not None:
        return "table"
    if invocation.url is None and os.environ.get(PATH_VARIABLE):
        return "table"
    try:
        output = client_config().get("output")
    except ConfigurationError:
        return "table"
    return "json" if output == "json" else "table"


def apply_habits(invocation: Invocation) -> None:
    """Let ``show_progress`` and ``verbose`` of ``ovcli.conf`` hold where no option says otherwise."""
    conf = client_config()
    if invocation.progress is None and conf.get("show_progress") is True:
        invocation.progress = True
    invocation.verbose = invocation.verbose or conf.get("verbose") is True

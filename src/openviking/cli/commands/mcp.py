"""mcp: the tools of agents over standard input and output."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openviking.cli.connection import PATH_VARIABLE
from openviking.cli.options import Command, Invocation
from openviking.errors import UnimplementedError

if TYPE_CHECKING:
    from openviking.config.settings import Settings


@click.command("mcp", cls=Command)
@click.pass_obj
def mcp_command(invocation: Invocation) -> None:
    """Serve agents over standard input and output.

    The tools of the Model Context Protocol, on a data directory of this machine, which is made if it is missing.
    An agent reaches a server without this: at its URL, path /mcp.
    """
    if invocation.url is not None:
        raise click.UsageError(f"--url is not for mcp: give the agent the address {invocation.url.rstrip('/')}/mcp.")
    settings = _settings(invocation)
    from openviking.mcp.stdio import serve
    from openviking.model.identity import Identity
    from openviking.uri import is_identifier

    account = invocation.account or os.environ.get("OPENVIKING_ACCOUNT") or settings.server.default_account
    user = invocation.user or os.environ.get("OPENVIKING_USER") or settings.server.default_user
    for option, value in (("--account", account), ("--user", user), ("--actor-peer-id", invocation.actor_peer_id)):
        if value is not None and not is_identifier(value):
            raise click.UsageError(f"{option} {value!r} is not valid: letters, digits and _ . @ - only.")
    # Standard output belongs to the protocol, and standard error is shown by agents.
    logging.getLogger("openviking").addHandler(logging.NullHandler())
    serve(settings, Identity(account, user, "root", invocation.actor_peer_id))


def _settings(invocation: Invocation) -> Settings:
    from openviking.service.configured import configured

    for option in ("path", "config"):
        if getattr(invocation, option) == "":
            kind = "directory" if option == "path" else "file"
            raise click.UsageError(f"--{option} is empty; name a {kind} or leave it out.")
    if invocation.sudo or invocation.api_key is not None:
        raise UnimplementedError("Keys belong to servers: mcp works on a data directory", command="ov mcp")
    path = invocation.path or os.environ.get(PATH_VARIABLE)
    directory = None if not path else Path(path).expanduser()
    if directory is not None and directory.exists() and not directory.is_dir():
        raise click.UsageError(f"--path {str(directory)!r} is not a directory.")
    return configured(directory, invocation.config, None, None, None)

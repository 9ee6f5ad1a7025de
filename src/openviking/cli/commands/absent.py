"""Commands of the documented command line that this version does not have: the server that is asked says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from openviking.cli.door import served
from openviking.cli.options import Command, Invocation
from openviking.errors import UnimplementedError

if TYPE_CHECKING:
    from collections.abc import Mapping

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


def asked(invocation: Invocation, method: Method, path: str, fields: Mapping[str, Any]) -> None:
    """Raise what the server says of a call that this version cannot make; `UnimplementedError` if it has no objection."""
    from openviking_sdk.call import Call, nothing

    sent: dict[str, Any] = {"query": fields} if method in {"GET", "DELETE"} else {"body": fields}
    with served(invocation) as server:
        server.client.send(Call(method=method, path=path, read=nothing, **sent))
    raise UnimplementedError(f"{click.get_current_context().command_path} is not part of this version")


def absent(name: str, method: Method, path: str) -> click.Command:
    """A command that takes whatever it is given and ends with the server's error."""

    @click.command(
        name, cls=Command, short_help="Not part of this version.", context_settings={"ignore_unknown_options": True}
    )
    @click.argument("words", nargs=-1, type=click.UNPROCESSED)
    @click.pass_obj
    def command(invocation: Invocation, words: tuple[str, ...]) -> None:
        """Not part of this version; the server that is asked says so."""
        del words
        asked(invocation, method, path, {})

    return command


acl_command = absent("acl", "GET", "/api/v1/acl")
backup_command = absent("backup", "POST", "/api/v1/pack/backup")
chat_command = absent("chat", "GET", "/bot/v1/health")
compile_command = absent("compile", "GET", "/api/v1/compile/capabilities")
export_command = absent("export", "POST", "/api/v1/pack/export")
import_command = absent("import", "POST", "/api/v1/pack/import")
privacy_command = absent("privacy", "GET", "/api/v1/privacy-configs")
restore_command = absent("restore", "POST", "/api/v1/pack/restore")
snapshot_command = absent("snapshot", "GET", "/api/v1/snapshot/log")


@click.command("tui", cls=Command)
def tui_command() -> None:
    """Not part of this version."""
    raise UnimplementedError("ov tui is not part of this version; ov ls and ov tree show the files")

"""config: which server is asked, and as whom; saved configurations to switch between. Keys are never shown."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

import click

from openviking.cli import profiles
from openviking.cli.connection import ConfigurationError, Server, client_file, server
from openviking.cli.door import ServerError, connected
from openviking.cli.options import Command, Group, Invocation
from openviking.cli.output import Output
from openviking.errors import FailedPreconditionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from openviking.cli.screen import Screen

DEFAULT_URL: Final = "http://127.0.0.1:1933"
KEYS: Final = {"api_key": "--api-key", "root_api_key": "--root-api-key"}


@click.group("config", cls=Group)
def config_command() -> None:
    """Choose the server that is asked."""


@config_command.command("show", cls=Command)
@click.pass_obj
def config_show_command(invocation: Invocation) -> None:
    """Show ovcli.conf without its secrets."""
    file = client_file()
    conf = profiles.redacted(profiles.read(file))
    output = Output(invocation)
    output.rows(conf or {"url": DEFAULT_URL})
    output.remark(str(file) if file.exists() else f"there is no {file}: defaults hold")


@config_command.command("validate", cls=Command)
@click.pass_obj
def config_validate_command(invocation: Invocation) -> None:
    """Check ovcli.conf, its server and its key."""
    way = server(invocation)
    seen = {"config_file": str(client_file()), "config": "valid", "url": way.settings.url, **_asked(invocation, way)}
    output = Output(invocation)
    output.rows(seen)
    if profiles.is_open(client_file()):
        output.remark(f"others can read the secrets in {client_file()}: chmod 600 it", "warn")


@config_command.command("list", cls=Command)
@click.pass_obj
def config_list_command(invocation: Invocation) -> None:
    """List the saved configurations."""
    entries = [_entry(name, file) for name, file in profiles.saved().items()]
    Output(invocation).table(entries, ("active", "name", "url", "error"))


def _entry(name: str, file: Path) -> dict[str, Any]:
    try:
        url = profiles.redacted(profiles.read(file)).get("url", DEFAULT_URL)
    except ConfigurationError as error:
        return {"name": name, "kind": "Custom", "url": None, "active": False, "error": error.message}
    return {"name": name, "kind": "Custom", "url": url, "active": profiles.is_active(file)}


@config_command.command("switch", cls=Command)
@click.argument("name", required=False)
@click.pass_obj
def config_switch_command(invocation: Invocation, name: str | None) -> None:
    """Use a saved configuration from now on."""
    known = profiles.saved()
    if name is None:
        if not (known and sys.stdin.isatty()):
            raise click.UsageError(f"Name the configuration: {', '.join(known) or 'none is saved yet'}.")
        name = str(click.prompt("Which", type=click.Choice(list(known)), err=True))
    file = profiles.place_of(name)
    if name not in known:
        raise ConfigurationError(f"There is no configuration {name!r}; saved are: {', '.join(known) or 'none'}.")
    conf = profiles.read(file)
    profiles.write(client_file(), conf)
    _told(invocation, "switch", name, conf, activated=True)


def _key_options(*, clearing: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Where keys come from: never from the command line, which everybody on the machine can see."""

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        for key, option in reversed(KEYS.items()):
            what = key.replace("_", " ")
            if clearing:
                name = f"--clear-{option[2:]}"
                command = click.option(name, is_flag=True, help=f"No {what} any more.")(command)
            command = click.option(f"{option}-env", metavar="VAR", help=f"Take the {what} from this variable.")(command)
            command = click.option(f"{option}-stdin", is_flag=True, help=f"Read the {what} from standard input.")(
                command
            )
        command = click.option("--activate", is_flag=True, help="Use it from now on.")(command)
        command = click.option("--force", is_flag=True, help="Replace one of the same name.")(command)
        return click.option("--no-check", is_flag=True, help="Don't ask the server whether it is right.")(command)

    return decorated


@config_command.group("add", cls=Group)
def config_add_command() -> None:
    """Save a configuration."""


@config_add_command.command("custom", cls=Command)
@click.option("--name", metavar="NAME", help="What it is called (default: after the host).")
@_key_options(clearing=False)
@click.pass_obj
def config_add_custom_command(
    invocation: Invocation, /, name: str | None, force: bool, activate: bool, no_check: bool, **keys: Any
) -> None:
    """Save the configuration of a server: --url, --account, --user, and where its keys come from."""
    _refuse_typed_key(invocation)
    conf = {**_given(invocation), **_keys(**keys)}
    conf.setdefault("url", DEFAULT_URL)
    name = name or _name_of(str(conf["url"]))
    file = profiles.place_of(name)
    if file.exists() and not force:
        raise ConfigurationError(f"There is a configuration {name!r} already; --force replaces it.")
    _keep(invocation, "add", name, file, conf, activate=activate, check=not no_check)


@config_add_command.command("ov-service", cls=Command)
def config_add_service_command() -> None:
    """Not part of this version: use custom with the address of the service."""
    raise click.UsageError("Hosted services have no address of their own here: ov config add custom --url URL.")


@config_command.command("edit", cls=Command)
@click.argument("name")
@click.option("--new-name", metavar="NAME", help="What it is called from now on.")
@_key_options(clearing=True)
@click.pass_obj
def config_edit_command(
    invocation: Invocation, /, name: str, new_name: str | None, force: bool, activate: bool, no_check: bool,
    clear_api_key: bool, clear_root_api_key: bool, **keys: Any,
) -> None:  # fmt: skip
    """Change a saved configuration.

    Its address and names with --url, --account and --user, its keys, and what it is called.
    """
    _refuse_typed_key(invocation)
    file = profiles.place_of(name)
    if not file.exists():
        raise ConfigurationError(f"There is no configuration {name!r}.")
    was_active = profiles.is_active(file)
    conf = {**profiles.read(file), **_given(invocation), **_keys(**keys)}
    for key, cleared in (("api_key", clear_api_key), ("root_api_key", clear_root_api_key)):
        if cleared:
            conf.pop(key, None)
    target = profiles.place_of(new_name or name)
    if target != file and target.exists() and not force:
        raise ConfigurationError(f"There is a configuration {new_name!r} already; --force replaces it.")
    _keep(invocation, "edit", new_name or name, target, conf, activate=activate or was_active, check=not no_check)
    if target != file:
        profiles.remove(file)


@config_command.command("delete", cls=Command)
@click.argument("name")
@click.option("--force", is_flag=True, help="Even if it can't be read.")
@click.pass_obj
def config_delete_command(invocation: Invocation, name: str, force: bool) -> None:
    """Remove a saved configuration; the one in use stays."""
    file = profiles.place_of(name)
    if file.exists() and not force:
        profiles.read(file)
    if profiles.is_active(file):
        raise FailedPreconditionError(f"{name} is in use: ov config switch NAME first", resource=name)
    gone = profiles.remove(file)
    Output(invocation).rows({"action": "delete", "name": name, "deleted": gone, "already_absent": not gone})


def _refuse_typed_key(invocation: Invocation) -> None:
    if invocation.api_key is not None:
        raise click.UsageError("A key on the command line is seen by others: use --api-key-stdin or --api-key-env.")


def _given(invocation: Invocation) -> dict[str, Any]:
    given = {
        "url": invocation.url, "account": invocation.account, "user": invocation.user,
        "actor_peer_id": invocation.actor_peer_id,
    }  # fmt: skip
    return {name: value for name, value in given.items() if value is not None}


def _keys(
    api_key_stdin: bool, api_key_env: str | None, root_api_key_stdin: bool, root_api_key_env: str | None
) -> dict[str, str]:
    if api_key_stdin and root_api_key_stdin:
        raise click.UsageError("Only one key can come from standard input; the other one with --root-api-key-env.")
    found: dict[str, str] = {}
    for key, from_stdin, variable in (
        ("api_key", api_key_stdin, api_key_env), ("root_api_key", root_api_key_stdin, root_api_key_env),
    ):  # fmt: skip
        if from_stdin and variable is not None:
            raise click.UsageError(f"{KEYS[key]}-stdin and {KEYS[key]}-env exclude each other.")
        if from_stdin:
            value = sys.stdin.readline().strip()
        elif variable is not None:
            value = os.environ.get(variable, "").strip()
        else:
            continue
        if not value:
            raise ConfigurationError(f"The {key.replace('_', ' ')} is empty.")
        found[key] = value
    return found


def _name_of(url: str) -> str:
    host = url.partition("://")[2].partition("/")[0]
    return (
        "".join(char if char.isascii() and (char.isalnum() or char in "-.") else "-" for char in host).strip("-.")
        or "server"
    )


def _keep(
    invocation: Invocation, action: str, name: str, file: Path, conf: dict[str, Any], *, activate: bool, check: bool
) -> None:
    """Check a configuration, write it, and use it if that is wanted."""
    from openviking_sdk.errors import InvalidArgumentError
    from openviking_sdk.settings import resolved

    try:
        # As the file will be read: without what this call's environment says.
        settings = resolved(
            url=conf.get("url"), api_key=conf.get("api_key") or conf.get("root_api_key") or "",
            account=conf.get("account") or "", user=conf.get("user") or "",
            actor_peer_id=conf.get("actor_peer_id") or "", environ={"OPENVIKING_CLI_CONFIG_FILE": os.devnull},
        )  # fmt: skip
    except InvalidArgumentError as error:
        raise ConfigurationError(error.message) from error
    if check:
        _asked(invocation, Server(settings, named=True))
    profiles.write(file, conf)
    if activate:
        profiles.write(client_file(), conf)
    _told(invocation, action, name, conf, activated=activate, checked=check)


def _asked(invocation: Invocation, way: Server) -> dict[str, str]:
    """What the server says. Raises `ServerError` for one that does not answer, and for a key that it does not take."""
    with connected(invocation, way) as remote:
        health = remote.health()
        if "status" not in health:
            raise ServerError("UNAVAILABLE", f"What answers at {way.settings.url} is no OpenViking server", {})
        remote.system_status()
    return {"server": "reachable", "auth": "accepted", "health": str(health["status"])}


def _told(
    invocation: Invocation,
    action: str,
    name: str,
    conf: dict[str, Any],
    *,
    activated: bool,
    checked: bool | None = None,
) -> None:
    result = {
        "action": action, "name": name, "kind": "Custom", "url": profiles.redacted(conf).get("url", DEFAULT_URL),
        "saved_path": str(profiles.place_of(name)), "active_path": str(client_file()) if activated else None,
        "activated": activated,
    }  # fmt: skip
    if checked is not None:
        result["validation"] = {"status": "passed" if checked else "skipped"}
    Output(invocation).result(result, lambda screen: _draw(screen, result))


def _draw(screen: Screen, result: dict[str, Any]) -> None:
    used = "in use now" if result["activated"] else f"to use it: ov config switch {result['name']}"
    screen.line((result["name"], "strong"), "  ", (result["url"], "uri"), (f"  {used}", "dim"))

"""The commands of ``ov``: which there are, where each lives, and what an unknown name is told."""

from __future__ import annotations

import difflib
import importlib
import os
from typing import TYPE_CHECKING, Final

import click

from openviking.cli.options import Group

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS: Final = {
    "add-resource": "resources",
    "find": "search",
    "search": "search",
    "grep": "search",
    "glob": "search",
    "ls": "fs",
    "tree": "fs",
    "stat": "fs",
    "mkdir": "fs",
    "rm": "fs",
    "mv": "fs",
    "cp": "fs",
    "read": "content",
    "abstract": "content",
    "overview": "content",
    "write": "content",
    "get": "content",
    "attrs": "attributes",
    "relations": "relations",
    "link": "relations",
    "unlink": "relations",
    "skills": "skills",
    "add-skill": "skills",
    "session": "sessions",
    "add-memory": "commits",
    "task": "tasks",
    "reindex": "system",
    "wait": "system",
    "status": "system",
    "health": "system",
    "observer": "system",
    "system": "system",
    "admin": "admin",
    "config": "config",
    "mcp": "mcp",
    "version": "system",
}
"""Each command and the module of `openviking.cli.commands` that defines it, in the order of the help."""

ALIASES: Final = {
    "list": "ls",
    "del": "rm",
    "delete": "rm",
    "rename": "mv",
    "copy": "cp",
    "download": "get",
}

HIDDEN: Final = {
    "set-tags": "attributes",
    "language": "language",
    "lang": "language",
    "acl": "absent",
    "backup": "absent",
    "chat": "absent",
    "compile": "absent",
    "export": "absent",
    "import": "absent",
    "privacy": "absent",
    "restore": "absent",
    "snapshot": "absent",
    "tui": "absent",
}
"""Commands that the help does not list: other spellings, and what this version does not have."""


MEANT: Final = {"add": "add-resource", "cat": "read", "dir": "ls", "move": "mv", "query": "find", "remove": "rm"}
"""What people try, and what it is called here; only said, never done."""


class Program(Group):
    """``ov`` itself: each command's module is imported when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click calls it so
        """The names of the commands in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click calls it so
        """The command of that name or alias; None for an unknown one."""
        name = ALIASES.get(cmd_name, cmd_name)
        module = COMMANDS.get(name) or HIDDEN.get(name)
        if module is None:
            return None
        place = importlib.import_module(f"openviking.cli.commands.{module}")
        command: click.Command = getattr(place, name.replace("-", "_") + "_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first argument names; for an unknown one an error that says what was meant."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            raise click.UsageError(f"No such command {name!r}.{_meant(name, [*COMMANDS, *ALIASES])}", ctx)
        return super().resolve_command(ctx, args)


def _meant(name: str, known: Sequence[str]) -> str:
    if name.lower() in MEANT:
        return f" Did you mean {MEANT[name.lower()]!r}?"
    near = [ALIASES.get(one, one) for one in difflib.get_close_matches(name.lower(), known, n=2, cutoff=0.6)]
    return f" Did you mean {' or '.join(repr(one) for one in dict.fromkeys(near))}?" if near else ""


program = Program(
    "ov",
    help=(
        "Files under viking:// addresses, found again by the passage that answers.\n\n"
        "Works on a data directory of this machine, without a server (--path DIR, $OPENVIKING_PATH), or asks a server "
        "(--url, $OPENVIKING_URL, ovcli.conf; default: http://127.0.0.1:1933)."
    ),
    epilog=(
        "Start with: ov --path data add-resource FOLDER, then ov --path data find 'a question'. "
        'Completion in bash: eval "$(_OV_COMPLETE=bash_source ov)".'
    ),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    subcommand_metavar="COMMAND ...",
    no_args_is_help=False,
)
program.params.append(
    click.Option(["--version"], is_flag=True, expose_value=False, is_eager=True, help="Show the version and exit.",
                 callback=lambda context, _, wanted: _show_version(context) if wanted else None)
)  # fmt: skip


def _show_version(context: click.Context) -> None:
    from openviking import __version__

    click.echo(f"openviking {__version__}")
    context.exit()


def complete(instruction: str) -> int:
    """Answer a shell that asks for its completion script or for what fits; the exit status."""
    from click.shell_completion import shell_complete

    return shell_complete(program, {}, "ov", COMPLETE_VARIABLE, instruction)


COMPLETE_VARIABLE: Final = "_OV_COMPLETE"


def completion_instruction() -> str | None:
    """What a shell asks for through the environment; None in an ordinary call."""
    return os.environ.get(COMPLETE_VARIABLE)

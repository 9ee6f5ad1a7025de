"""The options that every command takes, before or after its name, and the click classes that carry them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from openviking.config.settings import DEFAULT_PATH

if TYPE_CHECKING:
    from collections.abc import Iterator

_TRUE = frozenset({"1", "on", "true", "yes"})
_FALSE = frozenset({"0", "false", "no", "off"})


@dataclass(slots=True)
class Invocation:
    """What the global options of one call say; None means that an option was not given.

    ``output`` is ``table`` or ``json``; ``compact`` asks for one line of JSON in an envelope (default) instead of
    the bare result on many lines. ``progress`` is None for "if a person is watching". ``interrupted`` is what is to be
    said if the call is interrupted now.
    """

    output: str | None = None
    compact: bool | None = None
    path: str | None = None
    config: str | None = None
    account: str | None = None
    user: str | None = None
    actor_peer_id: str | None = None
    progress: bool | None = None
    verbose: bool = False
    interrupted: str = ""

    def command_line(self, *words: str) -> str:
        """``ov`` with ``words`` on the same data as this call, ready to be pasted into a shell."""
        same = {"--path": self.path, "--config": self.config, "--account": self.account, "--user": self.user}
        options = [part for name, value in same.items() if value for part in (name, value)]
        return shlex.join(["ov", *options, *words])

    @property
    def json(self) -> bool:
        """Whether the result goes out as JSON."""
        return self.output == "json"

    @property
    def is_compact(self) -> bool:
        """``--compact`` with its default."""
        return self.compact is not False


class _Global(click.Option):
    """An option whose value goes into the call's `Invocation`; given twice, the place nearer to the end counts."""

    def __init__(self, declarations: list[str], **attributes: Any) -> None:
        super().__init__(declarations, expose_value=False, callback=self._keep, **attributes)

    @staticmethod
    def _keep(context: click.Context, option: click.Parameter, value: Any) -> None:
        name = option.name or ""
        source = context.get_parameter_source(name)
        invocation = context.ensure_object(Invocation)
        typed = source is click.core.ParameterSource.COMMANDLINE
        inherited = source is click.core.ParameterSource.ENVIRONMENT and getattr(invocation, name) is None
        if typed or inherited:
            setattr(invocation, name, value)


class _Compact(_Global):
    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        return record and ("-c, --compact[=true|false]", record[1])


def _global_options() -> list[click.Parameter]:
    return [
        _Global(["-o", "--output"], type=click.Choice(["table", "json"]), help="How results are written (default: table)."),
        _Compact(
            ["--compact/--no-compact", "-c"], default=None,
            help="JSON: one line with an envelope (true, default) or the bare result on many lines.",
        ),
        _Global(
            ["--path"], metavar="DIR", envvar="OPENVIKING_PATH",
            help=f"Where the data is (default: $OPENVIKING_PATH, else as configured, else {DEFAULT_PATH}).",
        ),
        _Global(
            ["--config"], metavar="FILE", envvar="OPENVIKING_CONFIG_FILE",
            help="Configuration (default: $OPENVIKING_CONFIG_FILE, else ~/.openviking/ov.conf if there is one).",
        ),
        _Global(["--account"], metavar="ID", envvar="OPENVIKING_ACCOUNT", help="Account (default: default)."),
        _Global(["--user"], metavar="ID", envvar="OPENVIKING_USER", help="Whose ~ it is (default: default)."),
        _Global(["--actor-peer-id"], metavar="ID", help="See the data as this peer."),
        _Global(["--progress/--no-progress"], default=None, help="Progress on standard error (default: on a terminal)."),
        _Global(["-v", "--verbose"], is_flag=True, help="Every file of a report; tracebacks of faults."),
    ]  # fmt: skip


class Command(click.Command):
    """A command that takes the global options as well as its own."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.params += _global_options()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments, ``--compact=VALUE`` among them."""
        return super().parse_args(ctx, _spell_out_compact(ctx, self.params, args, whole=True))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write own and global options in two sections."""
        write_options(ctx, self, formatter)


class Group(click.Group):
    """A group of commands that takes the global options before the name of its command."""

    command_class = Command

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.params += _global_options()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments before the command's name, ``--compact=VALUE`` among them."""
        return super().parse_args(ctx, _spell_out_compact(ctx, self.params, args, whole=False))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write options in two sections and the commands below."""
        write_options(ctx, self, formatter)
        self.format_commands(ctx, formatter)


def write_options(ctx: click.Context, command: click.Command, formatter: click.HelpFormatter) -> None:
    """The help of a command's own options, then of the global ones."""
    own: list[tuple[str, str]] = []
    everywhere: list[tuple[str, str]] = []
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None and isinstance(parameter, click.Option):
            (everywhere if isinstance(parameter, _Global) else own).append(record)
    for title, records in (("Options", own), ("Global options", everywhere)):
        if records:
            with formatter.section(title):
                formatter.write_dl(records)


def _spell_out_compact(ctx: click.Context, params: list[click.Parameter], args: list[str], *, whole: bool) -> list[str]:
    """``args`` with ``--compact=false`` as ``--no-compact``: click has no option whose value needs a ``=``.

    Values of other options and everything behind ``--`` are left alone, and with ``whole`` false everything from
    the first argument that is no option.
    """
    valued = {name for one in params if isinstance(one, click.Option) and not one.is_flag for name in one.opts}
    out: list[str] = []
    rest: Iterator[str] = iter(args)
    for arg in rest:
        if arg == "--" or (not whole and not arg.startswith("-")):
            out += [arg, *rest]
            break
        name, equals, value = arg.partition("=")
        if equals and name in {"-c", "--compact"}:
            if value.lower() not in _TRUE | _FALSE:
                raise click.BadParameter(f"{value!r} is neither true nor false.", ctx=ctx, param_hint="'--compact'")
            out.append("--compact" if value.lower() in _TRUE else "--no-compact")
            continue
        out.append(arg)
        if arg in valued or _ends_in_valued(arg, valued):
            out += [value for value in [next(rest, None)] if value is not None]
    return out


def _ends_in_valued(arg: str, valued: set[str]) -> bool:
    """Whether ``arg`` is a cluster such as ``-ru`` whose last letter wants a value."""
    if len(arg) < 3 or arg[0] != "-" or arg[1] == "-":
        return False
    wanting = [place for place, letter in enumerate(arg) if f"-{letter}" in valued]
    return bool(wanting) and wanting[0] == len(arg) - 1


def comma_list(text: str | None) -> list[str] | None:
    """The parts of a list with commas, without blanks and empty parts; None stays None."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]

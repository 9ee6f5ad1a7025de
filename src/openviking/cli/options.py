"""The options that every command takes, before or after its name, and the click classes that carry them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

LONGEST_SHOWN: Final = 200
"""Characters of a value in a line that repeats a call."""

_TRUE = frozenset({"1", "on", "true", "yes"})
_FALSE = frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True, slots=True)
class Ran:
    """A command as it was called: the words of its name, its own options and its arguments, as they were typed."""

    command: click.Command
    name: tuple[str, ...]
    given: dict[str, Any]

    def takes(self, option: str) -> bool:
        """Whether the command has an option of that name."""
        return any(isinstance(one, click.Option) and one.name == option for one in self.command.params)

    def words(self, without: Collection[str], added: Mapping[str, str | bool]) -> list[str]:
        """The call as words of a shell, changed as `Invocation.again` says."""
        options: list[str] = []
        arguments: list[str] = []
        given = {**{name: value for name, value in self.given.items() if name not in without}, **added}
        for one in self.command.params:
            if one.name not in given or isinstance(one, _Global):
                continue
            value = given[one.name]
            values = [_short(str(each)) for each in (value if isinstance(value, list | tuple) else [value])]
            if isinstance(one, click.Argument):
                arguments += values if value is not None else []
            elif isinstance(one, click.Option) and one.is_flag:
                options.append(max(one.opts, key=len))
            else:
                options += [part for each in values for part in (max(one.opts, key=len), each)]
        ends = ["--"] if any(each.startswith("-") for each in arguments) else []
        return [*self.name, *options, *ends, *arguments]


@dataclass(slots=True)
class Invocation:
    """What the global options of one call say; None means that an option was not given.

    ``output`` is ``table`` or ``json``; ``compact`` asks for one line of JSON in an envelope (default) instead of
    the bare result on many lines. ``path`` names a data directory of this machine, ``url``
    and ``api_key`` a server. ``sudo`` takes the root key. ``progress`` is None for "if a person is watching".
    ``default_output`` says how results are written where no option does. ``interrupted`` is what is to be said if the call is interrupted now, ``asked`` the server that was asked, ``profile_lines`` what a server told of itself,
    ``ran`` the command with its own options and arguments, None until they were read.
    """

    output: str | None = None
    compact: bool | None = None
    path: str | None = None
    config: str | None = None
    url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    account: str | None = None
    user: str | None = None
    actor_peer_id: str | None = None
    progress: bool | None = None
    verbose: bool = False
    sudo: bool = False
    profile: bool = False
    interrupted: str = ""
    asked: str = ""
    default_output: Callable[[Invocation], str] | None = field(default=None, repr=False, compare=False)
    profile_lines: list[str] = field(default_factory=list)
    ran: Ran | None = field(default=None, repr=False, compare=False)

    def command_line(self, *words: str) -> str:
        """``ov`` with ``words`` on the same data as this call, ready to be pasted into a shell; a key is left out."""
        same = {
            "--path": self.path, "--config": self.config, "--url": self.url, "--account": self.account,
            "--user": self.user, "--actor-peer-id": self.actor_peer_id,
        }  # fmt: skip
        options = [part for name, value in same.items() if value for part in (name, value)]
        return shlex.join(["ov", *options, *words])

    def again(self, *, without: Collection[str] = (), **added: str | bool) -> str:
        """This very call once more with options ``added`` by their names, such as ``recursive=True``, in place of those
        that it had, and ``without`` some of them; just the name of the command where it was not read yet.

        Long texts are cut short: nobody pastes a whole file.
        """
        ran = self.ran
        return self.command_line(*([] if ran is None else ran.words(without, added)))

    @property
    def json(self) -> bool:
        """Whether the result goes out as JSON; without ``--output`` as ``ovcli.conf`` says, where a server is asked."""
        if self.output is None and self.default_output is not None:
            self.output = self.default_output(self)
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
        if source is click.core.ParameterSource.COMMANDLINE:
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
        _Global(["--path"], metavar="DIR", help="Work on this data directory of this machine ($OPENVIKING_PATH)."),
        _Global(
            ["--config"], metavar="FILE",
            help="Configuration of a data directory (default: $OPENVIKING_CONFIG_FILE, else ~/.openviking/ov.conf).",
        ),
        _Global(
            ["--url"], metavar="URL",
            help="Ask this server (default: $OPENVIKING_URL, else ovcli.conf, else http://127.0.0.1:1933).",
        ),
        _Global(["--api-key"], metavar="KEY", help="The server's key (default: $OPENVIKING_API_KEY, else ovcli.conf)."),
        _Global(["--account"], metavar="ID", help="Account ($OPENVIKING_ACCOUNT); a server's keys name their own."),
        _Global(["--user"], metavar="ID", help="Whose ~ it is ($OPENVIKING_USER)."),
        _Global(["--actor-peer-id"], metavar="ID", help="See the data as this peer ($OPENVIKING_ACTOR_PEER_ID)."),
        _Global(["--sudo"], is_flag=True, help="With root_api_key: admin, system, reindex, task status, task list."),
        _Global(["--profile"], is_flag=True, help="Ask the server for a profile of the call."),
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
        spelled = _spell_out_compact(ctx, self.params, args, whole=True)
        if not ctx.resilient_parsing:
            given, _, _ = self.make_parser(ctx).parse_args(list(spelled))
            own = {name: value for name, value in given.items() if value is not None and value != ()}
            ctx.ensure_object(Invocation).ran = Ran(self, tuple(ctx.command_path.split()[1:]), own)
        return super().parse_args(ctx, spelled)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write its own options, and where the global ones are told."""
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
        """Write options and the commands below."""
        write_options(ctx, self, formatter)
        self.format_commands(ctx, formatter)


def write_options(ctx: click.Context, command: click.Command, formatter: click.HelpFormatter) -> None:
    """The help of a command's own options; the global ones are told once, by ``ov --help``."""
    own: list[tuple[str, str]] = []
    everywhere: list[tuple[str, str]] = []
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None and isinstance(parameter, click.Option):
            (everywhere if isinstance(parameter, _Global) else own).append(record)
    if ctx.parent is not None:
        own.append(("Global options", "--path, --url, -o json and others: ov --help tells them."))
        everywhere = []
    for title, records in (("Options", own), ("Global options", everywhere)):
        if records:
            with formatter.section(title):
                formatter.write_dl(records)


def _spell_out_compact(ctx: click.Context, params: list[click.Parameter], args: list[str], *, whole: bool) -> list[str]:
    """``args`` with ``--compact=false`` as ``--no-compact``, as click has no option whose value needs a ``=``; texts of many lines last.

    Values of other options and everything behind ``--`` are left alone, and with ``whole`` false everything from
    the first argument that is no option.
    """
    valued = {name for one in params if isinstance(one, click.Option) and not one.is_flag for name in one.opts}
    out: list[str] = []
    texts: list[str] = []
    rest: Iterator[str] = iter(args)
    for arg in rest:
        if whole and arg.startswith("-") and "\n" in arg.partition("=")[0]:
            # No option has line ends: it is a text, such as a SKILL.md, which begins with three hyphens.
            texts.append(arg)
            continue
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
    if texts:
        out = [*out, *([] if "--" in out else ["--"]), *texts]
    return out


def _ends_in_valued(arg: str, valued: set[str]) -> bool:
    """Whether ``arg`` is a cluster such as ``-ru`` whose last letter wants a value."""
    if len(arg) < 3 or arg[0] != "-" or arg[1] == "-":
        return False
    wanting = [place for place, letter in enumerate(arg) if f"-{letter}" in valued]
    return bool(wanting) and wanting[0] == len(arg) - 1


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def comma_list(text: str | None) -> list[str] | None:
    """The parts of a list with commas, without blanks and empty parts; None stays None."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]

"""How ``ov`` reads its arguments, and what it says of wrong ones."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import click
import pytest

from openviking.cli.options import Invocation, comma_list
from openviking.cli.program import ALIASES, COMMANDS, HIDDEN, program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def parsed(*arguments: str) -> tuple[Invocation, dict[str, Any]]:
    """The global options and the command's own values that a call gives."""
    invocation = Invocation()
    with program.make_context("ov", list(arguments), obj=invocation) as context:
        name, command, rest = program.resolve_command(context, [*context._protected_args, *context.args])
        assert command is not None
        with command.make_context(name, rest, parent=context) as inner:
            return invocation, dict(inner.params)


@pytest.mark.parametrize(
    "arguments",
    [
        ["-o", "json", "--path", "d", "--account", "a", "--user", "u", "--no-progress", "-v", "ls"],
        ["ls", "-o", "json", "--path", "d", "--account", "a", "--user", "u", "--no-progress", "-v"],
        ["-o", "json", "--path=d", "-v", "ls", "--account=a", "--user=u", "--no-progress"],
        ["-ojson", "--path=d", "ls", "--account=a", "-v", "--user=u", "viking://", "--no-progress"],
    ],
)
def test_global_options_stand_before_or_after_the_command(arguments: list[str]) -> None:
    invocation, own = parsed(*arguments)
    assert invocation == Invocation(
        output="json", path="d", account="a", user="u", progress=False, verbose=True, compact=None
    )
    assert own["uri"] == "viking://"


def test_the_later_of_two_global_options_counts() -> None:
    invocation, _ = parsed("-o", "json", "--path", "one", "ls", "--path", "two")
    assert (invocation.output, invocation.path) == ("json", "two")


@pytest.mark.parametrize(
    ("arguments", "compact"),
    [
        (["ls"], None),
        (["-c", "ls"], True),
        (["ls", "-c", "viking://a"], True),
        (["ls", "--compact", "viking://a"], True),
        (["ls", "--compact=false", "viking://a"], False),
        (["--compact=FALSE", "ls"], False),
        (["-c=false", "ls"], False),
        (["ls", "-c=true"], True),
        (["--compact=false", "ls", "--compact=true"], True),
        (["ls", "-sc"], True),
    ],
)
def test_compact_takes_a_value_only_behind_an_equals_sign(arguments: list[str], compact: bool | None) -> None:
    assert parsed(*arguments)[0].compact is compact


@pytest.mark.parametrize(
    "arguments",
    [
        ["write", "viking://a", "--content", "--compact=false"],
        ["write", "--content", "--compact=false", "viking://a"],
        ["write", "viking://a", "--content=--compact=false"],
    ],
)
def test_a_value_that_looks_like_an_option_is_a_value(arguments: list[str]) -> None:
    invocation, own = parsed(*arguments)
    assert own["content"] == "--compact=false"
    assert own["uri"] == "viking://a"
    assert invocation.compact is None


def test_everything_behind_two_dashes_is_an_argument() -> None:
    invocation, own = parsed("grep", "-i", "--", "--compact=false")
    assert own["pattern"] == "--compact=false"
    assert own["ignore_case"]
    assert invocation.compact is None


def test_a_cluster_of_short_options_ends_in_one_with_a_value() -> None:
    invocation, own = parsed("ls", "-rn", "5", "--compact=false")
    assert (own["recursive"], own["limit"], invocation.compact) == (True, 5, False)


def test_documented_flags_of_find_are_read() -> None:
    _, own = parsed(
        "find", "a b", "-u", "viking://x", "--limit", "3", "-t", "0.5", "-L", "1,2", "--context-type", "memory,skill",
        "--tags", "k=v", "--after", "7d", "--before", "1h", "--read-content", "--explain", "--image", "a.png",
        "--events-time-decay-protection", "7d", "--explain-missing", "viking://y",
        "--strategy", '{"preset": "late"}',
    )  # fmt: skip
    assert own == {
        "query": "a b", "uri": ("viking://x",), "limit": 3, "threshold": 0.5, "level": [1, 2],
        "context_type": "memory,skill", "tags": "k=v", "after": "7d", "before": "1h", "time_field": None,
        "read_content": True, "explain": True, "image": "a.png", "events_time_decay_protection": "7d",
        "explain_missing": ("viking://y",), "strategy": {"preset": "late"},
    }  # fmt: skip


def test_lists_with_commas() -> None:
    assert comma_list(" a=1, ,b=2,") == ["a=1", "b=2"]
    assert comma_list(None) is None
    assert comma_list("") == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["find"],
        ["find", " "],
        ["find", "x", "-n", "many"],
        ["find", "x", "-L", "3"],
        ["find", "x", "--compact=perhaps"],
        ["grep"],
        ["glob", "*", "-f", "name,colour"],
        ["ls", "--bogus"],
        ["ls", "a", "b"],
        ["ls", "-o", "xml"],
        ["stat"],
        ["mv", "viking://a"],
        ["write", "viking://a"],
        ["write", "viking://a", "--content", "x", "--from-file", "y"],
        ["write", "viking://a", "--content", "x", "--append", "--mode", "create"],
        ["write", "viking://a", "--content", "x", "--mode", "upsert"],
        ["write", "viking://a", "--from-file", "no/such/file"],
        ["write", "viking://a", "--content", "x", "--timeout", "-1"],
        ["add-resource"],
        ["add-resource", ""],
        ["add-resource", "d", "--to", "viking://a", "--parent", "viking://b"],
        ["add-resource", "d", "--parent", "viking://a", "-p", "viking://b"],
        ["attrs", "set-tags", "viking://a"],
        ["attrs", "put", "viking://a"],
        ["attrs"],
        ["--path", "", "ls"],
        ["find", "x", "--session-id", "s"],
        ["search", "x", "--mode", "other"],
        ["search", "x", "--mode", "context", "--uri", "viking://resources"],
        ["search", "x", "--mode", "context", "--read-content"],
        ["search", "x", "--mode", "context", "--explain-missing", "viking://resources/a"],
        ["search", "x", "--max-tokens", "100"],
        ["search", "x", "--exclude-uri", "viking://resources/a"],
        ["search", "x", "--mode", "context", "--quotas", "events"],
        ["search", "x", "--mode", "context", "--quotas", "events=many"],
        ["search", "x", "--mode", "context", "--detail", "events=whole"],
        ["search", "x", "--mode", "context", "--other-peer-penalty", "much"],
        ["find", "x", "--strategy", "{"],
        ["--path", "d", "--url", "http://127.0.0.1:9", "ls"],
        ["--url", "", "ls"],
        ["ls", "--sudo"],
        ["task", "cancel", "t", "--sudo"],
        ["task", "list", "--status", "odd"],
        ["task", "watch", "update", "w"],
        ["task", "watch", "update", "w", "--interval", "0"],
        ["session", "config", "set", "s"],
        ["session", "config", "set", "s", "--event-tags", "a=b", "--no-event-tags"],
        ["session", "new", "--auto-commit-policy-json", "{"],
        ["session", "add-messages", "s", "{}"],
        ["session", "add-messages", "s", "["],
        ["session", "add-message", "s", "--role", "user"],
        ["session", "used", "s"],
        ["session", "used", "s", "-u", "viking://resources/a", "--skill-failed"],
        ["session", "tool-results", "s", "--search", "x"],
        ["session", "tool-results", "s", "r", "--tool", "x"],
        ["session", "redact", "s", "m"],
        ["link", "viking://resources/a"],
        ["add-memory", " "],
        ["add-resource", "d", "--watch-interval", "5"],
        ["add-resource", "http://h/x", "--add-type", "git"],
        ["add-resource", "d", "--args", "novalue"],
        ["add-resource", "d", "--args", "{"],
        ["skills", "remove"],
        ["skills", "remove", "a", "--all"],
        ["skills", "remove", "a"],
        ["skills", "show"],
        ["admin", "create-account", "a"],
        ["admin", "create-account", "a", "--admin", "b", "--user-config-json", "[]"],
        ["config", "add", "custom", "--api-key", "seen"],
        ["config", "add", "ov-service"],
        ["config", "add", "custom", "--api-key-stdin", "--root-api-key-stdin"],
        ["config", "switch"],
        ["language", "zz"],
        ["fnd", "x"],
    ],
)
def test_a_wrong_call_is_a_usage_error(call: Callable[..., Any], arguments: list[str]) -> None:
    gave = call("-o", "json", *arguments)
    assert gave.status == 2
    if gave.err.startswith("{"):
        assert gave.error["code"] == "INVALID_ARGUMENT"
    else:
        assert gave.err.startswith("error: Invalid value for '-o'")  # what the output should be is what is wrong


def test_json_is_understood_even_where_the_call_is_not(call: Callable[..., Any]) -> None:
    for arguments in (["ls", "--bogus", "-o", "json"], ["ls", "--bogus", "--output=json"], ["nope", "-ojson"]):
        assert call(*arguments).error["code"] == "INVALID_ARGUMENT"


def test_an_unknown_command_is_told_what_it_resembles(call: Callable[..., Any]) -> None:
    assert "Did you mean 'find'?" in call("fnd").err
    assert "Did you mean 'mkdir'?" in call("mkdri").err
    assert "Did you mean 'rm'?" in call("remove").err
    assert "Did you mean" not in call("qqqqqq").err


def test_without_a_command_there_is_help(call: Callable[..., Any]) -> None:
    gave = call()
    assert gave.status == 2
    assert gave.out == ""
    assert "add-resource" in gave.err


@pytest.mark.parametrize("arguments", [["--version"], ["version"], ["-o", "table", "--version"]])
def test_version(call: Callable[..., Any], arguments: list[str]) -> None:
    import openviking

    gave = call(*arguments)
    assert (gave.status, gave.out) == (0, f"openviking {openviking.__version__}\n")


def test_every_command_has_help_within_its_lines(call: Callable[..., Any]) -> None:
    for name in [*COMMANDS, *ALIASES, *HIDDEN]:
        gave = call(name, "--help")
        assert gave.status == 0
        assert gave.out.startswith("Usage: ov ")
        assert "Global options" in gave.out
        assert "--actor-peer-id" not in gave.out, "the global options stand in the help of ov alone"
        short = re.sub(r"^Usage:.*", "", gave.out.partition("\nCommands:")[2])
        assert "..." not in short, f"a first sentence below {name} is too long"
    listed = call("--help")
    assert listed.status == 0
    assert "--actor-peer-id" in listed.out
    assert "..." not in listed.out.partition("Commands:")[2].replace('eval "$', ""), "a first sentence is too long"
    assert all(f"\n  {name} " in listed.out for name in COMMANDS)


def commands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """A command and all below it, with their full names."""
    yield name, command
    if isinstance(command, click.Group):
        for one, below in command.commands.items():
            yield from commands(f"{name} {one}", below)


def test_aliases_lead_to_commands() -> None:
    assert set(ALIASES.values()) <= set(COMMANDS)
    assert not {*ALIASES} & {*COMMANDS, *HIDDEN}


def test_no_option_or_argument_shadows_another() -> None:
    """Neither a spelling nor a name may be that of a global option: its value would get lost."""
    with program.make_context("ov", ["ls"]) as context:
        for name in [*COMMANDS, *HIDDEN]:
            command = program.get_command(context, name)
            assert command is not None
            for full, one in commands(name, command):
                spelled = [word for part in one.params for word in (*part.opts, *part.secondary_opts) if word[0] == "-"]
                named = [part.name for part in one.params]
                assert len(spelled) == len(set(spelled)), full
                assert len(named) == len(set(named)), full


def test_a_place_without_data_is_not_an_empty_store(call: Callable[..., Any], tmp_path: Path) -> None:
    wrong = tmp_path / "typo"
    gave = call("--path", str(wrong), "-o", "json", "ls")
    assert gave.status == 1
    assert gave.error["code"] == "NOT_FOUND"
    assert not wrong.exists()
    assert f"ov --path {wrong} add-resource" in call("--path", str(wrong), "ls").err


def test_a_peer_view_is_refused_rather_than_ignored(call: Callable[..., Any], tmp_path: Path) -> None:
    gave = call("--path", str(tmp_path), "-o", "json", "ls", "--actor-peer-id", "p")
    assert gave.status == 1
    assert gave.error["code"] == "UNIMPLEMENTED"


def test_errors_are_pretty_where_compact_is_off(call: Callable[..., Any], tmp_path: Path) -> None:
    gave = call("--path", str(tmp_path / "no"), "-o", "json", "--compact=false", "ls")
    assert gave.err.count("\n") > 3
    assert json.loads(gave.err)["error"]["code"] == "NOT_FOUND"

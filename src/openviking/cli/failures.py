"""What went wrong, on standard error: one line of JSON, a framed report on a terminal, or plain lines in a pipe."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from openviking.cli.output import write_json
from openviking.cli.screen import Screen
from openviking.uri import SCHEME

if TYPE_CHECKING:
    from openviking.cli.options import Invocation

EXIT_FAILURE: Final = 1
EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130


def report(
    invocation: Invocation,
    code: str,
    message: str,
    details: dict[str, Any] | None = None,
    hints: list[str] | None = None,
) -> None:
    """Write an error: its code, message and details, and for people the commands that may help."""
    screen = Screen(sys.stderr)
    if invocation.json:
        error = {"ok": False, "error": {"code": code, "message": message, "details": details or {}}}
        write_json(screen, error, None if invocation.is_compact else 2)
        return
    files = (details or {}).get("unsupported_files")
    advice = [f"not supported: {name}" for name in files] if isinstance(files, list) else []
    advice += hints or []
    if not screen.is_terminal:
        screen.line(f"error: {message}")
        for line in advice:
            screen.line(line, indent=2)
        return
    corner, side, foot = (screen.symbol(*pair) for pair in (("╭─", "+-"), ("│", "|"), ("╰─", "+-")))
    screen.line((f"{corner} error ", "bad"), (code, "bad"))
    for line in message.split("\n"):
        screen.line((f"{side} ", "bad"), line)
    for line in advice:
        screen.line((f"{side} ", "bad"), (f"  {line}", "dim"))
    screen.line((foot, "bad"))


def interrupted(invocation: Invocation) -> None:
    """Write that the call was interrupted, and what that means for what it did."""
    if invocation.json:
        report(invocation, "INTERRUPTED", invocation.interrupted or "interrupted")
        return
    screen = Screen(sys.stderr)
    screen.line("interrupted")
    if invocation.interrupted:
        screen.line((invocation.interrupted, "warn"), wrap=True)


WAITS: Final = frozenset({"wait", "timeout"})
"""The options of a command after which something goes on: what is done of it stays."""


def suggestions(invocation: Invocation, code: str, details: dict[str, Any]) -> list[str]:
    """The commands that may help after an error of the store, ready to be pasted into a shell.

    What repeats the call is made of the call itself: a hint never does something else than what was wanted.
    """
    resource = str(details.get("resource") or details.get("uri") or "")
    kind = str(details.get("type"))
    line, ran = invocation.command_line, invocation.ran
    if code == "NOT_FOUND" and kind in {"file", "directory", "node"} and resource.startswith(SCHEME):
        hints = [f"try: {line('ls', _parent(resource))}"]
        if ran is not None and ran.name == ("write",):
            hints.insert(0, f"to make it: {invocation.again(without=('append',), mode='create')}")
        return hints
    if kind == "OpenViking data":
        there = replace(invocation, path=resource)
        return [f"add something first: {there.command_line('add-resource', 'FOLDER')}"]
    if code == "INVALID_URI":
        return [f"try: {line('ls')}"]
    if details.get("expected_flag") == "recursive":
        return [f"try: {invocation.again(recursive=True)}"] if ran is not None and ran.takes("recursive") else []
    if details.get("expected") == "file" and details.get("actual") == "directory":
        return [f"try: {line('overview', resource)}", f"try: {line('ls', resource)}"]
    if code == "UNAUTHENTICATED":
        return [f"the key comes from --api-key, $OPENVIKING_API_KEY or ovcli.conf; try: {line('config', 'show')}"]
    if isinstance(task := details.get("task_id"), str) and code == "DEADLINE_EXCEEDED":
        return [f"it goes on; to see how far it is: {line('task', 'status', task)}"]
    goes_on = code == "DEADLINE_EXCEEDED" and ran is not None and any(ran.takes(one) for one in WAITS)
    return [f"what is done stays; try: {line('wait')}"] if "missing" in details or goes_on else []


def _parent(uri: str) -> str:
    """The directory of an address, the root for a scope."""
    return SCHEME + uri.removeprefix(SCHEME).strip("/").rpartition("/")[0]

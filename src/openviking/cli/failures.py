"""What went wrong, on standard error: one line of JSON, a framed report on a terminal, or plain lines in a pipe."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from openviking.cli.output import write_json
from openviking.cli.screen import Screen

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
    files = [str(name) for name in (details or {}).get("unsupported_files", [])]
    advice = [*(f"not supported: {name}" for name in files), *(hints or [])]
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


def suggestions(invocation: Invocation, code: str, details: dict[str, Any]) -> list[str]:
    """The commands that may help after an error of the store, ready to be pasted into a shell."""
    resource = str(details.get("resource") or details.get("uri") or "")
    line = invocation.command_line
    if code == "NOT_FOUND" and details.get("type") in {"file", "directory", "node"} and "/" in resource.rstrip("/"):
        parent = resource.rstrip("/").rpartition("/")[0]
        return [f"try: {line('ls', parent if not parent.endswith('/') else parent + '/')}"]
    if details.get("type") == "OpenViking data":
        there = replace(invocation, path=resource)
        return [f"add something first: {there.command_line('add-resource', 'FOLDER')}"]
    if code == "INVALID_URI":
        return [f"try: {line('ls')}"]
    if details.get("expected_flag") == "recursive":
        return [f"try: {line('rm', '--recursive', resource)}"]
    if details.get("expected") == "file" and details.get("actual") == "directory":
        return [f"try: {line('overview', resource)}", f"try: {line('ls', resource)}"]
    if "missing" in details or code == "DEADLINE_EXCEEDED":
        return [f"what is done stays; try: {line('wait')}"]
    return []

"""session tool-results: the long outputs of tools that are kept beside the messages of a session."""

from __future__ import annotations

from typing import Any, Final

import click

from openviking.cli.door import opened
from openviking.cli.options import Command, Invocation
from openviking.cli.output import Output

COLUMNS: Final = ("tool_result_id", "tool_name", "original_chars", "mime_type")
MAX_LISTED: Final = 50
MAX_MATCHES: Final = 20
PIECE: Final = 20_000
"""Characters of an output that are shown at once, where nothing else is said."""


@click.command("tool-results", cls=Command)
@click.argument("session_id")
@click.argument("result_id", required=False)
@click.option("--tool", metavar="NAME", help="List: only outputs of this tool.")
@click.option("--search", "text", metavar="TEXT", help="Where the output says this.")
@click.option("--offset", type=int, metavar="N", help="Begin behind so many characters.")
@click.option(
    "-n",
    "--limit",
    type=int,
    metavar="N",
    help=f"Most outputs ({MAX_LISTED}), matches ({MAX_MATCHES}) or characters ({PIECE:,}; -1: the rest).",
)
@click.option("--context-chars", type=int, metavar="N", help="With --search: characters around a match (300).")
@click.pass_obj
def tool_results_command(
    invocation: Invocation, session_id: str, result_id: str | None, tool: str | None, text: str | None,
    offset: int | None, limit: int | None, context_chars: int | None,
) -> None:  # fmt: skip
    """List long outputs of tools, or show one."""
    misplaced = {
        "--tool": tool is not None and result_id is not None,
        "--search": text is not None and result_id is None,
        "--offset": offset is not None and (result_id is None or text is not None),
        "--context-chars": context_chars is not None and text is None,
    }
    for name, wrong in misplaced.items():
        if wrong:
            raise click.UsageError(
                f"{name} says nothing here: with RESULT_ID one output is shown, with --search searched."
            )
    output = Output(invocation)
    given = {"limit": limit} if limit is not None else {}
    with opened(invocation) as store:
        if result_id is None:
            listed = store.list_tool_results(session_id, tool_name=tool, **given)
        elif text is not None:
            around = {"context_chars": context_chars} if context_chars is not None else {}
            listed = store.search_tool_result(session_id, result_id, text, **given, **around)
        else:
            piece = store.get_tool_result(session_id, result_id, offset=offset or 0, **given)
    if result_id is None:
        output.table(listed, COLUMNS, listed["tool_results"])
    elif text is not None:
        output.table(listed, ("offset", "snippet"), listed["matches"])
    else:
        _show(output, piece)


def _show(output: Output, piece: dict[str, Any]) -> None:
    """The characters alone on standard output, and on standard error that there are more."""
    if output.invocation.json:
        output.result(piece, lambda _: None)
        return
    output.text(piece["content"], ended=not piece["has_more"])
    if piece["has_more"]:
        shown = piece["offset"] + len(piece["content"])
        output.remark(f"{shown:,} of {piece['total_chars']:,} characters; --offset {shown} goes on", "warn")

"""session commit, rollback and extract, and add-memory: what is made of what was said."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import click

from openviking.cli.asking import confirm
from openviking.cli.commands.content import STDIN, file_text
from openviking.cli.door import opened
from openviking.cli.embedded import Embedded
from openviking.cli.options import Command, Invocation, comma_list
from openviking.cli.output import Output
from openviking.errors import DeadlineExceededError, OpenVikingError

if TYPE_CHECKING:
    from openviking.cli.remote import Remote
    from openviking.cli.screen import Screen

LEARNING_S: Final = 60.0
"""So long add-memory waits for what is made of a text, where nothing else is said; a model may be asked."""

MAX_BATCH: Final = 100
"""Messages that one request may carry."""

SIGNS: Final = {"adds": ("+", "good"), "updates": ("~", "warn"), "deletes": ("-", "bad")}


def tags_of(event_tags: str | None, *, no_event_tags: bool) -> list[str] | None:
    """The tags of the two options; None where neither was given."""
    if event_tags is not None and no_event_tags:
        raise click.UsageError("--event-tags and --no-event-tags exclude each other.")
    return [] if no_event_tags else comma_list(event_tags)


@click.command("commit", cls=Command)
@click.argument("session_id")
@click.option("--event-tags", metavar="K=V,...", help="Tags for the events of this commit.")
@click.option("--no-event-tags", is_flag=True, help="None of the session's tags for this commit.")
@click.option("--keep-recent-count", type=int, metavar="N", help="So many of the newest messages stay (default: 0).")
@click.option("--retention-mode", type=click.Choice(["turn_budget"]), help="Whole turns stay, as the next three say.")
@click.option("--keep-recent-turn-count", type=int, metavar="N", help="Turns that stay (default: 3).")
@click.option("--retained-message-token-budget", type=int, metavar="N", help="Most tokens of them (default: 12000).")
@click.option(
    "--min-raw-tail-steps", type=int, metavar="N", help="Steps of the last turn that stay anyway (default: 1)."
)
@click.option("--wait", is_flag=True, help="Return when memories are made, and show them.")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Longest --wait.")
@click.pass_obj
def commit_command(
    invocation: Invocation,
    /,
    session_id: str,
    event_tags: str | None,
    no_event_tags: bool,
    wait: bool,
    timeout: float | None,
    **kept: Any,
) -> None:
    """Archive the messages, and learn from them.

    A task makes memories of them; --wait shows what was learned.
    """
    tags = tags_of(event_tags, no_event_tags=no_event_tags)
    metadata = None if tags is None else {"event": {"tags": tags}}
    with opened(invocation) as store:
        committed = store.commit_session(session_id, extraction_metadata=metadata, **kept)
        task_id = committed.get("task_id")
        if wait and isinstance(task_id, str):
            result = _finished(invocation, store, task_id, timeout)
            learned = learned_of(store, result)
    output = Output(invocation)
    if wait and isinstance(task_id, str):
        output.result(
            {**committed, "result": result, "learned": learned}, lambda screen: _draw(screen, committed, learned)
        )
        return
    output.rows(committed)
    if task_id:
        tell_who_does_it(invocation, store, output)


@click.command("rollback", cls=Command)
@click.argument("session_id")
@click.argument("archive_id")
@click.pass_obj
def rollback_command(invocation: Invocation, session_id: str, archive_id: str) -> None:
    """Undo the memories that a commit made.

    ARCHIVE_ID names it, such as archive_001. The messages stay.
    """
    with opened(invocation) as store:
        undone = store.rollback_session(session_id, archive_id)
    Output(invocation).rows(undone)


@click.command("extract", cls=Command)
@click.argument("session_id")
@click.pass_obj
def extract_command(invocation: Invocation, session_id: str) -> None:
    """Make memories of what was said, without archiving it."""
    with opened(invocation) as store:
        memories = store.extract_session(session_id)
    Output(invocation).table(memories, ("operation", "memory_type", "uri", "abstract"))


@click.command("redact", cls=Command)
@click.argument("session_id")
@click.argument("message_id")
@click.option("--memories", is_flag=True, help="The memories that come from it alone as well.")
@click.option("-y", "--yes", is_flag=True, help="Don't ask.")
@click.pass_obj
def redact_command(invocation: Invocation, session_id: str, message_id: str, memories: bool, yes: bool) -> None:
    """Take a message out of a session for ever.

    Memories that were made of it are named, and stay; with --memories those of it alone go, unless they were edited, and
    the event of its archive. ov system erase overwrites its bytes on the disk.
    """
    confirm(yes, f"Take the message {message_id} out of {session_id} for ever?")
    with opened(invocation) as store:
        done = store.redact_message(session_id, message_id, memories)
    Output(invocation).rows(done)


@click.command("add-memory", cls=Command)
@click.argument("content", metavar="TEXT|JSON|-")
@click.option("--no-wait", is_flag=True, help="Return when it is kept; memories are made of it later.")
@click.option(
    "--timeout", type=click.FloatRange(min=0), default=LEARNING_S, show_default=True, metavar="SECONDS",
    help="Longest wait for them.",
)  # fmt: skip
@click.pass_obj
def add_memory_command(invocation: Invocation, content: str, no_wait: bool, timeout: float) -> None:
    """Keep something that was said, and make memories of it.

    A text, or messages as JSON: an object with role and content, or an array of them. - reads it from standard input.
    """
    messages = _messages(file_text(content, "TEXT") if content == STDIN else content)
    learned: list[dict[str, Any]] | None = None
    failed = ""
    with opened(invocation, create=True) as store:
        session_id = store.create_session()["session_id"]
        for begin in range(0, len(messages), MAX_BATCH):
            store.batch_add_messages(session_id, messages[begin : begin + MAX_BATCH])
        task_id = store.commit_session(session_id).get("task_id")
        invocation.interrupted = f"it is kept, in session {session_id}; memories are made of it later"
        if not no_wait and isinstance(task_id, str):
            try:
                learned = learned_of(store, _finished(invocation, store, task_id, timeout))
            except OpenVikingError as error:
                # It is kept, which is what was asked for.
                failed = "" if isinstance(error, DeadlineExceededError) else error.message
    output = Output(invocation)
    output.result("OK", lambda screen: screen.line("OK"), session_id=session_id, learned=learned)
    if invocation.json:
        return
    if failed:
        output.remark(f"kept in session {session_id}; nothing could be learned: {failed}", "warn")
        return
    if learned is None:
        output.remark(f"kept in session {session_id}; memories are made of it by a task: "
                      f"{invocation.command_line('task', 'status', str(task_id))}")  # fmt: skip
        tell_who_does_it(invocation, store, output)
        return
    output.remark(f"kept in session {session_id}; {'learned:' if learned else 'nothing was learned from it'}")
    for one in learned:
        _draw_learned(output.remarks, one)


def tell_who_does_it(invocation: Invocation, store: Embedded | Remote, output: Output) -> None:
    """A server goes on by itself; without one somebody must."""
    if isinstance(store, Embedded) and not invocation.json:
        output.remark(f"what follows from it is done by: {invocation.command_line('wait')}")


def _finished(invocation: Invocation, store: Embedded | Remote, task_id: str, timeout: float | None) -> dict[str, Any]:
    """The result of a commit's task when it is over; on a data directory this process does it."""
    goes_on = invocation.command_line("task", "status", task_id)
    invocation.interrupted = f"the messages are archived, and the rest goes on; to see how far it is: {goes_on}"
    if isinstance(store, Embedded):
        task: dict[str, Any] = store.wait_commit(task_id, timeout)
    else:
        from openviking.cli.transfer import followed

        task = followed(store, task_id, timeout, None)
    return task.get("result") or {}


def learned_of(store: Embedded | Remote, result: dict[str, Any]) -> list[dict[str, Any]]:
    """The memories that a commit made, changed and removed: ``operation``, ``uri``, ``memory_type`` and ``text`` of each."""
    uri = result.get("memory_diff_uri")
    if not isinstance(uri, str):
        return []
    operations = json.loads(store.read(uri)).get("operations") or {}
    return [
        {
            "operation": kind.removesuffix("s"),
            "uri": one.get("uri"),
            "memory_type": one.get("memory_type"),
            "text": one.get("after") or one.get("deleted_content") or "",
        }
        for kind in SIGNS
        for one in operations.get(kind) or ()
    ]


def _draw(screen: Screen, committed: dict[str, Any], learned: list[dict[str, Any]]) -> None:
    from openviking.cli.views.cells import EMPTY, rows

    rows(screen, {name: committed.get(name) for name in ("session_id", "status", "archive_uri")})
    screen.line(("learned", "title"))
    if not learned:
        screen.line((EMPTY, "dim"))
    for one in learned:
        _draw_learned(screen, one)


def _draw_learned(screen: Screen, one: dict[str, Any]) -> None:
    from openviking.text import shorten

    sign, style = SIGNS[f"{one['operation']}s"]
    screen.line((sign, style), " ", (str(one["uri"]), "uri"), (f"  {one['memory_type']}", "dim"))
    text = " ".join(str(one["text"]).partition("<!--")[0].split())
    if text:
        screen.line(shorten(text, 160), indent=2, wrap=True)


def _messages(content: str) -> list[dict[str, Any]]:
    """A plain text as one message of the user; an object with role and content, or an array of them, as they are."""
    if not content.strip():
        raise click.UsageError("TEXT is empty; say what is to be remembered.")
    try:
        told = json.loads(content)
    except (ValueError, RecursionError):
        told = None
    messages = [told] if isinstance(told, dict) else told
    is_conversation = isinstance(messages, list) and all(
        isinstance(one, dict) and "role" in one and ("content" in one or "parts" in one) for one in messages
    )
    return messages if messages and is_conversation else [{"role": "user", "content": content}]

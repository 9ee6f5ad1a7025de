"""session and add-memory: conversations that are kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import click

from openviking.cli.door import opened
from openviking.cli.embedded import Embedded
from openviking.cli.options import Command, Group, Invocation, comma_list
from openviking.cli.output import Output

if TYPE_CHECKING:
    from openviking.cli.remote import Remote

COLUMNS: Final = ("session_id", "mod_time", "uri")
NO_AUTO_COMMIT: Final[dict[str, Any]] = {"auto_commit_policy": None}


@click.group("session", cls=Group)
def session_command() -> None:
    """Keep conversations."""


@session_command.command("new", cls=Command)
@click.option("--session-id", metavar="ID", help="Its id (default: the server chooses one).")
@click.option("--event-tags", metavar="K=V,...", help="Tags for the events that are remembered.")
@click.option("--auto-commit-policy-json", metavar="JSON", help="When to commit by itself.")
@click.option("--no-auto-commit", is_flag=True, help="Never commit by itself.")
@click.pass_obj
def session_new_command(
    invocation: Invocation, session_id: str | None, event_tags: str | None, auto_commit_policy_json: str | None, no_auto_commit: bool
) -> None:  # fmt: skip
    """Make a session."""
    changes = _configuration(event_tags, auto_commit_policy_json, no_event_tags=False, no_auto_commit=no_auto_commit)
    with opened(invocation, create=True) as store:
        made = store.create_session(session_id, **{name: value for name, value in changes.items() if value is not None})
    Output(invocation).rows(made)


@session_command.command("list", cls=Command)
@click.pass_obj
def session_list_command(invocation: Invocation) -> None:
    """List the sessions, newest first."""
    with opened(invocation) as store:
        sessions = store.list_sessions()
    Output(invocation).table(sessions, COLUMNS)


@session_command.command("get", cls=Command)
@click.argument("session_id")
@click.pass_obj
def session_get_command(invocation: Invocation, session_id: str) -> None:
    """Show what is known of a session."""
    with opened(invocation) as store:
        session = store.get_session(session_id)
    Output(invocation).rows(session)


@session_command.command("delete", cls=Command)
@click.argument("session_id")
@click.pass_obj
def session_delete_command(invocation: Invocation, session_id: str) -> None:
    """Remove a session with all that is in it."""
    with opened(invocation) as store:
        gone = store.delete_session(session_id)
    Output(invocation).rows(gone or {"session_id": session_id})


@session_command.command("get-session-context", cls=Command)
@click.argument("session_id")
@click.option("--token-budget", type=int, default=128_000, show_default=True, metavar="N", help="Most tokens.")
@click.pass_obj
def session_context_command(invocation: Invocation, session_id: str, token_budget: int) -> None:
    """Show what a model needs to go on with a session."""
    with opened(invocation) as store:
        context = store.get_session_context(session_id, token_budget)
    Output(invocation).rows(context)


@session_command.command("get-session-archive", cls=Command)
@click.argument("session_id")
@click.argument("archive_id")
@click.pass_obj
def session_archive_command(invocation: Invocation, session_id: str, archive_id: str) -> None:
    """Show an archive of a session."""
    with opened(invocation) as store:
        archive = store.get_session_archive(session_id, archive_id)
    Output(invocation).rows(archive)


@session_command.command("add-message", cls=Command)
@click.argument("session_id")
@click.option("--role", required=True, metavar="ROLE", help="user or assistant.")
@click.option("--content", required=True, metavar="TEXT", help="What was said.")
@click.option("--peer-id", metavar="ID", help="Whom it was said to, or by.")
@click.pass_obj
def session_message_command(
    invocation: Invocation, session_id: str, role: str, content: str, peer_id: str | None
) -> None:
    """Add a message to a session."""
    with opened(invocation) as store:
        added = store.add_message(session_id, role, content, peer_id=peer_id)
    Output(invocation).rows({name: value for name, value in added.items() if name != "added"})


@session_command.command("add-messages", cls=Command)
@click.argument("session_id")
@click.argument("messages", metavar="JSON")
@click.pass_obj
def session_messages_command(invocation: Invocation, session_id: str, messages: str) -> None:
    """Add the messages of a JSON array.

    Each is an object with role and content.
    """
    told = _json(messages, "JSON")
    if not isinstance(told, list) or not all(isinstance(one, dict) for one in told):
        raise click.UsageError('The messages are a JSON array of objects: [{"role": "user", "content": "…"}].')
    with opened(invocation) as store:
        added = store.batch_add_messages(session_id, told)
    Output(invocation).rows(added)


@session_command.group("config", cls=Group)
def session_config_command() -> None:
    """Change how a session is kept."""


@session_config_command.command("set", cls=Command)
@click.argument("session_id")
@click.option("--event-tags", metavar="K=V,...", help="Tags for the events that are remembered.")
@click.option("--no-event-tags", is_flag=True, help="No such tags any more.")
@click.option("--auto-commit-policy-json", metavar="JSON", help="When to commit by itself.")
@click.option("--no-auto-commit", is_flag=True, help="Never commit by itself.")
@click.pass_obj
def session_config_set_command(
    invocation: Invocation,
    session_id: str,
    event_tags: str | None,
    no_event_tags: bool,
    auto_commit_policy_json: str | None,
    no_auto_commit: bool,
) -> None:
    """Change tags of events, or when the session is committed by itself."""
    changes = _configuration(
        event_tags, auto_commit_policy_json, no_event_tags=no_event_tags, no_auto_commit=no_auto_commit
    )
    if not changes:
        raise click.UsageError(
            "Give at least one of --event-tags, --no-event-tags, --auto-commit-policy-json and --no-auto-commit."
        )
    with opened(invocation) as store:
        changed = store.update_session_config(session_id, changes)
    Output(invocation).rows(changed)


@session_command.command("commit", cls=Command)
@click.argument("session_id")
@click.option("--event-tags", metavar="K=V,...", help="Tags for the events of this commit.")
@click.option("--no-event-tags", is_flag=True, help="None of the session's tags for this commit.")
@click.pass_obj
def session_commit_command(
    invocation: Invocation, session_id: str, event_tags: str | None, no_event_tags: bool
) -> None:
    """Archive the messages of a session.

    Its task makes summaries of them.
    """
    metadata = None
    tags = _event_tags(event_tags, no_event_tags=no_event_tags)
    if tags is not None:
        metadata = {"events": {"tags": tags}}
    with opened(invocation) as store:
        committed = store.commit_session(session_id, extraction_metadata=metadata)
    output = Output(invocation)
    output.rows(committed)
    _tell_who_does_it(invocation, store, output)


@click.command("add-memory", cls=Command)
@click.argument("content", metavar="TEXT|JSON")
@click.pass_obj
def add_memory_command(invocation: Invocation, content: str) -> None:
    """Keep something that was said, in a session of its own.

    A text, or messages as JSON: an object with role and content, or an array of them.
    """
    messages = _messages(content)
    with opened(invocation, create=True) as store:
        session_id = store.create_session()["session_id"]
        store.batch_add_messages(session_id, messages)
        store.commit_session(session_id)
    output = Output(invocation)
    output.values("OK")
    if not invocation.json:
        output.remark(
            f"kept in session {session_id} and archived; memories are not extracted yet, its words are found: "
            f"{invocation.command_line('session', 'get-session-context', session_id)}"
        )
    _tell_who_does_it(invocation, store, output)


def _tell_who_does_it(invocation: Invocation, store: Embedded | Remote, output: Output) -> None:
    """A server goes on by itself; without one somebody must."""
    if isinstance(store, Embedded) and not invocation.json:
        output.remark(f"what follows from it is done by: {invocation.command_line('wait')}")


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


def _configuration(
    event_tags: str | None, policy: str | None, *, no_event_tags: bool, no_auto_commit: bool
) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    tags = _event_tags(event_tags, no_event_tags=no_event_tags)
    if tags is not None:
        changes["memory_extraction_config"] = {"events": {"tags": tags}}
    if policy is not None and no_auto_commit:
        raise click.UsageError("--auto-commit-policy-json and --no-auto-commit exclude each other.")
    if policy is not None:
        changes["auto_commit_policy"] = _json(policy, "--auto-commit-policy-json")
    elif no_auto_commit:
        changes.update(NO_AUTO_COMMIT)
    return changes


def _event_tags(event_tags: str | None, *, no_event_tags: bool) -> list[str] | None:
    if event_tags is not None and no_event_tags:
        raise click.UsageError("--event-tags and --no-event-tags exclude each other.")
    return [] if no_event_tags else comma_list(event_tags)


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"{what} is not JSON: {error}.") from error

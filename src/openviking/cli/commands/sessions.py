"""session: conversations that are kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import click

from openviking.cli.commands.commits import (
    MAX_BATCH,
    commit_command,
    extract_command,
    redact_command,
    rollback_command,
    tags_of,
)
from openviking.cli.commands.content import STDIN, file_text
from openviking.cli.commands.tool_results import tool_results_command
from openviking.cli.door import opened
from openviking.cli.options import Command, Group, Invocation
from openviking.cli.output import Output
from openviking.cli.views.talk import draw_talk
from openviking.errors import InvalidArgumentError, NotFoundError, PermissionDeniedError

if TYPE_CHECKING:
    from openviking.cli.embedded import Embedded
    from openviking.cli.remote import Remote

COLUMNS: Final = ("session_id", "mod_time", "uri")
ARCHIVE_COLUMNS: Final = ("archive_id", "mod_time", "abstract")
MAX_ARCHIVES: Final = 10_000
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
        if no_auto_commit:
            # To say nothing of it would leave it to the configuration.
            made |= store.update_session_config(made["session_id"], NO_AUTO_COMMIT)
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
@click.option("--memories", is_flag=True, help="The memories that come from it alone as well.")
@click.pass_obj
def session_delete_command(invocation: Invocation, session_id: str, memories: bool) -> None:
    """Remove a session with all that is in it.

    Memories that were made of it are named, and stay; with --memories those of it alone go, unless they were edited.
    """
    with opened(invocation) as store:
        gone = store.delete_session(session_id, memories)
    Output(invocation).rows(gone)


@click.command("get-session-context", cls=Command)
@click.argument("session_id")
@click.option("--token-budget", type=int, default=128_000, show_default=True, metavar="N", help="Most tokens.")
@click.pass_obj
def session_context_command(invocation: Invocation, session_id: str, token_budget: int) -> None:
    """Show what a model needs to go on with a session."""
    with opened(invocation) as store:
        context = store.get_session_context(session_id, token_budget)
    Output(invocation).result(context, lambda screen: draw_talk(screen, context, "latest_archive_overview"))


@session_command.command("archives", cls=Command)
@click.argument("session_id")
@click.pass_obj
def session_archives_command(invocation: Invocation, session_id: str) -> None:
    """List the archives of a session, the oldest first."""
    with opened(invocation) as store:
        session = store.get_session(session_id)
        # Without a commit there is no such directory.
        listed = (
            store.ls(f"{session['uri']}/history", output="agent", node_limit=MAX_ARCHIVES)
            if session.get("commit_count")
            else []
        )
    archives = [
        {
            "archive_id": one["uri"].rstrip("/").rpartition("/")[2],
            "uri": one["uri"],
            "mod_time": one.get("modTime"),
            "abstract": one.get("abstract") or "",
        }
        for one in listed
    ]
    Output(invocation).table(sorted(archives, key=lambda one: one["archive_id"]), ARCHIVE_COLUMNS)


@click.command("get-session-archive", cls=Command)
@click.argument("session_id")
@click.argument("archive_id")
@click.pass_obj
def session_archive_command(invocation: Invocation, session_id: str, archive_id: str) -> None:
    """Show an archive of a session."""
    with opened(invocation) as store:
        archive = store.get_session_archive(session_id, archive_id)
    Output(invocation).result(archive, lambda screen: draw_talk(screen, archive, "overview"))


@session_command.command("add-message", cls=Command)
@click.argument("session_id")
@click.option("--role", required=True, metavar="ROLE", help="Who says it: user, assistant, or any other.")
@click.option("--content", required=True, metavar="TEXT", help="What was said.")
@click.option("--peer-id", metavar="ID", help="Whom it was said to, or by.")
@click.pass_obj
def session_message_command(
    invocation: Invocation, session_id: str, role: str, content: str, peer_id: str | None
) -> None:
    """Add a message to a session."""
    with opened(invocation, create=True) as store:
        added = store.add_message(session_id, role, content, peer_id=peer_id)
    Output(invocation).rows({name: value for name, value in added.items() if name != "added"})


@session_command.command("add-messages", cls=Command)
@click.argument("session_id")
@click.argument("messages", metavar="JSON|-")
@click.pass_obj
def session_messages_command(invocation: Invocation, session_id: str, messages: str) -> None:
    """Add the messages of a JSON array.

    Each is an object with role and content; one with an id that the session knows is a repetition, and not added again.
    - reads the array from standard input.
    """
    told = _json(file_text(messages, "JSON") if messages == STDIN else messages, "JSON")
    if not isinstance(told, list) or not all(isinstance(one, dict) for one in told):
        raise click.UsageError('The messages are a JSON array of objects: [{"role": "user", "content": "…"}].')
    with opened(invocation, create=True) as store:
        added = store.batch_add_messages(session_id, told[:MAX_BATCH])
        for begin in range(MAX_BATCH, len(told), MAX_BATCH):
            more = store.batch_add_messages(session_id, told[begin : begin + MAX_BATCH])
            added = {**more, "added": added.get("added", 0) + more.get("added", 0)}
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


@session_command.command("used", cls=Command)
@click.argument("session_id")
@click.option("-u", "--uri", "contexts", multiple=True, metavar="URI", help="What was used; may be repeated.")
@click.option("--skill", metavar="URI", help="The skill that was used.")
@click.option("--skill-input", metavar="TEXT", help="What it was given.")
@click.option("--skill-output", metavar="TEXT", help="What it gave.")
@click.option("--skill-failed", is_flag=True, help="It did not help.")
@click.pass_obj
def session_used_command(
    invocation: Invocation, session_id: str, contexts: tuple[str, ...], skill: str | None, skill_input: str | None,
    skill_output: str | None, skill_failed: bool,
) -> None:  # fmt: skip
    """Say what of the store was used."""
    if not contexts and skill is None:
        raise click.UsageError("Give at least one --uri, or --skill.")
    if skill is None and (skill_input or skill_output or skill_failed):
        raise click.UsageError("--skill-input, --skill-output and --skill-failed go with --skill URI only.")
    told = {"uri": skill, "input": skill_input, "output": skill_output, "success": not skill_failed}
    given = None if skill is None else {name: value for name, value in told.items() if value is not None}
    with opened(invocation) as store:
        counted = store.session_used(session_id, list(contexts) or None, given)
        named = [*contexts, *([] if skill is None else [skill])]
        missing = [uri for uri in dict.fromkeys(named) if not _is_there(store, uri)]
    output = Output(invocation)
    output.rows(counted)
    for uri in missing:
        output.remark(f"counted, though it is not there: {uri}", "warn")


session_command.add_command(session_context_command, "get-session-context")
session_command.add_command(session_context_command, "context")
session_command.add_command(session_archive_command, "get-session-archive")
session_command.add_command(session_archive_command, "archive")
for _command in (commit_command, rollback_command, redact_command, extract_command, tool_results_command):
    session_command.add_command(_command)


def _configuration(
    event_tags: str | None, policy: str | None, *, no_event_tags: bool, no_auto_commit: bool
) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    tags = tags_of(event_tags, no_event_tags=no_event_tags)
    if tags is not None:
        changes["memory_extraction_config"] = {"events": {"tags": tags}}
    if policy is not None and no_auto_commit:
        raise click.UsageError("--auto-commit-policy-json and --no-auto-commit exclude each other.")
    if policy is not None:
        changes["auto_commit_policy"] = _json(policy, "--auto-commit-policy-json")
    elif no_auto_commit:
        changes.update(NO_AUTO_COMMIT)
    return changes


def _is_there(store: Embedded | Remote, uri: str) -> bool:
    try:
        store.stat(uri)
    except (NotFoundError, InvalidArgumentError, PermissionDeniedError):
        return False
    return True


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"{what} is not JSON: {error}.") from error

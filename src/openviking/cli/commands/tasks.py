"""task and task watch: work in the background, and sources that are looked at again and again."""

from __future__ import annotations

from typing import Any, Final

import click

from openviking.cli.door import opened
from openviking.cli.options import Command, Group, Invocation
from openviking.cli.output import Output
from openviking.errors import NotFoundError
from openviking.uri import SCHEME

STATUSES: Final = ("pending", "running", "cancelling", "completed", "failed", "cancelled")
COLUMNS: Final = ("task_id", "task_type", "status", "stage", "resource_id", "created_at_iso", "error")
WATCH_COLUMNS: Final = ("task_id", "to_uri", "path", "watch_interval", "is_active", "next_execution_time")


@click.group("task", cls=Group)
def task_command() -> None:
    """Follow or stop work in the background."""


@task_command.command("status", cls=Command)
@click.argument("task_id")
@click.pass_obj
def task_status_command(invocation: Invocation, task_id: str) -> None:
    """Show how far a task is, and what became of it."""
    with opened(invocation) as store:
        task = store.get_task(task_id)
    if task is None:
        raise NotFoundError(task_id, "task")
    Output(invocation).rows(task)


@task_command.command("cancel", cls=Command)
@click.argument("task_id")
@click.pass_obj
def task_cancel_command(invocation: Invocation, task_id: str) -> None:
    """Stop a task; what it did stays."""
    with opened(invocation) as store:
        task = store.cancel_task(task_id)
    Output(invocation).rows(task)


@task_command.command("list", cls=Command)
@click.option("--task-type", metavar="TYPE", help="Such as add_resource, session_commit.")
@click.option("--status", type=click.Choice(STATUSES), help="Only these.")
@click.option("-n", "--limit", type=int, metavar="N", help="Most tasks (default: 50).")
@click.pass_obj
def task_list_command(invocation: Invocation, task_type: str | None, status: str | None, limit: int | None) -> None:
    """List the tasks, newest first."""
    with opened(invocation) as store:
        tasks = store.list_tasks(task_type=task_type, status=status, limit=limit)
    Output(invocation).table(tasks, COLUMNS)


@task_command.group("watch", cls=Group)
def task_watch_command() -> None:
    """Look after sources that are looked at again and again.

    KEY is the id of a watch or the URI that it fills.
    """


@task_watch_command.command("ls", cls=Command)
@click.option("--active-only", is_flag=True, help="Not those that are paused.")
@click.pass_obj
def watch_ls_command(invocation: Invocation, active_only: bool) -> None:
    """List the watches."""
    with opened(invocation) as store:
        watches = store.list_watches(active_only)
    listed = watches.get("tasks")
    Output(invocation).table(watches, WATCH_COLUMNS, listed if isinstance(listed, list) else [])


@task_watch_command.command("show", cls=Command)
@click.argument("key")
@click.pass_obj
def watch_show_command(invocation: Invocation, key: str) -> None:
    """Show a watch."""
    with opened(invocation) as store:
        watch = store.get_watch(**_of(key))
    Output(invocation).rows(watch)


@task_watch_command.command("rm", cls=Command)
@click.argument("key")
@click.pass_obj
def watch_rm_command(invocation: Invocation, key: str) -> None:
    """Stop watching; what was added stays."""
    with opened(invocation) as store:
        gone = store.delete_watch(**_of(key))
    Output(invocation).rows(gone)


@task_watch_command.command("pause", cls=Command)
@click.argument("key")
@click.pass_obj
def watch_pause_command(invocation: Invocation, key: str) -> None:
    """Stop looking for now."""
    _changed(invocation, key, is_active=False)


@task_watch_command.command("resume", cls=Command)
@click.argument("key")
@click.pass_obj
def watch_resume_command(invocation: Invocation, key: str) -> None:
    """Go on looking."""
    _changed(invocation, key, is_active=True)


@task_watch_command.command("update", cls=Command)
@click.argument("key")
@click.option("--interval", type=float, metavar="MINUTES", help="How often; more than 0.")
@click.option("--active", type=bool, metavar="BOOL", help="false pauses it.")
@click.option("--reason", metavar="TEXT", help="Why it is watched (for models).")
@click.option("--instruction", metavar="TEXT", help="How to read it (for models).")
@click.pass_obj
def watch_update_command(
    invocation: Invocation,
    key: str,
    interval: float | None,
    active: bool | None,
    reason: str | None,
    instruction: str | None,
) -> None:
    """Change a watch."""
    if all(one is None for one in (interval, active, reason, instruction)):
        raise click.UsageError("Give at least one of --interval, --active, --reason and --instruction.")
    if interval is not None and not interval > 0:
        raise click.UsageError(f"--interval is {interval:g}; it must be more than 0.")
    _changed(invocation, key, watch_interval=interval, is_active=active, reason=reason, instruction=instruction)


@task_watch_command.command("trigger", cls=Command)
@click.argument("key")
@click.pass_obj
def watch_trigger_command(invocation: Invocation, key: str) -> None:
    """Look now."""
    with opened(invocation) as store:
        scheduled = store.trigger_watch(**_of(key))
    Output(invocation).rows(scheduled)


def _changed(invocation: Invocation, key: str, **fields: Any) -> None:
    with opened(invocation) as store:
        watch = store.update_watch(**_of(key), **fields)
    Output(invocation).rows(watch)


def _of(key: str) -> dict[str, str]:
    return {"to_uri": key} if key.startswith(SCHEME) else {"task_id": key}

"""wait, status, health, version, observer, reindex and system: what the store or the server is doing."""

from __future__ import annotations

from typing import Any, Final

import click

from openviking.cli.commands.absent import absent
from openviking.cli.door import opened, served
from openviking.cli.embedded import Embedded
from openviking.cli.options import Command, Group, Invocation, comma_list
from openviking.cli.output import Output
from openviking.cli.progress import Counted, shown_progress

PARTS: Final = {
    "queue": "the queues", "vikingdb": "the index", "models": "the models", "retrieval": "retrieval",
    "filesystem": "the files", "system": "all of them",
}  # fmt: skip
"""The parts of a server that can be looked at."""


def wait_command_of(name: str) -> click.Command:
    """The command that waits; it has two names."""

    @click.command(name, cls=Command)
    @click.option(
        "--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Longest wait (default: no limit)."
    )
    @click.pass_obj
    def wait(invocation: Invocation, timeout: float | None) -> None:
        """Do or await queued work and vectors, then show the state."""
        invocation.interrupted = f"nothing is lost, and this goes on: {invocation.command_line('wait')}"
        with opened(invocation) as store, shown_progress(invocation, "waiting") as show:
            status = store.wait_processed(timeout, progress=Counted(invocation, show))
        if isinstance(store, Embedded):
            _show_state(invocation, status, waited=True)
        else:
            Output(invocation).rows(status)

    return wait


wait_command = wait_command_of("wait")


@click.command("status", cls=Command)
@click.pass_obj
def status_command(invocation: Invocation) -> None:
    """Show how much there is, or how a server is."""
    with opened(invocation) as store:
        status = store.status()
    if isinstance(store, Embedded):
        _show_state(invocation, status)
        return
    from openviking.cli.views.parts import draw_parts

    url = store.client.settings.url
    Output(invocation).result(status, lambda screen: draw_parts(screen, status, url))


def _show_state(invocation: Invocation, status: dict[str, Any], *, waited: bool = False) -> None:
    from openviking.cli.views.state import draw_state

    todo = "added meanwhile" if waited else invocation.command_line("wait")
    Output(invocation).result(status, lambda screen: draw_state(screen, status, todo, whole=invocation.verbose))


def health_command_of(name: str) -> click.Command:
    """The command that asks for the server's health; it has two names."""

    @click.command(name, cls=Command)
    @click.pass_obj
    def health(invocation: Invocation) -> None:
        """Show whether the server is healthy (server only)."""
        with served(invocation) as server:
            told = server.health()
        Output(invocation).rows(told)

    return health


health_command = health_command_of("health")


@click.command("version", cls=Command)
@click.pass_obj
def version_command(invocation: Invocation) -> None:
    """Show the version."""
    from openviking import __version__

    Output(invocation).result({"version": __version__}, lambda screen: screen.line(f"openviking {__version__}"))


@click.group("observer", cls=Group)
def observer_command() -> None:
    """Show how a part of the server is (server only)."""


def _observe(part: str, name: str, told: str, *, hidden: bool = False) -> None:
    @observer_command.command(name, cls=Command, hidden=hidden, help=f"Show {told}.")
    @click.pass_obj
    def observe(invocation: Invocation) -> None:
        from openviking.cli.views.parts import draw_parts
        from openviking_sdk.observer import component

        with served(invocation) as server:
            seen = server.result(component(part))
        Output(invocation).result(seen, lambda screen: draw_parts(screen, seen, server.client.settings.url))


for _part, _told in PARTS.items():
    _observe(_part, _part, _told)
_observe("filesystem", "fs", "the files", hidden=True)
_observe("lock", "lock", "the locks", hidden=True)


@click.command("reindex", cls=Command)
@click.argument("uri")
@click.option(
    "--mode", type=click.Choice(["vectors_only", "semantic_and_vectors", "prune_orphans"]), default="vectors_only",
    show_default=True, help="What is made anew.",
)  # fmt: skip
@click.option("--wait", type=bool, default=True, show_default=True, metavar="BOOL", help="Return when it is done.")
@click.option("--dry-run", is_flag=True, help="Only count.")
@click.option("--force", is_flag=True, help="Also what is as it should be.")
@click.option("--recursive", type=bool, metavar="BOOL", help="All below as well (default).")
@click.option("--tag", multiple=True, metavar="K=V", help="A tag for all; may be repeated.")
@click.option("--tags", metavar="K=V,...", help="Tags for all.")
@click.option("--tag-mode", type=click.Choice(["replace", "append"]), help="What becomes of tags that are there.")
@click.pass_obj
def reindex_command(
    invocation: Invocation, /, uri: str, wait: bool, tag: tuple[str, ...], tags: str | None, **options: Any
) -> None:
    """Make the index of a place anew, or mend it."""
    wanted = [*tag, *(comma_list(tags) or [])] or None
    invocation.interrupted = f"what was made stays; to go on: {invocation.again()}"
    with opened(invocation) as store:
        made = store.reindex(uri, wait=wait, tags=wanted, **options)
    Output(invocation).rows(made)


@click.group("system", cls=Group)
def system_command() -> None:
    """Look at the system, and whether all is as it should be."""


@system_command.command("status", cls=Command)
@click.pass_obj
def system_status_command(invocation: Invocation) -> None:
    """Show whom the server takes the caller for (server only)."""
    with served(invocation) as server:
        status = server.system_status()
    Output(invocation).rows(status)


@system_command.command("consistency", cls=Command)
@click.argument("uri")
@click.pass_obj
def system_consistency_command(invocation: Invocation, uri: str) -> None:
    """Check whether files and index agree below a place."""
    with opened(invocation) as store:
        report = store.check_consistency(uri)
    Output(invocation).rows(report)


@system_command.command("erase", cls=Command)
@click.option("--rewrite/--no-rewrite", default=None, help="Write the whole database anew (default: up to 512 MiB).")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Longest wait for it.")
@click.pass_obj
def system_erase_command(invocation: Invocation, rewrite: bool | None, timeout: float | None) -> None:
    """Overwrite on the disk what was removed."""
    with opened(invocation) as store:
        if isinstance(store, Embedded):
            task = store.erase(rewrite=rewrite, timeout=timeout)
        else:
            from openviking.cli.transfer import followed

            began = store.erase(rewrite=rewrite)
            invocation.interrupted = (
                f"it goes on; to see how far it is: {invocation.command_line('task', 'status', began['task_id'])}"
            )
            task = followed(store, began["task_id"], timeout, None)
    Output(invocation).rows(task)


system_command.add_command(wait_command_of("wait"))
system_command.add_command(health_command_of("health"))


system_command.add_command(absent("backend", "GET", "/api/v1/system/backend/sync-status"))

"""wait, status and version."""

from __future__ import annotations

from typing import Any

import click

from openviking.cli.door import opened
from openviking.cli.options import Command, Invocation
from openviking.cli.output import Output
from openviking.cli.progress import Counted, shown_progress


@click.command("wait", cls=Command)
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Longest wait (default: no limit).")
@click.pass_obj
def wait_command(invocation: Invocation, timeout: float | None) -> None:
    """Do and await queued work and vectors, then show the state."""
    invocation.interrupted = f"nothing is lost, and this goes on: {invocation.command_line('wait')}"
    with opened(invocation) as store, shown_progress(invocation, "waiting") as show:
        status = store.wait_processed(timeout, progress=Counted(invocation, show))
    _show(invocation, status, waited=True)


@click.command("status", cls=Command)
@click.pass_obj
def status_command(invocation: Invocation) -> None:
    """Show how much there is, and what is waiting."""
    with opened(invocation) as store:
        status = store.status()
    _show(invocation, status)


def _show(invocation: Invocation, status: dict[str, Any], *, waited: bool = False) -> None:
    from openviking.cli.views.state import draw_state

    todo = "added meanwhile" if waited else invocation.command_line("wait")
    Output(invocation).result(status, lambda screen: draw_state(screen, status, todo, whole=invocation.verbose))


@click.command("version", cls=Command)
@click.pass_obj
def version_command(invocation: Invocation) -> None:
    """Show the version."""
    from openviking import __version__

    Output(invocation).result({"version": __version__}, lambda screen: screen.line(f"openviking {__version__}"))

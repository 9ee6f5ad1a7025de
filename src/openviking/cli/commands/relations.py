"""relations, link and unlink: what a directory belongs together with."""

from __future__ import annotations

import click

from openviking.cli.door import opened
from openviking.cli.options import Command, Invocation
from openviking.cli.output import Output


@click.command("relations", cls=Command)
@click.argument("uri")
@click.pass_obj
def relations_command(invocation: Invocation, uri: str) -> None:
    """List what a directory is linked to."""
    with opened(invocation) as store:
        linked = store.relations(uri)
    Output(invocation).table(linked, ("uri", "reason"))


@click.command("link", cls=Command)
@click.argument("source", metavar="FROM")
@click.argument("targets", metavar="TO...", nargs=-1, required=True)
@click.option("--reason", default="", metavar="TEXT", help="Why they belong together.")
@click.pass_obj
def link_command(invocation: Invocation, source: str, targets: tuple[str, ...], reason: str) -> None:
    """Link a directory to other places.

    Hits of a search tell the links of their directory (retrieval.max_relations). What is linked already gets the new
    reason.
    """
    with opened(invocation) as store:
        linked = store.link(source, list(targets), reason)
    Output(invocation).rows(linked)


@click.command("unlink", cls=Command)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.pass_obj
def unlink_command(invocation: Invocation, source: str, target: str) -> None:
    """Undo a link; one that is not there is no error."""
    with opened(invocation) as store:
        gone = store.unlink(source, target)
    Output(invocation).rows(gone)

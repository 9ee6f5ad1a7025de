"""ls, tree, stat, mkdir, rm, mv and cp."""

from __future__ import annotations

import click

from openviking.cli.door import opened
from openviking.cli.options import Command, Invocation, comma_list
from openviking.cli.output import Output
from openviking.errors import OpenVikingError
from openviking.uri import SCHEME


@click.command("ls", cls=Command)
@click.argument("uri", default=SCHEME)
@click.option("-s", "--simple", is_flag=True, help="Bare URIs, one a line.")
@click.option("-r", "--recursive", is_flag=True, help="Three levels deep.")
@click.option(
    "-l", "--abs-limit", type=int, default=256, show_default=True, metavar="N", help="Most characters of an abstract."
)
@click.option("-a", "--all", "hidden", is_flag=True, help="Names that begin with a dot as well.")
@click.option("-n", "--node-limit", "--limit", "limit", type=int, default=256, show_default=True, help="Most entries.")
@click.option("--offset", type=int, default=0, metavar="N", help="Begin after so many entries.")
@click.option("--sort-by", type=click.Choice(["name", "mtime"]), help="Order, directories first.")
@click.option("--sort-order", type=click.Choice(["asc", "desc"]), default="asc", help="Direction of --sort-by.")
@click.option("--tags", metavar="K=V,...", help="Only what has all these tags (server only).")
@click.pass_obj
def ls_command(
    invocation: Invocation,
    uri: str,
    simple: bool,
    recursive: bool,
    abs_limit: int,
    hidden: bool,
    limit: int,
    offset: int,
    sort_by: str | None,
    sort_order: str,
    tags: str | None,
) -> None:
    """List a directory (default: viking://)."""
    with opened(invocation) as store:
        listing = store.ls(
            uri, simple=simple, recursive=recursive, output=_view(invocation), abs_limit=abs_limit,
            show_all_hidden=hidden, node_limit=limit, offset=offset, sort_by=sort_by, sort_order=sort_order,
            tags=comma_list(tags),
        )  # fmt: skip
    from openviking.cli.views.listing import draw_cards, draw_lines

    output = Output(invocation)
    output.result(
        listing,
        lambda screen: draw_lines(screen, listing) if simple else draw_cards(screen, listing, offset + 1),
        has_more=listing.has_more,
        total=listing.total,
    )
    if listing.has_more:
        output.cut(len(listing), listing.total, offset=offset)


@click.command("tree", cls=Command)
@click.argument("uri", default=SCHEME)
@click.option(
    "-l", "--abs-limit", type=int, default=128, show_default=True, metavar="N", help="Most characters of an abstract."
)
@click.option("-a", "--all", "hidden", is_flag=True, help="Names that begin with a dot as well.")
@click.option("-n", "--node-limit", "--limit", "limit", type=int, default=256, show_default=True, help="Most entries.")
@click.option("--offset", type=int, default=0, metavar="N", help="Begin after so many entries.")
@click.option("-L", "--level-limit", type=int, default=3, show_default=True, help="Levels.")
@click.pass_obj
def tree_command(
    invocation: Invocation, uri: str, abs_limit: int, hidden: bool, limit: int, offset: int, level_limit: int
) -> None:
    """Show what is below a directory (default: viking://)."""
    with opened(invocation) as store:
        listing = store.tree(
            uri, output=_view(invocation), abs_limit=abs_limit, show_all_hidden=hidden, node_limit=limit,
            offset=offset, level_limit=level_limit,
        )  # fmt: skip
    from openviking.cli.views.listing import draw_tree

    output = Output(invocation)
    output.result(
        listing, lambda screen: draw_tree(screen, uri, listing), has_more=listing.has_more, total=listing.total
    )
    if listing.has_more:
        output.cut(len(listing), listing.total, offset=offset)


@click.command("stat", cls=Command)
@click.argument("uri")
@click.pass_obj
def stat_command(invocation: Invocation, uri: str) -> None:
    """Show size, time and kind of a file or directory."""
    with opened(invocation) as store:
        stat = store.stat(uri)
    from openviking.cli.views.cells import mode, rows

    Output(invocation).result(stat, lambda screen: rows(screen, {**stat, "mode": mode(stat["mode"])}))


@click.command("mkdir", cls=Command)
@click.argument("uri")
@click.option("--description", metavar="TEXT", help="What is in it: its abstract.")
@click.pass_obj
def mkdir_command(invocation: Invocation, uri: str, description: str | None) -> None:
    """Make a directory, and those above it."""
    with opened(invocation, create=True) as store:
        made = store.mkdir(uri, description)
    Output(invocation).rows(made)


@click.command("rm", cls=Command)
@click.argument("uri")
@click.option("-r", "--recursive", is_flag=True, help="A directory and all below.")
@click.option("--wait", is_flag=True, help="Return when the summaries above are up to date, with their vectors.")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Longest --wait.")
@click.pass_obj
def rm_command(invocation: Invocation, uri: str, recursive: bool, wait: bool, timeout: float | None) -> None:
    """Remove a file, or with -r a directory."""
    try:
        with opened(invocation) as store:
            removed = store.rm(uri, recursive=recursive, wait=wait, timeout=timeout)
    except OpenVikingError as error:
        Output(invocation).done(error)
        raise
    Output(invocation).rows(removed)


@click.command("mv", cls=Command)
@click.argument("from_uri", metavar="FROM")
@click.argument("to_uri", metavar="TO")
@click.pass_obj
def mv_command(invocation: Invocation, from_uri: str, to_uri: str) -> None:
    """Move or rename a file or directory."""
    with opened(invocation) as store:
        moved = store.mv(from_uri, to_uri)
    Output(invocation).rows(moved)


@click.command("cp", cls=Command)
@click.argument("from_uri", metavar="FROM")
@click.argument("to_uri", metavar="TO")
@click.option("-r", "--recursive", is_flag=True, help="A directory and all below.")
@click.pass_obj
def cp_command(invocation: Invocation, from_uri: str, to_uri: str, recursive: bool) -> None:
    """Copy a file, or with -r a directory."""
    with opened(invocation) as store:
        copied = store.cp(from_uri, to_uri, recursive=recursive)
    Output(invocation).rows(copied)


def _view(invocation: Invocation) -> str:
    return "agent" if invocation.is_compact else "original"

"""add-resource."""

from __future__ import annotations

from typing import Any

import click

from openviking.cli.door import opened
from openviking.cli.options import Command, Invocation, comma_list
from openviking.cli.output import Output
from openviking.cli.progress import Counted, shown_progress
from openviking.errors import OpenVikingError, ProcessingError
from openviking.model.imports import ImportReport

WAIT_SECONDS = 60.0
"""The longest ``--wait`` unless ``--timeout`` says otherwise."""


@click.command("add-resource", cls=Command)
@click.argument("source", metavar="PATH")
@click.option("--to", metavar="URI", help="Exactly where to put it.")
@click.option("--parent", metavar="URI", help="The directory to put it in.")
@click.option("-p", "--parent-auto-create", metavar="URI", help="Like --parent, and made if it is missing.")
@click.option(
    "--include", metavar="GLOBS", help="Only files with these names: *.md,*.txt; build/ takes a skipped directory."
)
@click.option("--exclude", metavar="GLOBS", help="No files with these names; drafts/ is a path.")
@click.option("--ignore-dirs", metavar="NAMES", help="Directories to leave out.")
@click.option("--strict", is_flag=True, help="Refuse a folder with files that are not text.")
@click.option("--tag", multiple=True, metavar="K=V", help="A tag for everything; may be repeated.")
@click.option("--tags", metavar="K=V,...", help="Tags for everything.")
@click.option("--reason", default="", metavar="TEXT", help="Why it is added (for models).")
@click.option("--instruction", default="", metavar="TEXT", help="How to read it (for models).")
@click.option("--wait", is_flag=True, help="Return when summaries and vectors are made as well.")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Longest --wait (default: 60).")
@click.pass_obj
def add_resource_command(
    invocation: Invocation,
    /,
    source: str,
    to: str | None,
    parent: str | None,
    parent_auto_create: str | None,
    tag: tuple[str, ...],
    tags: str | None,
    wait: bool,
    timeout: float | None,
    **options: Any,
) -> None:
    """Add a folder, file or zip, or update what it made before.

    PATH is on this machine. Its words can be found when this returns; vectors, which find what is meant, are made by
    --wait or later by "ov wait".
    """
    if sum(place is not None for place in (to, parent, parent_auto_create)) > 1:
        raise click.UsageError("--to, --parent and --parent-auto-create exclude each other.")
    if not source:
        raise click.UsageError("PATH is empty; name a folder, file or zip.")
    wanted = [*tag, *(comma_list(tags) or [])]
    limit = timeout if timeout is not None or not wait else WAIT_SECONDS
    output = Output(invocation)
    invocation.interrupted = f"what was imported stays; to go on: {invocation.command_line('add-resource', source)}"
    try:
        with opened(invocation, create=True) as store, shown_progress(invocation, "adding") as show:
            report: ImportReport = store.add_resource(
                source, to, parent if parent is not None else parent_auto_create,
                create_parent=parent_auto_create is not None, tags=wanted or None, wait=wait, timeout=limit,
                progress=Counted(invocation, show), **options,
            )  # fmt: skip
    except OpenVikingError as error:
        if "done" in error.details and not invocation.json:
            _show(invocation, output, ImportReport.from_dict(error.details["done"]))
            output.remark("found by words now")
        raise
    _refuse_empty_handed(source, report)
    _show(invocation, output, report)
    if report.vectors_waiting and not invocation.json:
        count = f"{report.vectors_waiting} vector{'s are' if report.vectors_waiting != 1 else ' is'}"
        output.remark(f"found by words now; {count} to come: {invocation.command_line('wait')}")
    if report.cancelled:
        output.remark("stopped before the end; what is reported stays, and adding it again goes on", "warn")


def _show(invocation: Invocation, output: Output, report: ImportReport) -> None:
    from openviking.cli.views.report import draw_report

    if report.updated_root:
        output.remark(f"updating the earlier import at {report.root_uri}")
    output.result(report, lambda screen: draw_report(screen, report, all_files=invocation.verbose))


def _refuse_empty_handed(source: str, report: ImportReport) -> None:
    """Raise where files failed and none was stored: that is no success."""
    if report.failed and not report.files:
        first = report.failed[0]
        raise ProcessingError(
            f"Nothing could be taken from {source}: {first.name or source}: {first.error}", **report.to_dict()
        )

"""add-resource."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import click

from openviking.cli.commands.imported import show_report
from openviking.cli.door import opened
from openviking.cli.embedded import Embedded
from openviking.cli.options import Command, Invocation, comma_list
from openviking.cli.output import Output
from openviking.cli.progress import Counted, shown_progress
from openviking.errors import NotFoundError, OpenVikingError, ProcessingError
from openviking.model.imports import ImportReport

REMOTE: Final = ("http://", "https://", "git@", "ssh://", "git://")
"""How an address begins that the server fetches."""

MODES: Final = ("semantic_and_vectors", "vectors_only")


@click.command("add-resource", cls=Command)
@click.argument("source", metavar="PATH|URL", required=False, default="")
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
@click.option("--tag-mode", type=click.Choice(["replace", "append"]), help="What becomes of tags that are there.")
@click.option("--reason", default="", metavar="TEXT", help="Why it is added (for models).")
@click.option("--instruction", default="", metavar="TEXT", help="How to read it (for models).")
@click.option("--wait", is_flag=True, help="Return when summaries and vectors are made as well.")
@click.option(
    "--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Longest --wait (default: until it is done)."
)
@click.option("--watch-interval", type=float, metavar="MINUTES", help="Look at a URL again so often.")
@click.option("--processing-mode", type=click.Choice(MODES), help="What is made of it (server only).")
@click.option("--no-directly-upload-media", is_flag=True, help="Pictures and sound through models (server only).")
@click.option("--args", metavar="K:V,...|JSON", help="More for the reader of this kind of source (server only).")
@click.option("--add-type", metavar="KIND", help="The connector that reads it; needs --to (server only).")
@click.option("-m", "--manifest", metavar="FILE", help="Add what a manifest lists (server only).")
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
    manifest: str | None,
    **options: Any,
) -> None:
    """Add a folder, file, zip or URL, or update it.

    PATH is on this machine. With --path its words can be found when this returns; vectors, which find what is meant, are
    made by --wait or later by "ov wait". A server is sent the file, or the folder as an archive, and takes it in by
    itself; --wait shows how far it is.
    """
    if sum(place is not None for place in (to, parent, parent_auto_create)) > 1:
        raise click.UsageError("--to, --parent and --parent-auto-create exclude each other.")
    if manifest is not None:
        _manifest(invocation, manifest, given=bool(source))
        return
    if not source:
        raise click.UsageError("PATH is missing or empty; name a folder, file, zip or URL.")
    wanted = {
        "to": to,
        "parent": parent if parent is not None else parent_auto_create,
        "create_parent": parent_auto_create is not None,
        "tags": [*tag, *(comma_list(tags) or [])] or None,
        "args": _args(options.pop("args")),
        "directly_upload_media": False if options.pop("no_directly_upload_media") else None,
        **options,
    }
    _refuse_what_does_not_fit(source, wanted)
    with opened(invocation, create=True) as store:
        if isinstance(store, Embedded):
            _import(invocation, store, source, {**wanted, "wait": wait, "timeout": timeout})
        else:
            from openviking.cli.commands.sending import send_resource

            if not source.startswith(REMOTE) and not _is_there(source):
                raise NotFoundError(str(Path(source).absolute()), "path")
            send_resource(invocation, store, source, wanted, wait=wait, timeout=timeout)


def _import(invocation: Invocation, store: Embedded, source: str, options: dict[str, Any]) -> None:
    """Import in this process."""
    output = Output(invocation)
    invocation.interrupted = f"what was imported stays; to go on: {invocation.again()}"
    try:
        with shown_progress(invocation, "adding") as show:
            report: ImportReport = store.add_resource(source, progress=Counted(invocation, show), **options)
    except OpenVikingError as error:
        if "done" in error.details and not invocation.json:
            show_report(invocation, output, ImportReport.from_dict(error.details["done"]))
            output.remark("found by words now")
        raise
    _refuse_empty_handed(source, report)
    show_report(invocation, output, report)
    if report.vectors_waiting and not invocation.json:
        count = f"{report.vectors_waiting} vector{'s are' if report.vectors_waiting != 1 else ' is'}"
        output.remark(f"found by words now; {count} to come: {invocation.command_line('wait')}")
    if report.cancelled:
        output.remark("stopped before the end; what is reported stays, and adding it again goes on", "warn")


def _refuse_what_does_not_fit(source: str, wanted: dict[str, Any]) -> None:
    if wanted["add_type"] is not None and wanted["to"] is None:
        raise click.UsageError("--add-type needs --to.")
    if wanted["watch_interval"] and not source.startswith(REMOTE):
        raise click.UsageError("--watch-interval is for URLs: a server can't look at a path of this machine again.")


def _args(text: str | None) -> dict[str, Any] | None:
    """``k:v,k:v`` or a JSON object as a mapping."""
    if text is None:
        return None
    if text.lstrip().startswith("{"):
        try:
            value = json.loads(text)
        except ValueError as error:
            raise click.UsageError(f"--args is not JSON: {error}.") from error
        if isinstance(value, dict):
            return value
    pairs = [part.partition(":") for part in comma_list(text) or []]
    if not all(name.strip() and colon for name, colon, _ in pairs):
        raise click.UsageError("--args is key:value pairs with commas between them, or a JSON object.")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _is_there(source: str) -> bool:
    try:
        return Path(source).expanduser().exists()
    except (OSError, ValueError, RuntimeError):
        return False


def _manifest(invocation: Invocation, manifest: str, *, given: bool) -> None:
    from openviking.cli.commands.absent import asked
    from openviking.cli.commands.content import file_text

    if given:
        raise click.UsageError("--manifest and PATH exclude each other.")
    asked(invocation, "POST", "/api/v1/openviking-assets/resolve", {"manifest_yaml": file_text(manifest, "--manifest")})


def _refuse_empty_handed(source: str, report: ImportReport) -> None:
    """Raise where files failed and none was stored: that is no success."""
    if report.failed and not report.files:
        first = report.failed[0]
        raise ProcessingError(
            f"Nothing could be taken from {source}: {first.name or source}: {first.error}", **report.to_dict()
        )

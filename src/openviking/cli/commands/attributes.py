"""attrs get and attrs set-tags."""

from __future__ import annotations

from typing import Any

import click

from openviking.cli.door import opened
from openviking.cli.options import Command, Group, Invocation, comma_list
from openviking.cli.output import Output
from openviking.errors import NotFoundError


@click.group("attrs", cls=Group)
def attrs_command() -> None:
    """Show attributes or change tags."""


@attrs_command.command("get", cls=Command)
@click.argument("uri")
@click.argument("key", required=False)
@click.pass_obj
def attrs_get_command(invocation: Invocation, uri: str, key: str | None) -> None:
    """Show the attributes of a file or directory.

    With KEY the one there, such as tags or memory.tags.
    """
    with opened(invocation) as store:
        attrs = store.attrs(uri)
    output = Output(invocation)
    if key is None:
        output.rows(attrs)
    else:
        value = _at(attrs, key)
        output.rows(value) if isinstance(value, dict) else output.values(value)


@click.command("set-tags", cls=Command)
@click.argument("uri")
@click.option("--tags", metavar="K=V,...", help="The tags; none are needed for --mode clear.")
@click.option(
    "--mode", type=click.Choice(["replace", "append", "clear"]), default="replace", show_default=True,
    help="What happens to those that are there.",
)  # fmt: skip
@click.option("-r", "--recursive", is_flag=True, help="Everything below a directory as well.")
@click.pass_obj
def set_tags_command(invocation: Invocation, uri: str, tags: str | None, mode: str, recursive: bool) -> None:
    """Change the tags of a file or directory."""
    if tags is None and mode != "clear":
        raise click.UsageError("Missing option '--tags'.")
    with opened(invocation) as store:
        changed = store.set_tags(uri, comma_list(tags) or [], mode=mode, recursive=recursive)
    output = Output(invocation)
    output.rows(changed)
    if changed["skipped_count"]:
        output.remark(f"{changed['skipped_count']} of the tags skipped: a tag is key=value", "warn")


attrs_command.add_command(set_tags_command)


def _at(attrs: dict[str, Any], key: str) -> Any:
    """The value at a path with dots, in the attributes themselves or beside them."""
    value: Any = {**attrs, **attrs.get("attrs", {})}
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            raise NotFoundError(f"{key} of {attrs.get('uri')}", "attribute")
        value = value[part]
    return value

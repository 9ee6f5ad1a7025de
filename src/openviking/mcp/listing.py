"""The tools list and tree: what is in a directory, and what is below it."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field

from openviking.mcp.arguments import Arguments, Cursor
from openviking.mcp.desk import Desk
from openviking.mcp.paging import cut_line, paged, start_of
from openviking.mcp.tool import Tool
from openviking.service.listed import Details

AT_ONCE: Final = 1_000
"""Entries of one answer at most; most answers are full before that."""


class List(Arguments):
    """A directory, and which part of its entries."""

    uri: str = Field(default="viking://", description="The directory; viking:// is the root.")
    recursive: bool = Field(default=False, description="Three levels deep, with whole URIs.")
    offset: int = Field(default=0, ge=0)
    limit: int | None = Field(default=None, ge=1, description="How many entries at a time.")
    sort_by: Literal["name", "mtime"] | None = Field(default=None, description="mtime: by time of change.")
    sort_order: Literal["asc", "desc"] = "asc"
    cursor: Cursor


class Tree(Arguments):
    """A directory, how deep, and which part of what is below."""

    uri: str = Field(default="viking://", description="The directory; viking:// is the root.")
    level_limit: int = Field(default=3, ge=1, le=100, description="How many levels deep.")
    node_limit: int = Field(default=1000, ge=1, description="How many entries at a time.")
    include_abstract: bool = Field(default=False, description="One line on what is in each directory and file.")
    offset: int = Field(default=0, ge=0)
    limit: int | None = Field(default=None, ge=1, description="As node_limit; the smaller one counts.")
    cursor: Cursor


def _list(desk: Desk, given: List) -> str:
    first = start_of(given.cursor, given.offset)
    found = desk.services.fs.ls(
        desk.caller, given.uri, recursive=given.recursive, node_limit=min(given.limit or AT_ONCE, AT_ONCE), offset=first,
        sort_by=given.sort_by, sort_order=given.sort_order, details=Details(abstract=False),
    )  # fmt: skip
    if not found:
        return f"(no entries under {given.uri})" if not found.total else f"No more entries; there were {found.total:,}."
    lines = [
        f"[{'dir' if one['isDir'] else 'file'}] {one['uri'] if given.recursive else one['uri'].rpartition('/')[2]}"
        for one in found
    ]
    return paged("", lines, "Entries", first, found.total)


def _tree(desk: Desk, given: Tree) -> str:
    first = start_of(given.cursor, given.offset)
    at_once = min(given.node_limit, given.limit or AT_ONCE, AT_ONCE)
    found = desk.services.fs.tree(
        desk.caller, given.uri, node_limit=at_once, offset=first, level_limit=given.level_limit,
        details=Details(abstract=given.include_abstract),
    )  # fmt: skip
    if not found:
        return f"(nothing under {given.uri})" if not found.total else f"No more entries; there were {found.total:,}."
    head = f"{given.uri} ({found.total:,} entries, {given.level_limit} level(s) deep)"
    lines: list[str] = []
    above: list[str] = []
    for one in found:
        parents = one["rel_path"].split("/")[:-1]
        if not lines and parents:
            # A page that begins in the middle says where it is.
            lines.append(f"{_indent(len(parents) - 1)}{'/'.join(parents)}/ (continued)")
            above = parents
        lines.append(_entry(one, len(parents)))
    if above:
        lines[:2] = ["\n".join(lines[:2])]
    return paged(head, lines, "Entries", first, found.total)


def _entry(one: dict[str, Any], depth: int) -> str:
    name = one["uri"].rpartition("/")[2]
    shown = f"{_indent(depth)}{name}/" if one["isDir"] else f"{_indent(depth)}{name} ({one['size']:,} B)"
    abstract = " ".join((one.get("abstract") or "").split())
    return f"{shown}\n{_indent(depth + 2)}{cut_line(abstract)}" if abstract else shown


def _indent(depth: int) -> str:
    return "  " * depth


LIST: Final = Tool(
    "list", "List a directory",
    "List what is in a directory: [dir] or [file] and the name. viking:// shows what there is at all: resources"
    " (documents and code that were added), user (the caller's own, with memories and skills), agent (what is shared).",
    List, _list,
)  # fmt: skip

TREE: Final = Tool(
    "tree", "Show a tree",
    "Show a directory with all that is below it, indented, with the sizes of files. For an overview of a folder that you"
    " do not know; include_abstract says what each part is about. To find something in it, use find.",
    Tree, _tree,
)  # fmt: skip

"""The tools write, edit and forget."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field

from openviking.errors import InvalidArgumentError
from openviking.mcp.arguments import Access, Arguments, refuse_access
from openviking.mcp.desk import Desk
from openviking.mcp.tool import Tool

WAIT_S: Final = 60.0
"""How long a call waits that does not say how long."""


class Write(Arguments):
    """The text of a file."""

    uri: str = Field(
        description="The file, such as viking://~/memories/preferences/tea.md; missing directories are made."
    )
    content: str
    mode: Literal["replace", "append", "create"] = Field(
        default="replace", description="replace: whatever was there; append: add at the end; create: only a new file."
    )
    wait: bool = Field(default=False, description="Return when meaning can be searched too; words can at once.")
    acl: Access | None = Field(default=None, description="Not part of this version.")
    timeout: float | None = Field(default=None, ge=0, description="Longest wait in seconds.")


class Edit(Arguments):
    """A piece of text, and what takes its place."""

    uri: str
    old_string: str = Field(description="Exactly as read shows it, with enough around it to be there once.")
    new_string: str
    replace_all: bool = Field(default=False, description="Every place instead of the only one.")
    wait: bool = Field(default=False, description="Return when meaning can be searched too; words can at once.")
    timeout: float | None = Field(default=None, ge=0, description="Longest wait in seconds.")


class Forget(Arguments):
    """What is to be removed."""

    uri: str
    recursive: bool = Field(default=False, description="Needed for a directory: all below goes too.")


def _write(desk: Desk, given: Write) -> str:
    refuse_access(given.acl)
    mode = "upsert" if given.mode == "replace" else given.mode
    done = desk.services.content.write(
        desk.caller, given.uri, given.content, mode, wait=given.wait, timeout=_timeout(given.wait, given.timeout)
    )
    if not done["content_updated"]:
        return f"No changes: {done['uri']} has this content already."
    return f"Wrote {done['written_bytes']:,} bytes to {done['uri']} (mode={given.mode}).\n{_indexed(done)}"


def _edit(desk: Desk, given: Edit) -> str:
    done = desk.services.editing.edit(
        desk.caller, given.uri, given.old_string, given.new_string, replace_all=given.replace_all, wait=given.wait,
        timeout=_timeout(given.wait, given.timeout),
    )  # fmt: skip
    if not done["content_updated"]:
        return f"No changes: old_string and new_string are the same, {done['uri']} stays as it is."
    places = "" if done["replaced"] == 1 else f" in {done['replaced']:,} places"
    return f"Edited {done['uri']}{places} ({done['written_bytes']:,} bytes written).\n{_indexed(done)}"


def _forget(desk: Desk, given: Forget) -> str:
    if not given.recursive and desk.services.editing.is_directory(desk.caller, given.uri):
        raise InvalidArgumentError(
            f"{given.uri} is a directory: with recursive=true it is deleted with all that is in it", field="recursive"
        )
    done = desk.services.fs.rm(desk.caller, given.uri, recursive=given.recursive)
    count = done["estimated_deleted_count"]
    if not count:
        return f"Nothing to delete: there is no {done['uri']}."
    return f"Deleted: {done['uri']}" + (f" ({count:,} files and directories)" if count > 1 else "")


def _indexed(done: dict[str, Any]) -> str:
    semantic, vector = done["semantic_status"], done["vector_status"]
    waiting = "queued" in {semantic, vector}
    later = " Found by its words now; meaning follows in a moment (wait=true awaits it)." if waiting else ""
    return f"Indexing: semantic={semantic}, vector={vector}.{later}"


def _timeout(wait: bool, seconds: float | None) -> float | None:
    return (WAIT_S if seconds is None else seconds) if wait else None


WRITE: Final = Tool(
    "write", "Write a file",
    "Store text as a file: notes, results, what is to be known later. It can be found at once. Your own things belong"
    " below viking://~/memories, documents below viking://resources. To change a part, use edit; to keep a conversation,"
    " remember.",
    Write, _write, waits=lambda given: given.wait, changes=True, destroys=True,
)  # fmt: skip

EDIT: Final = Tool(
    "edit", "Edit a file",
    "Replace a piece of text in a file. Fails if old_string is not there, or there several times without replace_all.",
    Edit, _edit, waits=lambda given: given.wait, changes=True, destroys=True,
)  # fmt: skip

FORGET: Final = Tool(
    "forget", "Delete",
    "Delete a file, or with recursive a directory with all that is in it. It cannot be undone: look first with list.",
    Forget, _forget, changes=True, destroys=True,
)  # fmt: skip

"""``memory_diff.json`` of an archive: what its commit changed, message by message (contract/core.md §3.6).

Beyond the documented fields each operation tells its ``sources``, the ids of the messages that say it, and what taking
it back needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from openviking.model.memory import ChangeKind, MemoryChange
from openviking.session.memories.changes import Step
from openviking.session.memories.fields import Fields

ROLLED_BACK: Final = "rolled_back_at"

_LISTS: Final[Mapping[ChangeKind, str]] = {"add": "adds", "update": "updates", "delete": "deletes"}


def diff_of(archive_uri: str, steps: Sequence[Step], now: str | None, extraction: Mapping[str, Any]) -> dict[str, Any]:
    """The diff of ``steps``; ``extraction`` says which way was taken, and why. ``now`` None: nothing was looked for."""
    listed: dict[str, list[dict[str, Any]]] = {name: [] for name in _LISTS.values()}
    for step in steps:
        listed[_LISTS[step.change.kind]].append(_told(step))
    return {
        "archive_uri": archive_uri,
        "extracted_at": now,
        "operations": listed,
        "summary": {f"total_{name}": len(operations) for name, operations in listed.items()},
        "extraction": dict(extraction),
    }


def steps_of(diff: Any) -> list[Step]:
    """The steps that a diff tells of. Raises `ValueError` for what is none."""
    try:
        listed = diff["operations"]
        return [_read(kind, one) for kind, name in _LISTS.items() for one in listed[name]]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"it is no memory_diff.json: {error!r}") from error


def _told(step: Step) -> dict[str, Any]:
    change = step.change
    told: dict[str, Any] = {"uri": change.uri, "memory_type": change.type}
    if change.kind == "delete":
        told["deleted_content"] = change.before
        told["deleted_tags"] = list(step.tags)
    else:
        told |= {"before": change.before} if change.kind == "update" else {}
        told["after"] = change.after
    told["sources"] = list(change.sources)
    if change.kind != "add":
        told["fields_before"] = None if step.fields is None else step.fields.to_dict()
    return told


def _read(kind: ChangeKind, told: Mapping[str, Any]) -> Step:
    before = told.get("deleted_content") if kind == "delete" else told.get("before")
    after = None if kind == "delete" else told["after"]
    for text in (told["uri"], told["memory_type"], *([] if after is None else [after])):
        if not isinstance(text, str):
            raise TypeError(f"{text!r} is no text")
    if kind != "add" and not isinstance(before, str):
        raise TypeError(f"{told['uri']} has no text before")
    sources = tuple(str(one) for one in told.get("sources", ()))
    fields = told.get("fields_before")
    tags = tuple(str(one) for one in told.get("deleted_tags", ()))
    change = MemoryChange(kind, told["memory_type"], told["uri"], sources, before, after)
    noted = Fields.from_dict(fields) if isinstance(fields, Mapping) else None
    return Step(change, noted, tags, redacted=bool(told.get("redacted")))

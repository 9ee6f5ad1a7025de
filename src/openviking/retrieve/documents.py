"""What a rerank model gets to read of ranked records: the passage that matched, or a directory's sidecar (§4.6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from openviking.errors import UnavailableError
from openviking.index.hidden_fields import visible
from openviking.retrieve.ranking import Ranked
from openviking.retrieve.snippet import readable
from openviking.store.port import Candidate, View
from openviking.uri import context_type

PASSAGE_BYTES: Final = 64 * 1024
"""How much of a passage is read; only markup can hold more, in its tags."""


def documents(view: View, best: Sequence[Ranked]) -> list[str]:
    """The text of each record, "" where there is none to show: such a record is not judged."""
    return [_document(view, one.candidate) for one in best]


def _document(view: View, one: Candidate) -> str:
    node = one.node
    if node.is_dir:
        sidecars = view.sidecars(node.path)
        return "" if sidecars is None else sidecars.abstract if one.level == 0 else sidecars.overview
    try:
        passage = _passage(view, one)
    except UnavailableError:
        # One file that is damaged is no reason to be without the others.
        return ""
    if not passage.strip():
        return ""
    return "\n".join(part for part in (one.breadcrumb, one.symbol, passage) if part)


def _passage(view: View, one: Candidate) -> str:
    node, end = one.node, one.end
    if context_type(node.path) == "memory":
        # Fields that a reader does not see are not shown to a service either.
        end = min(end, len(visible(view.text(node) or "").encode()))
    if end <= one.start:
        return ""
    passage = view.slice(node, one.start, min(end, one.start + PASSAGE_BYTES))
    return readable(passage, node.kind)

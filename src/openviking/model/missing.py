"""Why a record is not among the hits of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Reason = Literal[
    "found", "not_found", "hidden_file", "no_text", "not_described", "not_prepared", "empty", "outside_target", "context_type", "level",
    "tag", "since", "until", "filter", "no_match", "vector_pending", "below_threshold", "duplicate", "behind_files",
    "faded", "reranked", "below_cut", "not_selected", "not_walked",
]  # fmt: skip

FOUND: Final = "found"


@dataclass(frozen=True, slots=True)
class Missing:
    """The answer for one URI as it was asked for: a ``reason`` for programs, a ``message`` for people.

    ``reason`` is ``found`` where the record is among the hits after all. ``details`` are the values that the reason rests
    on, by name: ``score``, ``rank``, ``of``, ``cut``, ``threshold``, ``duplicate_of``, ``filter`` and others.
    """

    uri: str
    reason: Reason
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The element of ``missing`` as it goes over the wire."""
        return {"uri": self.uri, "reason": self.reason, "message": self.message, **self.details}

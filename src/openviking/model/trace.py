"""What a search did to find its hits (contract/retrieval.md §3.12)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Trace:
    """What a search that walks through directories did; all zero for one that looks everywhere at once."""

    events: tuple[dict[str, Any], ...] = ()
    duration_seconds: float = 0.0
    directories_searched: int = 0
    candidates_collected: int = 0
    candidates_excluded: int = 0
    convergence_rounds: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The trace as it goes over the wire."""
        return {
            "events": list(self.events),
            "statistics": {
                "total_events": len(self.events),
                "duration_seconds": self.duration_seconds,
                "directories_searched": self.directories_searched,
                "candidates_collected": self.candidates_collected,
                "candidates_excluded": self.candidates_excluded,
                "convergence_rounds": self.convergence_rounds,
            },
        }


NO_TRACE: Final = Trace()

"""The categories of what a context holds, the quotas that purposes give them, and what another peer's lose in rank."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

MEMORY_BUCKETS: Final = ("events", "entities", "preferences", "experiences")
BUCKETS: Final = (*MEMORY_BUCKETS, "resources", "skills")
"""The categories that may have a quota."""

OTHER_MEMORIES: Final = "memories"
"""The category of memories outside of the four named ones; it has no quota."""

CATEGORIES: Final = (*BUCKETS, OTHER_MEMORIES)
MEMORY_CATEGORIES: Final = frozenset({*MEMORY_BUCKETS, OTHER_MEMORIES})

_CHAT: Final = (3, 3, 1, 1, 1, 1)
_CODING: Final = (1, 2, 1, 1, 3, 2)

PURPOSES: Final[Mapping[str, Mapping[str, int]]] = MappingProxyType(
    {
        "chat": MappingProxyType(dict(zip(BUCKETS, _CHAT, strict=True))),
        "coding": MappingProxyType(dict(zip(BUCKETS, _CODING, strict=True))),
    }
)
"""Quotas by purpose (contract/retrieval.md §5.3); ten of each."""

PENALTIES: Final[Mapping[str, float]] = MappingProxyType(
    {
        "events": 0.1,
        "entities": 0.1,
        "preferences": 0.02,
        "experiences": 0.02,
        "resources": 0.02,
        "skills": 0.02,
        "memories": 0.1,
    }
)
"""What is taken from the score of another peer's hits where they are ranked (contract/retrieval.md §5.4)."""

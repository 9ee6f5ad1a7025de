"""What became of queued work, in the shape that clients know (contract/core.md §3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def queue_status(
    *, semantic: int, embedding: int, semantic_errors: Sequence[str] = (), embedding_errors: Sequence[str] = ()
) -> dict[str, Any]:
    """The state of both queues after a wait: how many each has done, and what went wrong."""
    return {
        "Semantic": _queue(semantic, semantic_errors),
        "Embedding": _queue(embedding, embedding_errors),
    }


def _queue(processed: int, errors: Sequence[str]) -> dict[str, Any]:
    return {
        "processed": processed,
        "requeue_count": 0,
        "error_count": len(errors),
        "errors": [{"message": error} for error in errors],
    }

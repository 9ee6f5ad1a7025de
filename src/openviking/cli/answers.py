"""What a server answers, in the shapes of the embedded door; written as JSON it stays as it came."""

from __future__ import annotations

from typing import Any

from openviking.model.embedding import Coverage
from openviking.model.hit import Degradation, FindResult, Hit
from openviking.model.matches import ContextLine, GlobResult, GrepMatch, GrepResult
from openviking.model.missing import Missing


class Answered:
    """Something made of an answer: its attributes, elements and length, and the answer as its JSON."""

    def __init__(self, value: Any, raw: Any) -> None:
        self._value = value
        self._raw = raw

    def __getattr__(self, name: str) -> Any:
        return getattr(self._value, name)

    def __iter__(self) -> Any:
        return iter(self._value)

    def __len__(self) -> int:
        return len(self._value)

    def to_dict(self) -> Any:
        """The answer."""
        return self._raw


def found(raw: dict[str, Any]) -> Answered:
    """The hits of a find or search, best first, copies behind them; whether a model is in use is not told."""
    hits = [_hit(one) for kind in ("memories", "resources", "skills") for one in raw.get(kind) or ()]
    hits.sort(key=lambda hit: (hit.duplicate_of is not None, -hit.score))
    retrieval = raw.get("retrieval") or {}
    vectors = retrieval.get("vectors") or {}
    degraded = tuple(
        Degradation(str(one.get("stage", "")), str(one.get("reason", ""))) for one in retrieval.get("degraded") or ()
    )
    coverage = Coverage(vectors.get("have") or 0, vectors.get("of") or 0)
    missing = tuple(Missing(one["uri"], one["reason"], one["message"]) for one in raw.get("missing") or ())
    return Answered(FindResult(tuple(hits), degraded, coverage, missing=missing), raw)


def _hit(raw: dict[str, Any]) -> Hit:
    lines = raw.get("lines")
    explain = raw.get("explain")
    return Hit(
        uri=raw["uri"],
        context_type=raw.get("context_type") or "resource",
        level=2 if raw.get("level") is None else raw["level"],
        score=raw.get("score") or 0.0,
        abstract=raw.get("abstract") or "",
        tags=tuple(raw.get("tags") or ()),
        lines=(lines[0], lines[1]) if lines else None,
        snippet=raw.get("snippet") or "",
        content=raw.get("content"),
        explain=tuple((one["name"], one["value"]) for one in explain) if isinstance(explain, list) else None,
        duplicate_of=raw.get("duplicate_of"),
    )


def grep_matches(raw: dict[str, Any]) -> Answered:
    """The lines of a grep."""
    matches = tuple(
        GrepMatch(
            one["uri"], one["line"], one["content"], _context(one.get("before_context")), _context(one.get("after_context")),
            None if one.get("tags") is None else tuple(one["tags"]),
        )
        for one in raw["matches"]
    )  # fmt: skip
    return Answered(GrepResult(matches, raw.get("files_scanned") or 0, _total(raw)), raw)


def _context(raw: list[dict[str, Any]] | None) -> tuple[ContextLine, ...] | None:
    return None if raw is None else tuple(ContextLine(one["line"], one["content"]) for one in raw)


def glob_matches(raw: dict[str, Any]) -> Answered:
    """The matches of a glob."""
    return Answered(GlobResult(tuple(raw["matches"]), _total(raw)), raw)


def _total(raw: dict[str, Any]) -> int:
    total = raw.get("total")
    return total if isinstance(total, int) else len(raw["matches"]) + bool(raw.get("truncated"))

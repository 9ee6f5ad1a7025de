"""What grep and glob return."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ContextLine:
    """A line beside a match: its 1-based number and its text."""

    line: int
    content: str

    def to_dict(self) -> dict[str, Any]:
        """The line as it goes over the wire."""
        return {"line": self.line, "content": self.content}


@dataclass(frozen=True, slots=True)
class GrepMatch:
    """A matching line; the optional members are None unless they were asked for."""

    uri: str
    line: int
    content: str
    before_context: tuple[ContextLine, ...] | None = None
    after_context: tuple[ContextLine, ...] | None = None
    tags: tuple[str, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The match as it goes over the wire."""
        out: dict[str, Any] = {"uri": self.uri, "line": self.line, "content": self.content}
        if self.before_context is not None:
            out["before_context"] = [line.to_dict() for line in self.before_context]
        if self.after_context is not None:
            out["after_context"] = [line.to_dict() for line in self.after_context]
        if self.tags is not None:
            out["tags"] = list(self.tags)
        return out


@dataclass(frozen=True, slots=True)
class GrepResult:
    """Matching lines in walk order; ``total`` counts all that there are, ``truncated`` says that some are not listed."""

    matches: tuple[GrepMatch, ...]
    files_scanned: int
    total: int

    @property
    def count(self) -> int:
        """How many matches are listed."""
        return len(self.matches)

    @property
    def truncated(self) -> bool:
        """Whether there are more matches than listed."""
        return self.total > len(self.matches)

    def __iter__(self) -> Iterator[GrepMatch]:
        return iter(self.matches)

    def __len__(self) -> int:
        return len(self.matches)

    def to_dict(self) -> dict[str, Any]:
        """The result as it goes over the wire."""
        return {
            "matches": [match.to_dict() for match in self.matches],
            "count": self.count,
            "match_count": self.count,
            "files_scanned": self.files_scanned,
            "truncated": self.truncated,
            "total": self.total,
        }


@dataclass(frozen=True, slots=True)
class GlobResult:
    """Matching URIs in order of their path components, or objects if fields or tags were asked for."""

    matches: tuple[str, ...] | tuple[dict[str, Any], ...]
    total: int

    @property
    def count(self) -> int:
        """How many matches are listed."""
        return len(self.matches)

    @property
    def truncated(self) -> bool:
        """Whether there are more matches than listed."""
        return self.total > len(self.matches)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.matches)

    def __len__(self) -> int:
        return len(self.matches)

    def to_dict(self) -> dict[str, Any]:
        """The result as it goes over the wire."""
        return {"matches": list(self.matches), "count": self.count, "truncated": self.truncated, "total": self.total}

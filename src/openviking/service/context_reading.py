"""Reads what context mode tells of its candidates, in one state of the account.

Whose candidates they are was decided by where they were searched for; here nothing is looked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from openviking.context.candidates import Candidate
from openviking.errors import UnavailableError
from openviking.index.hidden_fields import visible
from openviking.ingest.sidecars import CurrentSidecars
from openviking.model.node import Node
from openviking.retrieve.find import MEMORY_ABSTRACT_BYTES
from openviking.session.archives import DIFF
from openviking.session.memories.conversation import LOG
from openviking.session.memories.diff import ROLLED_BACK
from openviking.store.port import View
from openviking.uri import SCHEME

MOST_BYTES: Final = 1024 * 1024
"""Of a longer text this much is read: what it tells is more than any budget holds."""


class Reading:
    """The texts of one view for the caller ``user``."""

    def __init__(self, view: View, user: str) -> None:
        self._view = view
        self._events = f"user/{user}/memories/events/"

    def bodies(self, candidates: Sequence[Candidate]) -> Mapping[str, str | None]:
        """By URI the text of a file or the overview of a directory; None of what is gone, damaged or no text."""
        return {one.uri: self._body(one) for one in candidates}

    def abstracts(self, uris: Sequence[str]) -> Mapping[str, str]:
        """The abstracts of packages, by their directories, and of memories, by their files; "" where there is none."""
        found = {}
        for uri in uris:
            node = self._view.get(_path(uri))
            if node is not None:
                found[uri] = CurrentSidecars(self._view).of(node.path).abstract if node.is_dir else self._memory(node)
        return found

    def events(self, archives: Iterable[str]) -> Mapping[str, str | None]:
        """By the directory of an archive the event memory that was made of it, where there is one and it is there still.

        None for one whose memories were taken back: who did that does not want it served.
        """
        found: dict[str, str | None] = {}
        for archive in dict.fromkeys(archives):
            node = self._view.get(f"{_path(archive)}/{DIFF}")
            diff = None if node is None or node.is_dir else _diff(self._view, node)
            if diff is None:
                continue
            if diff.get(ROLLED_BACK):
                found[archive] = None
            for uri in _conversations(diff):
                path = _path(uri)
                if path.startswith(self._events) and self._view.get(path) is not None:
                    found[archive] = uri
                    break
        return found

    def there(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """The candidates without those of skills that have no SKILL.md: a directory of skills may hold what is none."""
        return [one for one in candidates if not one.package or self._view.get(_path(one.uri)) is not None]

    def _body(self, candidate: Candidate) -> str | None:
        node = self._view.get(_path(candidate.uri))
        if node is None or node.is_dir != candidate.directory:
            return None
        return CurrentSidecars(self._view).of(node.path).overview if node.is_dir else self._text(node)

    def _text(self, node: Node) -> str | None:
        try:
            return self._view.slice(node, 0, MOST_BYTES) if node.size > MOST_BYTES else self._view.text(node)
        except UnavailableError:
            # One file that is damaged is no reason to be without the others.
            return None

    def _memory(self, node: Node) -> str:
        shown = visible(self._text(node) or "")
        return shown.encode()[:MEMORY_ABSTRACT_BYTES].decode("utf-8", "ignore")


def _path(uri: str) -> str:
    return uri.removeprefix(SCHEME)


def _diff(view: View, node: Node) -> dict[str, Any] | None:
    """A ``memory_diff.json``; None if it is damaged: then the archive tells for itself."""
    try:
        told = json.loads(view.data(node))
    except (UnavailableError, ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def _conversations(diff: Mapping[str, Any]) -> list[str]:
    """The URIs of memories that hold the conversation of a commit."""
    try:
        operations = diff["operations"]
        told = [one for kind in ("adds", "updates") for one in operations.get(kind) or ()]
        return [str(one["uri"]) for one in told if LOG in str(one.get("after"))]
    except (KeyError, TypeError, AttributeError):
        # It is of another version.
        return []

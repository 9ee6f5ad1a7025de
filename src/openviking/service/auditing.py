"""The audit of a part of the tree, within a time: what is wrong, how much of each kind, and what mends it."""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from openviking.errors import InvalidArgumentError, NotFoundError
from openviking.ingest.prepare import PREPARED
from openviking.model.identity import Identity
from openviking.service.access import resolve
from openviking.service.accounts import Accounts
from openviking.service.targets import sees_all, visible_roots
from openviking.service.worker import time_limit
from openviking.session.auditing import archive_faults
from openviking.store.audit import KINDS, Damage, Piece, Position
from openviking.store.port import AccountStore
from openviking.text import quoted
from openviking.uri import from_path

EXAMPLES: Final = 20
DEFAULT_S: Final = 30.0
"""Seconds after which an audit stops and says from where it can be carried on."""

MAX_CURSOR_CHARS: Final = 32_768
PENDING_COUNTED: Final = 10_000


class Auditing:
    """Looks piece by piece, so that neither writers nor a million records are in its way."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    def audit(
        self, identity: Identity, uri: str, *, timeout: float | None = None, cursor: str | None = None
    ) -> dict[str, Any]:
        """Whether all at and below ``uri`` that the caller may see is whole; at ``viking://`` also what has no place.

        Each of ``problems`` has a ``kind``, a ``count``, ``examples`` and the mode of a reindex that mends it. After
        ``timeout`` seconds (30) it ends with ``complete`` False and a ``cursor``, with which the next call goes on;
        ``ok`` is True only for a complete audit that found nothing, in the calls before it neither. What is
        ``pending`` is queued and no fault. Raises `NotFoundError`, `InvalidArgumentError`.
        """
        limit = time_limit(timeout)
        deadline = time.monotonic() + (DEFAULT_S if limit is None else limit)
        target = resolve(identity, uri)
        store = self._accounts.store(identity)
        whole = not target.parts and sees_all(identity, target)
        with store.read() as view:
            if view.get(target.path) is None:
                raise NotFoundError(str(target), "directory")
            roots = visible_roots(view, identity, target)
            expected = sum(view.count_records(root) for root in roots)
            stale = sum(len(view.dirty(PENDING_COUNTED, root)) for root in roots)
            outdated = sum(len(view.outdated(PREPARED, PENDING_COUNTED, root)) for root in roots)
        found = _Found()
        start, found.before = _position(cursor, whole=whole)
        onward: Position | None = start
        try:
            for piece in pieces(store, roots, start, whole=whole):
                found.add(piece)
                onward = piece.next
                if time.monotonic() >= deadline:
                    break
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            if not cursor:
                raise
            raise _no_cursor(cursor) from error
        return {
            "ok": onward is None and not found.total,
            "complete": onward is None,
            "cursor": None if onward is None else _cursor(onward, found.total),
            "expected_count": expected,
            **found.to_dict(),
            "pending_count": stale,
            "pending": {
                "summaries": stale, "files": outdated, "vectors": found.counts["vectors_waiting"],
                "refused": found.counts["vectors_refused"],
            },
        }  # fmt: skip


def pieces(
    store: AccountStore,
    roots: Sequence[str],
    position: Position | None = None,
    *,
    whole: bool,
    bytes_too: bool = True,
    recursive: bool = True,
) -> Iterator[Piece]:
    """The pieces of an audit from a position on, with what is wrong with archives; nothing is held between two."""
    onward = position or Position()
    while True:
        piece = store.audit.look(roots, onward, whole=whole, bytes_too=bytes_too, recursive=recursive)
        for session in piece.sessions:
            piece.found.extend(archive_faults(store, session))
        yield piece
        if piece.next is None:
            return
        onward = piece.next


class _Found:
    """What pieces found, by kind, with a few examples of each."""

    def __init__(self) -> None:
        self.before = 0
        self.counts: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._examples: dict[str, list[Damage]] = {}
        self._records: set[tuple[str | None, int]] = set()
        self._missing: list[Damage] = []

    @property
    def total(self) -> int:
        """How much is wrong, in the calls before this one too."""
        return self.before + sum(self._kinds.values())

    def add(self, piece: Piece) -> None:
        self.counts.update(piece.counts)
        for damage in piece.found:
            self._kinds[damage.kind] += 1
            examples = self._examples.setdefault(damage.kind, [])
            if len(examples) < EXAMPLES:
                examples.append(damage)
            if damage.path is not None and (damage.path, damage.level) not in self._records:
                self._records.add((damage.path, damage.level))
                if len(self._missing) < EXAMPLES:
                    self._missing.append(damage)

    def to_dict(self) -> dict[str, Any]:
        problems = [
            {
                "kind": kind,
                "count": self._kinds[kind],
                "about": about,
                "repair": mode,
                "examples": [_example(one) for one in self._examples[kind]],
            }
            for kind, (mode, about) in KINDS.items()
            if kind in self._kinds
        ]
        names = ("files", "directories", "sessions", "passages", "postings", "vectors")
        return {
            "missing_record_count": len(self._records),
            "missing_records_truncated": len(self._records) > len(self._missing),
            "missing_records": [
                {**_example(one), "path": one.path, "level": one.level, "key": f"{one.kind}:{one.path}"}
                for one in self._missing
            ],
            "counts": {name: self.counts[name] for name in names},
            "problems": problems,
        }


def _example(damage: Damage) -> dict[str, Any]:
    place = {} if damage.path is None else {"uri": str(from_path(damage.path))}
    return {**place, "reason": damage.detail}


def _cursor(position: Position, found: int) -> str:
    told = json.dumps([position.part, list(position.after), found], separators=(",", ":"))
    return base64.urlsafe_b64encode(told.encode()).decode().rstrip("=")


def _position(cursor: object, *, whole: bool) -> tuple[Position, int]:
    """From where on to look, and how much was found before."""
    if cursor is None or cursor == "":
        return Position(), 0
    if not isinstance(cursor, str) or len(cursor) > MAX_CURSOR_CHARS:
        raise _no_cursor(cursor)
    try:
        told = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        part, after, found = told
        simple = all(isinstance(one, str | int) and not isinstance(one, bool) for one in (part, found, *after))
        # A caller may not look at what no place shows by asking for it.
        if not simple or not 0 <= part <= (1 << 16 if whole else 1) or found < 0:
            raise _no_cursor(cursor)
        if part < 2 and after and not 0 <= int(after[0]) < 1 << 31:
            raise _no_cursor(cursor)
    except (binascii.Error, ValueError, TypeError, RecursionError) as error:
        raise _no_cursor(cursor) from error
    return Position(part, tuple(after)), found


def _no_cursor(cursor: object) -> InvalidArgumentError:
    return InvalidArgumentError(f"cursor {quoted(cursor)} was not given by an audit of this place", field="cursor")

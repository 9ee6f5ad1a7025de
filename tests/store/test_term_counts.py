"""Counts of terms are remembered, and right in every state: after writes, removals and purges of whatever connection."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.stubs.queries import words

from openviking.model.scope import Scope
from openviking.store.batch import PutFile, Remove
from openviking.store.port import AccountStore
from openviking.store.sqlite import term_counts
from openviking.store.sqlite.term_counts import TermCounts

Put = Callable[..., PutFile]
OpenStore = Callable[[Path], AccountStore]


def scores(store: AccountStore) -> list[float]:
    with store.read() as view:
        return [candidate.score for candidate in view.search(words("zorblax", "amber"), Scope(), 10)]


def test_scores_follow_every_write_purge_and_other_store(open_store: OpenStore, put: Put, tmp_path: Path) -> None:
    """A store that has answered before gives the scores of one that is just opened."""
    place = tmp_path / "store"
    store, other = open_store(place), open_store(place)
    steps: list[Callable[[], object]] = [
        lambda: store.apply([put("resources/a.md", "zorblax amber")]),
        lambda: store.apply([put(f"resources/many/{number}/amber.md", f"amber {number}") for number in range(400)]),
        lambda: other.apply([put("resources/b.md", "amber amber zorblax")]),
        lambda: other.apply([Remove("resources/many", recursive=True)]),
        lambda: other.purge(100),
        lambda: store.purge(10_000),
        lambda: store.apply([Remove("resources/b.md")]),
    ]
    before: list[float] = []
    for step in steps:
        step()
        assert scores(store) == scores(open_store(place)) == scores(store)
        assert scores(store) != before
        before = scores(store)


def test_an_older_view_has_its_own_counts(store: AccountStore, put: Put) -> None:
    store.apply([put("resources/a.md", "zorblax amber")])
    with store.read() as old:
        before = old.search(words("amber"), Scope(), 10)
        store.apply([put(f"resources/{number}.md", f"amber {number}") for number in range(20)])
        assert old.search(words("amber"), Scope(), 10) == before
    with store.read() as new:
        assert len(new.search(words("amber"), Scope(), 30)) > len(before)


def test_it_remembers_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_counts, "MOST_TERMS", 10)
    with contextlib.closing(sqlite3.connect(":memory:")) as connection, connection:
        connection.execute("CREATE TABLE meta (name TEXT, value)")
        connection.execute("INSERT INTO meta VALUES ('change', 1)")
        for table in ("words", "names"):
            connection.execute(f"CREATE VIRTUAL TABLE {table} USING fts5 (text)")
        connection.execute("CREATE VIRTUAL TABLE word_counts USING fts5vocab (words, row)")
        connection.execute("CREATE VIRTUAL TABLE name_counts USING fts5vocab (names, row)")
        connection.execute("INSERT INTO words VALUES ('amber basalt amber')")
        counts = TermCounts()
        for number in range(100):
            assert counts.of(connection, ["amber", f"w{number}"]) == {"amber": (1, 0), f"w{number}": (0, 0)}
            assert counts.remembered <= 12

"""What a search reads: no more than may be among the best, from memory what is there, and after a write what is new.

Whatever is left out or read in another way, the answer is that of a search which reads everything.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from openviking.ingest.prepare import PathAnalyser, prepare
from openviking.ingest.sidecars import render_all
from openviking.model.embedding import EmbeddingModel
from openviking.model.scope import Scope
from openviking.store.batch import PutFile, Remove
from openviking.store.port import Candidate, Query, QueryVector
from openviking.store.sqlite import searching, word_search
from openviking.store.sqlite.account import SqliteStore
from openviking.store.sqlite.scan import nearest, reading, scans
from openviking.store.sqlite.searching import Search
from openviking.store.sqlite.view import SqliteView
from openviking.store.vectors import MadeVector

MODEL = EmbeddingModel("hashes", 16, 0, "", "", "cls", 0.0, 1.0, True)
WORDS = [f"{first}{second}" for first in ("ka", "lo", "mi", "tu", "ve") for second in ("rin", "dam", "sok", "pel")]
SCOPES = [Scope(), Scope(("resources/d1",)), Scope(levels=(2,)), Scope(("resources/d2/3-rindam.md", "resources/d3"))]


def unit(text: str | bytes) -> NDArray[np.float32]:
    seed = int.from_bytes(hashlib.sha256(text if isinstance(text, bytes) else text.encode()).digest()[:8])
    values = np.random.default_rng(seed).standard_normal(MODEL.dimension)
    return np.asarray(values / np.linalg.norm(values), np.float32)


def mixed(_type: str, words: float, cosine: float | None) -> float:
    return words if cosine is None else 0.5 * words + 0.5 * max(cosine, 0.0)


def put(path: str, content: str) -> PutFile:
    return PutFile(path, prepare(path.rpartition("/")[2], content.encode()))


def embed(store: SqliteStore, limit: int = 10_000) -> None:
    store.vectors.use(MODEL)
    claimed = store.vectors.claim(MODEL.fingerprint, limit)
    made = [MadeVector(one.hash, one.lease, unit(one.hash)[None]) for one in claimed]
    store.vectors.put(MODEL.fingerprint, made)


def asked(*terms: str, near: str | None = None) -> Query:
    return Query(terms, None if near is None else QueryVector(MODEL.fingerprint, unit(near)), mixed)


def files(count: int, seed: int = 1) -> list[PutFile]:
    """Files of some passages whose words are of different frequency; some words are in names, too."""
    chance = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(len(WORDS))]
    made = []
    for number in range(count):
        parts = [
            f"# {chance.choice(WORDS)}\n\n" + " ".join(chance.choices(WORDS, weights, k=chance.randrange(3, 90)))
            for _ in range(chance.randrange(1, 4))
        ]
        name = f"{number}-{chance.choice(WORDS)}.md" if number % 3 else f"{number}.md"
        made.append(put(f"resources/d{number % 5}/{name}", "\n\n".join(parts)))
    return made


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(tmp_path / "store", PathAnalyser())


def best(store: SqliteStore, query: Query, scope: Scope, limit: int) -> list[tuple[str, int, float, int]]:
    """The records down to the ``limit``-th content."""
    with store.read() as view:
        # As a find does: the rows of the scope are then in memory.
        view.coverage(MODEL.fingerprint, scope)
        found: list[Candidate] = view.search(query, scope, limit)
    kept = []
    contents = set()
    for one in found:
        contents.add(one.node.hash)
        if len(contents) > limit:
            break
        kept.append((one.node.path, one.level, one.score, one.start))
    return kept


@pytest.mark.cpu_budget(12)
@pytest.mark.parametrize("vectors", ["all", "most", "half"])
def test_what_is_not_read_is_not_among_the_best(
    store: SqliteStore, vectors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "SCORED_AT_ONCE", 4)
    monkeypatch.setattr(searching, "NARROW_PASSAGES", 5)
    monkeypatch.setattr(word_search, "COMMON_PASSAGES", 60)
    monkeypatch.setattr(word_search, "POSTINGS_IN_MEMORY", 150)
    monkeypatch.setattr(nearest, "FEW_WITHOUT", 30)
    store.apply(files(160))
    embed(store, {"all": 10_000, "most": 300, "half": 120}[vectors])
    chance = random.Random(vectors)
    for _ in range(40):
        terms = chance.sample(WORDS, chance.randrange(0, 5))
        query = asked(*terms, near=str(chance.random()) if chance.random() < 0.8 or not terms else None)
        scope, limit = chance.choice(SCOPES), chance.choice([1, 3, 10])
        few = best(store, query, scope, limit)
        with monkeypatch.context() as patch:
            patch.setattr(searching, "SCORED_AT_ONCE", 10_000)
            assert best(store, query, scope, limit) == few
    store.close()


@pytest.mark.cpu_budget(8)
def test_postings_say_the_same_by_memory_and_by_tables(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "NARROW_PASSAGES", 5)
    monkeypatch.setattr(word_search, "POSTINGS_IN_MEMORY", word_search.SELECTED_POSTINGS)
    store.apply(files(120))
    embed(store)
    store.apply(files(6, seed=2))
    chance = random.Random(3)
    for _ in range(25):
        query, scope = asked(*chance.sample(WORDS, chance.randrange(1, 5))), chance.choice(SCOPES)
        by_memory = best(store, query, scope, 10)
        with monkeypatch.context() as patch:
            patch.setattr(scans.Scans, "passages", lambda *_: None)
            assert best(store, query, scope, 10) == by_memory
        assert by_memory
    store.close()


def scored(view: SqliteView, query: Query, limit: int) -> int:
    """How many passages a search reads."""
    search = Search(
        view._sql, view._analyser, view._counts, view._scans, query, Scope(), frozenset(), MODEL.fingerprint
    )
    assert len({one.node.hash for one in search.best(limit)}) >= limit
    return len(search._scoring.seen)


def test_few_passages_are_read(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "NARROW_PASSAGES", 5)
    store.apply([put(f"resources/{n % 7}/{n}.md", f"zorblax amber {'other ' * (20 + n // 6)}{n}") for n in range(600)])
    embed(store)
    with store.read() as view:
        view.coverage(MODEL.fingerprint, Scope())
        assert isinstance(view, SqliteView)
        assert scored(view, asked("amber"), 10) <= 2 * searching.SCORED_AT_ONCE
        assert scored(view, asked("zorblax", "amber", near="x"), 10) <= 3 * searching.SCORED_AT_ONCE
    store.close()


def steps(store: SqliteStore, work: Callable[[], object]) -> int:
    """How many instructions the database's machine does for ``work``: a measure that is the same on every computer."""
    counted = [0]

    def step() -> int:
        counted[0] += 1
        return 0

    with store._connections.reading() as reader:
        reader.set_progress_handler(step, 10)
        work()
        reader.set_progress_handler(None, 0)
    return counted[0]


def catching_up(store: SqliteStore) -> int:
    def look() -> None:
        with store.read() as view:
            view.coverage(MODEL.fingerprint, Scope())

    return steps(store, look)


def test_catching_up_costs_what_is_new(store: SqliteStore) -> None:
    def after_a_write(name: str) -> int:
        store.apply([put(f"resources/new/{name}.md", f"zorblax {name}")])
        return catching_up(store)

    def after_vectors() -> int:
        embed(store)
        return catching_up(store)

    store.apply([put(f"resources/a/{number}.md", f"zorblax {number}") for number in range(50)])
    embed(store)
    catching_up(store)
    written, made = after_a_write("first"), after_vectors()
    assert min(written, made) > 0
    store.apply([put(f"resources/a/{number}.md", f"zorblax {number}") for number in range(50, 1000)])
    embed(store)
    assert catching_up(store) > 10 * made
    assert after_a_write("second") < 2 * written
    assert after_vectors() < 2 * made
    store.close()


def test_new_vectors_are_found_by_their_ids(store: SqliteStore) -> None:
    store.apply([put(f"resources/a/{number}.md", f"zorblax {number}") for number in range(10)])
    embed(store)
    plans: list[str] = []
    with store._connections.reading() as reader:
        reader.set_trace_callback(plans.append)
        model = reading.model(reader, MODEL.fingerprint)
        assert model is not None
        list(reading.new_vectors(reader, model, 3, reading.state(reader)))
        reader.set_trace_callback(None)
        (query,) = [sql for sql in plans if "FROM vectors v CROSS JOIN passages" in sql]
        plan = [row[3] for row in reader.execute(f"EXPLAIN QUERY PLAN {query}")]
    assert plan[0].startswith("SEARCH v USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)")
    assert "passages_hash" in plan[1]
    store.close()


def test_what_was_refused_is_counted_once_for_a_state(store: SqliteStore) -> None:
    def refuse(count: int) -> None:
        claimed = store.vectors.claim(MODEL.fingerprint, count)
        store.vectors.put(MODEL.fingerprint, [MadeVector(one.hash, one.lease, None, "poison") for one in claimed])

    def refused(root: str) -> int:
        with store.read() as view:
            return view.coverage(MODEL.fingerprint, Scope((root,))).refused

    store.vectors.use(MODEL)
    store.apply([put(f"resources/{'ab'[number % 2]}/{number}.md", f"zorblax {number}") for number in range(400)])
    for made in (0, 1):
        embed(store, made)
        refuse(100)
        assert catching_up(store) > 5 * catching_up(store)
        assert refused("resources/a") == refused("resources/b") == 50 + 50 * made
    refuse(2)
    assert refused("resources/a") == 101
    store.apply([put("resources/a/new.md", "zorblax 399")])
    assert refused("resources/a") == 102, "it is what was refused, written again"
    store.close()


def test_passages_are_counted_by_those_that_are_not_in_the_scope(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.apply(files(60))
    store.apply([put("resources/d1/.hidden.md", "zorblax"), put("resources/d1/.a/b.md", "zorblax")])
    store.apply([put("user/u/memories/m.md", "zorblax"), put("agent/a/memories/m.md", "zorblax")])
    render_all(store)
    store.apply(
        [
            put("resources/d1/late.md", "zorblax"),
            put("resources/gone/it.md", "zorblax"),
            Remove("resources/d2", recursive=True),
        ]
    )
    scopes = [
        Scope(),
        Scope(("",)),
        Scope(("user/u", "resources")),
        Scope(("resources/d1", "resources/nothing")),
        Scope(("resources",), ("resources/d1", "resources/d3")),
        Scope(("resources", "user"), context_types=("memory",)),
        Scope(levels=(2,)),
        Scope(("resources/d1/late.md",)),
        Scope(nothing=True),
        Scope(()),
    ]
    counts = []
    for most in (0, 30, 10_000):
        monkeypatch.setattr(scans, "OTHERS", most)
        store.apply([put("resources/d1/late.md", f"zorblax {most}")])
        with store.read() as view:
            counts.append([view.coverage("", scope).of for scope in scopes])
    assert counts[0] == counts[1] == counts[2]
    assert counts[0][0] > counts[0][2] > counts[0][3] > 0
    store.close()


def test_counting_after_a_write_costs_what_is_not_in_the_scope(store: SqliteStore) -> None:
    def after_a_write(name: str) -> int:
        store.apply([put(f"resources/a/{name}.md", f"zorblax {name}")])
        return catching_up(store)

    after_a_write("first")
    few = after_a_write("second")
    store.apply([put(f"resources/a/{number}.md", f"zorblax {number}") for number in range(1500)])
    assert after_a_write("third") < 3 * few
    store.close()

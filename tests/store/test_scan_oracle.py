"""The scan after any history of writes, in any view of any store on the same files, against a plain computation.

The oracle looks at every passage of the account through the view's other methods, with none of the scan's shortcuts.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given, settings
from numpy.typing import NDArray

from openviking.ingest.prepare import PathAnalyser, prepare
from openviking.model.embedding import Coverage, EmbeddingModel
from openviking.model.node import Node
from openviking.model.scope import Scope
from openviking.store.batch import Move, Operation, PutFile, PutSidecars, Remove, SetTags
from openviking.store.port import Query, QueryVector
from openviking.store.sqlite.account import SqliteStore
from openviking.store.sqlite.scan import mirror, reading, scans
from openviking.store.sqlite.scan.rows import Rows
from openviking.store.sqlite.view import SqliteView
from openviking.store.vectors import MadeVector
from openviking.uri import context_type

MODEL = EmbeddingModel("hashes", 24, 0, "", "", "cls", 0.0, 1.0, True)

PATHS = [
    "resources/a.md",
    "resources/d/b.md",
    "resources/d/e/c.md",
    "resources/f/d.md",
    "resources/d/.hidden.md",
    "user/u/memories/m.md",
]
PLACES = ["resources/d", "resources/d/e", "resources/f", "resources/moved"]
LONG = "\n\n".join(f"# Part {number}\n\n" + " ".join(f"w{number}x{word}" for word in range(90)) for number in range(4))
CONTENTS = ["one", "two", "three", "", LONG, LONG.replace("w2x1 ", "changed ")]
TAGS = ["a=1", "b=2"]
SCOPES = [
    Scope(),
    Scope(("resources/d",)),
    Scope(("resources/a.md", "resources/f")),
    Scope(("resources",), ("resources/d/e", "resources/a.md")),
    Scope(context_types=("memory",)),
    Scope(levels=(0, 1)),
    Scope(levels=(2,), tags=("a=1",)),
    Scope(("resources/moved", "resources/d/b.md"), context_types=("resource",)),
    Scope(since=1),
    Scope(until=1, time_field="created_at"),
    Scope(nothing=True),
]


def directions(digest: bytes) -> NDArray[np.float32]:
    """One to three vectors that are always the same for a content, and of no other."""
    chance = np.random.default_rng(int.from_bytes(digest[:8]))
    values = chance.standard_normal((1 + digest[0] % 3, MODEL.dimension))
    return np.asarray(values / np.linalg.norm(values, axis=1, keepdims=True), np.float32)


def settled(digest: bytes) -> bool:
    """Whether the model can say nothing of a content."""
    return digest[1] % 4 == 0


def score(_type: str, words: float, cosine: float | None) -> float:
    return words if cosine is None else (2 + cosine) / 4


def question(text: str) -> NDArray[np.float32]:
    return np.asarray(directions(hashlib.sha256(text.encode()).digest())[0], np.float32)


def inside(path: str, top: str) -> bool:
    return not top or path == top or path.startswith(f"{top}/")


def in_scope(view: SqliteView, node: Node, scope: Scope) -> bool:
    time = node.updated_at if scope.time_field == "updated_at" else node.created_at
    return (
        (node.is_dir or not node.name.startswith("."))
        and (scope.roots is None or any(inside(node.path, root) for root in scope.roots))
        and not any(inside(node.path, root) for root in scope.excluded)
        and (not scope.context_types or context_type(node.path) in scope.context_types)
        and set(scope.tags) <= set(view.tags([node.id]).get(node.id, ()))
        and (scope.since is None or time >= scope.since)
        and (scope.until is None or time <= scope.until)
        and not scope.nothing
    )


def expected(view: SqliteView, asked: NDArray[np.float32], scope: Scope) -> tuple[list[tuple[Any, ...]], Coverage]:
    """The best passage of each record with its cosine, best first, and how many passages have a vector."""
    stored = dict(
        view._sql.execute(
            "SELECT v.hash, v.vector FROM vectors v JOIN models m ON m.id = v.model_id WHERE m.fingerprint = ?",
            (MODEL.fingerprint,),
        ).fetchall()
    )
    found = []
    have = of = 0
    for entry in view.walk(""):
        node = entry.node
        if not in_scope(view, node, scope):
            continue
        sidecars = view.sidecars(node.path) if node.is_dir else None
        if node.is_dir and (sidecars is None or sidecars.stale):
            continue
        for passage in view.passages(node):
            if scope.levels and passage.level not in scope.levels:
                continue
            vector = stored.get(passage.hash)
            of += vector != b""
            if vector:
                have += 1
                vectors = np.frombuffer(vector, "<f2").reshape(-1, MODEL.dimension).astype(np.float64)
                cosine = round(float((vectors @ asked.astype(np.float64)).max()), 9)
                found.append((-cosine, node.path, passage.level, passage.start, passage.id))
    best: dict[tuple[str, int], tuple[Any, ...]] = {}
    for one in sorted(found):
        best.setdefault((one[1], one[2]), one)
    return list(best.values()), Coverage(have, of)


def check(view: SqliteView, scope: Scope, text: str) -> None:
    asked = question(text)
    wanted, coverage = expected(view, asked, scope)
    given_ = view.search(Query((), QueryVector(MODEL.fingerprint, asked), score), scope, 1000)
    assert [(-(one.cosine or 0.0), one.node.path, one.level, one.start, one.passage_id) for one in given_] == wanted
    assert view.coverage(MODEL.fingerprint, scope) == coverage
    check_rows(view)


def check_rows(view: SqliteView) -> None:
    """What was caught up is what is read anew."""
    model = reading.model(view._sql, MODEL.fingerprint)
    mirrored = view._scans._mirrors.get(MODEL.fingerprint)
    if model is None or mirrored is None:
        return
    state = reading.state(view._sql)
    anew = reading.all_rows(view._sql, model, state).rows
    stale = {row[0] for row in view._sql.execute("SELECT id FROM directories WHERE dirty > 0")}
    parts = [(part.rows, part.alive) for part in mirrored.at(view._sql, state).parts]
    assert sorted(living(parts, state.vector, stale)) == sorted(
        living([(anew, np.ones(len(anew), np.bool_))], state.vector, stale)
    )


def living(
    parts: list[tuple[Rows, NDArray[np.bool_]]], newest: int, stale: set[int]
) -> Iterator[tuple[int | float | bytes, ...]]:
    for rows, alive in parts:
        for number in np.flatnonzero(alive):
            vector = int(rows.vector[number]) if abs(rows.vector[number]) <= newest else 0
            if (vector or not rows.window[number]) and (rows.level[number] == 2 or rows.directory[number] not in stale):
                place = (
                    rows.passage, rows.window, rows.node, rows.directory, rows.level, rows.updated_at, rows.created_at
                )  # fmt: skip
                code = (float(rows.scale[number]), rows.code[number].tobytes()) if vector else (0.0, b"")
                yield *(int(column[number]) for column in place), vector, *code


class Held:
    """A view that stays open in a thread of its own, as that of a slow reader does."""

    def __init__(self, store: SqliteStore) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._open = contextlib.ExitStack()
        self._view = self._thread.submit(self._begin, store).result()

    def _begin(self, store: SqliteStore) -> SqliteView:
        view = self._open.enter_context(store.read())
        # What is read first makes the state.
        assert view.change >= 0
        return view

    def check(self, scope: Scope, text: str) -> None:
        self._thread.submit(check, self._view, scope, text).result()

    def close(self) -> None:
        self._thread.submit(self._open.close).result()
        self._thread.shutdown()


class World:
    """Two stores on the same files, as two processes have them, and views that were opened at some time."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._stores = [SqliteStore(place, PathAnalyser()) for _ in range(2)]
        self._stores[0].vectors.use(MODEL)
        self._held: list[Held] = []

    def write(self, operation: Operation) -> None:
        self._stores[0].apply([operation], tolerant=True)

    def put(self, path: str, content: str) -> None:
        self.write(PutFile(path, prepare(path.rpartition("/")[2], content.encode())))

    def move(self, path: str, to: str) -> None:
        self.write(Move(path, to))

    def remove(self, path: str) -> None:
        self.write(Remove(path, recursive=True))

    def tag(self, path: str, tag: str) -> None:
        self.write(SetTags(path, (tag,), "append"))

    def sidecars(self, path: str) -> None:
        with self._stores[0].read() as view:
            seen = {one.path: one.seen for one in view.dirty(100)}.get(path)
        if seen is not None:
            passages = prepare("s.md", f"about {path}".encode()).passages
            self.write(PutSidecars(path, seen, "short", "long", "extractive", passages, passages))

    def embed(self, count: int) -> None:
        claimed = self._stores[1].vectors.claim(MODEL.fingerprint, count)
        made = [MadeVector(one.hash, one.lease, directions(one.hash)[settled(one.hash) * 3 :]) for one in claimed]
        self._stores[1].vectors.put(MODEL.fingerprint, made)

    def purge(self) -> None:
        while self._stores[0].purge(2):
            pass

    def keep(self, number: int) -> None:
        self._stores[number].vectors.keep_cache()

    def reopen(self, number: int) -> None:
        self.let_go()
        self._stores[number].close()
        self._stores[number] = SqliteStore(self._place, PathAnalyser())

    def hold(self, number: int) -> None:
        self._held.append(Held(self._stores[number]))

    def let_go(self) -> None:
        while self._held:
            self._held.pop().close()

    def ask(self, number: int, scope: Scope, text: str) -> None:
        with self._stores[number].read() as view:
            check(view, scope, text)

    def ask_held(self, scope: Scope, text: str) -> None:
        for held in self._held:
            held.check(scope, text)

    def close(self) -> None:
        self.let_go()
        for store in self._stores:
            store.close()


ANY_PATH = st.sampled_from(PATHS + PLACES)
STORE = st.integers(0, 1)
CHANGE = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(PATHS), st.sampled_from(CONTENTS)),
    st.tuples(st.just("embed"), st.sampled_from([1, 3, 100])),
    st.tuples(st.just("move"), ANY_PATH, ANY_PATH),
    st.tuples(st.just("remove"), ANY_PATH),
    st.tuples(st.just("tag"), ANY_PATH, st.sampled_from(TAGS)),
    st.tuples(st.just("sidecars"), st.sampled_from(["resources/d/e", "resources/d", "resources/f"])),
    st.tuples(st.just("purge")),
    st.tuples(st.just("keep"), STORE),
    st.tuples(st.just("reopen"), STORE),
)
LOOK = st.one_of(
    st.tuples(st.just("hold"), STORE),
    st.tuples(st.just("ask"), STORE, st.sampled_from(SCOPES), st.sampled_from("xyz")),
    st.tuples(st.just("ask_held"), st.sampled_from(SCOPES), st.sampled_from("xyz")),
)
STEPS = st.lists(st.one_of(CHANGE, LOOK, LOOK), min_size=4, max_size=40)

EVERYTHING = Scope()
FILLED = (
    ("put", "resources/d/b.md", LONG), ("put", "resources/f/d.md", "two"), ("embed", 100), ("ask", 0, EVERYTHING, "x")
)  # fmt: skip


@pytest.mark.cpu_budget(40)
@settings(max_examples=50)
@given(STEPS)
# The id of a removed directory is given to a new one.
@example([*FILLED, ("remove", "resources/f"), ("put", "resources/g/d.md", "three"), ("embed", 9)])
# Of a removed directory with others in it only the topmost is in the log.
@example(
    [
        *FILLED,
        ("put", "resources/d/e/c.md", "three"),
        ("embed", 9),
        ("ask", 0, EVERYTHING, "x"),
        ("remove", "resources/d"),
    ]
)
# A reader between two states that the mirror was brought up to.
@example(
    [
        *FILLED,
        ("put", "resources/f/d.md", "one"),
        ("hold", 0),
        ("put", "resources/f/d.md", "three"),
        ("embed", 9),
        ("ask", 0, EVERYTHING, "x"),
        ("ask_held", EVERYTHING, "x"),
    ]
)
# Vectors that came after a reader's state, and the windows of a passage that had none.
@example(
    [
        ("put", "resources/d/b.md", LONG),
        ("embed", 1),
        ("ask", 0, EVERYTHING, "x"),
        ("hold", 0),
        ("embed", 1),
        ("ask", 0, EVERYTHING, "x"),
        ("ask_held", EVERYTHING, "x"),
        ("embed", 9),
        ("ask", 0, EVERYTHING, "x"),
        ("ask_held", EVERYTHING, "x"),
    ]
)
# Sidecars that became stale, and new ones.
@example(
    [
        ("put", "resources/d/e/c.md", "one"),
        ("sidecars", "resources/d/e"),
        ("embed", 9),
        ("ask", 0, EVERYTHING, "x"),
        ("put", "resources/d/e/c.md", "two"),
        ("ask", 0, EVERYTHING, "x"),
        ("sidecars", "resources/d/e"),
    ]
)
# A reader from before the dead rows were thrown away.
@pytest.mark.slow
@example([*FILLED, ("hold", 0), *[("put", "resources/d/b.md", text) for text in ("one", LONG, "two")], ("embed", 99),
          ("ask", 0, EVERYTHING, "x"), ("put", "resources/d/b.md", "three"), ("ask", 0, EVERYTHING, "x"),
          ("ask_held", EVERYTHING, "x")])  # fmt: skip
def test_every_view_has_the_vectors_of_its_own_state(steps: list[tuple[Any, ...]]) -> None:
    place = Path(tempfile.mkdtemp())
    with pytest.MonkeyPatch.context() as patch:
        # Small enough that files are kept and the dead thrown away in histories of a few steps.
        patch.setattr(scans, "CHANGED_ROWS", 2)
        patch.setattr(mirror, "DEAD_ROWS", 2)
        patch.setattr(mirror, "MOST_POINTS", 4)
        world = World(place)
        try:
            for name, *values in steps:
                step: Callable[..., None] = getattr(world, name)
                step(*values)
            for scope in SCOPES:
                world.ask(0, scope, "end")
                world.ask(1, scope, "end")
                world.ask_held(scope, "end")
        finally:
            world.close()
            shutil.rmtree(place)


@pytest.mark.cpu_budget(20)
def test_eight_readers_while_a_writer_works(tmp_path: Path) -> None:
    world = World(tmp_path / "store")
    for number in range(30):
        world.put(f"resources/d{number % 3}/{number}.md", CONTENTS[number % 3] + str(number))
    world.embed(100)
    done = threading.Event()

    def reading_on() -> int:
        rounds = 0
        while not done.is_set() or not rounds:
            world.ask(rounds % 2, SCOPES[rounds % 2], "x")
            rounds += 1
        return rounds

    with ThreadPoolExecutor(8) as threads:
        readers = [threads.submit(reading_on) for _ in range(8)]
        try:
            for number in range(12):
                world.put(f"resources/d{number % 3}/{number}.md", f"new {number}")
                world.move(f"resources/d{number % 3}/{number + 12}.md", f"resources/d/m{number}.md")
                world.embed(100)
        finally:
            done.set()
        assert all(reader.result() for reader in readers)
    world.close()

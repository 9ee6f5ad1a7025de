"""What a search gives by words and vectors together."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from openviking.errors import InvalidArgumentError
from openviking.model.embedding import Coverage, EmbeddingModel
from openviking.model.scope import Scope
from openviking.store.batch import PutFile, Remove
from openviking.store.port import AccountStore, Candidate, Query, QueryVector
from openviking.store.sqlite import word_search
from openviking.store.vectors import MadeVector

Put = Callable[..., PutFile]
OpenStore = Callable[[Path], AccountStore]

MODEL = EmbeddingModel("hashes", 32, 0, "", "", "cls", 0.0, 1.0, True)


def unit(text: str | bytes) -> NDArray[np.float32]:
    """A direction that is always the same for a text, and of no other."""
    seed = int.from_bytes(hashlib.sha256(text if isinstance(text, bytes) else text.encode()).digest()[:8])
    values = np.random.default_rng(seed).standard_normal(MODEL.dimension)
    return np.asarray(values / np.linalg.norm(values), np.float32)


def half(_type: str, words: float, cosine: float | None) -> float:
    return words if cosine is None else (words + max(cosine, 0.0)) / 2


def asked(*terms: str, near: str | bytes | None = None) -> Query:
    return Query(terms, None if near is None else QueryVector(MODEL.fingerprint, unit(near)), half)


def embed(store: AccountStore, limit: int = 1000, vector: Callable[[bytes], NDArray[np.float32]] = unit) -> int:
    """Make the vectors that wait, each by the hash of its passage."""
    store.vectors.use(MODEL)
    while store.vectors.enqueue_missing(MODEL.fingerprint, 1000):
        pass
    claimed = store.vectors.claim(MODEL.fingerprint, limit)
    made = [MadeVector(one.hash, one.lease, np.atleast_2d(vector(one.hash))) for one in claimed]
    return store.vectors.put(MODEL.fingerprint, made)


def search(store: AccountStore, query: Query, limit: int = 10, **scope: Any) -> list[Candidate]:
    with store.read() as view:
        return view.search(query, Scope(**scope), limit)


def coverage(store: AccountStore, **scope: Any) -> Coverage:
    with store.read() as view:
        return view.coverage(MODEL.fingerprint, Scope(**scope))


def hashes(store: AccountStore, path: str) -> list[bytes]:
    with store.read() as view:
        node = view.get(path)
        assert node is not None
        return [passage.hash for passage in view.passages(node)]


def paths(found: list[Candidate]) -> list[str]:
    return [one.node.path for one in found]


def test_a_vector_finds_what_no_word_does(store: AccountStore, put: Put) -> None:
    store.apply([put(f"resources/{number}.md", f"zorblax {number}") for number in range(5)])
    (digest,) = hashes(store, "resources/3.md")
    assert search(store, asked("nothing", near=digest)) == []
    assert embed(store) == 5
    found = search(store, asked("nothing", near=digest))
    assert found[0].node.path == "resources/3.md"
    assert found[0].cosine == pytest.approx(1, abs=1e-3)
    assert (found[0].words, found[0].terms) == (0, ())
    assert search(store, asked(near=digest)) == found
    both = search(store, asked("zorblax", near=digest))
    assert paths(both)[0] == "resources/3.md"
    assert len(both) == 5
    assert all(0 < one.words < 1 and one.cosine is not None for one in both)


def test_every_score_is_what_its_words_and_its_cosine_make(store: AccountStore, put: Put) -> None:
    store.apply([put(f"resources/{number}.md", f"zorblax {'amber ' * (number % 3)}{number}") for number in range(30)])
    alone = {one.passage_id: one for one in search(store, asked("zorblax", "amber"), 100)}
    embed(store, 20)
    found = search(store, asked("zorblax", "amber", near="x"), 100)
    assert len(found) == 30
    assert sum(one.cosine is None for one in found) == 10
    for one in found:
        # Vectors change nothing in what the words say.
        assert (one.words, one.terms) == (alone[one.passage_id].words, alone[one.passage_id].terms)
        assert one.score == pytest.approx(half("", one.words, one.cosine))
        assert sum(share for _, share in one.terms) == pytest.approx(one.words)
    assert paths(found) == [one.node.path for one in sorted(found, key=lambda one: (-one.score, one.node.path))]


def test_without_a_vector_all_is_as_before(store: AccountStore, put: Put) -> None:
    store.apply([put(f"resources/{number}.md", f"zorblax {'amber ' * (number % 3)}{number}") for number in range(30)])
    before = search(store, asked("zorblax", "amber"), 7)
    assert search(store, asked("zorblax", "amber", near="x"), 7) == before
    embed(store)
    assert search(store, asked("zorblax", "amber"), 7) == before
    assert all(one.cosine is None and one.score == one.words for one in before)
    # Nor does another model's vector say anything.
    other = Query(("zorblax", "amber"), QueryVector("0" * 32, unit("x")), half)
    assert search(store, other, 7) == before
    assert search(store, asked(), 7) == []


def test_a_common_word_finds_passages_that_have_no_vector_yet(
    store: AccountStore, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_search, "COMMON_PASSAGES", 10)
    store.apply([put(f"resources/a/{number}.md", f"zorblax {number}") for number in range(300)])
    embed(store)
    store.apply([put("resources/new.md", "zorblax zorblax fresh")])
    assert "resources/new.md" in paths(search(store, asked("zorblax", near="x"), 10))
    # Where all have one the vector selects, and the word adds to what it found.
    found = search(store, asked("zorblax", near="x"), 10, roots=("resources/a",))
    assert len(found) >= 10
    assert all(one.words > 0 for one in found)


def test_it_goes_on_until_there_are_enough_contents(store: AccountStore, put: Put) -> None:
    near = unit("x")

    def close(digest: bytes) -> NDArray[np.float32]:
        mixed = near + 0.1 * unit(digest)
        return np.asarray(mixed / np.linalg.norm(mixed), np.float32)

    long = "\n\n".join(f"# Part {part}\n\n" + " ".join(f"w{part}x{word}" for word in range(150)) for part in range(40))
    copies = [put(f"resources/copies/{number}.md", "all the same") for number in range(150)]
    store.apply([put("resources/long.md", long), *copies])
    embed(store, vector=close)
    store.apply([put(f"resources/far/{number}.md", f"far {number}") for number in range(30)])
    embed(store)
    found = search(store, asked(near="x"), 12)
    far = [path for path in paths(found) if path.startswith("resources/far/")]
    assert len(far) >= 10
    assert paths(found).count("resources/long.md") == 1
    assert {one.node.hash for one in found} >= {one.node.hash for one in search(store, asked(near="x"), 3)}


def test_of_a_record_the_best_passage_whatever_found_it(store: AccountStore, put: Put) -> None:
    parts = [f"# Part {part}\n\n" + " ".join(f"w{part}x{word}" for word in range(150)) for part in range(30)]
    parts[7] += " zorblax"
    store.apply([put("resources/long.md", "\n\n".join(parts))])
    store.apply([put(f"resources/{number}.md", f"other {number}") for number in range(200)])
    digests = hashes(store, "resources/long.md")
    near = unit("x")
    nearest = set(digests[20:21])

    def vector(digest: bytes) -> NDArray[np.float32]:
        away = unit(digest) - (unit(digest) @ near) * near
        part = 0.9 if digest in nearest else 0.6 if digest not in digests else 0.1
        return np.asarray(part * near + np.sqrt(1 - part**2) * away / np.linalg.norm(away), np.float32)

    embed(store, vector=vector)
    for limit in (1, 10, 100):
        found = search(store, asked("zorblax", near="x"), limit)
        of_long = next(one for one in found if one.node.path == "resources/long.md")
        assert of_long.score == pytest.approx(0.5 * max(0.9, of_long.words + 0.1), abs=2e-3)


def test_the_best_of_its_windows_counts(store: AccountStore, put: Put) -> None:
    store.apply([put("resources/a.md", "one"), put("resources/b.md", "two")])
    (digest,) = hashes(store, "resources/a.md")
    embed(store, vector=lambda it: np.stack([unit("p"), unit("x"), unit("q")]) if it == digest else unit(it))
    first = search(store, asked(near="x"))[0]
    assert first.node.path == "resources/a.md"
    assert first.cosine == pytest.approx(1, abs=1e-3)
    assert coverage(store) == Coverage(2, 2)


def test_equal_texts_have_equal_scores_and_go_by_path(store: AccountStore, put: Put) -> None:
    store.apply([put(f"resources/{name}.md", "the same") for name in "cabd"])
    embed(store)
    found = search(store, Query((), QueryVector(MODEL.fingerprint, unit("x")), lambda *_: 0.5))
    assert paths(found) == [f"resources/{name}.md" for name in "abcd"]
    assert len({one.cosine for one in found}) == 1


def test_the_same_list_every_time(open_store: OpenStore, put: Put, tmp_path: Path) -> None:
    store = open_store(tmp_path / "s")
    store.apply([put(f"resources/{number}.md", f"zorblax {number} {number % 7}") for number in range(300)])
    embed(store)
    first = search(store, asked("zorblax", "3", near="x"))
    assert len(first) >= 10
    assert all(search(store, asked("zorblax", "3", near="x")) == first for _ in range(10))
    with ThreadPoolExecutor(8) as threads:
        assert all(
            one == first for one in threads.map(lambda _: search(store, asked("zorblax", "3", near="x")), range(24))
        )
    store.close()
    assert search(open_store(tmp_path / "s"), asked("zorblax", "3", near="x")) == first


def test_coverage(store: AccountStore, put: Put) -> None:
    store.apply([put(f"resources/{number % 2}/{number}.md", f"zorblax {number}") for number in range(10)])
    store.apply([put("resources/.hidden.md", "no record"), put("resources/b.bin", b"\0\1\2")])
    assert coverage(store) == coverage(store, roots=("resources",)) == Coverage(0, 10)
    assert coverage(store, nothing=True) == Coverage(0, 0)
    assert embed(store, 4) == 4
    assert coverage(store).of == 10
    while embed(store):
        pass
    assert coverage(store, roots=("resources/1",)) == Coverage(5, 5)
    store.apply([Remove("resources/1", recursive=True), put("resources/new.md", "fresh")])
    assert coverage(store) == Coverage(5, 6)
    (refused,) = store.vectors.claim(MODEL.fingerprint, 1)
    store.vectors.put(MODEL.fingerprint, [MadeVector(refused.hash, refused.lease, None, "too odd")])
    assert coverage(store) == Coverage(5, 6, 1)
    assert coverage(store, roots=("resources/0",)) == Coverage(5, 5, 0)


def test_a_query_of_another_dimension_is_refused(store: AccountStore, put: Put) -> None:
    store.apply([put("resources/a.md", "one")])
    embed(store)
    with pytest.raises(InvalidArgumentError, match="32 numbers"):
        search(store, Query((), QueryVector(MODEL.fingerprint, np.ones(7, np.float32)), half))


def test_numbers_are_not_loaded_for_words(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from openviking.ingest.prepare import PathAnalyser, prepare;"
        "from openviking.model.scope import Scope; from openviking.store.batch import PutFile;"
        "from openviking.store.port import Query; from openviking.store.sqlite.account import SqliteStore;"
        "store = SqliteStore(Path(sys.argv[1]), PathAnalyser());"
        "store.apply([PutFile('resources/a.md', prepare('a.md', b'zorblax'))])\n"
        "with store.read() as view:\n"
        "    assert view.search(Query(('zorblax',), None, lambda _, words, __: words), Scope(), 10)\n"
        "    assert view.coverage('0' * 32, Scope()).of == 1\n"
        "store.vectors.keep_cache(); store.close(); assert 'numpy' not in sys.modules, 'numpy was loaded'"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "s")],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert done.returncode == 0, done.stderr

"""find with vectors: what is meant is found, what waits for its vector is scored fairly, and the answer says so."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from openviking.errors import OpenVikingError
from openviking.ingest.embedding import PassageTexts
from openviking.ingest.prepare import PathAnalyser, prepare
from openviking.ingest.sidecars import render_all
from openviking.model.embedding import Coverage, EmbeddingModel
from openviking.model.hit import Degradation, FindResult
from openviking.model.scope import Scope
from openviking.retrieve.find import FindRequest, find
from openviking.store.batch import PutFile
from openviking.store.port import QueryVector
from openviking.store.sqlite import searching, word_search
from openviking.store.sqlite.account import SqliteStore
from openviking.store.sqlite.scan import nearest
from openviking.store.vectors import MadeVector

TOPICS = ("ship ferry boat sail", "cat dog hamster pet", "bread cake oven flour", "king queen throne crown")
"""The axes of the model's meaning: words of one line mean the same to it."""

MODEL = EmbeddingModel("topics", len(TOPICS) + 1, 0, "", "", "mean", 0.0, 1.0, multilingual=False)
FINGERPRINT = MODEL.fingerprint


def vector(text: str) -> NDArray[np.float32]:
    """How much of each topic is in ``text``; what has none points in a direction of its own."""
    words = text.casefold().replace(".", " ").split()
    values = np.array([sum(word in topic.split() for word in words) for topic in TOPICS] + [0.1], np.float32)
    made: NDArray[np.float32] = values / np.linalg.norm(values)
    return made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path, PathAnalyser())
    store.vectors.use(MODEL)
    yield store
    store.close()


def put(store: SqliteStore, files: dict[str, str]) -> None:
    store.apply([PutFile(path, prepare(path.rpartition("/")[2], text.encode())) for path, text in files.items()])


def embed(store: SqliteStore) -> None:
    texts = PassageTexts()
    while claimed := store.vectors.claim(FINGERPRINT, 100):
        made = texts.settle(store, MODEL, claimed)
        store.vectors.put(
            FINGERPRINT,
            [MadeVector(one.passage.hash, one.passage.lease, vector(one.text)[None]) for one in made],
        )


def ask(
    store: SqliteStore, query: str, limit: int = 10, *, levels: tuple[int, ...] = (2,), root: str = "",
    weight: float | None = None, silent: bool = False,
) -> FindResult:  # fmt: skip
    """What find gives; ``silent`` when the model does not answer."""
    asked = None if silent else QueryVector(FINGERPRINT, vector(query))
    missing = (Degradation("vectors", "the model does not answer"),) if silent else ()
    scope = Scope((root,) if root else None, levels=levels)
    request = FindRequest(
        query, scope, limit, explain=True, model=MODEL, vector=asked, dense_weight=weight, degraded=missing
    )
    with store.read() as view:
        return find(view, request)


def names(found: FindResult) -> list[str]:
    return [hit.uri.rpartition("/")[2] for hit in found]


NOTES = {
    "resources/n/ferry.md": "The ferry leaves at noon.",
    "resources/n/pets.md": "My hamster and the dog sleep.",
    "resources/n/bake.md": "Flour goes to the oven.",
    "resources/n/plain.md": "Nothing of the kind is written here.",
}


def test_what_is_meant_is_found_in_other_words(store: SqliteStore) -> None:
    put(store, NOTES)
    embed(store)
    found = ask(store, "when does the boat sail away")
    assert names(found)[0] == "ferry.md"
    assert dict(found.hits[0].explain or ())["vectors"] > 0.6
    assert not any(name.startswith("words:") for name, _ in found.hits[0].explain or ())
    assert found.hits[0].snippet == "The ferry leaves at noon."
    assert found.vectors == Coverage(4, 4)


def test_words_alone_answer_when_the_model_does_not(store: SqliteStore) -> None:
    put(store, NOTES)
    embed(store)
    found = ask(store, "when does the boat leave at noon", silent=True)
    assert names(found) == ["ferry.md"]
    assert [one.stage for one in found.degraded] == ["vectors"]
    assert all(name.startswith("words:") for name, _ in found.hits[0].explain or ())
    assert found.to_dict()["retrieval"] == {
        "vectors": {"have": 4, "of": 4},
        "degraded": [{"stage": "vectors", "reason": "the model does not answer"}],
    }


def test_what_waits_for_its_vector_is_scored_by_its_words(store: SqliteStore) -> None:
    put(store, NOTES)
    embed(store)
    put(store, {"resources/n/new.md": "Which boat sails away at midnight?"})
    found = ask(store, "which boat sails away at midnight")
    assert names(found)[0] == "new.md"
    explained = found.hits[0].explain or ()
    assert ("vectors:pending", 0.0) in explained
    assert ask(store, "which boat sails away at midnight", silent=True).hits[0].score == found.hits[0].score
    assert found.vectors == Coverage(4, 5)
    assert ask(store, "boat", root="resources/n/new.md").vectors == Coverage(0, 1)


def test_without_a_model_no_passage_has_a_vector(store: SqliteStore) -> None:
    put(store, NOTES)
    with store.read() as view:
        found = find(view, FindRequest("ferry", Scope(levels=(2,)), 10))
        newest = find(view, FindRequest("", Scope(context_types=("resource",), levels=(2,)), 10))
    assert found.to_dict()["retrieval"]["vectors"] == {"have": 0, "of": 4}
    assert newest.vectors == Coverage(0, 4)
    assert names(found) == ["ferry.md"]


def test_only_vectors_or_only_words(store: SqliteStore) -> None:
    put(store, NOTES)
    embed(store)
    query = "the hamster bakes a cake of flour"
    assert names(ask(store, query, weight=0.0)) == ["bake.md", "pets.md"]
    alone = ask(store, query, weight=1.0)
    assert names(alone)[0] == "bake.md"
    assert {name for hit in alone for name, _ in hit.explain or ()} == {"vectors"}


def test_a_query_without_a_term_is_answered_by_vectors(store: SqliteStore) -> None:
    put(store, NOTES)
    embed(store)
    found = ask(store, "?! …")
    assert [one.stage for one in found.degraded] == ["words"]
    assert {name for hit in found for name, _ in hit.explain or ()} <= {"vectors"}
    with store.read() as view:
        assert find(view, FindRequest("?! …", Scope(), 10, model=MODEL)).hits == ()


def test_an_exact_name_comes_first_however_near_others_are(store: SqliteStore) -> None:
    put(store, {f"resources/n/{n}.md": f"The boat and the ferry sail, note {n} on ships." for n in range(40)})
    put(store, {"resources/n/code.md": "ERR_TLS_0x8F came up while the oven was cleaned."})
    embed(store)
    for query in ("ERR_TLS_0x8F", "what about ERR_TLS_0x8F?"):
        assert names(ask(store, query))[0] == "code.md"


def test_directories_stay_behind_their_files(store: SqliteStore) -> None:
    put(store, {f"resources/{place}/{n}.md": f"# Ferry {n}\n\nThe boat sails." for place in "ab" for n in range(5)})
    render_all(store)
    embed(store)
    found = ask(store, "when does the ferry boat sail", 50, levels=())
    best = max(hit.score for hit in found if hit.level == 2)
    directories = [hit for hit in found if hit.level < 2]
    assert directories
    assert all(hit.score <= 0.9 * best for hit in directories)
    assert any(
        name == "directory_behind_files" and value < 0 for hit in directories for name, value in hit.explain or ()
    )


@pytest.mark.parametrize("query", ["ferry", "when does the ferry sail", 'the "quiet harbour" boat', "?!", "ERR_7X"])
def test_contributions_add_up_and_the_order_does_not_depend_on_the_limit(store: SqliteStore, query: str) -> None:
    texts = {
        f"resources/a/{n}.md": f"# Note {n}\n\n{TOPICS[n % 4]} ERR_{n}X quiet {'harbour ' * (n % 3)}" for n in range(30)
    }
    put(store, texts)
    put(store, {f"user/default/memories/m/{n}.md": f"a quiet harbour, {TOPICS[n % 4]}" for n in range(10)})
    render_all(store)
    embed(store)
    put(store, {f"resources/late/{n}.md": f"late ferry {n} in the quiet harbour" for n in range(5)})
    whole = ask(store, query, 500, levels=())
    for hit in whole:
        assert hit.explain is not None
        assert math.isclose(math.fsum(value for _, value in hit.explain), hit.score, abs_tol=1e-9)
        assert 0 < hit.score < 1
    for limit in (1, 3, 10, 25):
        some = ask(store, query, limit, levels=())
        distinct = [(hit.uri, hit.score) for hit in whole if hit.duplicate_of is None]
        assert [(hit.uri, hit.score) for hit in some] == distinct[:limit]


def test_a_quoted_phrase_comes_before_the_same_words(store: SqliteStore) -> None:
    loose = {f"resources/n/{n}.md": f"The harbour pilot of port {n} is lost." for n in range(150)}
    put(store, loose | {"resources/n/z.md": "Once " + "nothing " * 25 + "the lost\n  Harbour pilot."})
    embed(store)
    assert names(ask(store, "lost harbour pilot", 3))[0] != "z.md"
    for limit in (1, 3, 50):
        found = ask(store, 'the "lost harbour pilot"', limit)
        assert names(found)[0] == "z.md"
        assert dict(found.hits[0].explain or ())["phrase"] > 0
        assert all("phrase" not in dict(hit.explain or ()) for hit in found.hits[1:])


def test_a_vector_of_another_dimension_is_an_error(store: SqliteStore) -> None:
    put(store, NOTES)
    embed(store)
    wrong = QueryVector(FINGERPRINT, np.ones(3, np.float32))
    with store.read() as view, pytest.raises((OpenVikingError, ValueError)):
        find(view, FindRequest("ferry", Scope(), 10, model=MODEL, vector=wrong))


MIXED = {
    "resources/h/leave.md": "# Leave\n\nWho gives birth stays at home for a year; tell the office a month before.",
    "resources/h/desk.md": "# Desks\n\nEvery desk has a lamp.",
    "resources/h/blank.md": " \n\n",
} | {f"resources/h/指南{n}.md": f"# 入职指南\n\n第{n}天请带上身份证和劳动合同。" for n in range(6)}


def test_what_the_model_cannot_read_comes_by_its_words_alone(store: SqliteStore) -> None:
    """A model of English places Chinese text near anything; so does this one, by the direction of what has no topic."""
    put(store, MIXED)
    embed(store)
    found = ask(store, "my baby is due soon")
    assert not [name for name in names(found) if "指南" in name]
    assert found.vectors == Coverage(2, 2)
    assert store.vectors.coverage(FINGERPRINT) == Coverage(2, 2)
    assert store.vectors.refused(FINGERPRINT, 10) == []
    by_words = ask(store, "带上劳动合同")
    assert "指南" in names(by_words)[0]
    assert by_words.hits[0].score == ask(store, "带上劳动合同", weight=0.0).hits[0].score
    assert all(name.startswith("words:") for name, _ in by_words.hits[0].explain or ())
    assert store.check() == []


def test_passages_that_are_settled_are_selected_by_common_words(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where few have no vector common words need not select, for the vector does; of what is settled it never will."""
    monkeypatch.setattr(nearest, "FEW_WITHOUT", 10)
    monkeypatch.setattr(word_search, "COMMON_PASSAGES", 20)
    monkeypatch.setattr(searching, "NARROW_PASSAGES", 5)
    put(store, {f"resources/n/{n}.md": f"The zorblax number {n} is a {TOPICS[n % 4]}." for n in range(60)})
    put(store, {f"resources/n/指南{n}.md": f"zorblax 身份证劳动合同{n}。" for n in range(30)})
    embed(store)
    whole = [(hit.uri, hit.score) for hit in ask(store, "zorblax", 90)]
    assert [uri for uri, _ in whole if "指南" in uri] == [uri for uri, _ in whole[:30]]
    for limit in (1, 3, 10):
        assert [(hit.uri, hit.score) for hit in ask(store, "zorblax", limit)] == whole[:limit]

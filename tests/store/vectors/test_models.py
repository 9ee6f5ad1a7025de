"""What a model refuses, models that come and go, and the audit of vectors."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.store.vectors.claims import Clock, paths, refusals

from openviking.model.embedding import Coverage, EmbeddingModel
from openviking.store.batch import PutFile, Remove
from openviking.store.port import AccountStore
from openviking.store.sqlite import models
from openviking.store.sqlite.loose import LOOSE_MS
from openviking.store.vectors import LEASE_MS, LOST, MadeVector

pytestmark = pytest.mark.parametrize("open_store", ["sqlite"], indirect=True)

Put = Callable[..., PutFile]
Rows = Callable[[str], list[tuple[object, ...]]]
Made = Callable[..., list[MadeVector]]
Embed = Callable[..., list[str]]
Cut = Callable[[str, int], PutFile]
Clear = Callable[[AccountStore], int]

MODEL = EmbeddingModel("m", 4, 512, "", "", "cls", 0.3, 0.9, multilingual=False)
OTHER = dataclasses.replace(MODEL, name="n", dimension=2)
PRINT = MODEL.fingerprint
WEEK = models.WEEK_MS


def test_what_is_refused_waits_no_more(ready: AccountStore, put: Put, clock: Clock, made: Made) -> None:
    file = put("resources/a.md", "alpha\n")
    ready.apply([file, put("resources/b.md", "beta")])
    bad, good = sorted(ready.vectors.claim(PRINT, 10), key=lambda one: one.node.path)
    assert ready.vectors.put(PRINT, [*refusals([bad], "it is poison"), *made([good])]) == 2
    assert ready.vectors.waiting(PRINT) == 0
    assert ready.vectors.next_due(PRINT) is None
    assert ready.vectors.coverage(PRINT) == Coverage(1, 2, 1)
    [refused] = ready.vectors.refused(PRINT, 10)
    assert dataclasses.astuple(refused) == ("resources/a.md", 1, 1, "it is poison")
    clock.now += 10 * LEASE_MS
    ready.apply([Remove("resources/a.md")])
    assert ready.vectors.refused(PRINT, 10) == []
    ready.apply([file])
    assert ready.vectors.claim(PRINT, 10) == []
    assert ready.check() == []
    assert ready.vectors.coverage(PRINT) == Coverage(1, 2, 1)


def test_what_was_lost_is_queued_again_when_it_is_written_anew(ready: AccountStore, put: Put, embed: Embed) -> None:
    ready.apply([put("resources/a.md", "alpha\n")])
    assert ready.vectors.put(PRINT, refusals(ready.vectors.claim(PRINT, 10), LOST)) == 1
    assert ready.vectors.waiting(PRINT) == 0
    assert not ready.vectors.any_made(PRINT)
    ready.apply([put("resources/b.md", "alpha\n")])
    assert embed(ready) == ["resources/b.md"]
    assert ready.vectors.coverage(PRINT) == Coverage(2, 2)
    assert ready.vectors.any_made(PRINT)


def test_refusals_of_removed_content_are_forgotten(
    ready: AccountStore, put: Put, clock: Clock, rows: Rows, clear: Clear
) -> None:
    ready.apply([put("resources/a.md", "alpha\n")])
    ready.vectors.put(PRINT, refusals(ready.vectors.claim(PRINT, 10), ""))
    assert ready.vectors.coverage(PRINT) == Coverage(0, 1, 1), "a refusal without a reason is one"
    ready.apply([Remove("resources/a.md")])
    clock.now += LOOSE_MS + 1
    clear(ready)
    assert rows("SELECT 1 FROM pending") == []


def test_a_new_model_gets_what_is_there_newest_first(store: AccountStore, put: Put) -> None:
    store.apply([put(f"resources/{number}.txt", f"text {number}") for number in range(10)])
    store.vectors.use(MODEL)
    store.apply([put("resources/new.txt", "new")])
    assert store.vectors.waiting(PRINT) == 11
    assert store.vectors.coverage(PRINT) == Coverage(0, 11)
    assert paths(store.vectors.claim(PRINT, 20)) == ["resources/new.txt"]
    for number in range(3):
        assert store.vectors.enqueue_missing(PRINT, 3)
        assert store.check() == []
        assert store.vectors.waiting(PRINT) == 11
        claimed = store.vectors.claim(PRINT, 20)
        assert paths(claimed) == [f"resources/{9 - 3 * number - one}.txt" for one in range(3)]
    assert not store.vectors.enqueue_missing(PRINT, 3)
    assert not store.vectors.enqueue_missing(PRINT, 3)
    assert len(store.vectors.claim(PRINT, 20)) == 1
    assert store.check() == []


def test_what_was_there_before_the_model_keeps_its_order(store: AccountStore, cut: Cut) -> None:
    store.apply([cut("resources/large", 257), cut("resources/small", 16), cut("resources/middle", 17)])
    store.vectors.use(MODEL)
    while store.vectors.enqueue_missing(PRINT, 7):
        pass
    order = [f"resources/{name}" for name in ("small", "middle", "large")]
    assert list(dict.fromkeys(paths(store.vectors.claim(PRINT, 1000)))) == order


def test_two_processes_with_two_models(ready: AccountStore, other: AccountStore, put: Put, embed: Embed) -> None:
    ready.apply([put("resources/a.txt", "alpha")])
    other.vectors.use(OTHER)
    ready.apply([put("resources/b.txt", "beta")])
    other.apply([put("resources/c.txt", "gamma")])
    assert embed(ready) == [f"resources/{name}.txt" for name in "cba"]
    assert other.vectors.coverage(OTHER.fingerprint) == Coverage(0, 3)
    assert not other.vectors.enqueue_missing(OTHER.fingerprint, 100)
    assert embed(other, OTHER) == [f"resources/{name}.txt" for name in "cba"]
    assert ready.vectors.coverage(PRINT) == other.vectors.coverage(OTHER.fingerprint) == Coverage(3, 3)
    assert other.check() == []


def test_using_a_model_writes_once_an_hour(ready: AccountStore, clock: Clock, rows: Rows) -> None:
    used = clock.now
    clock.now += models.HOUR_MS - 1
    ready.vectors.use(MODEL)
    assert rows("SELECT used_at FROM models") == [(used,)]
    clock.now += 1
    ready.vectors.use(MODEL)
    assert rows("SELECT used_at FROM models") == [(clock.now,)]


def test_the_only_model_is_never_forgotten(
    ready: AccountStore, put: Put, clock: Clock, embed: Embed, clear: Clear
) -> None:
    ready.apply([put("resources/a.txt", "alpha")])
    embed(ready)
    clock.now += 10 * WEEK
    clear(ready)
    ready.apply([put("resources/b.txt", "beta")])
    ready.vectors.use(MODEL)
    assert ready.vectors.coverage(PRINT) == Coverage(1, 2)
    assert embed(ready) == ["resources/b.txt"]


def test_a_model_out_of_use_is_cleared_away_in_pieces(
    ready: AccountStore, put: Put, clock: Clock, monkeypatch: pytest.MonkeyPatch, rows: Rows, made: Made, clear: Clear
) -> None:
    monkeypatch.setattr(models, "CLEARED", 2)
    ready.apply([put(f"resources/{number}.txt", f"text {number}") for number in range(9)])
    claimed = ready.vectors.claim(PRINT, 4)
    ready.vectors.put(PRINT, [*made(claimed[:3]), *refusals(claimed[3:])])
    clock.now += WEEK
    ready.vectors.use(OTHER)
    assert ready.jobs.claim(["purge"], 1000, due_only=False) is not None
    assert ready.vectors.claim(PRINT, 10) == []
    assert ready.vectors.put(PRINT, made(claimed)) == 0
    ready.apply([put("resources/new.txt", "new")])
    assert rows("SELECT count(*) FROM pending WHERE model_id = 1") == [(6,)], "nothing is queued for it"
    assert clear(ready) == 3 + 1 + 2 + 1
    assert rows("SELECT name FROM models") == [("n",)]
    assert rows("SELECT 1 FROM vectors") == []
    assert rows("SELECT DISTINCT model_id FROM pending") == [(2,)]


def test_a_model_that_comes_back_gets_what_was_written_meanwhile(
    ready: AccountStore, put: Put, clock: Clock, monkeypatch: pytest.MonkeyPatch, rows: Rows, embed: Embed
) -> None:
    monkeypatch.setattr(models, "CLEARED", 1)
    ready.apply([put("resources/a.txt", "alpha"), put("resources/b.txt", "beta")])
    embed(ready)
    clock.now += WEEK
    ready.vectors.use(OTHER)
    ready.apply([put("resources/c.txt", "gamma")])
    assert ready.purge(100) == 1
    ready.vectors.use(MODEL)
    assert rows("SELECT cleared FROM models WHERE name = 'm'") == [(1,)]
    assert ready.vectors.coverage(PRINT) == Coverage(1, 3)
    while ready.vectors.enqueue_missing(PRINT, 1):
        assert ready.check() == []
    assert len(embed(ready)) == 2
    assert ready.vectors.coverage(PRINT) == Coverage(3, 3)


def test_a_clock_that_was_wrong_puts_no_model_out_of_use(
    ready: AccountStore, put: Put, clock: Clock, embed: Embed
) -> None:
    clock.now += 1000 * WEEK
    ready.vectors.use(OTHER)
    clock.now -= 1000 * WEEK
    ready.vectors.use(MODEL)
    ready.apply([put("resources/a.txt", "alpha")])
    assert embed(ready) == embed(ready, OTHER) == ["resources/a.txt"]


DAMAGES = {
    "a cut vector": ("UPDATE vectors SET vector = substr(vector, 1, 5)", "a size that its model does not give"),
    "a vector of no model": ("UPDATE vectors SET model_id = 9", "belongs to no model"),
    "a vector of nobody": ("INSERT INTO vectors VALUES (9, 1, x'00', zeroblob(8))", "belongs to no passage"),
    "a missing vector": ("DELETE FROM vectors", "has no vector and waits for none"),
    "a place in the queue of no model": ("UPDATE pending SET model_id = 9", "of no model"),
    "a place in the queue of nobody": ("UPDATE pending SET hash = x'00'", "waits for a vector and belongs to no"),
    "a missing place in the queue": ("DELETE FROM pending", "has no vector and waits for none"),
    "both": ("INSERT INTO vectors SELECT 9, 1, hash, zeroblob(8) FROM pending", "waits for a vector that it has"),
}


@pytest.mark.parametrize("damage", sorted(DAMAGES))
def test_the_audit_finds_damage(ready: AccountStore, put: Put, place: Path, damage: str, made: Made) -> None:
    ready.apply([put("resources/a.md", "alpha"), put("resources/b.md", "beta")])
    ready.vectors.put(PRINT, made(ready.vectors.claim(PRINT, 1)))
    assert ready.check() == []
    sql, said = DAMAGES[damage]
    connection = sqlite3.connect(place / "store.db")
    assert connection.execute(sql).rowcount
    connection.commit()
    connection.close()
    found = ready.check()
    assert any(said in sentence for sentence in found), found

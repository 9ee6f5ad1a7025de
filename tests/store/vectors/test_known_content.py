"""Content that is known costs nothing: edits, moves, copies, what comes back soon; and what is gone leaves nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Protocol

import pytest

from openviking.model.embedding import Coverage, EmbeddingModel
from openviking.store.batch import Move, Operation, PutFile, Remove
from openviking.store.port import AccountStore
from openviking.store.sqlite.contents import INLINE_BYTES
from openviking.store.sqlite.loose import LOOSE_MS
from openviking.store.sqlite.purge import PURGED_NODES
from openviking.store.vectors import MadeVector, PendingPassage

pytestmark = pytest.mark.parametrize("open_store", ["sqlite"], indirect=True)

Put = Callable[..., PutFile]
Rows = Callable[[str], list[tuple[object, ...]]]
Made = Callable[..., list[MadeVector]]
Embed = Callable[..., list[str]]
Cut = Callable[[str, int], PutFile]
Clear = Callable[[AccountStore], int]
BeforeTheLock = Callable[[AccountStore, Callable[[], object]], list[object]]

MODEL = EmbeddingModel("m", 4, 512, "", "", "cls", 0.3, 0.9, multilingual=False)
PRINT = MODEL.fingerprint


class Clock(Protocol):
    """The clock that is set."""

    now: int


def paths(claimed: Sequence[PendingPassage]) -> list[str]:
    return [one.node.path for one in claimed]


def many(put: Put, directory: str) -> list[Operation]:
    return [put(f"{directory}/{number}.md", f"zorblax {number}") for number in range(PURGED_NODES + 1)]


def work(store: AccountStore) -> int:
    """Do the purges that are due; how many pieces."""
    done = 0
    while job := store.jobs.claim(["purge"], 1000):
        while store.purge(100):
            done += 1
        store.jobs.finish(job)
    return done


def test_an_edit_costs_what_it_changes(ready: AccountStore, put: Put, embed: Embed) -> None:
    sections = [f"## Part {number}\n\n{'word ' * 120}{number}\n\n" for number in range(12)]
    ready.apply([put("resources/a.md", "# Guide\n\n" + "".join(sections))])
    assert len(embed(ready)) > 10
    sections.insert(3, "## New\n\nwholly new\n\n")
    ready.apply([put("resources/a.md", "# Guide\n\n" + "".join(sections))])
    [new] = ready.vectors.claim(PRINT, 100)
    with ready.read() as view:
        assert "wholly new" in view.slice(new.node, new.start, new.end)


def test_an_edit_takes_nothing_from_who_is_at_it(ready: AccountStore, put: Put, made: Made, cut: Cut) -> None:
    ready.apply([cut("resources/a", 5)])
    claimed = ready.vectors.claim(PRINT, 10)
    moved_on = cut("resources/a", 5)
    first = dataclasses.replace(moved_on.content.passages[0], hash=b"new")
    content = dataclasses.replace(put("resources/a", "y" * 5).content, passages=(first, *moved_on.content.passages[1:]))
    ready.apply([dataclasses.replace(moved_on, content=content)])
    assert [one.hash for one in ready.vectors.claim(PRINT, 10)] == [b"new"]
    assert ready.vectors.put(PRINT, made(claimed)) == 4
    assert ready.check() == []


def test_moves_and_copies_cost_nothing(ready: AccountStore, put: Put, embed: Embed) -> None:
    ready.apply([put("resources/d/a.txt", "alpha"), put("resources/b.txt", "beta")])
    assert len(embed(ready)) == 2
    ready.apply([Move("resources/d", "resources/e"), Move("resources/b.txt", "resources/e/c.txt")])
    ready.apply([put("resources/copy.txt", "alpha")])
    assert ready.vectors.waiting(PRINT) == 0
    assert ready.vectors.coverage(PRINT) == Coverage(3, 3)
    ready.apply([Remove("resources/e", recursive=True)])
    assert ready.vectors.coverage(PRINT) == Coverage(1, 1)


@pytest.mark.parametrize("path", ["resources/d/a.txt", "resources/d"])
def test_what_comes_back_soon_costs_nothing(
    ready: AccountStore, put: Put, clock: Clock, path: str, rows: Rows, embed: Embed, clear: Clear
) -> None:
    file = put("resources/d/a.txt", "alpha")
    ready.apply([file])
    assert len(embed(ready)) == 1
    ready.apply([Remove(path, recursive=True)])
    clock.now += LOOSE_MS
    clear(ready)
    ready.apply([file])
    assert ready.vectors.waiting(PRINT) == 0
    clock.now += LOOSE_MS + 1
    clear(ready)
    assert rows("SELECT 1 FROM loose") == []
    assert ready.vectors.coverage(PRINT) == Coverage(1, 1)
    ready.apply([Remove(path, recursive=True)])
    ready.apply([file])
    clock.now += LOOSE_MS
    ready.apply([Remove(path, recursive=True)])
    clock.now += LOOSE_MS
    clear(ready)
    assert len(rows("SELECT 1 FROM vectors")) == 1, "it was in use a moment before"
    clock.now += 1
    clear(ready)
    assert rows("SELECT 1 FROM vectors UNION ALL SELECT 1 FROM loose") == []
    ready.apply([file])
    assert len(embed(ready)) == 1


def test_tidying_up_is_queued(ready: AccountStore, put: Put, clock: Clock, rows: Rows, embed: Embed) -> None:
    ready.apply([put("resources/a.txt", "alpha")])
    embed(ready)
    ready.apply([put("resources/a.txt", "beta")])
    assert ready.jobs.waiting() == {"sidecars": 1}, "nobody waits for what is tidied up some day"
    assert ready.jobs.claim(["purge"], 1000) is None
    embed(ready)
    clock.now += 2 * LOOSE_MS
    assert work(ready) == 1
    assert rows("SELECT 1 FROM loose") == []
    assert len(rows("SELECT 1 FROM vectors")) == 1


def test_tidying_up_after_a_large_removal_is_queued(
    ready: AccountStore, put: Put, clock: Clock, rows: Rows, embed: Embed
) -> None:
    ready.apply(many(put, "resources/d"))
    embed(ready)
    ready.apply([Remove("resources/d", recursive=True)])
    clock.now += 1000
    assert work(ready) > 1
    assert len(rows("SELECT 1 FROM vectors")) == PURGED_NODES + 1
    clock.now += 2 * LOOSE_MS
    work(ready)
    assert rows("SELECT 1 FROM vectors UNION ALL SELECT 1 FROM loose") == []


def test_what_is_removed_waits_no_more(ready: AccountStore, put: Put, rows: Rows, made: Made) -> None:
    ready.apply([put("resources/a.txt", "alpha"), put("resources/b.txt", "beta")])
    [claimed] = [one for one in ready.vectors.claim(PRINT, 10) if one.node.name == "a.txt"]
    ready.apply([Remove("resources/a.txt"), Remove("resources/b.txt")])
    assert ready.vectors.waiting(PRINT) == 0
    assert ready.vectors.put(PRINT, made([claimed])) == 0
    assert rows("SELECT 1 FROM vectors") == []
    assert ready.check() == []


def test_of_a_large_removal_nothing_is_claimed(ready: AccountStore, put: Put, clear: Clear) -> None:
    ready.apply([put("resources/k.md", "zorblax 7"), *many(put, "resources/d")])
    ready.apply([Remove("resources/d", recursive=True)])
    assert ready.vectors.coverage(PRINT) == Coverage(0, 1)
    [kept] = ready.vectors.claim(PRINT, 10)
    assert kept.node.path == "resources/k.md"
    assert ready.vectors.waiting(PRINT) == 1
    ready.apply([put("resources/again.md", "zorblax 9")])
    assert paths(ready.vectors.claim(PRINT, 10)) == ["resources/again.md"]
    clear(ready)
    assert ready.vectors.coverage(PRINT) == Coverage(0, 2)


@pytest.mark.cpu_budget(10)
def test_what_is_being_staged_is_left_alone(
    ready: AccountStore, other: AccountStore, clock: Clock, cut: Cut, before_the_lock: BeforeTheLock
) -> None:
    ready.apply([cut("resources/a", 300)])
    claimed: list[PendingPassage] = []

    def between() -> object:
        claimed.extend(other.vectors.claim(PRINT, 200))
        assert other.check() == []
        return other.vectors.coverage(PRINT), other.vectors.waiting(PRINT)

    seen = before_the_lock(ready, between)
    ready.apply([cut("resources/large", 2100)])
    assert seen == [(Coverage(0, 300), 300)] * 4
    assert paths(claimed) == ["resources/a"] * 300
    clock.now += 10_000
    assert paths(other.vectors.claim(PRINT, 3000)) == ["resources/large"] * 2100
    assert other.check() == []


def test_erasing_forgets_it_though_the_clock_was_set_back(
    ready: AccountStore, put: Put, clock: Clock, rows: Rows, embed: Embed, clear: Clear
) -> None:
    ready.apply([put("resources/a.txt", "alpha"), put("resources/b.txt", "x" * (INLINE_BYTES + 1))])
    embed(ready)
    ready.apply([Remove("resources/a.txt"), Remove("resources/b.txt")])
    clear(ready)
    clock.now -= LOOSE_MS
    looks = iter(range(100))
    assert ready.erase(lambda: next(looks) > 90) is not None, "it came to an end"
    assert rows("SELECT 1 FROM vectors UNION ALL SELECT 1 FROM loose UNION ALL SELECT 1 FROM released") == []

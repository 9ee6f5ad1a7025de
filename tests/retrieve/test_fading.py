"""Scores of events fade exactly: however far behind a fresh one is before time counts, it is found where it belongs."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from openviking.index.decay import Decay
from openviking.ingest.prepare import PathAnalyser, prepare
from openviking.model.scope import Scope
from openviking.retrieve.find import FindRequest, find
from openviking.store.batch import PutFile, SetTags
from openviking.store.sqlite.account import SqliteStore

DAY = 86_400_000
NOW = 2_000_000_000_000
EVENTS = 400


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """Events of many ages, and a few files that are none, all of which have the one word."""
    store = SqliteStore(tmp_path_factory.mktemp("events"), PathAnalyser())
    chance = random.Random(11)
    paths = [f"user/u/memories/events/e{number}.md" for number in range(EVENTS)]
    others = [f"resources/r{number}.md" for number in range(20)]
    texts = {
        path: "dunlin " * chance.randint(1, 9) + "sand " * chance.randint(0, 40) + path for path in [*paths, *others]
    }
    store.apply([PutFile(path, prepare(path.rpartition("/")[2], text.encode())) for path, text in texts.items()])
    store.apply([SetTags(path, ("memory_type=events",)) for path in paths])
    with store._connections.writing() as sql:
        for number in range(EVENTS):
            age = 0 if number % 40 == 7 else chance.uniform(5, 60)
            sql.execute("UPDATE nodes SET updated_at = ? WHERE name = ?", (NOW - int(age * DAY), f"e{number}.md"))
        sql.execute("UPDATE nodes SET updated_at = ? WHERE name GLOB 'r*'", (NOW - 900 * DAY,))
    yield store
    store.close()


def asked(store: SqliteStore, limit: int, decay: Decay | None, threshold: float = 0.0) -> list[tuple[str, float]]:
    request = FindRequest("dunlin", Scope(levels=(2,)), limit, threshold, decay=decay)
    with store.read() as view:
        return [(hit.uri, hit.score) for hit in find(view, request)]


@pytest.mark.parametrize("protection", [0, 7 * DAY, 30 * DAY])
def test_the_best_by_their_faded_scores_are_found(store: SqliteStore, protection: int) -> None:
    decay = Decay(NOW, protection)
    with store.read() as view:
        ages = {str(entry.node.uri): entry.node.updated_at for entry in view.walk("user")}
    every = asked(store, 1000, None)
    assert len(every) == EVENTS + 20
    wanted = []
    for uri, score in every:
        factor = decay.time_score(ages[uri]) if "/events/" in uri else 1.0
        assert factor is not None
        wanted.append((uri, score * factor))
    wanted.sort(key=lambda one: (-one[1], one[0]))
    assert [uri for uri, _ in wanted][:10] != [uri for uri, _ in every][:10] or protection > 7 * DAY
    for limit in (1, 3, 10, 50):
        found = asked(store, limit, decay)
        assert [uri for uri, _ in found] == [uri for uri, _ in wanted[:limit]]
        assert [score for _, score in found] == pytest.approx([score for _, score in wanted[:limit]])
    border = wanted[5][1]
    assert [uri for uri, _ in asked(store, 50, decay, border)] == [uri for uri, score in wanted if score > border]

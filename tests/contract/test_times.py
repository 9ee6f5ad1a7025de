"""Cases of contract/retrieval.md §9.4 and §9.8 that need records of other times, sizes or writers, by both doors."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import pytest
from tests.contract.conftest import ME, Opened
from tests.contract.test_cases import names, refused

from openviking.service.services import Services
from openviking.store.batch import SetTags
from openviking.store.sqlite import filtering
from openviking.store.sqlite.account import SqliteStore

# --- 9.4 decay -----------------------------------------------------------------------------------------------------

DAY = 86_400_000


def rows(services: Services) -> AbstractContextManager[sqlite3.Connection]:
    """The account's tables, to make what no caller can: records of other times."""
    store = services.tenancy.accounts.store(ME)
    assert isinstance(store, SqliteStore)
    return store._connections.writing()


def aged(services: Services, days: Mapping[str, float]) -> None:
    """Set back when files below the user's events were changed."""
    with rows(services) as sql:
        for name, age in days.items():
            sql.execute("UPDATE nodes SET updated_at = updated_at - ? WHERE name = ?", (int(age * DAY), f"{name}.md"))
        sql.execute("UPDATE meta SET value = value + 1 WHERE name = 'change'")


def test_55_57_59_events_fade(opened: Opened) -> None:
    services, door = opened.services, opened.door
    events = "viking://user/default/memories/events"
    for number in range(12):
        services.content.write(
            ME, f"{events}/e{number}.md", f"curlew {'curlew ' * (12 - number)}\n" + "other " * number, "create"
        )
    services.content.write(ME, f"{events}/untagged.md", "curlew\n" + "more words " * 9, "create")
    tagged = [SetTags(f"user/default/memories/events/e{number}.md", ("memory_type=events",)) for number in range(12)]
    services.tenancy.accounts.store(ME).apply(tagged)
    aged(services, {f"e{number}": 0 if number == 11 else 7 for number in range(12)} | {"untagged": 700})

    def found(protection: str | None, **options: Any) -> dict[str, dict[str, Any]]:
        answer = door.find("curlew", events, level=2, limit=20, events_time_decay_protection=protection, **options)
        return {hit["uri"].rpartition("/")[2]: hit for hit in answer.hits}

    plain = found(None)
    assert len(plain) == 13
    assert "time_score" not in plain["e0.md"]
    for protection, factor in (("0", 0.5), ("2d", 0.6095), ("7d", 1.0)):
        faded = found(protection, explain=True)
        assert set(faded) == set(plain)
        for name, hit in faded.items():
            if name == "untagged.md":
                assert hit["score"] == plain[name]["score"]
                assert not {"time_score", "origin_score"} & set(hit)
                continue
            assert hit["origin_score"] == plain[name]["score"]
            assert hit["time_score"] == pytest.approx(1.0 if name == "e11.md" else factor, abs=1e-4)
            assert hit["score"] == pytest.approx(hit["origin_score"] * hit["time_score"], abs=1e-9)
            assert sum(part["value"] for part in hit["explain"]) == pytest.approx(hit["score"], abs=1e-9)
    # The fresh one has the lowest rank of the events before time counts; ours is exact, so it is found all the same.
    assert min(plain, key=lambda name: plain[name]["score"] + (name == "untagged.md")) == "e11.md"
    assert plain["e11.md"]["score"] > plain["e0.md"]["score"] / 2
    (best,) = door.find(
        "curlew", events, limit=1, level=2, events_time_decay_protection="0", tags=["memory_type=events"]
    ).hits
    assert best["uri"] == f"{events}/e11.md"
    by_words = door.search("curlew", events, level=2, search_type="keywords", events_time_decay_protection="0")
    assert [hit["score"] for hit in by_words.hits] == sorted((hit["score"] for hit in plain.values()), reverse=True)[
        :10
    ]


# --- 9.8 filters and storage ---------------------------------------------------------------------------------------


def test_108_114_116_times_sizes_and_writers(opened: Opened) -> None:
    services, door = opened.services, opened.door
    for number in (2999, 3000, 5000, 8000, 8001):
        services.content.write(ME, f"viking://resources/n/{number}.md", f"teal {number}\n", "create")
    with rows(services) as sql:
        sql.execute("UPDATE nodes SET updated_at = CAST(substr(name, 1, 4) AS INTEGER) WHERE name GLOB '[0-9]*'")
        sql.execute("UPDATE meta SET value = value + 1 WHERE name = 'change'")
    outside = {"op": "range_out", "field": "updated_at", "gte": 3000, "lte": 8000}
    assert names(door.find("teal", filter=outside, level=2)) == ["2999.md", "8001.md"]
    assert door.find(filter=outside, level=2).uris == [f"viking://resources/n/{number}.md" for number in (8001, 2999)]
    within = {"op": "time_range", "field": "updated_at", "gt": "1970-01-01T00:00:03Z", "lt": 8000}
    assert names(door.find("teal", filter=within, level=2)) == ["5000.md"]

    services.content.write(ME, "viking://~/memories/long.md", "ä" * 35_000 + " scoter\n", "create")
    (hit,) = door.find("scoter", level=2).hits
    assert hit["abstract"] == "ä" * 25_000

    wholes = ["merganser one\n", "merganser two\n"]
    services.content.write(ME, "viking://resources/w.md", wholes[0], "create")
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            services.content.write(ME, "viking://resources/w.md", wholes[number % 2])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(8):
            (hit,) = door.find("merganser", level=2, read_content=True).hits
            assert hit["content"] in wholes
            assert hit["snippet"] == hit["content"].strip()
    finally:
        stop.set()
        writer.join()


def test_a_pattern_that_burns_its_time_is_stopped(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filtering, "PATTERN_S", 0.05)
    services, door = opened.services, opened.door
    services.content.write(ME, f"viking://resources/{'a' * 200}!.md", "smew\n", "create")
    slow = {"op": "regex", "field": "uri", "pattern": "(a|aa|b?a)+$"}
    answer = door.find("smew", filter=slow)
    assert refused(answer) == (504, "DEADLINE_EXCEEDED")
    assert "(a|aa|b?a)+$" in answer.message

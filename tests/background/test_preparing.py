"""Files that another version prepared are prepared anew, each for itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from openviking.ingest import background
from openviking.ingest.prepare import PREPARED, prepare
from openviking.service.worker import Worker
from openviking.store.batch import PutFile
from openviking.store.jobs import NewJob
from openviking.store.sqlite.account import SqliteStore


def put_outdated(store: SqliteStore, path: str, text: str) -> None:
    store.apply([PutFile(path, replace(prepare("x.md", text.encode()), prepared=1))])


def outdated(store: SqliteStore) -> list[str]:
    with store.read() as view:
        return sorted(node.path for node in view.outdated(PREPARED, 1000))


def lose(store: SqliteStore, path: str) -> None:
    """Lose the content of a file, as a disk might."""
    with store.read() as view:
        node = view.get(path)
    assert node is not None
    with store._connections.writing() as connection:
        connection.execute("DELETE FROM contents WHERE hash = ?", (node.hash,))


def test_a_lost_file_keeps_no_other_from_being_prepared(
    store: SqliteStore, worker: Callable[..., Worker], caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(40):
        put_outdated(store, f"resources/{number:02}.md", f"text {number}\n")
    lost = ["resources/00.md", "resources/20.md"]
    for path in lost:
        lose(store, path)
    store.jobs.enqueue(NewJob("prepare", "", {}))
    worker().drain(store, 60)
    assert outdated(store) == lost
    assert store.jobs.failed() == []
    assert sorted(record.getMessage()[:28] for record in caplog.records if record.name == background.__name__) == [
        f"viking://{path} can" for path in lost
    ]
    for path in lost:
        put_outdated(store, path, "again\n")
    assert store.check() == []


def test_too_many_lost_files_are_an_error_of_the_job(
    store: SqliteStore, worker: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "MAX_PASSED_OVER", 2)
    for number in range(40):
        put_outdated(store, f"resources/{number:02}.md", f"text {number}\n")
    paths = outdated(store)
    for path in paths:
        lose(store, path)
    store.jobs.enqueue(NewJob("prepare", "", {}))
    assert worker().work(store)
    assert store.jobs.waiting()["prepare"] == 1
    for path in paths:
        put_outdated(store, path, "again\n")


def test_a_piece_of_the_work_holds_few_bytes(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "PREPARE_BYTES", 100)
    for number in range(6):
        put_outdated(store, f"resources/{number}.md", f"{number}" * 40)
    turn = background.Turn({}, 0, lambda: False)
    step = background.STEPS["prepare"]
    left = []
    while step(store, turn):
        left.append(len(outdated(store)))
    assert left == [4, 2, 0]

"""A model service that fails, hangs and comes back: words answer in time, waits end, and nobody hammers it."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.stubs.models import POISON, StubModels

from openviking import OpenViking
from openviking.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    OpenVikingError,
    UnavailableError,
    UnimplementedError,
)
from openviking.model.hit import FindResult

ROOT = "viking://resources"
PATIENCE_S = 30.0


@pytest.fixture
def stub() -> Iterator[StubModels]:
    with StubModels(dimension=64) as running:
        yield running


@pytest.fixture
def configured(stub: StubModels, tmp_path: Path) -> Callable[..., Path]:
    """``configured(key=value, …)``: the path of an ov.conf that names the stub, with these keys of ``embedding.dense``."""

    def writing(breaker: dict[str, Any] | None = None, **keys: Any) -> Path:
        dense = {"provider": "openai", "model": "stub", "api_base": stub.url, "api_key": "k", "batch_size": 8, **keys}
        embedding = {"dense": dense, "circuit_breaker": breaker or {"reset_timeout": 0.2, "max_reset_timeout": 0.4}}
        path = tmp_path / "ov.conf"
        path.write_text(json.dumps({"embedding": embedding}))
        return path

    return writing


@pytest.fixture
def opened(place: Path, configured: Callable[..., Path]) -> Iterator[Callable[..., OpenViking]]:
    doors: list[OpenViking] = []

    def opening(workers: int = 0, **keys: Any) -> OpenViking:
        doors.append(OpenViking(place, config=configured(**keys), workers=workers))
        return doors[-1]

    yield opening
    for door in doors:
        door.close()


def filled(ov: OpenViking, count: int = 20) -> None:
    for number in range(count):
        ov.write(f"{ROOT}/d/f{number}.md", f"zorblax{number} lives in the ice\n", "create")


def eventually(condition: Callable[[], bool]) -> bool:
    look = threading.Event()
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if condition():
            return True
        look.wait(0.02)
    return False


def timed_find(ov: OpenViking, question: str) -> tuple[float, FindResult]:
    start = time.monotonic()
    found = ov.find(question, level=2)
    return time.monotonic() - start, found


# --- R13 -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{"status": 500}, {"hang": True}, {"close": True}, {"answer": "<html>"}])
def test_words_answer_when_the_model_does_not(
    opened: Callable[..., OpenViking], stub: StubModels, how: dict[str, Any]
) -> None:
    ov = opened(query_timeout=0.4)
    filled(ov)
    ov.wait_processed(PATIENCE_S)
    well = ov.find("zorblax7", level=2)
    assert (well.degraded, well.vectors.have, well.vectors.of) == ((), 20, 20)
    stub.behave(**how)
    for number in range(1, 6):
        seconds, found = timed_find(ov, f"zorblax{number} ice")
        assert seconds < 3
        assert found.hits[0].uri == f"{ROOT}/d/f{number}.md"
        assert [one.stage for one in found.degraded] == ["vectors"]
        assert found.degraded[0].reason
    # A question that was asked before needs no model.
    assert ov.find("zorblax7", level=2).degraded == ()
    stub.behave()
    assert eventually(lambda: ov.find("zorblax9 ice", level=2).degraded == ())


def test_while_the_breaker_is_open_words_answer_at_once(opened: Callable[..., OpenViking], stub: StubModels) -> None:
    ov = opened(query_timeout=0.5, breaker={"failure_threshold": 1, "reset_timeout": 60, "max_reset_timeout": 60})
    filled(ov, 3)
    ov.wait_processed(PATIENCE_S)
    stub.behave(hang=True)
    assert ov.find("first question").degraded
    calls = len(stub.calls)
    for number in range(20):
        seconds, found = timed_find(ov, f"question {number}")
        assert found.degraded
        assert seconds < 0.4
    assert len(stub.calls) == calls


def test_a_lost_cache_of_vectors_is_made_again(opened: Callable[..., OpenViking], place: Path) -> None:
    ov = opened()
    filled(ov)
    ov.wait_processed(PATIENCE_S)
    before = ov.find("ice zorblax3", level=2, explain=True).to_dict()
    ov.close()
    files = [one for one in (place / "accounts" / "default").rglob("*") if one.is_file()]
    for file in files:
        if not file.name.startswith("store.db") and "contents" not in file.parts:
            file.write_bytes(b"\xff" * 100)
    damaged = opened()
    assert damaged.find("ice zorblax3", level=2, explain=True).to_dict() == before
    assert damaged.check() == []


# --- I10 -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "workers"),
    [
        ({"hang": True}, 0),
        ({"hang": True}, 1),
        ({"status": 403}, 0),
        ({"status": 429, "headers": {"Retry-After": "1"}}, 1),
    ],
    ids=str,
)
def test_a_wait_ends_in_time_and_the_backlog_drains_after_an_outage(
    opened: Callable[..., OpenViking], stub: StubModels, tmp_path: Path, how: dict[str, Any], workers: int
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("# Gulls\n\nThey shout.\n")
    stub.behave(**how)
    ov = opened(workers, timeout=0.5)
    calls: list[Callable[[], Any]] = [
        lambda: ov.write(f"{ROOT}/a.md", "zorblax\n", "create", wait=True, timeout=0.6),
        lambda: ov.add_resource(tmp_path / "docs", wait=True, timeout=0.6),
        lambda: ov.wait_processed(0.6),
    ]
    began = time.monotonic()
    for call in calls:
        start = time.monotonic()
        with pytest.raises(DeadlineExceededError, match=r"Still to be done after 0\.6 s: .*vectors") as caught:
            call()
        assert 0.5 < time.monotonic() - start < 3
        assert caught.value.details["missing"]["vectors"] >= 1
    assert ov.read(f"{ROOT}/a.md") == "zorblax\n"
    assert len(ov.find("zorblax", level=2)) == 1
    assert len(ov.find("gulls shout", level=2)) == 1
    # At most four calls at once when it begins, then about one in a second.
    assert len(stub.calls) <= 5 + time.monotonic() - began
    stub.behave()
    if workers:
        assert eventually(lambda: ov.status()["waiting"] == {})
    else:
        ov.wait_processed(PATIENCE_S)
    embedding = ov.status()["embedding"]
    assert (embedding["have"], embedding["waiting"]) == (embedding["of"], 0)


@pytest.mark.slow
def test_an_outage_costs_few_calls_and_little_time(opened: Callable[..., OpenViking], stub: StubModels) -> None:
    stub.behave(status=503)
    ov = opened(1, timeout=1.0, dimension=64)
    filled(ov, 30)
    stub.wait(lambda one: len(one.calls) >= 1)
    start, used = time.monotonic(), time.process_time()
    with pytest.raises(DeadlineExceededError):
        ov.wait_processed(4.0)
    seconds, used = time.monotonic() - start, time.process_time() - used
    assert len(stub.calls) <= 5 + seconds
    gaps = [two.at - one.at for one, two in pairwise(stub.calls[4:])]
    assert all(gap > 0.4 for gap in gaps), gaps
    # Of the wait's own looks and the thread's; the bound allows for a machine half as fast.
    assert used < 0.1 * seconds + 0.3


def test_a_wrong_key_ends_a_wait_without_a_limit(opened: Callable[..., OpenViking], stub: StubModels) -> None:
    stub.behave(status=403, message="no such key")
    ov = opened()
    filled(ov, 3)
    with pytest.raises(UnavailableError, match="no such key"):
        ov.wait_processed()


def test_a_store_opens_and_writes_without_its_model(opened: Callable[..., OpenViking], stub: StubModels) -> None:
    stub.stop()
    start = time.monotonic()
    ov = opened(1)
    filled(ov, 3)
    assert ov.find("zorblax1", level=2).hits[0].uri == f"{ROOT}/d/f1.md"
    assert ov.status()["files"] == 3
    assert time.monotonic() - start < 10
    stub.start()
    assert eventually(lambda: ov.status()["embedding"]["have"] >= 3)


# --- I13, and what the stub is asked for -----------------------------------------------------------------------------


def test_the_status_asks_a_service_that_has_not_answered_yet(
    opened: Callable[..., OpenViking], stub: StubModels
) -> None:
    first = opened(dimension=64)
    filled(first, 2)
    first.wait_processed(PATIENCE_S)
    first.close()
    again = opened(dimension=64)
    before = len(stub.calls)
    assert again.status()["embedding"]["state"] == again.status()["embedding"]["state"] == "ready"
    assert len(stub.calls) == before + 1
    again.close()
    stub.behave(status=503)
    told = opened(dimension=64).status()["embedding"]
    assert told["state"] == "failing"
    assert told["have"] == told["of"] > 0
    assert told["error"]


def test_one_bad_document_does_not_sink_the_batch(
    opened: Callable[..., OpenViking], stub: StubModels, tmp_path: Path
) -> None:
    for number in range(30):
        (tmp_path / "docs").mkdir(exist_ok=True)
        text = f"# Page {number}\n\nword{number} {'POISON' if number == 11 else 'ice'}\n"
        (tmp_path / "docs" / f"f{number}.md").write_text(text)
    stub.behave(POISON)
    ov = opened()
    report = ov.add_resource(tmp_path / "docs", wait=True, timeout=PATIENCE_S)
    assert (report.created, report.failed, report.vectors_waiting) == (30, (), 0)
    embedding = ov.wait_processed(PATIENCE_S)["embedding"]
    assert [one["uri"] for one in embedding["refused"] if one["uri"].endswith(".md")] == [f"{ROOT}/docs/f11.md"]
    found = ov.find("word11", level=2)
    assert found.hits[0].uri == f"{ROOT}/docs/f11.md"
    assert found.vectors.have == 29


def test_unchanged_content_is_not_sent_again(
    opened: Callable[..., OpenViking], stub: StubModels, tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    for number in range(50):
        (tmp_path / "docs" / f"f{number}.md").write_text(f"# Page {number}\n\nword{number}\n")
    ov = opened()
    ov.add_resource(tmp_path / "docs", wait=True, timeout=PATIENCE_S)
    ov.wait_processed(PATIENCE_S)
    stub.forget()
    ov.add_resource(tmp_path / "docs", wait=True, timeout=PATIENCE_S)
    ov.wait_processed(PATIENCE_S)
    assert stub.calls == []


@pytest.mark.parametrize(
    ("dense", "error", "told"),
    [
        ({"provider": "openai"}, InvalidArgumentError, r"dense\.model"),
        (
            {"provider": "openai", "model": "m", "api_key": "$NOT_SET"},
            FailedPreconditionError,
            r"dense\.api_key.*NOT_SET",
        ),
        (
            {"provider": "vllm", "model": "m", "api_base": "me:s3cret@localhost:1"},
            InvalidArgumentError,
            r"dense\.api_base",
        ),
        ({"provider": "builtin", "model": "other"}, InvalidArgumentError, r"dense\.model"),
        ({"provider": "gemini", "model": "m"}, UnimplementedError, r"dense\.provider"),
    ],
)
def test_what_can_be_known_is_told_when_the_configuration_is_read(
    tmp_path: Path, place: Path, dense: dict[str, str], error: type[OpenVikingError], told: str
) -> None:
    path = tmp_path / "ov.conf"
    path.write_text(json.dumps({"embedding": {"dense": dense}}))
    with pytest.raises(error, match=rf"^{re.escape(str(path))} embedding\.{told}") as caught:
        OpenViking(place, config=path, workers=0)
    assert "s3cret" not in caught.value.message


def test_the_model_of_a_service_is_none_of_the_builtin_one(tmp_path: Path, place: Path) -> None:
    path = tmp_path / "ov.conf"
    path.write_text('{"embedding": {"dense": {"provider": "openai", "model": "m", "api_key": "k", "dimension": 8}}}')
    with OpenViking(place, config=path, workers=0, embedder="builtin") as ov:
        assert ov.status()["embedding"]["state"] == "ready"


def test_what_has_no_effect_is_logged_once(tmp_path: Path, place: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "ov.conf"
    path.write_text('{"oauth": {"provider": "x"}, "code": {"x": 1}}')
    warning = f"{path}: without effect in this version: code, oauth"
    for _ in range(2):
        with OpenViking(place, config=path, workers=0, embedder="none") as ov:
            assert ov.status()["warnings"] == [warning]
    assert [record.getMessage() for record in caplog.records].count(warning) == 1


def test_a_configuration_that_cannot_be_used_is_told(tmp_path: Path, place: Path) -> None:
    path = tmp_path / "ov.conf"
    path.write_text('{"embedding": {"dense": {"provider": "opnai", "model": "m"}}}')
    with pytest.raises(
        InvalidArgumentError, match=r"/ov\.conf embedding\.dense\.provider: 'opnai' is not known"
    ) as caught:
        OpenViking(place, config=path, workers=0)
    assert caught.value.details == {"field": "embedding.dense.provider", "file": str(path)}
    assert not place.exists()
    # Who brings a model, or wants none, needs nothing of it.
    OpenViking(place, config=path, workers=0, embedder="none").close()
    with pytest.raises(InvalidArgumentError, match="cannot be read"):
        OpenViking(place, config=tmp_path / "none.conf")

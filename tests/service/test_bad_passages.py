"""One passage that can't be embedded, whatever the reason, keeps no other from its vector and no question from the model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.stubs.embedders import HashEmbedder, unavailable
from tests.stubs.models import POISON, StubModels

from openviking import OpenViking
from openviking.errors import DeadlineExceededError, UnavailableError
from openviking.ingest import embedding as ingest_module
from openviking.store.sqlite import vectors as vectors_module

ROOT = "viking://resources"
PATIENCE_S = 30.0


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder()


@pytest.fixture
def ov(place: Path, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenViking]:
    monkeypatch.setattr(vectors_module, "RETRY_MS", 20)
    with OpenViking(place, embedder=embedder, workers=0) as door:
        yield door
        assert door.check() == []


def filled(ov: OpenViking, count: int, bad: int) -> None:
    for number in range(count):
        word = "WRECKS" if number == bad else "ice"
        ov.write(f"{ROOT}/d/f{number}.md", f"word{number} {word}\n", "create")


def refused(ov: OpenViking) -> dict[str, str]:
    return {one["uri"]: one["error"] for one in ov.status()["embedding"]["refused"] if one["uri"].endswith(".md")}


@pytest.mark.parametrize(
    "error",
    [
        unavailable("HTTP 503: no backend", upstream_status_code=503),
        unavailable("{'data': []} has no embeddings"),
        unavailable("HTTP 403: forbidden word", upstream_status_code=403, permanent=True),
        DeadlineExceededError("no answer in time", operation="embedding", timeout=60.0),
        ValueError("a fault of its code"),
    ],
    ids=["503", "malformed", "403", "late", "fault"],
)
def test_a_passage_that_always_fails_is_refused_and_the_others_are_made(
    ov: OpenViking, embedder: HashEmbedder, error: Exception
) -> None:
    def wrecked(texts: Sequence[str]) -> None:
        if any("WRECKS" in text for text in texts):
            raise error

    embedder.before = wrecked
    filled(ov, 20, bad=19)
    embedding = ov.wait_processed(PATIENCE_S)["embedding"]
    found = refused(ov)
    assert list(found) == [f"{ROOT}/d/f19.md"]
    assert str(getattr(error, "message", error)) in found[f"{ROOT}/d/f19.md"]
    assert embedding["state"] == "ready"
    assert ov.find("word3 ice", level=2).degraded == ()
    assert ov.find("word19", level=2).hits[0].uri == f"{ROOT}/d/f19.md"
    calls = embedder.calls
    ov.wait_processed(PATIENCE_S)
    assert embedder.calls == calls


@pytest.mark.slow
def test_an_outage_counts_against_no_passage(ov: OpenViking, embedder: HashEmbedder) -> None:
    embedder.error = unavailable("HTTP 503: starting", upstream_status_code=503)
    filled(ov, 4, bad=-1)
    with pytest.raises(DeadlineExceededError, match="starting"):
        ov.wait_processed(2.5)
    assert embedder.calls >= 3
    store = ov._accounts.store(ov._identity)
    claimed = store.vectors.claim(embedder.model.fingerprint, 100)
    assert [one.attempts for one in claimed] == [0] * len(claimed)
    store.vectors.give_back(embedder.model.fingerprint, claimed)
    embedder.error = None
    ov.wait_processed(PATIENCE_S)
    assert refused(ov) == {}


def test_a_text_longer_than_the_service_takes_is_cut_and_a_bad_one_is_refused(place: Path, tmp_path: Path) -> None:
    with StubModels(dimension=64) as stub:
        stub.behave(POISON)
        config = tmp_path / "ov.conf"
        dense = {"provider": "openai", "model": "stub", "api_key": "k", "api_base": stub.url}
        config.write_text(json.dumps({"embedding": {"dense": dense}}))
        with OpenViking(place, config=config, workers=0) as ov:
            wide = "鳥は空を飛ぶ。" * 3000
            ov.write(f"{ROOT}/wide.md", wide, "create")
            ov.write(f"{ROOT}/bad.md", "gulls shout " * 900 + "POISON", "create")
            ov.write(f"{ROOT}/good.md", "gulls shout\n", "create")
            ov.wait_processed(PATIENCE_S)
            assert set(refused(ov)) == {f"{ROOT}/bad.md"}
            assert ov.find("鳥は空を飛ぶ", level=2).vectors.have > 2
            assert ov.check() == []


# --- what is stored ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_contents_that_are_away_for_a_while_condemn_no_passage(
    ov: OpenViking, embedder: HashEmbedder, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest_module, "LATER_MS", 1)
    ov.write(f"{ROOT}/big.md", "# Big\n\n" + "\n\n".join(f"para {n} " + "word " * 100 for n in range(600)), "create")
    contents, away = place / "accounts" / "default" / "contents", place / "away"
    contents.rename(away)
    ov.write(f"{ROOT}/small.md", "zorblax\n", "create")
    for _ in range(2 * ingest_module.MOST_LOOKS):
        with pytest.raises(UnavailableError, match=r"content|file"):
            ov.wait_processed(PATIENCE_S)
    # The others are made all the same.
    assert any("zorblax" in text for text in embedder.texts)
    assert ov.status()["embedding"]["refused"] == []
    shutil.rmtree(contents, ignore_errors=True)
    away.rename(contents)
    assert ov.wait_processed(PATIENCE_S)["embedding"]["state"] == "ready"
    assert ov.status()["embedding"]["refused"] == []


def test_a_text_that_is_not_the_one_that_was_indexed_is_not_embedded(
    ov: OpenViking, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes that are stored are others than those that were indexed, at the same place and of the same length."""
    monkeypatch.setattr(ingest_module, "LATER_MS", 1)
    ov.write(f"{ROOT}/a.md", "alpha\n", "create")
    store = ov._accounts.store(ov._identity)
    with store._connections.writing() as connection:  # type: ignore[attr-defined]
        connection.execute("UPDATE contents SET data = ? WHERE data = ?", (b"gamma\n", b"alpha\n"))
    ov.wait_processed(PATIENCE_S)
    assert not any("gamma" in text for text in embedder.texts if not text.startswith("resources"))
    assert list(refused(ov).values()) == ["its text can't be read from the store"]
    with store._connections.writing() as connection:  # type: ignore[attr-defined]
        connection.execute("UPDATE contents SET data = ? WHERE data = ?", (b"alpha\n", b"gamma\n"))


_KILLED = """
import os, sys
from openviking import OpenViking
from openviking.store.sqlite import passages, staging
from tests.stubs.embedders import HashEmbedder

passages.STAGED_PASSAGES = staging.STAGED_PASSAGES = 20
staging.PIECE_PASSAGES = 10
real, pieces = staging.add_passages, []

def add(*arguments, **more):
    pieces.append(1)
    if len(pieces) == 3:
        os.kill(os.getpid(), 9)
    return real(*arguments, **more)

staging.add_passages = add
ov = OpenViking(sys.argv[1], embedder=HashEmbedder(), workers=0)
ov.write("viking://resources/a.md", "hello", "create")
ov.write("viking://resources/big.md", "".join(f"# {n}\\n\\n{'word ' * 30}{n}\\n\\n" for n in range(600)), "create")
"""


@pytest.mark.cpu_budget(8)
def test_whoever_waits_does_not_wait_for_what_a_killed_writer_staged(place: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    died = subprocess.run([sys.executable, "-c", _KILLED, str(place)], env=environment, check=False)
    assert died.returncode == -9
    with OpenViking(place, embedder=HashEmbedder(), workers=0) as ov:
        assert ov.wait_processed(PATIENCE_S)["embedding"]["waiting"] == 0
        assert ov.find("hello", level=2).vectors.have == 1
        assert ov.check() == []


# --- a system at its limits ----------------------------------------------------------------------------------------


def test_a_wait_ends_where_no_thread_can_be_started(
    ov: OpenViking, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    ov.write(f"{ROOT}/a.md", "hello\n", "create")
    real = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if thread.name.startswith("openviking-vectors"):
            raise RuntimeError("can't start new thread")
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    embedder.hang = True
    with pytest.raises(DeadlineExceededError, match="vectors"):
        ov.wait_processed(0.5)
    embedder.hang = False
    assert ov.wait_processed(PATIENCE_S)["embedding"]["state"] == "ready"

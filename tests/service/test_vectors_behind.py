"""Vectors follow the writes: what was written and waited for has its vectors, and unchanged content costs nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.stubs.embedders import HashEmbedder, unavailable

from openviking import OpenViking
from openviking.errors import DeadlineExceededError, InvalidArgumentError, UnavailableError
from openviking.model.imports import Progress

ROOT = "viking://resources"


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder()


@pytest.fixture
def ov(place: Path, embedder: HashEmbedder) -> Iterator[OpenViking]:
    with OpenViking(place, embedder=embedder, workers=0) as door:
        yield door
        assert door.check() == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Fifty files of two passages in five directories."""
    for number in range(50):
        file = tmp_path / "docs" / f"d{number % 5}" / f"f{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# Page {number}\n\n" + f"penguin{number} eats krill\n" * 30 + "## More\n" + "ice\n" * 200)
    return tmp_path / "docs"


def state(ov: OpenViking) -> tuple[int, int, int]:
    """How many passages have a vector, how many there are, how many wait."""
    embedding = ov.status()["embedding"]
    return embedding["have"], embedding["of"], embedding["waiting"]


def test_waiting_for_a_write_waits_for_its_vectors_and_those_of_the_summaries_above(
    ov: OpenViking, embedder: HashEmbedder
) -> None:
    gave = ov.write(f"{ROOT}/a/b/c.md", "# Penguins\n\nThey eat krill.\n", "create", wait=True, timeout=30)
    assert gave["vector_status"] == gave["semantic_status"] == "complete"
    have, of, waiting = state(ov)
    assert have == of - waiting
    assert any("They eat krill." in text for text in embedder.texts)
    for name in ("b", "a", "resources"):
        assert any(text.startswith(f"{name}\n") for text in embedder.texts), name
    store = ov._accounts.store(ov._identity)
    assert store.vectors.waiting(embedder.model.fingerprint, below="resources/a/b/c.md") == 0
    assert ov.find("krill", level=2).vectors.have == 1


def test_a_write_that_is_not_waited_for_is_found_by_its_words_at_once(ov: OpenViking, embedder: HashEmbedder) -> None:
    gave = ov.write(f"{ROOT}/a.md", "zorblax\n", "create")
    assert gave["vector_status"] == "queued"
    found = ov.find("zorblax", level=2)
    assert (len(found), found.degraded, found.vectors.have) == (1, (), 0)
    assert (embedder.calls, embedder.questions) == (0, [])
    assert ov.status()["waiting"]["vectors"] == 1
    assert ov.write(f"{ROOT}/a.md", "zorblax\n")["vector_status"] == "queued"
    assert ov.wait_processed(30)["waiting"] == {}
    assert ov.write(f"{ROOT}/a.md", "zorblax\n")["vector_status"] == "complete"
    assert ov.find("zorblax", level=2).vectors.have == 1
    assert embedder.questions == ["zorblax"]


def test_somebody_elses_backlog_is_not_waited_for(ov: OpenViking, embedder: HashEmbedder, folder: Path) -> None:
    ov.add_resource(folder)
    backlog = state(ov)[2]
    ov.write(f"{ROOT}/own/a.md", "mine\n", "create", wait=True, timeout=30)
    assert any(text.endswith("mine\n") for text in embedder.texts)
    # The summaries of viking://resources, of its parent and of the new directory are made with it.
    assert len(embedder.texts) < 12
    assert state(ov)[2] >= backlog
    ov.rm(f"{ROOT}/own", recursive=True, wait=True, timeout=30)
    assert len(embedder.texts) < 16
    assert state(ov)[2] >= backlog


def test_an_import_says_how_many_vectors_are_to_come(ov: OpenViking, folder: Path) -> None:
    ov.write(f"{ROOT}/other.md", "other\n", "create")
    report = ov.add_resource(folder)
    assert report.vectors_waiting == report.passages == report.to_dict()["vectors_waiting"] == 100
    told: list[Progress] = []
    report = ov.add_resource(folder, wait=True, timeout=60, progress=told.append)
    assert report.vectors_waiting == 0
    embedding = [one for one in told if one.stage == "embedding"]
    assert embedding[0].done == 0
    assert embedding[-1].done == embedding[-1].total > 100
    assert [one.done for one in embedding] == sorted(one.done for one in embedding)


def test_unchanged_content_costs_nothing(ov: OpenViking, embedder: HashEmbedder, folder: Path) -> None:
    ov.add_resource(folder, wait=True, timeout=60)
    ov.wait_processed(60)
    have, of, _ = state(ov)
    assert have == of
    assert len(embedder.texts) == len(set(embedder.texts))
    embedder.texts.clear()
    ov.add_resource(folder, wait=True, timeout=60)
    assert embedder.texts == []
    file = folder / "d3" / "f3.md"
    file.write_text(file.read_text().replace("penguin3 eats krill", "penguin3 eats squid", 1))
    ov.add_resource(folder, wait=True, timeout=60)
    ov.wait_processed(60)
    changed = [text for text in embedder.texts if text.startswith("Page")]
    assert len(changed) == 1
    assert "squid" in changed[0]
    # All others are summaries of the directories above, which count what is in them.
    assert all(text.split("\n")[0] in {"d3", "docs", "resources", ""} for text in embedder.texts if text not in changed)
    embedder.texts.clear()
    ov.mv(f"{ROOT}/docs/d1", f"{ROOT}/docs/moved")
    ov.mv(f"{ROOT}/docs/d2/f2.md", f"{ROOT}/docs/d4/renamed.md")
    ov.add_resource(folder / "d0", to=f"{ROOT}/copy")
    ov.wait_processed(60)
    # No passage of a file is made anew; only the summaries of the directories whose listing changed.
    assert embedder.texts
    changed_directories = {"docs", "moved", "d2", "d4", "copy", "resources", ""}
    assert {text.split("\n")[0] for text in embedder.texts} <= changed_directories


def test_a_poisoned_passage_is_listed_and_ends_no_wait(ov: OpenViking, embedder: HashEmbedder) -> None:
    for number in range(30):
        ov.write(f"{ROOT}/d/f{number}.md", f"word{number} {'POISON' if number == 7 else ''}\n", "create")
    status = ov.wait_processed(60)
    assert status["waiting"] == {}
    embedding = status["embedding"]
    refused = [one for one in embedding["refused"] if one["uri"].endswith(".md")]
    assert refused == [{"uri": f"{ROOT}/d/f7.md", "lines": [1, 1], "error": "the text is poisoned"}]
    assert embedding["state"] == "ready"
    best = ov.find("word7 word8", level=2, explain=True).hits
    assert {hit.uri: hit.explain[-1] for hit in best if hit.explain}[f"{ROOT}/d/f7.md"] == ("vectors:none", 0.0)
    assert embedding["refused_total"] == len(embedding["refused"])
    calls = embedder.calls
    ov.wait_processed(60)
    assert embedder.calls == calls


def test_another_model_starts_anew_while_words_answer(place: Path, ov: OpenViking, embedder: HashEmbedder) -> None:
    ov.write(f"{ROOT}/a.md", "penguins eat krill\n", "create", wait=True)
    ov.wait_processed(60)
    have = state(ov)[0]
    other = HashEmbedder("another")
    with OpenViking(place, embedder=other, workers=0) as again:
        assert again.status()["embedding"]["have"] == 0
        found = again.find("penguins", level=2)
        assert (len(found), found.vectors.have, found.vectors.of, other.questions) == (1, 0, 1, [])
        [missing] = found.degraded
        assert missing.stage == "vectors"
        assert missing.reason == "no vector is made with another yet; those of hash can't be used"
        again.wait_processed(60)
        assert state(again) == (have, have, 0)
        assert sorted(other.texts) == sorted(embedder.texts)
        found = again.find("penguins", level=2)
        assert (found.vectors.have, found.degraded) == (1, ())
        again.write(f"{ROOT}/b.md", "gulls\n", "create")
    assert ov.status()["waiting"]["vectors"] == 1
    ov.wait_processed(60)
    assert embedder.texts.count("penguins eat krill\n") == 1


def test_a_process_without_a_model_queues_for_the_others(place: Path, ov: OpenViking) -> None:
    ov.wait_processed(60)
    with OpenViking(place, embedder="none", workers=0) as without:
        without.write(f"{ROOT}/a.md", "penguins\n", "create")
        assert without.status()["embedding"] == {"provider": "none", "state": "off"}
        assert "vectors" not in without.status()["waiting"]
        found = without.find("penguins", level=2)
        assert (len(found), found.degraded, found.vectors.have, found.vectors.of) == (1, (), 0, 1)
    assert ov.status()["waiting"]["vectors"] == 1


def test_what_was_stored_before_the_model_was_used_gets_its_vectors(place: Path, folder: Path) -> None:
    with OpenViking(place, embedder="none", workers=0) as without:
        without.add_resource(folder, wait=True)
    embedder = HashEmbedder()
    with OpenViking(place, embedder=embedder, workers=0) as ov:
        waiting = ov.status()["waiting"]["vectors"]
        assert waiting == ov.status()["passages"]
        ov.wait_processed(60)
        assert state(ov) == (waiting, waiting, 0)


def test_the_thread_of_the_lane_does_it_all_by_itself(place: Path, embedder: HashEmbedder, folder: Path) -> None:
    made = threading.Event()
    with OpenViking(place, embedder=embedder) as ov:
        ov.add_resource(folder)
        while not made.wait(0.02):
            if ov.status()["waiting"] == {}:
                made.set()
        have, of, waiting = state(ov)
        assert (have, waiting) == (of, 0)
        assert ov.find("penguin3 krill", level=2).hits[0].uri == f"{ROOT}/docs/d3/f3.md"
    assert len(embedder.texts) == len(set(embedder.texts))


@pytest.mark.parametrize("wrong", ["openai", "", "BUILTIN"])
def test_an_embedder_by_an_unknown_name_is_refused(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"embedder is .*'builtin', 'none'.* in ov\.conf"):
        OpenViking(tmp_path / "data", embedder=wrong)


# --- outages -------------------------------------------------------------------------------------------------------


def missing(call: Callable[[], Any]) -> dict[str, int]:
    with pytest.raises(DeadlineExceededError, match=r"Still to be done after .*vectors \(embedder: ") as caught:
        call()
    found: dict[str, int] = caught.value.details["missing"]
    return found


@pytest.mark.slow
def test_a_wait_says_what_is_missing_and_nothing_is_lost(ov: OpenViking, embedder: HashEmbedder) -> None:
    embedder.error = unavailable()
    assert missing(lambda: ov.write(f"{ROOT}/a.md", "zorblax\n", "create", wait=True, timeout=0.6))["vectors"] >= 1
    assert missing(lambda: ov.wait_processed(0.3))["vectors"] >= 1
    assert missing(lambda: ov.rm(f"{ROOT}/none.md", wait=True, timeout=0.3))["vectors"] >= 1
    status = ov.status()["embedding"]
    assert (status["state"], status["error"]) == ("failing", "stub: connection refused")
    assert len(ov.find("zorblax", level=2)) == 1
    assert embedder.calls <= 4
    embedder.error = None
    assert ov.wait_processed(60)["embedding"]["state"] == "ready"
    assert state(ov)[2] == 0


@pytest.mark.slow
def test_an_error_for_good_ends_a_wait_without_a_limit(ov: OpenViking, embedder: HashEmbedder) -> None:
    embedder.error = unavailable("HTTP 403: no such key", permanent=True)
    ov.write(f"{ROOT}/a.md", "zorblax\n", "create")
    for _ in range(2):
        with pytest.raises(UnavailableError, match=r"\d+ vectors \(embedder: stub: HTTP 403: no such key\)") as caught:
            ov.wait_processed()
        assert caught.value.details["missing"]["vectors"] >= 1
    # The passages, the text that tells an outage from them, and that text alone when somebody waits again.
    assert embedder.calls <= 3
    embedder.error = None
    assert ov.wait_processed()["waiting"] == {}


def test_a_fault_of_an_embedder_is_an_outage(
    ov: OpenViking, embedder: HashEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    embedder.error = ZeroDivisionError("by zero")
    ov.write(f"{ROOT}/a.md", "zorblax\n", "create")
    assert missing(lambda: ov.wait_processed(0.3))["vectors"] >= 1
    assert "by zero" in ov.status()["embedding"]["error"]
    assert any(record.exc_info for record in caplog.records)
    embedder.error = None
    assert ov.wait_processed()["waiting"] == {}


def test_closing_does_not_wait_for_a_model_that_hangs(place: Path, embedder: HashEmbedder) -> None:
    embedder.hang = True
    asked = threading.Event()
    embedder.before = lambda _: asked.set()
    with OpenViking(place, embedder=embedder) as ov:
        ov.write(f"{ROOT}/a.md", "zorblax\n", "create")
        assert asked.wait(20)
    embedder.hang = False
    again = HashEmbedder()
    with OpenViking(place, embedder=again, workers=0) as ov:
        # Given back at once: nobody waits for a lease to run out.
        ov.wait_processed(30)
        assert state(ov)[2] == 0
    assert any("zorblax" in text for text in again.texts)


def test_an_interrupted_wait_loses_nothing(ov: OpenViking, embedder: HashEmbedder) -> None:
    def interrupted(_: Progress) -> None:
        raise KeyboardInterrupt

    ov.write(f"{ROOT}/a.md", "zorblax\n", "create")
    with pytest.raises(KeyboardInterrupt):
        ov.wait_processed(progress=interrupted)
    assert ov.wait_processed(30)["waiting"] == {}
    assert len(embedder.texts) == len(set(embedder.texts))


def test_a_wait_for_a_path_is_not_for_what_others_queue_there_meanwhile(ov: OpenViking, embedder: HashEmbedder) -> None:
    """Each call of the model sees one more file written below the path: without a bound the wait would never end."""
    written: list[int] = []

    def another(_: Sequence[str]) -> None:
        number = len(written)
        written.append(number)
        if number < 200:
            ov.write(f"{ROOT}/d/more{number}.md", f"gulls {number}\n", "create")

    embedder.before = another
    ov.write(f"{ROOT}/d/own.md", "zorblax\n", "create", wait=True, timeout=30)
    assert len(written) < 50
    embedder.before = None

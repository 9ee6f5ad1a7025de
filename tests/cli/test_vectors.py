"""``ov`` and vectors: how many are to come, the bar, the state, and a model that does not answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Running
from tests.stubs.models import POISON, StubModels

from openviking import OpenViking
from openviking.cli.progress import Pace
from openviking.cli.screen import Screen
from openviking.cli.views.state import LISTED, draw_state
from openviking.config.settings import EmbeddingSettings
from openviking.model.imports import Progress

FILES = 12


@pytest.fixture
def stub() -> Iterator[StubModels]:
    with StubModels(dimension=64) as running:
        yield running


@pytest.fixture
def config(stub: StubModels, tmp_path: Path) -> Path:
    dense = {"provider": "openai", "model": "stub", "api_base": stub.url, "dimension": 64}
    path = tmp_path / "my ov.conf"
    path.write_text(json.dumps({"embedding": {"dense": dense}}))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    for number in range(FILES):
        (tmp_path / "docs" / f"f{number}.md").write_text(f"# Page {number}\n\nword{number} lives in the ice\n")
    return tmp_path / "docs"


def test_adding_says_how_many_vectors_are_to_come_and_how_to_get_them(
    ov: Callable[..., Any], config: Path, folder: Path, data: Path, stub: StubModels
) -> None:
    added = ov("add-resource", str(folder), "--config", str(config))
    assert added.status == 0
    assert added.err == (
        f"found by words now; {FILES} vectors are to come: ov --path {data} --config '{config}' wait\n"
    )
    assert stub.calls == []
    assert ov("status", "--config", str(config), "-o", "json").result["waiting"]["vectors"] == FILES
    waited = ov("wait", "--config", str(config), "--progress")
    assert waited.status == 0
    assert "vectors " in waited.err
    lines = {line.split("  ")[0]: line for line in waited.out.splitlines()}
    assert re.fullmatch(r"vectors +(\d+) of \1 passages: ready", lines["vectors"])
    assert "stub" in lines["embedding"]
    again = ov("add-resource", str(folder), "--config", str(config))
    assert "to come" not in again.err
    found = ov("find", "word3 ice", "-o", "json", "--config", str(config)).result
    assert found["retrieval"]["vectors"]["have"] == found["retrieval"]["vectors"]["of"]


def test_wait_makes_the_vectors_at_once(
    ov: Callable[..., Any], config: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENVIKING_CONFIG_FILE", str(config))
    added = ov("add-resource", str(folder), "--wait", "--progress", "-o", "json")
    assert added.result["vectors_waiting"] == 0
    assert "\nvectors " in added.err
    # The typed file comes before that of the environment.
    other = config.with_name("none.conf")
    other.write_text('{"embedding": {"dense": {"provider": "none"}}}')
    assert ov("status", "--config", str(other), "-o", "json").result["embedding"]["state"] == "off"
    off = ov("status", "--config", str(other)).out
    assert "none: words answer alone" in off


def test_a_model_that_does_not_answer(ov: Callable[..., Any], config: Path, folder: Path, stub: StubModels) -> None:
    stub.behave(status=403, message="no such key")
    with_config = ("--config", str(config))
    added = ov("add-resource", str(folder), *with_config, "--wait", "--timeout", "1", "-o", "json")
    assert (added.status, added.error["code"]) == (1, "DEADLINE_EXCEEDED")
    assert added.error["details"]["missing"]["vectors"] >= FILES
    assert "no such key" in added.error["message"]
    waited = ov("wait", *with_config)
    assert waited.status == 1
    assert "no such key" in waited.err
    found = ov("find", "word3", *with_config, "-o", "json")
    assert found.result["resources"][0]["uri"] == "viking://resources/docs/f3.md"
    stub.behave()
    assert ov("wait", *with_config).status == 0


def test_a_service_that_is_down_does_not_hide_what_is_known(
    ov: Callable[..., Any], config: Path, folder: Path, stub: StubModels
) -> None:
    dense = {"provider": "openai", "model": "stub", "api_base": stub.url}
    config.write_text(json.dumps({"embedding": {"dense": dense, "max_retries": 0}}))
    ov("add-resource", str(folder), "--config", str(config))
    before = ov("wait", "--config", str(config), "-o", "json").result["embedding"]
    assert before["have"] == before["of"]
    stub.stop()
    after = ov("status", "--config", str(config), "-o", "json").result["embedding"]
    assert after["state"] == "failing"
    assert "refused" in after["error"]
    for name in ("have", "of", "waiting", "dimension"):
        assert after[name] == before[name], name
    drawn = ov("status", "--config", str(config)).out
    assert f"{before['of']} of {before['of']} passages: the model does not answer" in drawn
    # Which passages have a vector is not told, as the model is not known: nothing is said rather than something wrong.
    assert "no vectors" not in ov("find", "word3", "--config", str(config)).out


@pytest.mark.slow
def test_a_wait_that_ends_too_early_still_tells_what_was_done(
    ov: Callable[..., Any], config: Path, folder: Path, data: Path, stub: StubModels
) -> None:
    stub.behave(status=503)
    shell = ("--config", str(config))
    line = f"ov --path {data} --config '{config}' wait"
    added = ov("add-resource", str(folder), *shell, "--wait", "--timeout", "0.3")
    assert added.status == 1
    assert added.out.startswith(f"viking://resources/docs\n  created {FILES} ")
    assert "found by words now\nerror: Still to be done after 0.3 s" in added.err
    assert added.err.endswith(f"what is done stays; try: {line}\n")
    told = ov("add-resource", str(folder), *shell, "--wait", "--timeout", "0.3", "-o", "json").error
    assert told["details"]["done"]["unchanged"] == FILES
    assert told["details"]["done"]["vectors_waiting"] >= FILES
    uri = "viking://resources/docs/f1.md"
    written = ov("write", uri, "--content", "new", *shell, "--wait", "--timeout", "0.3")
    assert re.search(rf"uri +{uri}\n", written.out)
    assert written.err.endswith(f"try: {line}\n")
    removed = ov("rm", uri, *shell, "--wait", "--timeout", "0.3")
    assert "estimated_deleted_count  1" in removed.out
    assert ov("wait", *shell, "--timeout", "0.3").err.endswith(f"try: {line}\n")


@pytest.mark.slow
def test_a_server_that_is_not_done_in_time_has_told_what_it_took_in(
    call: Callable[..., Any], folder: Path, tmp_path: Path, stub: StubModels
) -> None:
    stub.behave(status=503)
    model = EmbeddingSettings(provider="openai", model="stub", api_base=stub.url, dimension=64)
    server = Running(tmp_path / "served", model)
    try:
        way = ("--url", server.url, "--api-key", server.new_user()[1])
        gave = call("add-resource", str(folder), "--wait", "--timeout", "1.5", *way)
    finally:
        server.close()
    assert gave.status == 1
    assert gave.out.startswith(f"viking://resources/docs\n  created {FILES} ")
    assert re.search(r"^found by words now\nerror: Still to be done after [\d.]{1,3} s: \d+ vectors", gave.err)
    assert gave.err.endswith(f"what is done stays; try: ov --url {server.url} wait\n")


def test_an_interrupted_wait_tells_how_far_it_came(
    ov: Callable[..., Any], config: Path, folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ov("add-resource", str(folder), "--config", str(config))

    def interrupt(_: OpenViking, __: float | None, progress: Callable[[Progress], None]) -> None:
        progress(Progress("embedding", 1_005, 2_000, 0, ""))
        raise KeyboardInterrupt

    monkeypatch.setattr(OpenViking, "wait_processed", interrupt)
    made = "1,005 of 2,000 vectors are made and stay; nothing is lost, and this goes on:"
    waited = ov("wait", "--config", str(config))
    assert (waited.status, waited.out) == (130, "")
    assert waited.err == f"interrupted\n{made} ov --path {data} --config '{config}' wait\n"
    told = ov("wait", "--config", str(config), "-o", "json")
    assert (told.status, told.error["code"], told.err.count("\n")) == (130, "INTERRUPTED", 1)
    assert told.error["message"].startswith(made)


def test_how_fast_it_goes_and_how_long_it_takes() -> None:
    pace = Pace()
    assert pace.told(Progress("embedding", 0, 1_000, 0, ""), 10.0) == ""
    assert pace.told(Progress("embedding", 9, 1_000, 0, ""), 10.5) == ""
    assert pace.told(Progress("embedding", 140, 1_000, 0, ""), 20.0) == "14/s, 0:01:01 left"
    assert pace.told(Progress("embedding", 1_000, 1_000, 0, ""), 810.0) == "1.2/s"
    assert pace.told(Progress("working", 1_000, 2_000, 0, ""), 811.0) == ""


def test_an_answer_by_words_alone_says_so(ov: Callable[..., Any], config: Path, folder: Path) -> None:
    ov("add-resource", str(folder), "--config", str(config))
    alone = f"no vectors of {FILES} passages: the words answer alone\n"
    assert ov("find", "word3", "-L", "2", "--config", str(config)).out.endswith(alone)
    other = config.with_name("none.conf")
    other.write_text('{"embedding": {"dense": {"provider": "none"}}}')
    assert "vectors" not in ov("find", "word3", "--config", str(other)).out


def test_what_is_left_to_do_is_told_by_status_and_what_came_meanwhile_by_wait(
    ov: Callable[..., Any], config: Path, folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ov("add-resource", str(folder), "--config", str(config))
    drawn = ov("status", "--config", str(config)).out
    assert re.search(rf"0 of {FILES} passages, {FILES} waiting: ov --path {data} --config '{config}' wait\n", drawn)
    assert f"{FILES} vectors" in drawn
    assert "summaries to renew" in drawn
    monkeypatch.setattr(OpenViking, "wait_processed", lambda store, *_, **__: store.status())
    assert f"{FILES} waiting: added meanwhile\n" in ov("wait", "--config", str(config)).out


def test_keys_without_effect_are_told_by_status(ov: Callable[..., Any], config: Path) -> None:
    config.write_text('{"webfeed": {"provider": "x"}, "embedding": {"dense": {"provider": "none"}}}')
    ov("mkdir", "viking://resources/a", "--config", str(config))
    status = ov("status", "--config", str(config))
    assert f"warning: {config}: without effect in this version: webfeed\n" in status.out
    assert status.err == ""


def test_refused_passages_are_listed(ov: Callable[..., Any], config: Path, folder: Path, stub: StubModels) -> None:
    (folder / "bad.md").write_text("# Bad\n\nPOISON\n")
    stub.behave(POISON)
    ov("add-resource", str(folder), "--config", str(config))
    waited = ov("wait", "--config", str(config))
    assert waited.status == 0
    assert "no vector: viking://resources/docs/bad.md#L1-L3 (" in waited.out


def test_an_empty_or_missing_configuration_is_refused(ov: Callable[..., Any], tmp_path: Path) -> None:
    assert "--config is empty" in ov("ls", "--config", "").err
    missing = ov("ls", "--config", str(tmp_path / "none.conf"), "-o", "json")
    assert (missing.status, missing.error["code"]) == (1, "INVALID_ARGUMENT")


def test_the_state_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    refused = [{"uri": f"viking://resources/{n}.md", "lines": [1, 9], "error": "too long"} for n in range(LISTED + 5)]
    embedding = {
        "provider": "openai", "model": "m", "dimension": 64, "state": "failing", "error": "connection refused",
        "have": 3, "of": 90, "waiting": 72, "refused": refused,
    }  # fmt: skip
    status = {
        "files": 4, "change": 7, "stale_sidecars": 1, "outdated_files": 0, "waiting": {"sidecars": 1, "vectors": 72},
        "failed": [], "failed_total": 0, "warnings": ["ov.conf: without effect in this version: memory"],
        "embedding": embedding,
    }  # fmt: skip
    draw_state(Screen(sys.stdout), status, "ov wait")
    lines = capsys.readouterr().out.splitlines()
    assert lines[:10] == [
        "files               4",
        "changes so far      7",
        "summaries to renew  1",
        "files to read anew  0",
        "work to do          1 summaries, 72 vectors",
        "work given up       -",
        "vectors             3 of 90 passages, 72 waiting: the model does not answer",
        "embedding           openai m (64 numbers)",
        "embedding: connection refused",
        "warning: ov.conf: without effect in this version: memory",
    ]
    assert lines[10] == "no vector: viking://resources/0.md#L1-L9 (too long)"
    assert lines[-1] == "no vector: 5 more; -v lists all"
    draw_state(Screen(sys.stdout), {"embedding": {**embedding, "state": "working"}}, "ov wait", whole=True)
    drawn = capsys.readouterr().out
    assert drawn.count("no vector: ") == LISTED + 5
    assert "72 waiting: ov wait\n" in drawn
    draw_state(Screen(sys.stdout), {"embedding": {"state": "failing", "error": "no key"}}, "ov wait")
    assert "embedding: no key" in capsys.readouterr().out

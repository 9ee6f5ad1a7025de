"""``ov`` and vectors: how many are to come, the bar, the state, and a model that does not answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.stubs.models import POISON, StubModels

from openviking.cli.screen import Screen
from openviking.cli.views.state import LISTED, draw_state

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
    draw_state(Screen(sys.stdout), {"files": 4, "embedding": embedding})
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "files      4",
        "vectors    3 of 90 passages, 72 waiting: the model does not answer",
        "embedding  openai m (64 numbers)",
        "embedding: connection refused",
    ]
    assert lines[4] == "no vector: viking://resources/0.md#L1-L9 (too long)"
    assert lines[-1] == "no vector: 5 more; -v lists all"
    draw_state(Screen(sys.stdout), {"embedding": embedding}, whole=True)
    assert capsys.readouterr().out.count("no vector: ") == LISTED + 5
    draw_state(Screen(sys.stdout), {"embedding": {"state": "failing", "error": "no key"}})
    assert "embedding: no key" in capsys.readouterr().out

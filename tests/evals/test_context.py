"""The measure of context: conversations are kept as they were held, and what is recalled is counted word for word."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

EVALS = Path(__file__).resolve().parents[2] / "evals"

TURNS = [
    ("g/D1:1", "1:56 pm on 8 May, 2023", "Ann: I adopted a walrus called Boris."),
    ("g/D1:2", "1:56 pm on 8 May, 2023", "Mel: Where does he live?"),
    ("g/D2:1", "12:05 am on 9 June, 2023", "Ann: Boris  likes herring.\nA lot of it: daily."),
    ("h/D1:1", "12:05 am on 9 June, 2023", "Tim: I adopted a walrus as well."),
]
QUESTIONS = [
    ("g/q0", "g", "single-hop", "what is the walrus called", ["g/D1:1"]),
    ("g/q1", "g", "multi-hop", "what does the adopted walrus Boris like", ["g/D1:1", "g/D2:1"]),
    ("h/q0", "h", "single-hop", "who adopted a walrus", ["h/D1:1"]),
]


@pytest.fixture(autouse=True)
def _evals_import_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EVALS)


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"evals_{name}", EVALS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "talks"
    folder.mkdir()
    turns = [{"_id": one, "title": "", "text": text, "group": one[0], "date": date} for one, date, text in TURNS]
    asked = [{"_id": one, "text": text, "group": group, "category": kind} for one, group, kind, text, _ in QUESTIONS]
    for name, rows in (("corpus", turns), ("queries", asked)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    pairs = [f"{one}\t{turn}\t1\n" for one, _, _, _, wanted in QUESTIONS for turn in wanted]
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(pairs), "utf-8")
    return tmp_path


def test_a_session_is_the_turns_of_one_date(data: Path) -> None:
    told = module("conversations").load_conversations(data / "talks")
    assert {group: [len(turns) for turns in one] for group, one in told.sessions.items()} == {"g": [2, 1], "h": [1]}
    assert [turn.began.isoformat() for turns in told.sessions["g"] for turn in turns] == [
        "2023-05-08T13:56:00+00:00", "2023-05-08T13:56:00+00:00", "2023-06-09T00:05:00+00:00",
    ]  # fmt: skip
    assert told.questions[1].evidence == (
        "Ann: I adopted a walrus called Boris.",
        "Ann: Boris likes herring. A lot of it: daily.",
    )
    assert list(module("conversations").load_conversations(data / "talks", ["h"]).sessions) == ["h"]


def measured(data: Path, capsys: pytest.CaptureFixture[str], *options: str) -> Any:
    module("context").main(["--data", str(data), "--set", "talks", "--words", "--json", *options])
    return json.loads(capsys.readouterr().out)


def test_what_is_recalled_stands_in_the_block(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    got = measured(data, capsys, "--budgets", "64,1600", "--store", str(data / "stores"))
    assert {way: rows["1600"]["all"] for way, rows in got.items()} == {"find": 1, "context": 1, "chat": 1}
    assert got["context"]["64"]["all"] < 1
    assert all(rows[budget]["tokens"] <= int(budget) for rows in got.values() for budget in rows)
    again = measured(data, capsys, "--budgets", "1600", "--groups", "h", "--store", str(data / "stores"))
    assert again["context"]["1600"]["single-hop"] == 1
    assert "multi-hop" not in again["context"]["1600"]


def test_an_unknown_conversation_is_refused(data: Path) -> None:
    with pytest.raises(SystemExit):
        module("context").main(["--data", str(data), "--set", "talks", "--groups", "x"])

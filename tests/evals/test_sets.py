"""The measure itself: sets are read as they are written, and good answers score as the formulas say."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest

EVALS = Path(__file__).resolve().parents[2] / "evals"


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"evals_{name}", EVALS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


sets = module("sets")


def write_set(folder: Path, corpus: list[dict[str, str]], queries: list[dict[str, str]], pairs: list[str]) -> None:
    folder.mkdir(parents=True)
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(pairs), "utf-8")


def test_perfect_and_empty_answers() -> None:
    perfect = sets.quality([(["a", "b"], {"a": 1, "b": 1})])
    assert (perfect.ndcg10, perfect.recall5, perfect.recall10, perfect.mrr10) == (1, 1, 1, 1)
    nothing = sets.quality([([], {"a": 1}), (["x"] * 10, {"a": 1})])
    assert (nothing.ndcg10, nothing.recall5, nothing.recall10, nothing.mrr10) == (0, 0, 0, 0)


def test_places_and_grades_count() -> None:
    third = sets.quality([(["x", "y", "a"], {"a": 1})])
    assert third.ndcg10 == pytest.approx(1 / math.log2(4))
    assert third.mrr10 == pytest.approx(1 / 3)
    seventh = sets.quality([(["x"] * 6 + ["a"], {"a": 1})])
    assert (seventh.recall5, seventh.recall10) == (0, 1)
    graded = sets.quality([(["b", "a"], {"a": 2, "b": 1})])
    assert graded.ndcg10 == pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)))
    assert sets.quality([(["a"], {"a": 1, "b": 1})]).recall5 == 0.5


def test_a_set_is_read_and_placed(tmp_path: Path) -> None:
    corpus = [{"_id": "g1/D1:1", "title": "", "text": "Hello.", "group": "g1"}, {"_id": "2", "title": "T", "text": "x"}]
    write_set(tmp_path / "chat", corpus, [{"_id": "q", "text": "hi"}, {"_id": "r", "text": "no answer"}], ["q\t2\t1\n"])
    one = sets.load(tmp_path, "chat")
    assert sets.names(tmp_path) == ["chat"]
    assert [query.id for query in one.queries] == ["q"]
    assert list(one.files()) == ["user/default/memories/g1/D1_1.md", "user/default/memories/other/2.md"]
    assert [sets.content(item) for item in one.documents] == ["Hello.", "# T\n\nx"]
    write_set(tmp_path / "code", [{"_id": "f", "text": "def f():\n    pass"}], [], [])
    assert list(sets.load(tmp_path, "code").files()) == ["resources/code/f.py"]


def test_ids_that_give_one_file_are_refused(tmp_path: Path) -> None:
    write_set(tmp_path / "s", [{"_id": "a:b", "text": "x"}, {"_id": "a/b", "text": "y"}], [], [])
    with pytest.raises(SystemExit, match="a:b"):
        sets.load(tmp_path, "s").files()


def test_the_command_measures_a_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = [{"_id": str(number), "text": f"about {word}"} for number, word in enumerate(["tea", "coffee", "milk"])]
    write_set(
        tmp_path / "drinks",
        corpus,
        [{"_id": "q", "text": "coffee"}, {"_id": "r", "text": "wine"}],
        ["q\t1\t1\n", "r\t2\t1\n"],
    )
    sys.path.insert(0, str(EVALS))
    try:
        run = module("run")
    finally:
        sys.path.remove(str(EVALS))
    assert run.main(["--data", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "drinks": {"words": {"ndcg10": 0.5, "recall5": 0.5, "recall10": 0.5}}
    }
    assert run.main(["--data", str(tmp_path), "--misses", "3"]) == 0
    assert "'wine': wanted 2" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        run.main(["--data", str(tmp_path), "--sets", "drinks,unknown"])

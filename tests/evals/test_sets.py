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

WORDS = "zorblax quuxify plugh krill fjord garnet".split()


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
    assert run.main(["--data", str(tmp_path), "--words", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "drinks": {"words": {"ndcg10": 0.5, "recall5": 0.5, "recall10": 0.5}}
    }
    assert run.main(["--data", str(tmp_path), "--words", "--misses", "3"]) == 0
    assert "'wine': wanted 2" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        run.main(["--data", str(tmp_path), "--sets", "drinks,unknown"])


@pytest.mark.cpu_budget(20)
def test_the_command_fuses_and_keeps_the_vectors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the built-in model: what is meant is found in other words, and the second run makes no vector anew."""
    texts = ["A kettle boils water for green tea.", "The harbour pilot guides vessels.", "Bread is baked in an oven."]
    corpus = [{"_id": str(number), "text": text} for number, text in enumerate(texts)]
    queries = [{"_id": "q", "text": "who steers ships into port"}, {"_id": "r", "text": "what makes a hot drink"}]
    write_set(tmp_path / "data" / "life", corpus, queries, ["q\t1\t1\n", "r\t0\t1\n"])
    run = module("run")
    options = ["--data", str(tmp_path / "data"), "--vectors", str(tmp_path / "kept"), "--threads", "1", "--json"]
    assert run.main([*options, "--signals"]) == 0
    first = json.loads(capsys.readouterr().out)["life"]
    assert first["words"]["ndcg10"] == 0
    assert first["vectors"]["ndcg10"] == first["fused"]["ndcg10"] == 1
    assert {"without short questions", "without exact names", "without scripts", "without phrases"} < set(first)
    (file,) = (tmp_path / "kept").iterdir()
    size, written = file.stat().st_size, file.stat().st_mtime_ns
    assert size > 5 * 384 * 4
    assert run.main(options) == 0
    again = json.loads(capsys.readouterr().out)["life"]
    assert again == {way: first[way] for way in ("words", "vectors", "fused")}
    assert file.stat().st_mtime_ns == written


def test_lookups_are_answered_by_one_document(tmp_path: Path) -> None:
    texts = [f"Note {n}: the harbour pilot of port number{n}x met {word} today" for n, word in enumerate(WORDS)]
    write_set(tmp_path / "notes", [{"_id": str(n), "text": text} for n, text in enumerate(texts)], [], [])
    one = sets.load(tmp_path, "notes")
    sys.modules["sets"] = sets
    made = module("lookups").lookups(one, each=4)
    assert set(made) == {"code", "code in a sentence", "word", "word in a sentence", "quoted"}
    for kind, asked in made.items():
        assert asked.name == f"notes: {kind}"
        assert len(asked.queries) == 4
        for query in asked.queries:
            (found,) = asked.relevant[query.id]
            said = query.text.removeprefix("what did we decide about ").strip('"?')
            assert said in texts[int(found)]
    assert made == module("lookups").lookups(one, each=4)

"""A filter holds to the letter in every channel: for words, for vectors, and where nothing is asked but the filter."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openviking.errors import DeadlineExceededError
from openviking.index.filter import parse_filter
from openviking.ingest.prepare import PathAnalyser, prepare
from openviking.ingest.sidecars import render_all
from openviking.model.condition import AllOf, AnyOf, Below, Between, Condition, Constant, Not, OneOf, TextMatch
from openviking.model.embedding import EmbeddingModel
from openviking.model.scope import Scope
from openviking.store.batch import PutFile, SetTags
from openviking.store.port import Query, QueryVector, View
from openviking.store.sqlite import filtering
from openviking.store.sqlite.account import SqliteStore
from openviking.store.vectors import MadeVector
from openviking.uri import context_type, owner

MODEL = EmbeddingModel("one", 2, 0, "", "", "mean", 0.0, 1.0, multilingual=False)
AXIS = np.array([1, 0], np.float32)
PLACES = (
    "resources/a",
    "resources/a/b",
    "resources/ab",
    "user/u/memories",
    "user/v/skills/roll",
    "agent/skills/fold/x",
)
TAGS = ("env=prod", "env=dev", "team=x", "memory_type=events")


def filled(place: Path, *, vectors: bool) -> SqliteStore:
    store = SqliteStore(place, PathAnalyser())
    if vectors:
        store.vectors.use(MODEL)
    chance = random.Random(5)
    paths = [f"{place}/{name}{number}.md" for place in PLACES for name in ("plover", "b") for number in range(3)]
    store.apply([PutFile(path, prepare(path, f"plover {path}\n".encode())) for path in paths])
    store.apply([SetTags(path, tuple(chance.sample(TAGS, chance.randint(0, 2)))) for path in [*paths, *PLACES]])
    render_all(store)
    with store._connections.writing() as sql:
        sql.execute("UPDATE nodes SET updated_at = 1000 * (id % 7), created_at = 1000 * (id % 5)")
        sql.execute("UPDATE meta SET value = value + 1 WHERE name = 'change'")
    while vectors and (claimed := store.vectors.claim(MODEL.fingerprint, 1000)):
        made = [MadeVector(one.hash, one.lease, AXIS[None]) for one in claimed]
        store.vectors.put(MODEL.fingerprint, made)
    return store


@pytest.fixture(scope="module", params=[False, True], ids=["words", "vectors"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    store = filled(tmp_path_factory.mktemp("filtered"), vectors=request.param)
    yield store
    store.close()


def record(path: str, level: int, tags: tuple[str, ...], times: tuple[int, int]) -> dict[str, Any]:
    kind = context_type(path if level < 2 else path.rpartition("/")[0])
    directory = (path if level < 2 else path.rpartition("/")[0]).split("/")
    skill = directory[2:] if directory[0] == "agent" else directory[3:]
    return {
        "uri": path, "level": level, "context_type": kind, "search_tags": tags, "active_count": 0,
        "updated_at": times[0], "created_at": times[1], "owner_user_id": owner(path),
        "name": skill[0] if kind == "skill" and skill else "",
    }  # fmt: skip


def holds(one: Condition, of: dict[str, Any]) -> bool:
    """The meaning of a condition, by itself."""
    match one:
        case AllOf(parts):
            return all(holds(part, of) for part in parts)
        case AnyOf(parts):
            return any(holds(part, of) for part in parts)
        case Not(part):
            return not holds(part, of)
        case Constant(value):
            return value
        case Below(paths, depth):
            return any(below(of["uri"], path, depth) for path in paths)
        case OneOf(field, values):
            return any(value in values for value in texts(of, field))
        case Between():
            value = of[one.field]
            inside = (one.lower is None or value > one.lower or (value == one.lower and not one.above)) and (
                one.upper is None or value < one.upper or (value == one.upper and not one.below)
            )
            return inside is not one.outside
        case TextMatch(field, kind, text):
            said = [f"viking://{value}" if field == "uri" else value for value in texts(of, field)]
            if kind == "regex":
                return any(re.search(text, value) for value in said)
            return any(value.startswith(text) if kind == "prefix" else text in value for value in said)


def below(uri: str, path: str, depth: int) -> bool:
    inside = not path or uri == path or uri.startswith(f"{path}/")
    return inside and (depth < 0 or len(uri.split("/")) - (len(path.split("/")) if path else 0) <= depth)


def texts(of: dict[str, Any], field: str) -> Any:
    return of[field] if isinstance(of[field], tuple) else (of[field],)


def some_filter(chance: random.Random, depth: int = 3) -> dict[str, Any]:
    if depth and chance.random() < 0.5:
        return {
            "op": chance.choice(["and", "or"]),
            "conds": [some_filter(chance, depth - 1) for _ in range(chance.randint(1, 3))],
        }
    bound = chance.choice([{"gt": 1000}, {"gte": 2000, "lt": 4000}, {"lte": 3000}, {"gte": 2000, "lte": 5000}])
    path = chance.choice([*PLACES, "resources", "user/u", "resources/a/b/plover1.md", "none"])
    leaves: list[dict[str, Any]] = [
        {"op": "must", "field": "level", "conds": chance.sample([0, 1, 2], 2)},
        {"op": "range", "field": "level", "gte": 1},
        {"op": chance.choice(["must", "must_not"]), "field": "search_tags", "conds": chance.sample(TAGS, 2)},
        {"op": chance.choice(["must", "must_not"]), "field": "context_type", "conds": [chance.choice(["skill", "memory", "resource"])]},
        {"op": chance.choice(["must", "must_not"]), "field": "uri", "conds": [f"viking://{path}", *chance.choices([f"viking://{PLACES[0]}", "/none"], k=chance.randint(0, 2))], "para": f"-d={chance.randint(-1, 2)}"},
        {"op": chance.choice(["range", "range_out"]), "field": chance.choice(["updated_at", "created_at"]), **bound},
        {"op": "time_range", "field": ["updated_at", "created_at"], **bound},
        {"op": "prefix", "field": "uri", "prefix": f"viking://{path[:-1]}"},
        {"op": "contains", "field": ["name", "search_tags"], "substring": chance.choice(["ol", "=", "prod"])},
        {"op": "regex", "field": "uri", "pattern": chance.choice(["b[0-9]", "/plover", "^viking://user/[uv]/", "[12].md$"])},
        {"op": "must", "field": "name", "conds": [chance.choice(["roll", "fold", ""])]},
        {"op": "label_in", "field": "search_tags", "conds": ["team=x"]},
        {"op": "must_not", "field": ["owner_user_id", "name"], "conds": ["u", "fold"]},
        {"op": "range", "field": "active_count", "gte": chance.randint(0, 1)},
        {"op": "must", "field": "account_id", "conds": [chance.choice(["acme", "other"])]},
    ]  # fmt: skip
    return chance.choice(leaves)


def test_filters_as_large_as_may_be(store: SqliteStore) -> None:
    """They are deep and long enough to be too much for an SQL expression that is made carelessly."""
    deep: dict[str, Any] = {"op": "or", "conds": [{"op": "contains", "field": "uri", "substring": "none"}] * 220}
    for _ in range(30):
        deep = {"op": "and", "conds": [deep]}
    wide = {"op": "must", "field": "uri", "conds": [f"/none/{number}" for number in range(256)], "para": "-d=1"}
    many = {"op": "must_not", "field": "search_tags", "conds": [f"none={number}" for number in range(2000)]}
    words = Query(("plover",), None, lambda _type, said, _cosine: said)
    with store.read() as view:
        every = len(view.records(Scope(), 10_000))
        for tree, wanted in ((deep, 0), (wide, 0), (many, every)):
            scope = Scope(condition=parse_filter(tree, str, "acme"))
            assert len(view.records(scope, 10_000)) == wanted
            view.coverage(MODEL.fingerprint, scope)
            assert bool(view.search(words, scope, 10)) is bool(wanted)


def test_a_filter_that_takes_too_long_is_stopped(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filtering, "FILTER_S", 0.0)
    monkeypatch.setattr(filtering, "STEPS", 100)
    scope = Scope(condition=parse_filter({"op": "contains", "field": "uri", "substring": "x"}, str, "acme"))
    with store.read() as view:
        with pytest.raises(DeadlineExceededError, match="filter"):
            view.records(scope, 10_000)
        assert view.records(Scope(), 10_000)


@pytest.mark.parametrize("seed", range(2))
def test_every_channel_lets_through_what_the_filter_says(store: SqliteStore, seed: int) -> None:
    chance = random.Random(seed)
    vector = QueryVector(MODEL.fingerprint, AXIS) if store.vectors.models() else None
    words = Query(("plover",), None, lambda _type, said, _cosine: said)
    meant = Query((), vector, lambda _type, _said, cosine: cosine or 0.0)
    with store.read() as view:
        rows = view.records(Scope(), 10_000)
        tags = view.tags([node.id for node, _ in rows])
        records = {
            (node.path, level): record(node.path, level, tags.get(node.id, ()), (node.updated_at, node.created_at))
            for node, level in rows
        }
        assert len(records) > 50
        meaning = {(one.node.path, one.level) for one in view.search(meant, Scope(), 500)}
        chosen = 0
        for _ in range(30):
            tree = some_filter(chance)
            condition = parse_filter(tree, lambda uri: uri.removeprefix("viking://"), "acme")
            assert condition is not None
            wanted = {key for key, of in records.items() if holds(condition, of)}
            chosen += 0 < len(wanted) < len(records)
            scope = Scope(condition=condition)
            assert {(node.path, level) for node, level in view.records(scope, 10_000)} == wanted, tree
            view.coverage(MODEL.fingerprint, scope)
            assert {(one.node.path, one.level) for one in view.search(words, scope, 500)} == {
                key for key in wanted if "plover" in text_of(view, key)
            }, tree
            if vector is not None:
                assert {(one.node.path, one.level) for one in view.search(meant, scope, 500)} == wanted & meaning, tree
        assert chosen > 10


def text_of(view: View, key: tuple[str, int]) -> str:
    path, level = key
    if level == 2:
        node = view.get(path)
        assert node is not None
        return path + (view.text(node) or "")
    sidecars = view.sidecars(path)
    assert sidecars is not None
    return path + (sidecars.abstract if level == 0 else sidecars.overview)

"""Skills below the doors: what may be one, where it is stored and how it is found."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from openviking.errors import (
    InvalidArgumentError,
    NotFoundError,
    OpenVikingError,
    PermissionDeniedError,
    UnimplementedError,
)
from openviking.model.identity import Identity
from openviking.service.accounts import Accounts
from openviking.service.content import Content
from openviking.service.search import Search
from openviking.service.skills import Skills
from openviking.service.worker import Worker

ALICE = Identity("acme", "alice", "user")
BOB = Identity("acme", "bob", "user")
OWN = "viking://user/alice/skills"
SHARED = "viking://agent/skills"
GREET = {"name": "greet", "description": "Greets people politely", "content": "# Greet\nsay hello\n"}


@pytest.fixture
def world(place: Path) -> Iterator[Any]:
    accounts = Accounts(place)
    worker = Worker(accounts.open_stores, {}, 0, 1.0)
    search = Search(accounts, grep_timeout=1.0)
    yield SimpleNamespace(
        store=accounts.store(ALICE),
        skills=Skills(accounts, worker, search),
        content=Content(accounts, worker),
        search=search,
    )
    worker.stop()
    accounts.close()


def text(name: str, description: str = "does it", body: str = "# Body\n", **more: str) -> str:
    lines = [f"{key}: {value}" for key, value in {"name": name, "description": description, **more}.items()]
    return "\n".join(["---", *lines, "---", "", body])


def test_an_object_becomes_a_skill_that_is_found_and_shown(world: Any) -> None:
    added = world.skills.add(ALICE, GREET, wait=True)
    assert added["queue_status"]["Semantic"]["error_count"] == 0
    assert {key: added[key] for key in ("status", "root_uri", "uri", "name", "auxiliary_files")} == {
        "status": "success", "root_uri": OWN, "uri": f"{OWN}/greet", "name": "greet", "auxiliary_files": 0,
    }  # fmt: skip
    assert world.content.read(ALICE, "viking://~/skills/greet/SKILL.md") == (
        "---\nname: greet\ndescription: Greets people politely\n---\n\n# Greet\nsay hello\n"
    )
    [hit] = [hit for hit in world.search.find(ALICE, "greets people politely") if hit.level == 2]
    assert (hit.context_type, hit.uri) == ("skill", f"{OWN}/greet/SKILL.md")
    shown = world.skills.show(ALICE, "greet")
    assert shown["abstract"] == "greet: Greets people politely"
    assert "say hello" in shown["content"]
    assert [(file["path"], file["kind"]) for file in shown["files"]] == [
        (".abstract.md", "summary"), (".overview.md", "summary"), ("SKILL.md", "definition"),
    ]  # fmt: skip
    assert world.skills.ls(BOB)["skills"] == []
    with pytest.raises(NotFoundError):
        world.skills.show(BOB, "greet")


def test_a_tool_of_mcp_becomes_a_skill(world: Any) -> None:
    schema = {
        "type": "object",
        "required": ["city"],
        "properties": {"city": {"type": "string", "description": "Where"}, "unit": {}},
    }
    tool = {"name": "get_weather_now", "description": "Tells the weather", "inputSchema": schema}
    assert world.skills.add(ALICE, tool)["name"] == "get-weather-now"
    shown = world.skills.show(ALICE, "get-weather-now")
    assert shown["description"] == "Tells the weather"
    assert "- **city** (string, required): Where\n- **unit** (any, optional)\n" in shown["content"]


def test_the_text_of_a_file_is_kept_as_it_is(world: Any) -> None:
    said = "\ufeff---\r\nname: pdf\r\ndescription: Reads PDF\r\ntags: [doc, pdf]\r\nallowed-tools: Bash(git add:*), Read\r\nextra: {a: 1}\r\n---\r\nbody\r\n"
    world.skills.add(ALICE, said, target_uri=SHARED, source_metadata={"repo": "x"})
    shown = world.skills.show(BOB, "pdf", include_integrity=True, include_source=True)
    assert (shown["content"], shown["uri"]) == (said, f"{SHARED}/pdf")
    assert (shown["tags"], shown["allowed_tools"]) == (["doc", "pdf"], ["Bash(git add:*)", "Read"])
    assert shown["abstract"] == "pdf: Reads PDF. Tags: doc, pdf. Tools: Bash(git add:*), Read."
    assert shown["content_sha256"] == hashlib.sha256(said.encode()).hexdigest() == shown["files"][2]["sha256"]
    assert (shown["source"], len(shown["files"]), len(shown["revision"])) == ({"repo": "x"}, 3, 64)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({}, InvalidArgumentError), ("", InvalidArgumentError), (5, InvalidArgumentError), (None, InvalidArgumentError),
        ({"description": "d"}, InvalidArgumentError), ({"name": "../x"}, InvalidArgumentError),
        ({"name": "a b"}, InvalidArgumentError), ({"name": "x" * 65}, InvalidArgumentError),
        ({"name": "ä"}, InvalidArgumentError), ({"name": 5}, InvalidArgumentError), ({"name": ["x"]}, InvalidArgumentError),
        ({"name": "x", "content": 5}, InvalidArgumentError), ({"name": "x", "description": "\ud800"}, InvalidArgumentError),
        ({"name": "x", "content": "\ud800"}, InvalidArgumentError), ("no front matter\nat all", InvalidArgumentError),
        ("---\nname: [\n---\n", InvalidArgumentError), ("---\ndescription: d\n---\n", InvalidArgumentError),
        ("---\nname: x\n---\n", InvalidArgumentError), ("---\n- x\n---\n", InvalidArgumentError),
        ("---\nname: x\ndescription: d\n", InvalidArgumentError), ('---\nname: x\ndescription: "\\uD800"\n---\n', InvalidArgumentError),
        ("---\nname: " + "[" * 60_000 + "\n---\n", InvalidArgumentError),
        ("---\nname: x\ndescription: d\nz: " + "y" * 70_000 + "\n---\n", InvalidArgumentError),
        ("---\na: &a [x, x]\nb: &b [*a, *a]\nname: *b\n---\n", InvalidArgumentError),
        ("/etc/passwd", PermissionDeniedError), ("./SKILL.md", PermissionDeniedError), ("~/x", PermissionDeniedError),
        ("skills/x", PermissionDeniedError), ("C:\\skills", PermissionDeniedError), ("SKILL.md", PermissionDeniedError),
    ],
)  # fmt: skip
def test_what_is_no_skill_is_refused_and_stores_nothing(world: Any, data: Any, error: type[OpenVikingError]) -> None:
    with pytest.raises(error) as caught:
        world.skills.add(ALICE, data)
    caught.value.message.encode()
    assert world.skills.ls(ALICE)["total"] == 0


def test_a_skill_of_the_same_name_is_replaced_with_all_its_files(world: Any) -> None:
    world.skills.add(ALICE, {**GREET, "description": "quokka old"}, source_metadata={"a": 1})
    world.skills.add(ALICE, {**GREET, "description": "numbat new"})
    assert [hit.uri for hit in world.search.find(ALICE, "quokka", "viking://~/skills")] == []
    assert world.search.find(ALICE, "numbat", "viking://~/skills", level=2).total == 1
    assert world.skills.show(ALICE, "greet", include_source=True)["source"] is None
    updated = world.skills.update(ALICE, "greet", {**GREET, "description": "Greets all"})
    assert (updated["action"], world.skills.show(ALICE, "greet")["description"]) == ("update", "Greets all")
    with pytest.raises(InvalidArgumentError):
        world.skills.update(ALICE, "greet", {**GREET, "name": "other"})
    with pytest.raises(NotFoundError):
        world.skills.update(ALICE, "other", {**GREET, "name": "other"})
    with pytest.raises(UnimplementedError):
        world.skills.update(ALICE, "greet", from_source=True)
    removed = world.skills.delete(ALICE, "greet")
    assert (removed["uri"], removed["estimated_deleted_count"], removed["privacy_deleted"]) == (
        f"{OWN}/greet",
        2,
        False,
    )
    with pytest.raises(NotFoundError):
        world.skills.delete(ALICE, "greet")
    assert world.store.check() == []


def test_ones_own_skill_comes_before_the_shared_one_of_its_name(world: Any) -> None:
    world.skills.add(ALICE, text("same", "shared"), target_uri=SHARED)
    world.skills.add(ALICE, text("same", "own"))
    assert world.skills.show(ALICE, "same")["description"] == "own"
    assert world.skills.show(ALICE, "same", target_uri=SHARED)["description"] == "shared"
    assert world.skills.show(BOB, "same")["description"] == "shared"
    listed = world.skills.ls(ALICE)
    assert [one["uri"] for one in listed["skills"]] == [f"{OWN}/same", f"{SHARED}/same"]
    assert (listed["root_uris"], listed["total"]) == ([OWN, SHARED], 2)
    only = world.skills.ls(ALICE, target_uri=SHARED)
    assert (only["root_uri"], len(only["skills"])) == (SHARED, 1)
    cut = world.skills.ls(ALICE, node_limit=1)
    assert (len(cut["skills"]), cut["total"]) == (1, 2)
    world.skills.delete(ALICE, "same")
    assert world.skills.show(ALICE, "same")["description"] == "shared"


def test_a_root_that_is_none_is_refused(world: Any) -> None:
    skills = world.skills
    asks = (
        partial(skills.add, ALICE, GREET),
        partial(skills.ls, ALICE),
        partial(skills.find, ALICE, "x"),
        partial(skills.show, ALICE, "x"),
    )
    for target in ("viking://resources", f"{OWN}/x", "viking://user/alice", "nonsense", "viking://skills"):
        for ask in asks:
            with pytest.raises(InvalidArgumentError):
                ask(target_uri=target)
    with pytest.raises(PermissionDeniedError):
        world.skills.add(ALICE, GREET, target_uri="viking://user/bob/skills")
    assert world.skills.add(ALICE, GREET, target_uri="viking://~/skills/")["root_uri"] == OWN


def test_each_skill_is_found_once_and_the_limit_counts_skills(world: Any) -> None:
    for number in range(6):
        world.skills.add(
            ALICE, text(f"fold{number}", f"Folds origami {'cranes ' * number}", "# Origami\n\npaper\n" * 20)
        )
    world.skills.add(ALICE, text("shared", "Folds origami for all"), target_uri=SHARED)
    found = world.skills.find(ALICE, "folds origami", limit=10)
    names = [one["name"] for one in found["skills"]]
    assert sorted(names) == ["fold0", "fold1", "fold2", "fold3", "fold4", "fold5", "shared"]
    scores = [one["score"] for one in found["skills"]]
    assert scores == sorted(scores, reverse=True)
    assert {"score", "match_reason", "level", "abstract", "skill_md_uri"} <= set(found["skills"][0])
    assert len(world.skills.find(ALICE, "folds origami", limit=2)["skills"]) == 2
    assert [one["name"] for one in world.skills.find(ALICE, "origami", target_uri=SHARED)["skills"]] == ["shared"]
    assert [one["name"] for one in world.skills.find(BOB, "origami")["skills"]] == ["shared"]
    assert world.skills.find(ALICE, "origami", score_threshold=0.999)["skills"] == []
    assert world.skills.find(BOB, "origami", target_uri="viking://~/skills")["skills"] == []
    for bad in ("", " ", "\n"):
        with pytest.raises(InvalidArgumentError):
            world.skills.find(ALICE, bad)


def test_levels_show_more_and_more(world: Any) -> None:
    world.skills.add(ALICE, GREET)
    keys = [
        set(world.skills.show(ALICE, "greet", level=level)) & {"abstract", "overview", "content"} for level in (0, 1, 2)
    ]
    assert keys == [{"abstract"}, {"abstract", "overview"}, {"abstract", "overview", "content"}]
    assert "content" in world.skills.show(ALICE, "greet", level=0, include_content=True)
    assert "content" not in world.skills.show(ALICE, "greet", include_content=False)
    assert "files" not in world.skills.show(ALICE, "greet", include_files=False)
    for bad in (3, -1, True):
        with pytest.raises(InvalidArgumentError):
            world.skills.show(ALICE, "greet", level=bad)
    for missing in ("none", "../greet", "", ".", "a/b", "greet/SKILL.md"):
        with pytest.raises(NotFoundError):
            world.skills.show(ALICE, missing)


@pytest.mark.parametrize(
    ("data", "options", "errors", "warnings"),
    [
        (GREET, {}, [], []),
        (text("greet"), {"skill_dir_name": "greet", "strict": True}, [], []),
        ({"description": "d"}, {}, ["name_required"], []),
        ({"name": "x"}, {}, ["description_required"], []),
        ("nothing\nof it", {}, ["yaml_format", "name_required", "description_required"], []),
        (5, {}, ["yaml_format", "name_required", "description_required"], []),
        ("/etc/passwd", {}, ["yaml_format", "name_required", "description_required"], []),
        (text("greet"), {"skill_dir_name": "other"}, [], ["name_matches_directory"]),
        (text("greet"), {"skill_dir_name": "other", "strict": True}, ["name_matches_directory"], []),
        (text("a b" + "x" * 64), {}, [], ["name_max_length", "name_allowed_characters"]),
        (text("a b" + "x" * 64), {"strict": True}, ["name_max_length", "name_allowed_characters"], []),
        (text("greet", "d" * 1_025), {}, [], ["description_max_length"]),
        (text("greet", "d" * 1_024, "x\n" * 501), {"strict": True}, [], ["body_max_lines"]),
        (text("greet", "d", "x\n" * 500), {}, [], []),
        ({"name": "greet", "description": "d", "content": "half \ud800"}, {}, ["yaml_format"], []),
    ],
)  # fmt: skip
def test_every_rule_is_checked(world: Any, data: Any, options: Any, errors: list[str], warnings: list[str]) -> None:
    told = world.skills.validate(ALICE, data, source_path="somewhere", **options)
    assert [one["rule"] for one in told["errors"]] == errors
    assert [one["rule"] for one in told["warnings"]] == warnings
    assert (told["valid"], told["source_path"]) == (not errors, "somewhere")
    assert world.skills.ls(ALICE)["total"] == 0

"""What ``ov`` says beside its results: hints repeat the call that was made, and words promise no more than was done."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from openviking.cli.views.cells import field_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROOT = "viking://resources/h"


@pytest.fixture
def filled(ov: Callable[..., Any]) -> Callable[..., Any]:
    assert ov("mkdir", f"{ROOT}/d").status == 0
    assert ov("write", f"{ROOT}/d/a.md", "--content", "A tern.", "--mode", "create").status == 0
    return ov


def hinted(err: str) -> list[list[str]]:
    """The commands that are suggested, as the words a shell makes of them, without the place of the data."""
    lines = re.findall(r"^  [^:]*: (ov .*)$", err, re.MULTILINE)
    return [[words[0], *words[3:]] for line in lines if (words := shlex.split(line))[1] == "--path"]


@pytest.mark.parametrize(
    ("words", "hints"),
    [
        (["cp", f"{ROOT}/d", f"{ROOT}/e"], [["cp", "--recursive", f"{ROOT}/d", f"{ROOT}/e"]]),
        (["copy", f"{ROOT}/d", f"{ROOT}/e"], [["copy", "--recursive", f"{ROOT}/d", f"{ROOT}/e"]]),
        (["rm", f"{ROOT}/d", "--wait"], [["rm", "--recursive", "--wait", f"{ROOT}/d"]]),
        (
            ["write", f"{ROOT}/d/b.md", "--content", "two words", "--append"],
            [["write", "--content", "two words", "--mode", "create", f"{ROOT}/d/b.md"], ["ls", f"{ROOT}/d"]],
        ),
        (["stat", f"{ROOT}/none"], [["ls", ROOT]]),
        (["stat", "viking://resources/none"], [["ls", "viking://resources"]]),
        (["read", f"{ROOT}/d"], [["overview", f"{ROOT}/d"], ["ls", f"{ROOT}/d"]]),
        (["skills", "validate", "/nowhere/SKILL.md"], []),
    ],
)
def test_a_hint_does_what_was_wanted(filled: Callable[..., Any], words: list[str], hints: list[list[str]]) -> None:
    gave = filled(*words)
    assert gave.status == 1
    assert hinted(gave.err) == [["ov", *one] for one in hints]


def test_a_hint_can_be_pasted_and_never_shows_a_whole_file_or_a_key(filled: Callable[..., Any], data: Path) -> None:
    gave = filled("cp", f"{ROOT}/d", f"{ROOT}/e")
    assert filled(*hinted(gave.err)[0][1:]).status == 0
    assert filled("read", f"{ROOT}/e/a.md").out == "A tern."
    assert filled("read", f"{ROOT}/d/a.md").out == "A tern.", "the source is still there"
    long = filled("write", f"{ROOT}/x.md", "--content", "x" * 5000, "--api-key", "secret")
    assert len(long.err) < 1200
    assert "secret" not in long.err
    assert str(data) in long.err


def test_an_import_that_is_carried_on_goes_to_the_same_place(
    ov: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a b.md"
    file.write_text("# A\n")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("openviking.ingest.importing.prepare", interrupted)
        gave = ov("add-resource", str(file), "--to", f"{ROOT}/a", "--tag", "k=v", "--tag", "l=w", "--strict")
    words = shlex.split(gave.err.partition("to go on: ")[2])
    assert words[3:] == ["add-resource", "--to", f"{ROOT}/a", "--strict", "--tag", "k=v", "--tag", "l=w", str(file)]


def test_what_is_remembered_is_kept_learned_and_found(ov: Callable[..., Any]) -> None:
    gave = ov("add-memory", "I prefer the early ferry.")
    assert (gave.status, gave.out) == (0, "OK\n")
    assert re.match(r"kept in session \S+; learned:\n\+ viking://user/", gave.err)
    assert "/memories/preferences/" in gave.err
    hits = ov("-o", "json", "find", "early ferry").result
    assert any("/memories/" in one["uri"] for one in hits["memories"])
    later = ov("add-memory", "My boat is called Greta.", "--no-wait")
    assert later.out == "OK\n"
    assert " wait" in later.err.splitlines()[-1]


def test_a_text_that_begins_with_hyphens_is_no_option(ov: Callable[..., Any]) -> None:
    text = "---\nname: tying\ndescription: Tie a boat to a pier.\n---\n# Tying\nTwo half hitches.\n"
    assert ov("-o", "json", "skills", "add", text, "--wait").result["name"] == "tying"
    assert ov("add-memory", "- one\n- two").status == 0
    assert "No such option" in ov("skills", "add", "--wiat").err


def test_a_time_has_one_form() -> None:
    assert field_text("created_at", 1796031625.72) == "2026-11-30T09:40:25.720Z"
    assert field_text("created_at", "2026-11-30T09:40:25.720Z") == "2026-11-30T09:40:25.720Z"
    assert field_text("score", 1796031625.72) == "1796031625.72"
    assert field_text("ended_at", 1e300) != ""
    assert field_text("ended_at", None) == "-"


def test_what_is_missing_is_named_with_the_way_to_have_it(
    call: Callable[..., Any], tmp_path: Path, client_file: Path
) -> None:
    told = call("--sudo", "--url", "http://127.0.0.1:9", "admin", "list-accounts").err
    assert f"needs root_api_key in {client_file}" in told
    assert "ov config edit NAME --root-api-key-stdin" in told
    from openviking.cli.server_init import init
    from openviking.errors import AlreadyExistsError

    file = tmp_path / "ov.conf"
    file.write_text("{}")
    with pytest.raises(AlreadyExistsError) as caught:
        init(str(file), tmp_path, env={})
    assert f"{file}: nothing is overwritten. Edit it" in caught.value.message

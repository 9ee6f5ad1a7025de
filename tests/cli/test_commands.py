"""Every command on a real store: its result as JSON, its text in a pipe, its errors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROOT = "viking://resources/notes"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small folder of documents."""
    folder = tmp_path / "notes"
    (folder / "birds").mkdir(parents=True)
    (folder / "birds" / "penguin.md").write_text(
        "# Penguins\n\nPenguins live in Antarctica.\n\nThey eat krill and fish.\n"
    )
    (folder / "birds" / "heron.md").write_text("# Herons\n\nHerons stand in shallow water.\nThey eat fish.\n")
    (folder / "todo.txt").write_text("buy krill\nNOTE: call the zoo", newline="")
    (folder / "logo.bin").write_bytes(bytes(range(256)))
    return folder


@pytest.fixture
def notes(ov: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    """``ov`` on a store that has the folder."""
    assert ov("add-resource", str(folder)).status == 0
    return ov


def test_add_resource_reports_and_repeats_for_nothing(ov: Callable[..., Any], folder: Path) -> None:
    first = ov("add-resource", str(folder), "-o", "json").result
    assert (first["root_uri"], first["created"], first["unchanged"]) == (ROOT, 4, 0)
    (folder / "todo.txt").write_text("nothing")
    (folder / "birds" / "heron.md").unlink()
    second = ov("add-resource", str(folder), "-o", "json").result
    assert (second["created"], second["updated"], second["unchanged"], second["removed"]) == (0, 1, 2, 1)
    third = ov("add-resource", str(folder))
    assert third.err == f"updating the earlier import at {ROOT}\n"
    assert (first["updated_root"], second["updated_root"]) == (False, True)
    assert third.out.startswith(f"{ROOT}\n  created 0  updated 0  unchanged 3  removed 0  skipped 0  failed 0")


def test_add_resource_takes_a_place_tags_and_filters(ov: Callable[..., Any], folder: Path) -> None:
    gave = ov(
        "add-resource", str(folder), "-p", "viking://resources/zoo/a", "--tag", "team=bird", "--tags", "env=x,lang=en",
        "--include", "*.md", "--ignore-dirs", "nothing", "--wait", "-o", "json",
    ).result  # fmt: skip
    assert gave["root_uri"] == "viking://resources/zoo/a/notes"
    assert gave["created"] == 2
    tags = ov("attrs", "get", "viking://resources/zoo/a/notes/birds/heron.md", "tags", "-o", "json").result
    assert sorted(tags) == ["env=x", "lang=en", "team=bird"]
    again = ov("add-resource", str(folder / "todo.txt"), "--to", "viking://resources/exact", "-o", "json").result
    assert again["root_uri"] == "viking://resources/exact"


def test_a_place_that_is_named_is_filled_whatever_was_added_before(ov: Callable[..., Any], folder: Path) -> None:
    ov("add-resource", str(folder))
    missing = ov("add-resource", str(folder), "--parent", "viking://resources/zoo", "-o", "json")
    assert (missing.status, missing.error["code"]) == (1, "NOT_FOUND")
    made = ov("add-resource", str(folder), "-p", "viking://resources/zoo", "-o", "json")
    assert (made.err, made.result["root_uri"], made.result["created"]) == ("", "viking://resources/zoo/notes", 4)
    again = ov("add-resource", str(folder), "--parent", "viking://resources/zoo", "-o", "json")
    assert again.err == "updating the earlier import at viking://resources/zoo/notes\n"
    assert again.result["unchanged"] == 4
    at_root = ov("add-resource", str(folder), "--parent", "viking://resources", "-o", "json").result
    assert (at_root["root_uri"], at_root["unchanged"]) == (ROOT, 4)


def test_add_resource_takes_a_directory_of_build_results_when_asked(ov: Callable[..., Any], folder: Path) -> None:
    (folder / "doc" / "build").mkdir(parents=True)
    (folder / "doc" / "build" / "guide.rst").write_text("Guide\n=====\n")
    assert "skipped: doc/build/ (a directory of tools or build results, 1 file; include it with build/)" in (
        ov("add-resource", str(folder)).out
    )
    again = ov("add-resource", str(folder), "--include", "doc/build/", "-o", "json").result
    assert (again["created"], again["unchanged"], again["skipped"]) == (1, 4, [])


def test_an_interrupted_import_says_that_it_can_be_carried_on(
    ov: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("openviking.ingest.importing.prepare", interrupted)
        gave = ov("add-resource", str(folder))
    assert (gave.status, gave.out) == (130, "")
    assert gave.err.startswith("interrupted\nwhat was imported stays; to go on: ov --path ")
    assert gave.err.endswith(f" add-resource {folder}\n")
    assert ov("add-resource", str(folder), "-o", "json").result["created"] == 4


def test_add_resource_of_what_is_not_there(ov: Callable[..., Any], tmp_path: Path, folder: Path) -> None:
    assert ov("add-resource", str(tmp_path / "none"), "-o", "json").error["code"] == "NOT_FOUND"
    missing = ov("add-resource", str(folder), "--parent", "viking://resources/none", "-o", "json")
    assert (missing.status, missing.error["code"]) == (1, "NOT_FOUND")


def test_progress_goes_to_standard_error_and_only_when_asked_for(ov: Callable[..., Any], folder: Path) -> None:
    gave = ov("add-resource", str(folder), "--progress", "-o", "json")
    assert gave.result["created"] == 4
    assert "importing" in gave.err
    assert "\r" not in gave.err
    assert ov("wait", "--no-progress", "-o", "json").err == ""


def test_find_names_the_lines(notes: Callable[..., Any]) -> None:
    gave = notes("find", "where do penguins live", "-L", "2", "-o", "json").result
    best = gave["resources"][0]
    assert best["uri"] == f"{ROOT}/birds/penguin.md"
    assert best["lines"][0] == 1
    text = notes("find", "where do penguins live", "-L", "2").out
    assert f" 1. {best['uri']}#L{best['lines'][0]}-L{best['lines'][1]}  {best['score']:.3f}\n" in text
    assert text.startswith(f"{gave['total']} result")
    cited = notes("read", f"{best['uri']}#L{best['lines'][0]}-L{best['lines'][1]}").out
    assert "Antarctica" in cited


def test_find_flags_reach_the_search(notes: Callable[..., Any]) -> None:
    def uris(*flags: str) -> list[str]:
        gave = notes("find", "krill fish", *flags, "-o", "json").result
        return [hit["uri"] for kind in ("memories", "resources", "skills") for hit in gave[kind]]

    assert len(uris("-L", "2")) == 3
    assert len(uris("-L", "2", "-n", "1")) == 1
    assert uris("-L", "2", "-u", f"{ROOT}/todo.txt") == [f"{ROOT}/todo.txt"]
    assert set(uris("-L", "2", "-u", f"{ROOT}/todo.txt", "--uri", f"{ROOT}/birds/heron.md")) == {
        f"{ROOT}/todo.txt", f"{ROOT}/birds/heron.md",
    }  # fmt: skip
    assert uris("-t", "0.999") == []
    assert uris("--context-type", "memory") == []
    assert uris("--before", "2001-01-01") == []
    assert len(uris("--after", "1h", "-L", "2")) == 3
    assert uris("--tags", "k=v") == []
    notes("attrs", "set-tags", f"{ROOT}/todo.txt", "--tags", "k=v")
    assert uris("--tags", "k=v", "-L", "2") == [f"{ROOT}/todo.txt"]
    explained = notes("find", "krill", "-L", "2", "--explain", "--read-content", "-o", "json").result["resources"][0]
    assert sum(part["value"] for part in explained["explain"]) == pytest.approx(explained["score"])
    assert "krill" in explained["content"]


def test_find_of_nothing_is_empty_and_no_failure(notes: Callable[..., Any]) -> None:
    gave = notes("find", "zygomorphic")
    assert gave.status == 0
    assert gave.out.startswith("(empty)\n")


def test_grep_prints_lines_with_context(notes: Callable[..., Any]) -> None:
    gave = notes("grep", "they EAT", "-i", "-b", "1", "-u", ROOT)
    assert gave.out == (
        f"{ROOT}/birds/heron.md-3- Herons stand in shallow water.\n"
        f"{ROOT}/birds/heron.md:4: They eat fish.\n"
        "--\n"
        f"{ROOT}/birds/penguin.md-4- \n"
        f"{ROOT}/birds/penguin.md:5: They eat krill and fish.\n"
    )
    assert notes("grep", "krill", "-o", "json").result["count"] == 2
    assert notes("grep", "krill", "-x", f"{ROOT}/birds", "-o", "json").result["count"] == 1
    assert notes("grep", "nothing like it").out == "(empty)\n"


def test_a_cut_list_says_so(notes: Callable[..., Any]) -> None:
    gave = notes("grep", ".", "-n", "3", "-u", ROOT)
    assert gave.out.count("\n") == 3
    assert gave.err == "… 3 of 8 shown; use -n\n"
    listed = notes("ls", f"{ROOT}/birds", "-n", "1", "--offset", "0", "-s")
    assert (listed.out, listed.err) == (f"{ROOT}/birds/heron.md\n", "… 1 of 2 shown; use -n or --offset\n")
    last = notes("ls", f"{ROOT}/birds", "-n", "1", "--offset", "1", "-s")
    assert (last.out, last.err) == (f"{ROOT}/birds/penguin.md\n", "")
    envelope = json.loads(notes("ls", f"{ROOT}/birds", "-n", "1", "-o", "json").out)
    assert (envelope["has_more"], envelope["total"]) == (True, 2)
    assert "of 5 shown" in notes("tree", ROOT, "-n", "2").err
    assert "of 2 shown" in notes("glob", "**/*.md", "-n", "1").err


def test_grep_of_a_broken_pattern_is_a_failure_not_a_usage_error(notes: Callable[..., Any]) -> None:
    gave = notes("grep", "(", "-o", "json")
    assert (gave.status, gave.error["code"]) == (1, "INVALID_ARGUMENT")


def test_glob_lines_fields_and_tags(notes: Callable[..., Any]) -> None:
    assert notes("glob", "**/*.md").out == f"{ROOT}/birds/heron.md\n{ROOT}/birds/penguin.md\n"
    assert notes("glob", "notes/*.txt", "-u", "viking://resources", "-s", "-f", "name,size").out == "todo.txt,28\n"
    header, row = notes("glob", "**/*.txt", "-f", "name,size,tags").out.splitlines()
    assert header.split() == ["name", "size", "tags", "uri"]
    assert row.split() == ["todo.txt", "28", "B", "-", f"{ROOT}/todo.txt"]
    assert notes("glob", "*.nothing").out == "(empty)\n"


def test_ls_and_tree(notes: Callable[..., Any]) -> None:
    cards = notes("ls", ROOT).out
    assert f"  {ROOT}/birds/\n" in cards
    assert f"  {ROOT}/todo.txt\n" in cards
    assert "is not ready" not in cards
    assert {entry["uri"] for entry in notes("list", ROOT, "-o", "json").result} == {
        f"{ROOT}/birds", f"{ROOT}/logo.bin", f"{ROOT}/todo.txt",
    }  # fmt: skip
    original = json.loads(notes("ls", ROOT, "-o", "json", "--compact=false").out)
    assert {"name", "mode", "meta"} <= set(original[0])
    tree = notes("tree", ROOT).out.splitlines()
    assert tree[0] == ROOT
    assert [line.split()[0] for line in tree[1:]] == ["birds/", "heron.md", "penguin.md", "logo.bin", "todo.txt"]
    assert tree[2].startswith("    heron.md")
    assert [entry["rel_path"] for entry in notes("tree", ROOT, "-L", "1", "-o", "json").result] == [
        "birds",
        "logo.bin",
        "todo.txt",
    ]
    notes("mkdir", "viking://resources/bare")
    assert notes("ls", "viking://resources/bare").out == "(empty)\n"


def test_ls_of_a_file_and_of_nothing(notes: Callable[..., Any]) -> None:
    assert notes("ls", f"{ROOT}/todo.txt", "-o", "json").error["code"] == "FAILED_PRECONDITION"
    missing = notes("ls", f"{ROOT}/none")
    assert missing.status == 1
    assert missing.out == ""
    assert missing.err.startswith(f"error: Directory not found: {ROOT}/none\n  try: ov --path ")
    assert missing.err.endswith(f" ls {ROOT}\n")


def test_read_gives_the_text_as_it_is(notes: Callable[..., Any]) -> None:
    assert notes("read", f"{ROOT}/todo.txt").out == "buy krill\nNOTE: call the zoo"
    assert notes("read", f"{ROOT}/todo.txt", "-n", "1").out == "buy krill\n"
    assert notes("read", f"{ROOT}/todo.txt", "--offset", "1").out == "NOTE: call the zoo"
    assert notes("read", f"{ROOT}/todo.txt#L2").out == "NOTE: call the zoo"
    assert notes("read", f"{ROOT}/todo.txt", "-o", "json").result == "buy krill\nNOTE: call the zoo"
    directory = notes("read", f"{ROOT}/birds")
    assert directory.status == 1
    assert "try: ov --path " in directory.err
    assert f" overview {ROOT}/birds\n" in directory.err
    assert notes("read", f"{ROOT}/logo.bin", "-o", "json").error["code"] == "INVALID_ARGUMENT"


def test_abstract_and_overview_are_bare_text(notes: Callable[..., Any]) -> None:
    for command in ("abstract", "overview"):
        text = notes(command, f"{ROOT}/birds").out
        assert text.strip()
        assert text.endswith("\n")
        assert notes(command, f"{ROOT}/birds", "-o", "json").result.strip() == text.strip()


def test_write_from_everywhere(ov: Callable[..., Any], tmp_path: Path) -> None:
    uri = "viking://resources/w/a.md"
    assert ov("write", uri, "--content", "one\n", "--mode", "create", "-o", "json").result["written_bytes"] == 4
    assert ov("write", uri, "--append", "--from-file", "-", stdin=b"two\r\n").status == 0
    assert ov("read", uri).out == "one\ntwo\r\n"
    local = tmp_path / "local.md"
    local.write_bytes("Grüße\r\n".encode())
    assert ov("write", uri, "--from-file", str(local), "--wait", "-o", "json").result["written_bytes"] == 9
    assert ov("read", uri).out == "Grüße\r\n"
    assert ov("write", uri, "--content", "", "--mode", "replace").status == 0
    assert ov("read", uri).out == ""


def test_write_refuses_what_it_cannot_do(ov: Callable[..., Any]) -> None:
    uri = "viking://resources/w/a.md"
    missing = ov("write", uri, "--content", "x", "-o", "json")
    assert (missing.status, missing.error["code"]) == (1, "NOT_FOUND")
    assert ov("write", uri, "--content", "x", "--mode", "create").status == 0
    assert ov("write", uri, "--content", "x", "--mode", "create", "-o", "json").error["code"] == "ALREADY_EXISTS"
    latin = ov("write", uri, "--from-file", "-", "-o", "json", stdin="Grüße".encode("latin-1"))
    assert (latin.status, latin.error["code"]) == (2, "INVALID_ARGUMENT")
    surrogate = ov("write", uri, "--content", "bad \udcff byte", "-o", "json")
    assert (surrogate.status, surrogate.error["code"]) == (1, "INVALID_ARGUMENT")
    assert ov("read", uri).out == "x"
    assert ov("write", "resources/a.md", "--content", "x", "-o", "json").error["code"] == "INVALID_URI"


def test_arguments_that_are_no_text(notes: Callable[..., Any]) -> None:
    for arguments in (
        ["find", "\udcff"],
        ["grep", "\udcff"],
        ["glob", "\udcff"],
        ["stat", "viking://resources/\udcff"],
    ):
        gave = notes(*arguments, "-o", "json")
        assert gave.status in {0, 1, 2}
        assert "Traceback" not in gave.err
        assert "INTERNAL" not in gave.err


def test_mkdir_mv_rm(ov: Callable[..., Any]) -> None:
    assert ov("mkdir", "viking://resources/m", "--description", "Made here.").out == "uri  viking://resources/m\n"
    assert "Made here." in ov("abstract", "viking://resources/m").out
    assert ov("mkdir", "viking://resources/m", "-o", "json").error["code"] == "CONFLICT"
    ov("write", "viking://resources/m/a.md", "--content", "x", "--mode", "create")
    assert ov("rename", "viking://resources/m/a.md", "viking://resources/m/b.md", "-o", "json").result == {
        "from": "viking://resources/m/a.md", "to": "viking://resources/m/b.md",
    }  # fmt: skip
    refused = ov("rm", "viking://resources/m")
    assert refused.status == 1
    assert "try: ov --path " in refused.err
    assert " rm --recursive viking://resources/m\n" in refused.err
    assert ov("delete", "-r", "viking://resources/m", "--wait", "-o", "json").result["estimated_deleted_count"] >= 1
    assert ov("stat", "viking://resources/m", "-o", "json").error["code"] == "NOT_FOUND"
    assert ov("rm", "viking://resources/m").status == 0


def test_stat_and_attrs(notes: Callable[..., Any]) -> None:
    stat = notes("stat", f"{ROOT}/todo.txt").out
    assert "name      todo.txt\n" in stat
    assert "isDir     no\n" in stat
    assert "mode      0644\n" in stat
    assert notes("stat", f"{ROOT}/todo.txt", "-o", "json").result["size"] == 28
    changed = notes("attrs", "set-tags", ROOT, "--tags", "Team=X,bad", "--recursive", "-o", "json")
    assert changed.out
    assert json.loads(changed.out)["result"]["skipped_count"] == 1
    assert "1 of the tags skipped" in changed.err
    assert notes("attrs", "get", f"{ROOT}/todo.txt", "tags").out == "team=x\n"
    assert notes("set-tags", f"{ROOT}/todo.txt", "--tags", "k=v", "--mode", "append").status == 0
    assert len(notes("attrs", "get", f"{ROOT}/todo.txt", "-o", "json").result["attrs"]["tags"]) == 2
    assert notes("attrs", "-o", "json", "set-tags", f"{ROOT}/todo.txt", "--mode", "clear").result["tags"] == []
    assert notes("attrs", "get", f"{ROOT}/todo.txt", "tags").out == "(empty)\n"
    assert notes("attrs", "get", f"{ROOT}/todo.txt", "no.such", "-o", "json").error["code"] == "NOT_FOUND"


def test_get_saves_the_original_bytes(
    notes: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "saved"
    assert notes("get", f"{ROOT}/logo.bin", str(target), "-o", "json").result["bytes"] == 256
    assert target.read_bytes() == bytes(range(256))
    again = notes("get", f"{ROOT}/todo.txt", str(target), "-o", "json")
    assert (again.status, again.error["code"]) == (2, "INVALID_ARGUMENT")
    assert target.read_bytes() == bytes(range(256))
    monkeypatch.chdir(tmp_path)
    assert notes("download", f"{ROOT}/todo.txt").status == 0
    assert (tmp_path / "todo.txt").read_text() == "buy krill\nNOTE: call the zoo"
    assert notes("get", f"{ROOT}/todo.txt", "-").out == "buy krill\nNOTE: call the zoo"
    assert notes("get", f"{ROOT}/birds", str(tmp_path / "d"), "-o", "json").error["code"] == "INVALID_ARGUMENT"
    assert not (tmp_path / "d").exists()
    assert notes("get", f"{ROOT}/todo.txt", str(tmp_path / "no" / "dir"), "-o", "json").status == 2


def test_wait_and_status(notes: Callable[..., Any]) -> None:
    done = notes("wait", "--timeout", "30", "-o", "json").result
    assert not any(done["waiting"].values())
    status = notes("status", "-o", "json").result
    assert status["files"] == 4
    assert "files " in notes("status").out


def test_accounts_and_users_see_their_own(notes: Callable[..., Any]) -> None:
    assert notes("find", "krill", "--account", "other").out.startswith("(empty)")
    home = notes("ls", "viking://~", "--user", "ann", "-s").out
    assert "viking://user/ann/memories\n" in home
    bad = notes("ls", "--account", "a/b", "-o", "json")
    assert (bad.status, bad.error["code"]) == (1, "INVALID_ARGUMENT")


def test_the_environment_names_a_directory_as_well(
    call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENVIKING_PATH", str(tmp_path / "elsewhere"))
    assert call("mkdir", "viking://resources/y").status == 0
    assert (tmp_path / "elsewhere").is_dir()
    assert call("ls", "--path", str(tmp_path / "none")).status == 1  # what is typed goes before it


def test_a_configuration_that_is_named_stands_for_its_directory(call: Callable[..., Any], tmp_path: Path) -> None:
    conf = tmp_path / "ov.conf"
    conf.write_text(json.dumps({"storage": {"workspace": str(tmp_path / "named")}}))
    assert call("mkdir", "viking://resources/x", "--config", str(conf)).status == 0
    assert (tmp_path / "named").is_dir()


def test_a_place_that_is_a_file_is_a_usage_error(call: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert call("--path", str(tmp_path / "file"), "ls").status == 2

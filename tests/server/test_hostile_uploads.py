"""Archives that try to hurt, sent to a server: the good files are there, the others are named, nothing lies elsewhere."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

FORGING = runpy.run_path(str(Path(__file__).resolve().parents[1] / "fuzz" / "forging.py"))
Entry, forged = FORGING["Entry"], FORGING["forged"]
UTF8 = 0x800
BAD = (
    Entry(b"../../evil.txt", b"evil"), Entry(b"/abs/evil", b"evil"), Entry(b"C:\\evil", b"evil"), Entry(b"link", b"/etc", mode=0o120777),
    Entry(b"a\0b.md", b"evil"), Entry(b"", b"evil"), Entry(b"twice.md", b"first"), Entry(b"twice.md", b"second"),
    Entry(b"bomb.txt", bytes(50_000_000), method=8), Entry(b"secret.md", b"x", flags=1), Entry(b"lied.md", b"words", size=1 << 30),
    Entry(b"cut.md", b"words" * 50, method=8, packed=4), Entry(b"\xff\xfe.md", b"x", flags=UTF8), Entry(b"a/" * 200 + b"deep.md", b"x"),
    Entry(b"dir", b"a file"), Entry(b"dir/below.md", b"below"), Entry("\u202egpj.md".encode(), b"x", flags=UTF8),
    Entry(("x" * 300 + ".md").encode(), b"x"), Entry(b".overview.md", b"x"), Entry(b"con.md", b"x"), Entry(b"trailing. ", b"x"),
    Entry(b"Case.md", b"1"), Entry(b"case.md", b"2"), Entry("é.md".encode(), b"1", flags=UTF8), Entry("e\u0301.md".encode(), b"2", flags=UTF8),
    Entry(b"q?.md", b"1"), Entry(b"q#.md", b"2"), Entry(b"%2e%2e", b"x"), Entry(b"inner.zip", forged([Entry(b"../x", b"x")])),
)  # fmt: skip


def everything(api: Any, root: str) -> dict[str, str]:
    found = api.get("fs/tree", uri=root, node_limit=1000, show_all_hidden=True)
    return {one["uri"].removeprefix(f"{root}/"): one["uri"] for one in found if not one["isDir"]}


def test_of_a_hostile_archive_the_good_files_are_taken(idle: Any, place: Path) -> None:
    api, _ = idle
    before = {path for path in place.parent.rglob("*") if not path.is_relative_to(place)}
    good = [Entry(b"good/%d.md" % number, b"# Good\n\nzorblax%d\n" % number) for number in range(20)]
    result = api.add(forged([*good[:10], *BAD, *good[10:]]), "pack.zip")
    files = everything(api, result["root_uri"])
    assert {f"good/{number}.md" for number in range(20)} <= files.keys()
    assert {path for path in place.parent.rglob("*") if not path.is_relative_to(place)} == before
    told = {one["path"]: one["status"] for one in result["meta"]["skipped_files"]}
    failed = {one["name"]: one["error"] for one in result["meta"]["failed_files"]}
    assert told["../../evil.txt"] == told["/abs/evil"] == told["C:\\evil"] == "its name leads out of the archive"
    assert {"link", "a\\0b.md", "twice.md", ".overview.md", "a/" * 200 + "deep.md"} <= told.keys()
    assert {"bomb.txt", "secret.md", "lied.md", "cut.md"} <= failed.keys()
    assert not any(name in uri for uri in files for name in ("evil", "bomb", "secret", "deep"))
    assert {
        "Case.md",
        "case.md",
        "é.md",
        "e\u0301.md",
        "q_.md",
        "q__1.md",
        "con.md",
        "inner.zip",
        "twice.md",
    } <= files.keys()
    assert ("dir" in files) != ("dir/below.md" in files)
    assert "is a directory" in str(failed) or "dir" in str(failed)
    for uri in files.values():
        assert api.get("fs/stat", uri=uri)["isDir"] is False
    assert [hit["uri"] for hit in api.post("search/find", query="zorblax7", level=2, limit=1)["resources"]] == [
        f"{result['root_uri']}/good/7.md"
    ]


def test_of_hostile_skills_the_good_one_is_taken(idle: Any, place: Path) -> None:
    api, _ = idle
    text = b"---\nname: good-one\ndescription: It is good.\n---\n\nWords.\n"
    entries = [
        Entry(b"good/SKILL.md", text), Entry(b"good/../../evil.txt", b"evil"), Entry(b"/abs/SKILL.md", text),
        Entry(b"bad/SKILL.md", text.replace(b"good-one", b"../x")), Entry(b"bad/link", b"/etc", mode=0o120777),
        Entry(b"noname/SKILL.md", b"words"), Entry(b"broken/SKILL.md", b"---\n{\n---\n"),
    ]  # fmt: skip
    result = api.post("skills", temp_file_id=api.upload(forged(entries), "pack.zip"), wait=True)
    assert "good-one" in str(result)
    assert [one["name"] for one in api.get("skills")["skills"]] == ["good-one"]
    assert not list(place.parent.rglob("evil*"))
    bomb = forged([Entry(b"SKILL.md", text), Entry(b"bomb.txt", bytes(50_000_000), method=8)])
    assert api.refused("skills", temp_file_id=api.upload(bomb, "bomb.zip"), wait=True) == (400, "INVALID_ARGUMENT")


def test_an_archive_that_is_none_is_named(idle: Any) -> None:
    api, _ = idle
    for data in (b"", b"no zip", forged([Entry(b"a.md", b"x")])[:-10], b"PK\x03\x04" * 100):
        answer = api.call("POST", "resources", json={"temp_file_id": api.upload(data, "pack.zip"), "wait": True})
        assert answer.status_code == 500
        assert answer.json()["error"]["code"] == "PROCESSING_ERROR"
        assert "pack.zip" in answer.json()["error"]["message"]
        skill = api.call("POST", "skills", json={"temp_file_id": api.upload(data, "pack.zip"), "wait": True})
        assert skill.status_code in {400, 500}
        assert "pack.zip" in skill.json()["error"]["message"]
    assert api.get("fs/ls", uri="viking://resources") == []


def test_names_that_a_client_gives_are_names_and_no_paths(idle: Any) -> None:
    api, _ = idle
    for number, name in enumerate((
        "../../evil.md", "/etc/passwd", "C:\\x\\y.md", "..", "a\0b.md", "a\nb.md", "\ufffe.md", "x" * 2_000 + ".md", "con", " . ",
        "%2e%2e%2f.md", ".overview.md", "q?#.md", "{calendar:today}.md", "\u202egpj.md",
    )):  # fmt: skip
        data = f"words {number}\n".encode()
        sent = {"source_name": name} if number % 2 else {}
        upload = api.upload(data, "plain.md" if sent else name)
        root = api.post("resources", temp_file_id=upload, wait=True, **sent)["root_uri"]
        assert root.startswith("viking://resources/")
        (uri,) = everything(api, root).values()
        assert api.get("content/read", uri=uri) == data.decode(), (name, uri)

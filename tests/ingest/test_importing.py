"""What an import makes of a folder, a document and a zip."""

from __future__ import annotations

import json
import os
import unicodedata
import zipfile
from typing import TYPE_CHECKING

import pytest

from openviking.errors import ConflictError, InvalidArgumentError, NotFoundError, ProcessingError
from openviking.ingest.importing import import_source
from openviking.ingest.prepare import prepare
from openviking.ingest.reserve import document_stem
from openviking.model.imports import ImportOptions, Progress
from openviking.store.batch import MakeDirectory, Move, PutFile

if TYPE_CHECKING:
    from pathlib import Path

    from openviking.store.sqlite.account import SqliteStore


def stored(store: SqliteStore, path: str = "") -> dict[str, bytes]:
    """Every file below ``path`` with its original bytes."""
    with store.read() as view:
        return {entry.node.path: view.data(entry.node) for entry in view.walk(path, files_only=True)}


def text_of(store: SqliteStore, path: str) -> str | None:
    with store.read() as view:
        node = view.get(path)
        assert node is not None
        return view.text(node)


NFD = unicodedata.normalize("NFD", "übersicht.md")
ODD = {
    "front.md": b"---\ntitle: Refunds\ntags: [a, b]\n---\nTwenty-two bytes here.",
    "crlf.txt": b"one\r\ntwo\r\nthree\r\n",
    "no-newline.txt": b"last line without end",
    "bom.md": b"\xef\xbb\xbf# Title\n\ntext\n",
    "blanks.txt": b"a  \n\tb\t \n   \n",
    "gbk.txt": "退款规则：出发前24小时可全额退款。\n".encode("gbk"),
    "utf16.txt": "naïve text\r\n".encode("utf-16"),
    "latin.txt": "Größe und Übermut, façade\n".encode("latin-1"),
    "empty.md": b"",
    "newline.md": b"\n",
    "blank.md": b" " * 4096,
    "odd.txt": "שלום \u202eRTL\u202c e\u0301 \u00e9 👩‍👩‍👧\n".encode(),
    NFD: b"NFD name\n",
    unicodedata.normalize("NFC", NFD): b"NFC name\n",
    "🎫 fares 票价.csv": b"route,fare\nA,1\n",
    "日本語/説明.md": "# 説明\n".encode(),
    "picture.png": b"\x89PNG\r\n\x1a\n" + bytes(64),
    "code/main.py": b"def main():\n    return 1\n",
    "large.bin": bytes(range(256)) * 2000,
}


def fill(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def test_a_folder_keeps_structure_names_and_bytes(store: SqliteStore, folder: Path) -> None:
    fill(folder, ODD)
    report = import_source(store, folder)
    assert report.root_uri == "viking://resources/docs"
    assert stored(store) == {f"resources/docs/{name}": data for name, data in ODD.items()}
    assert (report.created, report.updated, report.unchanged, report.removed) == (len(ODD), 0, 0, 0)
    assert report.binary == ("large.bin", "picture.png")
    assert (report.failed, report.kept, report.renamed) == ((), (), ())
    assert report.bytes == sum(map(len, ODD.values()))
    assert report.passages > 0
    json.dumps(report.to_dict())


def test_other_encodings_are_read_as_utf8(store: SqliteStore, folder: Path) -> None:
    fill(folder, ODD)
    import_source(store, folder)
    assert text_of(store, "resources/docs/gbk.txt") == "退款规则：出发前24小时可全额退款。\n"
    assert text_of(store, "resources/docs/utf16.txt") == "naïve text\r\n"
    assert text_of(store, "resources/docs/latin.txt") == "Größe und Übermut, façade\n"
    assert text_of(store, "resources/docs/picture.png") == ""  # what is said of it: nothing yet
    assert text_of(store, "resources/docs/empty.md") == ""
    with store.read() as view:
        node = view.get("resources/docs/bom.md")
        assert node is not None
        assert view.text(node) == "\ufeff# Title\n\ntext\n"


def test_one_document_lies_in_a_directory_of_its_stem(store: SqliteStore, tmp_path: Path) -> None:
    (tmp_path / "Travel policy.md").write_text("# Travel\n")
    report = import_source(store, tmp_path / "Travel policy.md")
    assert report.root_uri == "viking://resources/Travel_policy"
    assert list(stored(store)) == ["resources/Travel_policy/Travel policy.md"]
    report = import_source(store, tmp_path / "Travel policy.md", root="resources/rules")
    assert report.root_uri == "viking://resources/rules"
    assert "resources/rules/Travel policy.md" in stored(store)


def test_a_document_named_explicitly_is_taken_whatever_its_name(store: SqliteStore, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1\n")
    import_source(store, tmp_path / ".env")
    assert list(stored(store)) == ["resources/env/.env"]


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("a.md", "a"), ("2601.00014", "2601.00014"), ("2601.00014.pdf", "2601.00014"), ("pack.tar.gz", "pack"), ("README", "README"),
        ("main.py", "main"), (".env", ".env"), ("v1.2", "v1.2"), ("notes.txt", "notes"), ("a.b.c", "a.b"), ("x.unknown", "x.unknown"),
    ],
)  # fmt: skip
def test_only_known_extensions_are_extensions(name: str, stem: str) -> None:
    assert document_stem(name) == stem


def test_a_zip_is_a_tree(store: SqliteStore, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "pack.zip", "w") as file:
        for name, data in ODD.items():
            file.writestr(f"pack/{name}", data)
        file.writestr("../../evil.txt", "evil")
    report = import_source(store, tmp_path / "pack.zip", root="resources/pack")
    assert stored(store) == {f"resources/pack/{name}": data for name, data in ODD.items()}
    assert [entry.name for entry in report.skipped] == ["../../evil.txt"]
    assert not list(tmp_path.parent.rglob("evil*"))
    with store.read() as view:
        before = view.change
    again = import_source(store, tmp_path / "pack.zip", root="resources/pack")
    assert again.unchanged == len(ODD)
    with store.read() as view:
        assert view.change == before


def test_bad_entries_of_a_zip_do_not_sink_the_others(store: SqliteStore, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "pack.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.md", "alpha")
        file.writestr("bomb.txt", bytes(30_000_000))
        file.writestr("z.md", "omega")
    report = import_source(store, tmp_path / "pack.zip")
    assert list(stored(store)) == ["resources/pack/a.md", "resources/pack/z.md"]
    assert [(entry.name, "more than 100 times" in entry.error) for entry in report.failed] == [("bomb.txt", True)]


def test_what_is_no_zip_or_not_there_writes_nothing(store: SqliteStore, tmp_path: Path) -> None:
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 nonsense")
    with pytest.raises(ProcessingError, match=r"broken\.zip can't be unpacked"):
        import_source(store, tmp_path / "broken.zip")
    with pytest.raises(NotFoundError, match="nowhere"):
        import_source(store, tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises((InvalidArgumentError, NotFoundError), match="loop"):
        import_source(store, tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidArgumentError, match="neither a file nor a folder"):
        import_source(store, tmp_path / "pipe")
    (tmp_path / "large.md").write_bytes(b"x" * 100)
    with pytest.raises(ProcessingError, match="100 bytes, at most 99"):
        import_source(store, tmp_path / "large.md", options=ImportOptions(max_file_bytes=99))
    with store.read() as view:
        assert view.change == 0


def test_strict_refuses_binary_files_before_writing(store: SqliteStore, folder: Path) -> None:
    fill(folder, {"a.md": b"text", "b.png": b"\x89PNG\r\n\x1a\n\0", "c/d.bin": bytes(10)})
    with pytest.raises(InvalidArgumentError, match="2 of 3 files") as caught:
        import_source(store, folder, options=ImportOptions(strict=True))
    assert caught.value.details["unsupported_files"] == ["b.png", "c/d.bin"]
    with store.read() as view:
        assert view.change == 0
    assert import_source(store, folder, options=ImportOptions(strict=True, include=("*.md",))).created == 1


def test_a_file_over_the_limit_fails_alone_and_stays_as_it_was(store: SqliteStore, folder: Path) -> None:
    fill(folder, {"a.md": b"small", "b.md": b"small too"})
    import_source(store, folder)
    fill(folder, {"b.md": b"x" * 200})
    report = import_source(store, folder, options=ImportOptions(max_file_bytes=100))
    assert [(entry.name, entry.error) for entry in report.failed] == [
        ("b.md", "it has 200 bytes, at most 100 are taken")
    ]
    assert stored(store)["resources/docs/b.md"] == b"small too"


def test_names_that_a_uri_cannot_hold_are_changed_and_reported(store: SqliteStore, folder: Path) -> None:
    fill(
        folder,
        {
            "a#1.md": b"hash",
            "a?1.md": b"question",
            "a_1.md": b"plain",
            "q?/x.md": b"1",
            "q#/x.md": b"2",
            "c:d": b"drive",
            "b\\s": b"back",
        },
    )
    (folder / "caf\udce9.txt").write_bytes(b"undecodable")
    report = import_source(store, folder)
    assert report.failed == ()
    found = stored(store)
    assert sorted(found.values()) == sorted(
        [b"hash", b"question", b"plain", b"1", b"2", b"drive", b"back", b"undecodable"]
    )
    assert found["resources/docs/a_1.md"] == b"plain"
    assert {entry.name for entry in report.renamed} == {
        "a#1.md",
        "a?1.md",
        "q?/x.md",
        "q#/x.md",
        "c:d",
        "b\\s",
        "caf\\xe9.txt",
    }
    again = import_source(store, folder)
    assert (again.created, again.updated, again.unchanged) == (0, 0, 8)
    assert stored(store) == found


def test_a_long_name_is_shortened_and_a_long_path_fails_alone(store: SqliteStore, folder: Path) -> None:
    fill(
        folder,
        {"n" * 251 + ".md": b"ok", "/".join(["d" * 200] * 19) + "/" + "e" * 150 + "/x.md": b"long", "a.md": b"a"},
    )
    report = import_source(store, folder, root="resources/" + "r" * 200)
    assert report.created == 2
    assert [entry.error[:18] for entry in report.failed] == ["its URI would have"]
    deep = folder / "/".join(["d"] * 450)
    deep.mkdir(parents=True)
    (deep / "x.md").write_text("deep")
    report = import_source(store, folder, root="resources/" + "r" * 200)
    assert "levels deep" in "".join(entry.error for entry in report.failed)


def test_roots_do_not_fall_together(store: SqliteStore, tmp_path: Path) -> None:
    roots = []
    for place in ("one", "two", "three"):
        fill(tmp_path / place / "notes", {"a.md": place.encode()})
        roots.append(import_source(store, tmp_path / place / "notes").root_uri)
    assert roots == [f"viking://resources/notes{suffix}" for suffix in ("", "_1", "_2")]
    assert sorted(stored(store).values()) == [b"one", b"three", b"two"]
    assert import_source(store, tmp_path / "two" / "notes").root_uri == roots[1]
    again = import_source(store, tmp_path / "two" / ".." / "two" / "notes")
    assert (again.root_uri, again.updated_root) == (roots[1], True)


def test_a_parent_that_is_named_wins_over_where_the_source_was_before(store: SqliteStore, folder: Path) -> None:
    fill(folder, {"a.md": b"1"})
    first = import_source(store, folder)
    assert (first.root_uri, first.updated_root) == ("viking://resources/docs", False)
    for parent, there in (("resources/x", False), ("resources/x", True), ("resources", True), ("resources/x/y", False)):
        report = import_source(store, folder, parent=parent)
        assert (report.root_uri, report.updated_root) == (f"viking://{parent}/docs", there)
        assert report.created == (not there)
    fill(folder, {"a.md": b"2"})
    assert import_source(store, folder).root_uri == "viking://resources/docs"
    assert import_source(store, folder, parent="resources/x/y").updated == 1
    assert stored(store) == {
        "resources/docs/a.md": b"2", "resources/x/docs/a.md": b"1", "resources/x/y/docs/a.md": b"2",
    }  # fmt: skip


def test_the_first_place_is_the_default_wherever_it_is(store: SqliteStore, folder: Path) -> None:
    fill(folder, {"a.md": b"1"})
    assert import_source(store, folder, parent="resources/x").root_uri == "viking://resources/x/docs"
    report = import_source(store, folder)
    assert (report.root_uri, report.updated_root) == ("viking://resources/x/docs", True)
    assert import_source(store, folder, parent="resources").root_uri == "viking://resources/docs"
    assert import_source(store, folder).root_uri == "viking://resources/x/docs"


def test_places_that_were_moved_are_known_where_they_are(store: SqliteStore, folder: Path) -> None:
    fill(folder, {"a.md": b"1"})
    import_source(store, folder)
    import_source(store, folder, parent="resources/x")
    import_source(store, folder, root="resources/y/exact")
    assert import_source(store, folder, parent="resources/y").root_uri == "viking://resources/y/exact"
    store.apply([Move("resources/x/docs", "resources/moved"), Move("resources/y/exact", "resources/x/other")])
    report = import_source(store, folder, parent="resources/x")
    assert (report.root_uri, report.unchanged) == ("viking://resources/x/other", 1)
    store.apply([Move("resources/x/other", "resources/y/other")])
    for there in (False, True):
        assert import_source(store, folder, parent="resources/x").updated_root is there
        assert import_source(store, folder, root="resources/y/exact").updated_root is there
    assert sorted(stored(store)) == [
        f"resources/{place}/a.md" for place in ("docs", "moved", "x/docs", "y/exact", "y/other")
    ]


def test_a_folder_whose_name_holds_a_line_end_is_no_second_place_of_another(store: SqliteStore, tmp_path: Path) -> None:
    odd = tmp_path / "docs\nresources" / "x"
    fill(odd, {"a.md": b"odd"})
    fill(tmp_path / "docs", {"b.md": b"plain"})
    first = import_source(store, odd, root="resources/all/x")
    report = import_source(store, tmp_path / "docs", parent="resources/all")
    assert (first.root_uri, report.root_uri) == ("viking://resources/all/x", "viking://resources/all/docs")
    assert import_source(store, odd, root="resources/all/x").updated_root


def test_what_an_include_took_stays_when_it_is_left_out(store: SqliteStore, folder: Path) -> None:
    fill(folder, {"a.md": b"1", "doc/build/b.md": b"2", ".github/c.md": b"3"})
    assert import_source(store, folder, options=ImportOptions.of(include="build/,.github/")).created == 3
    report = import_source(store, folder)
    assert (report.unchanged, report.removed) == (1, 0)
    assert [entry.name for entry in report.skipped] == [".github/", "doc/build/"]
    (folder / "doc/build/b.md").unlink()
    assert import_source(store, folder, options=ImportOptions.of(include="build/")).removed == 1
    assert sorted(stored(store)) == ["resources/docs/.github/c.md", "resources/docs/a.md"]


def test_a_name_that_is_taken_a_hundred_times_is_an_error(store: SqliteStore, folder: Path) -> None:
    store.apply(
        [MakeDirectory(f"resources/docs{suffix}") for suffix in ("", *(f"_{number}" for number in range(1, 101)))]
    )
    fill(folder, {"a.md": b"a"})
    with pytest.raises(ConflictError, match="taken"):
        import_source(store, folder)


def test_several_sources_fill_one_target(store: SqliteStore, tmp_path: Path) -> None:
    fill(tmp_path, {"one.md": b"1", "two.md": b"2", "dir/three.md": b"3", "dir/one.md": b"other"})
    for name in ("one.md", "two.md", "dir"):
        report = import_source(store, tmp_path / name, root="resources/all")
    assert stored(store) == {"resources/all/one.md": b"1", "resources/all/two.md": b"2", "resources/all/three.md": b"3"}
    assert [(entry.name, entry.uri) for entry in report.kept] == [("one.md", "viking://resources/all/one.md")]
    assert "did not make" in report.warnings[0]


def test_one_source_fills_several_targets(store: SqliteStore, folder: Path) -> None:
    fill(folder, {"a.md": b"1"})
    for root in (None, "resources/x", "resources/y"):
        import_source(store, folder, root=root)
    fill(folder, {"a.md": b"2"})
    assert import_source(store, folder, root="resources/x").updated == 1
    assert stored(store) == {"resources/docs/a.md": b"1", "resources/x/a.md": b"2", "resources/y/a.md": b"1"}
    assert import_source(store, folder).updated == 1
    assert stored(store)["resources/docs/a.md"] == b"2"


def test_a_target_that_is_a_file_or_below_one_is_an_error(store: SqliteStore, folder: Path) -> None:
    fill(folder, {"a.md": b"1"})
    store.apply([PutFile("resources/x", prepare("x", b"note"))])
    with pytest.raises(InvalidArgumentError, match="viking://resources/x is a file"):
        import_source(store, folder, root="resources/x")
    with pytest.raises(ConflictError, match="nothing can be put below"):
        import_source(store, folder, root="resources/x/y")


def test_progress_and_cancelling(store: SqliteStore, folder: Path) -> None:
    fill(folder, {f"{number:03}.md": f"file {number}\n".encode() for number in range(200)})
    told: list[Progress] = []
    report = import_source(
        store, folder, progress=told.append, cancelled=lambda: any(step.done >= 128 for step in told)
    )
    assert report.cancelled
    assert report.created == len(stored(store)) == 128
    report = import_source(store, folder, progress=told.append)
    assert (report.created, report.unchanged, report.cancelled) == (72, 128, False)
    assert told[-1] == Progress("done", 200, 200, report.bytes, "")
    assert {step.stage for step in told} == {"scanning", "importing", "done"}
    assert import_source(store, folder, cancelled=lambda: True).cancelled


def test_an_empty_folder_makes_an_empty_root(store: SqliteStore, folder: Path) -> None:
    report = import_source(store, folder)
    assert (report.root_uri, report.files) == ("viking://resources/docs", 0)
    with store.read() as view:
        assert view.get("resources/docs") is not None

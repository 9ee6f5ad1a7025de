"""What adding a source again does: only what the source changed, and never against the user's hand."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from openviking.ingest.importing import import_source
from openviking.ingest.prepare import PathAnalyser, prepare
from openviking.model.imports import ImportOptions, ImportReport, Progress
from openviking.store.batch import Applied, Move, Operation, PutFile, Remove
from openviking.store.sqlite.account import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = "resources/docs"


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def stored(store: SqliteStore, path: str = "") -> dict[str, str]:
    with store.read() as view:
        return {entry.node.path: view.data(entry.node).decode() for entry in view.walk(path, files_only=True)}


def change(store: SqliteStore) -> int:
    with store.read() as view:
        return view.change


def edit(store: SqliteStore, path: str, text: str) -> None:
    store.apply([PutFile(path, prepare(path.rpartition("/")[2], text.encode()))])


def counts(report: ImportReport) -> tuple[int, int, int, int]:
    return report.created, report.updated, report.unchanged, report.removed


@pytest.fixture
def imported(store: SqliteStore, folder: Path) -> Path:
    """A folder of three files that was imported."""
    write(folder, {"a.md": "alpha\n", "b.md": "beta\n", "sub/c.md": "gamma\n"})
    assert counts(import_source(store, folder)) == (3, 0, 0, 0)
    return folder


def test_an_unchanged_source_writes_nothing(store: SqliteStore, imported: Path) -> None:
    before = change(store)
    assert counts(import_source(store, imported)) == (0, 0, 3, 0)
    assert change(store) == before


def test_one_changed_file_is_one_update(store: SqliteStore, imported: Path) -> None:
    before = change(store)
    write(imported, {"b.md": "beta two\n"})
    assert counts(import_source(store, imported)) == (0, 1, 2, 0)
    with store.read() as view:
        changed = view.changes(before, 100)
        node = view.get(f"{ROOT}/b.md")
    assert node is not None
    assert [(entry.op, entry.node_id) for entry in changed] == [("put", node.id)]
    assert stored(store)[f"{ROOT}/b.md"] == "beta two\n"


def test_only_what_the_source_made_goes_when_it_goes(store: SqliteStore, imported: Path) -> None:
    edit(store, f"{ROOT}/manual-note.md", "mine\n")
    edit(store, f"{ROOT}/sub/own.md", "mine too\n")
    (imported / "a.md").unlink()
    shutil.rmtree(imported / "sub")
    report = import_source(store, imported)
    assert counts(report) == (0, 0, 1, 2)
    assert stored(store) == {
        f"{ROOT}/b.md": "beta\n",
        f"{ROOT}/manual-note.md": "mine\n",
        f"{ROOT}/sub/own.md": "mine too\n",
    }


def test_directories_that_a_removal_empties_go_too(store: SqliteStore, imported: Path) -> None:
    write(imported, {"x/y/z/1.md": "1", "x/y/2.md": "2"})
    import_source(store, imported)
    shutil.rmtree(imported / "x")
    import_source(store, imported)
    with store.read() as view:
        assert view.get(f"{ROOT}/x") is None
        assert view.get(f"{ROOT}/sub") is not None


def test_an_edited_file_is_kept_when_its_source_changes(store: SqliteStore, imported: Path) -> None:
    edit(store, f"{ROOT}/a.md", "alpha by hand\n")
    before = change(store)
    assert counts(import_source(store, imported)) == (0, 0, 3, 0)
    write(imported, {"a.md": "alpha of the source\n"})
    report = import_source(store, imported)
    assert counts(report) == (0, 0, 2, 0)
    assert [(kept.name, kept.uri) for kept in report.kept] == [("a.md", f"viking://{ROOT}/a.md")]
    assert "edited here" in report.warnings[0]
    assert stored(store)[f"{ROOT}/a.md"] == "alpha by hand\n"
    assert change(store) == before
    store.apply([Remove(f"{ROOT}/a.md")])
    assert counts(import_source(store, imported)) == (1, 0, 2, 0)
    assert stored(store)[f"{ROOT}/a.md"] == "alpha of the source\n"


def test_an_edited_file_is_kept_when_its_source_goes(store: SqliteStore, imported: Path) -> None:
    edit(store, f"{ROOT}/a.md", "alpha by hand\n")
    (imported / "a.md").unlink()
    report = import_source(store, imported)
    assert counts(report) == (0, 0, 2, 0)
    assert [kept.name for kept in report.kept] == ["a.md"]
    assert stored(store)[f"{ROOT}/a.md"] == "alpha by hand\n"


def test_an_edit_that_the_source_catches_up_with_is_no_edit_any_more(store: SqliteStore, imported: Path) -> None:
    edit(store, f"{ROOT}/a.md", "the same\n")
    write(imported, {"a.md": "the same\n"})
    assert counts(import_source(store, imported)) == (0, 0, 3, 0)
    write(imported, {"a.md": "and on\n"})
    assert counts(import_source(store, imported)) == (0, 1, 2, 0)


def test_a_moved_file_is_updated_and_removed_where_it_is(store: SqliteStore, imported: Path) -> None:
    store.apply([Move(f"{ROOT}/a.md", "resources/elsewhere.md")])
    before = change(store)
    assert counts(import_source(store, imported)) == (0, 0, 3, 0)
    assert change(store) == before
    write(imported, {"a.md": "alpha two\n"})
    assert counts(import_source(store, imported)) == (0, 1, 2, 0)
    assert stored(store)["resources/elsewhere.md"] == "alpha two\n"
    (imported / "a.md").unlink()
    assert counts(import_source(store, imported)) == (0, 0, 2, 1)
    assert set(stored(store)) == {f"{ROOT}/b.md", f"{ROOT}/sub/c.md"}


def test_a_moved_root_is_followed_and_a_removed_one_made_again(store: SqliteStore, imported: Path) -> None:
    store.apply([Move(ROOT, "resources/renamed")])
    write(imported, {"new.md": "new\n"})
    report = import_source(store, imported)
    assert (report.root_uri, counts(report)) == ("viking://resources/renamed", (1, 0, 3, 0))
    store.apply([Remove("resources/renamed", recursive=True)])
    report = import_source(store, imported)
    assert (report.root_uri, counts(report)) == ("viking://resources/docs", (4, 0, 0, 0))


def test_a_file_that_was_there_is_adopted_if_equal_and_kept_if_not(store: SqliteStore, folder: Path) -> None:
    edit(store, f"{ROOT}/a.md", "same\n")
    edit(store, f"{ROOT}/b.md", "mine\n")
    write(folder, {"a.md": "same\n", "b.md": "theirs\n"})
    report = import_source(store, folder, root=ROOT)
    assert (counts(report), [kept.name for kept in report.kept]) == ((0, 0, 1, 0), ["b.md"])
    assert stored(store)[f"{ROOT}/b.md"] == "mine\n"
    write(folder, {"a.md": "newer\n"})
    assert import_source(store, folder, root=ROOT).updated == 1


def test_two_sources_of_one_file_do_not_take_it_from_each_other(store: SqliteStore, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, {"LICENSE": "free\n"})
        import_source(store, tmp_path / name, root=ROOT)
    before = change(store)
    for name in ("one", "two", "one"):
        assert counts(import_source(store, tmp_path / name, root=ROOT)) == (0, 0, 1, 0)
    assert change(store) == before
    (tmp_path / "two/LICENSE").unlink()
    assert import_source(store, tmp_path / "two", root=ROOT).removed == 0
    assert f"{ROOT}/LICENSE" in stored(store)


def test_options_leave_alone_what_they_leave_out(store: SqliteStore, imported: Path) -> None:
    report = import_source(store, imported, options=ImportOptions.of(include="a.*", ignore_dirs="sub"))
    assert counts(report) == (0, 0, 1, 0)
    assert len(stored(store)) == 3


def test_what_the_source_ignores_now_goes(store: SqliteStore, imported: Path) -> None:
    write(imported, {".gitignore": "a.md\n"})
    assert counts(import_source(store, imported)) == (0, 0, 2, 1)


def test_files_and_directories_may_change_places(store: SqliteStore, imported: Path) -> None:
    (imported / "a.md").unlink()
    shutil.rmtree(imported / "sub")
    write(imported, {"a.md/inner.md": "inner\n", "sub": "now a file\n"})
    report = import_source(store, imported)
    assert report.failed == ()
    assert stored(store) == {
        f"{ROOT}/a.md/inner.md": "inner\n",
        f"{ROOT}/b.md": "beta\n",
        f"{ROOT}/sub": "now a file\n",
    }


def test_a_clash_of_file_and_directory_is_reported(store: SqliteStore, folder: Path) -> None:
    edit(store, f"{ROOT}/a", "a file\n")
    edit(store, f"{ROOT}/b/x.md", "in a directory\n")
    write(folder, {"a/y.md": "y\n", "b": "b\n", "c.md": "c\n"})
    report = import_source(store, folder, root=ROOT)
    assert report.created == 1
    assert [entry.name for entry in report.failed] == ["a/y.md", "b"]
    assert stored(store) == {f"{ROOT}/a": "a file\n", f"{ROOT}/b/x.md": "in a directory\n", f"{ROOT}/c.md": "c\n"}


def during(act: Callable[[], object]) -> Callable[[Progress], None]:
    """A progress callback that acts once, when the first batch is written."""
    acted: list[Progress] = []

    def step(progress: Progress) -> None:
        if progress.stage == "importing" and not acted:
            acted.append(progress)
            act()

    return step


def test_a_root_removed_during_the_import_ends_it(store: SqliteStore, folder: Path) -> None:
    write(folder, {f"{number:03}.md": f"{number}\n" for number in range(150)})
    report = import_source(store, folder, progress=during(lambda: store.apply([Remove(ROOT, recursive=True)])))
    assert report.cancelled
    assert "was removed during the import" in report.warnings[0]
    assert stored(store) == {}


def test_a_root_moved_during_the_import_is_followed(store: SqliteStore, folder: Path) -> None:
    write(folder, {f"{number:03}.md": f"{number}\n" for number in range(150)})
    report = import_source(store, folder, progress=during(lambda: store.apply([Move(ROOT, "resources/new")])))
    assert (report.root_uri, report.created) == ("viking://resources/new", 150)
    assert set(stored(store)) == {f"resources/new/{number:03}.md" for number in range(150)}


def once(monkeypatch: pytest.MonkeyPatch, kind: type, act: Callable[[SqliteStore], object]) -> None:
    """Act once as another writer would, right before the second batch with operations of ``kind`` is carried out."""
    apply = SqliteStore.apply
    seen: list[int] = []

    def applied(self: SqliteStore, operations: Sequence[Operation], **more: Any) -> Applied:
        if any(isinstance(operation, kind) for operation in operations):
            seen.append(len(operations))
            if len(seen) == 2:
                monkeypatch.setattr(SqliteStore, "apply", apply)
                act(self)
        return apply(self, operations, **more)

    monkeypatch.setattr(SqliteStore, "apply", applied)


@pytest.mark.parametrize("tags", [(), ("team=bird",)])
def test_a_root_moved_between_a_decision_and_its_batch_is_followed(
    store: SqliteStore, folder: Path, monkeypatch: pytest.MonkeyPatch, tags: tuple[str, ...]
) -> None:
    write(folder, {f"{number:03}.md": f"{number}\n" for number in range(150)})
    once(monkeypatch, PutFile, lambda other: other.apply([Move(ROOT, "resources/new")]))
    report = import_source(store, folder, tags=tags)
    assert (report.root_uri, report.created, report.failed) == ("viking://resources/new", 150, ())
    assert set(stored(store)) == {f"resources/new/{number:03}.md" for number in range(150)}


def test_a_root_removed_between_a_decision_and_its_batch_ends_the_import(
    store: SqliteStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, {f"{number:03}.md": f"{number}\n" for number in range(150)})
    once(monkeypatch, PutFile, lambda other: other.apply([Remove(ROOT, recursive=True)]))
    report = import_source(store, folder)
    assert (report.cancelled, report.created, report.failed) == (True, 64, ())
    assert stored(store) == {}


def test_a_root_moved_between_a_decision_and_its_removals_is_followed(
    store: SqliteStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, {f"d/{number:03}.md": f"{number}\n" for number in range(150)})
    write(folder, {"keep.md": "keep\n"})
    import_source(store, folder)
    shutil.rmtree(folder / "d")

    def act(other: SqliteStore) -> None:
        other.apply([Move(ROOT, "resources/new")])
        edit(other, "resources/new/d/070.md", "by hand\n")

    once(monkeypatch, Remove, act)
    report = import_source(store, folder)
    assert (report.removed, [kept.name for kept in report.kept]) == (149, ["d/070.md"])
    assert set(stored(store)) == {"resources/new/keep.md", "resources/new/d/070.md"}


def test_an_edit_during_the_import_is_not_lost(store: SqliteStore, folder: Path) -> None:
    write(folder, {f"{number:03}.md": f"{number}\n" for number in range(100)})
    import_source(store, folder)
    write(folder, {f"{number:03}.md": f"{number} changed\n" for number in range(100)})
    report = import_source(store, folder, progress=during(lambda: edit(store, f"{ROOT}/099.md", "by hand\n")))
    assert [kept.name for kept in report.kept] == ["099.md"]
    assert stored(store)[f"{ROOT}/099.md"] == "by hand\n"
    assert report.updated == 99


def test_a_file_that_vanishes_before_it_is_read_fails_alone(store: SqliteStore, imported: Path) -> None:
    def act(progress: Progress) -> None:
        if progress.stage == "scanning":
            return
        (imported / "b.md").unlink(missing_ok=True)

    write(imported, {f"0{number:03}.md": f"{number}\n" for number in range(64)})
    report = import_source(store, imported, progress=act)
    assert [entry.name for entry in report.failed] == ["b.md"]
    assert f"{ROOT}/b.md" in stored(store)


def test_threads_that_add_one_source_at_once_agree(store: SqliteStore, folder: Path) -> None:
    write(folder, {f"{number:03}.md": f"text {number}\n" for number in range(150)})
    reports: list[ImportReport] = []
    threads = [threading.Thread(target=lambda: reports.append(import_source(store, folder))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reports) == 4
    assert all(report.failed == () and report.kept == () for report in reports)
    assert sum(report.created for report in reports) == 150
    assert len(stored(store)) == 150


PROGRAM = """
import sys
from pathlib import Path
from openviking.ingest.importing import import_source
from openviking.ingest.prepare import PathAnalyser
from openviking.store.sqlite.account import SqliteStore
store = SqliteStore(Path(sys.argv[1]), PathAnalyser())
def told(progress):
    print(progress.done, flush=True)
import_source(store, Path(sys.argv[2]), root=sys.argv[3] or None, progress=told)
store.close()
"""


def start(data: Path, folder: Path, root: str = "") -> subprocess.Popen[str]:
    source = str(Path(__file__).resolve().parents[2] / "src")
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(data), str(folder), root],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": source},
    )  # fmt: skip


@pytest.mark.parametrize("lines", [1, 2, 4])
def test_an_import_killed_at_any_moment_is_continued(tmp_path: Path, folder: Path, lines: int) -> None:
    write(folder, {f"{number:03}.md": f"text {number}\n" * 20 for number in range(300)})
    process = start(tmp_path / "data", folder)
    assert process.stdout is not None
    acknowledged = 0
    for _ in range(lines):
        acknowledged = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    store = SqliteStore(tmp_path / "data", PathAnalyser())
    assert store.check() == []
    there = stored(store)
    assert len(there) >= acknowledged
    assert all(text == f"text {int(path[-6:-3])}\n" * 20 for path, text in there.items())
    report = import_source(store, folder)
    assert report.unchanged == len(there)
    assert report.created == 300 - len(there)
    assert len(stored(store)) == 300
    assert store.check() == []
    store.close()


def test_two_processes_that_add_one_source_at_once_lose_nothing(tmp_path: Path, folder: Path) -> None:
    write(folder, {f"{number:03}.md": f"text {number}\n" for number in range(200)})
    SqliteStore(tmp_path / "data", PathAnalyser()).close()
    processes = [start(tmp_path / "data", folder, ROOT) for _ in range(2)]
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    store = SqliteStore(tmp_path / "data", PathAnalyser())
    found = stored(store)
    assert {path.rpartition("/")[2] for path in found} == {f"{number:03}.md" for number in range(200)}
    before = change(store)
    assert import_source(store, folder).unchanged == 200
    assert change(store) == before
    assert store.check() == []
    store.close()

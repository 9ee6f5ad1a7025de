"""An import is a job: it keeps its lease, ends when the process does, and another goes on with all it was asked for."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openviking import OpenViking
from openviking.errors import InvalidArgumentError
from openviking.ingest.importing import import_source
from openviking.model.imports import ImportOptions, ImportReport, Progress
from openviking.store.jobs import MAX_ATTEMPTS, NewJob

ROOT = "viking://resources/docs"


@pytest.fixture
def ov(tmp_path: Path) -> Iterator[OpenViking]:
    with OpenViking(tmp_path / "data", workers=0) as door:
        yield door


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "docs"
    fill(path, {"a.md": "alpha\n", "sub/deep/b.md": "beta\n"})
    return path


def fill(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def many(folder: Path) -> None:
    fill(folder, {f"{number:03}.md": f"file {number}\n" for number in range(200)})


def tags(ov: OpenViking, uri: str) -> list[str]:
    return list(ov.attrs(uri)["attrs"]["tags"])


def after_a_crash(ov: OpenViking, call: Callable[[], object]) -> None:
    """Make ``call`` and leave its job as a killed process would, with a lease that has run out."""
    store = ov._accounts.store(ov._identity)
    before = store.jobs.newest()
    started: list[NewJob] = []
    start = store.jobs.start

    with pytest.MonkeyPatch.context() as patch:

        def noted(job: NewJob, lease_ms: int) -> object:
            started.append(job)
            return start(job, lease_ms)

        patch.setattr(type(store.jobs), "start", lambda _self, job, lease_ms: noted(job, lease_ms))
        call()
    assert store.jobs.newest() > before
    store.jobs.start(started[0], -1)


def test_an_import_that_was_killed_is_carried_on_with_its_tags(ov: OpenViking, folder: Path) -> None:
    class KilledError(Exception):
        pass

    def kill(progress: Progress) -> None:
        if progress.stage == "importing":
            raise KilledError

    def call() -> None:
        with pytest.raises(KilledError):
            ov.add_resource(folder, tags=["team=bird"], exclude="z.md", progress=kill)

    many(folder)
    fill(folder, {"z.md": "left out\n"})
    after_a_crash(ov, call)
    assert 0 < ov.status()["files"] < 202
    ov.wait_processed(60)
    status = ov.status()
    assert (status["files"], status["failed"]) == (202, [])
    assert (status["waiting"], status["stale_sidecars"]) == ({}, 0)
    for uri in (ROOT, f"{ROOT}/000.md", f"{ROOT}/199.md", f"{ROOT}/sub", f"{ROOT}/sub/deep/b.md"):
        assert tags(ov, uri) == ["team=bird"], uri


def test_a_source_that_is_gone_fails_with_a_reason(ov: OpenViking, folder: Path) -> None:
    after_a_crash(ov, lambda: ov.add_resource(folder))
    store = ov._accounts.store(ov._identity)
    shutil.rmtree(folder)
    for number in range(2, MAX_ATTEMPTS + 1):
        job = store.jobs.claim(("import",), -1)
        assert job is not None
        if number < MAX_ATTEMPTS:
            continue
        ov._worker.carry_out(store, job)
    [failed] = ov.status()["failed"]
    assert failed["error"] == f"Path not found: {folder}"
    assert ov.status()["files"] == 2
    (folder / "sub").mkdir(parents=True)
    (folder / "x.bin").write_bytes(bytes(100))
    with pytest.raises(InvalidArgumentError, match="strict"):
        ov.add_resource(folder, strict=True)
    assert ov.status()["failed"] == [failed]
    ov.add_resource(folder)
    assert ov.status()["failed"] == []


def test_closing_does_not_wait_for_a_whole_import(tmp_path: Path, folder: Path) -> None:
    """Neither for one that was carried on in the background nor for one that another thread called."""
    many(folder)
    writing, closed = threading.Event(), threading.Event()
    reports: list[ImportReport] = []

    def told(progress: Progress) -> None:
        if progress.stage == "importing":
            writing.set()
            assert closed.wait(20)

    with OpenViking(tmp_path / "data", workers=0) as ov:
        thread = threading.Thread(target=lambda: reports.append(ov.add_resource(folder, progress=told)))
        thread.start()
        assert writing.wait(20)
        ov._worker.stop()
        closed.set()
        thread.join(20)
    [report] = reports
    assert report.cancelled
    assert report.created == 64
    assert "carries it on" in report.warnings[-1]
    with OpenViking(tmp_path / "data", workers=0) as ov:
        assert ov.status()["waiting"]["import"] == 1
        ov.wait_processed(60)
        assert ov.status()["files"] == 202


def test_closing_lets_an_import_of_another_thread_come_to_an_end(tmp_path: Path, folder: Path) -> None:
    many(folder)
    writing = threading.Event()
    reports: list[ImportReport] = []

    def told(progress: Progress) -> None:
        if progress.stage == "importing":
            writing.set()

    ov = OpenViking(tmp_path / "data", workers=0)
    thread = threading.Thread(target=lambda: reports.append(ov.add_resource(folder, progress=told)))
    thread.start()
    assert writing.wait(20)
    ov.close()
    thread.join(20)
    [report] = reports
    with OpenViking(tmp_path / "data", workers=0) as again:
        if report.cancelled:
            # Given back at once: nobody waits for a lease to run out.
            began = time.monotonic()
            again.wait_processed(60)
            assert time.monotonic() - began < 8
        assert again.status()["files"] == 202
        assert again.check() == []


def test_an_import_carried_on_in_the_background_ends_with_its_process(tmp_path: Path, folder: Path) -> None:
    many(folder)
    with OpenViking(tmp_path / "data", workers=0) as ov:
        store = ov._accounts.store(ov._identity)
        payload = {"location": str(folder), "root": None, "parent": "resources", "options": ImportOptions().to_dict()}
        store.jobs.start(NewJob("import", "k", payload), -1)
        job = store.jobs.claim(("import",), 60_000)
        assert job is not None
        ov._worker.stop()
        ov._worker.carry_out(store, job)
        assert ov.status()["files"] == 0
        assert ov.status()["waiting"]["import"] == 1


def test_an_import_that_ends_in_an_error_is_not_tried_again(ov: OpenViking, folder: Path) -> None:
    (folder / "x.bin").write_bytes(bytes(100))
    with pytest.raises(InvalidArgumentError, match="strict"):
        ov.add_resource(folder, strict=True)
    assert "import" not in ov.status()["waiting"]


def test_tags_of_a_wrong_type_are_refused_before_anything_is_written(ov: OpenViking, folder: Path) -> None:
    before = ov.status()
    for wrong in ("team=bird", {"team": "bird"}, 3, ["a=b"] * 101):
        with pytest.raises(InvalidArgumentError, match="tags"):
            ov.add_resource(folder, tags=wrong)  # type: ignore[arg-type]
    assert ov.status() == before


def test_bad_arguments_are_named_before_anything_is_written(ov: OpenViking, folder: Path) -> None:
    before = ov.status()
    for wrong in (5, None, b"/tmp", ["a"]):
        with pytest.raises(InvalidArgumentError, match=r"path must be a str or a pathlib\.Path, not"):
            ov.add_resource(wrong)  # type: ignore[arg-type]
    calls: list[Callable[[], object]] = [
        lambda: ov.add_resource(folder, timeout=-1),
        lambda: ov.write("viking://resources/a.md", "a", "create", timeout=-1),
        lambda: ov.rm("viking://resources/a.md", timeout=-1),
        lambda: ov.wait_processed(timeout=-1),
    ]
    for call in calls:
        with pytest.raises(InvalidArgumentError, match=r"timeout must be .* not -1"):
            call()
    assert ov.status() == before


def test_a_malformed_tag_is_a_warning(ov: OpenViking, folder: Path) -> None:
    report = ov.add_resource(folder, tags=["bad", "team=bird", "a=b=c"])
    assert [("'bad'" in text or "bad" in text) for text in report.warnings] == [True, False]
    assert "a=b=c" in report.warnings[1]
    assert report.created == 2
    assert tags(ov, f"{ROOT}/a.md") == ["team=bird"]


def test_tags_go_to_what_an_import_makes_and_to_nothing_else(ov: OpenViking, folder: Path) -> None:
    ov.write(f"{ROOT}/own.md", "mine\n", "create")
    ov.write(f"{ROOT}/notes/own.md", "mine\n", "create")
    fill(folder, {"notes/theirs.md": "theirs\n", "own.md": "a clash\n"})
    ov.add_resource(folder, to=ROOT, tags=["team=bird"])
    for name in ("", "/a.md", "/sub", "/sub/deep", "/sub/deep/b.md", "/notes/theirs.md"):
        assert tags(ov, ROOT + name) == ["team=bird"], name
    for name in ("/own.md", "/notes", "/notes/own.md"):
        assert tags(ov, ROOT + name) == [], name
    assert ov.check() == []


def test_adding_again_without_changes_changes_nothing(ov: OpenViking, folder: Path) -> None:
    ov.add_resource(folder, tags=["team=bird"])
    ov.set_tags(f"{ROOT}/a.md", ["team=fish"])
    before = ov.status()["change"]
    assert ov.add_resource(folder, tags=["team=bird"]).unchanged == 2
    assert ov.status()["change"] == before
    fill(folder, {"sub/deep/b.md": "beta two\n"})
    assert ov.add_resource(folder, tags=["team=bird", "new=tag"]).updated == 1
    assert tags(ov, f"{ROOT}/sub/deep/b.md") == ["new=tag", "team=bird"]
    assert tags(ov, f"{ROOT}/a.md") == ["team=fish"]
    assert tags(ov, ROOT) == ["new=tag", "team=bird"]


def test_a_file_that_another_writer_makes_meanwhile_gets_no_tags(ov: OpenViking, folder: Path) -> None:
    store = ov._accounts.store(ov._identity)
    many(folder)
    first = threading.Event()

    def clash(progress: Progress) -> None:
        if progress.stage == "importing" and not first.is_set():
            first.set()
            ov.write(f"{ROOT}/100.md", "mine\n", "create")

    report = import_source(store, folder, progress=clash, tags=("team=bird",))
    assert [kept.name for kept in report.kept] == ["100.md"]
    assert tags(ov, f"{ROOT}/100.md") == []
    assert tags(ov, f"{ROOT}/101.md") == ["team=bird"]


def test_a_store_does_not_import_its_own_data(tmp_path: Path) -> None:
    for place in (tmp_path / "data", tmp_path / "inner" / "data"):
        with OpenViking(place, workers=0) as ov:
            fill(tmp_path, {"a.md": "alpha\n", "inner/b.md": "beta\n", "inner/other/data/c.md": "gamma\n"})
            report = ov.add_resource(tmp_path / "inner", to=ROOT)
            expected = [("data/", "the data directory of this store")] if place.parent.name == "inner" else []
            assert [(entry.name, entry.reason) for entry in report.skipped] == expected
            assert [str(uri) for uri in ov.glob("**/*.*", ROOT)] == [f"{ROOT}/b.md", f"{ROOT}/other/data/c.md"]
            for own in (place, place / "accounts", place / "accounts" / "default" / "store.db"):
                with pytest.raises(InvalidArgumentError, match="can't be its own source"):
                    ov.add_resource(own)
            (tmp_path / "link").unlink(missing_ok=True)
            (tmp_path / "link").symlink_to(place)
            with pytest.raises(InvalidArgumentError, match="can't be its own source"):
                ov.add_resource(tmp_path / "link")


def test_what_a_store_took_of_its_own_data_before_goes(tmp_path: Path) -> None:
    with OpenViking(tmp_path / "in" / "data", workers=0) as ov:
        fill(tmp_path / "in", {"a.md": "alpha\n", "data/more/b.md": "beta\n"})
        store = ov._accounts.store(ov._identity)
        assert import_source(store, tmp_path / "in").created > 1
        ov.add_resource(tmp_path / "in")
        assert [str(uri) for uri in ov.glob("**/*.*", "viking://resources/in")] == ["viking://resources/in/a.md"]

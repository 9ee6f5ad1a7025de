"""Files that are received: whole or not at all, and never over what is there unless asked."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from openviking_sdk import errors, meaning
from openviking_sdk.files import Download

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.sdk.conftest import Flavour, ScriptedServer

CONTENT = bytes(range(256)) * 1000


def test_a_file_is_written(client: Any, server: ScriptedServer, tmp_path: Path) -> None:
    server.sends(CONTENT, headers={"Content-Type": "application/octet-stream"})
    target = tmp_path / "out.bin"
    assert client.download("resources/a.bin", str(target)) == target
    assert target.read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["out.bin"]
    (asked,) = server.take()
    assert (asked.method, asked.path, asked.query) == (
        "GET",
        "/api/v1/content/download",
        [("uri", "viking://resources/a.bin")],
    )


def test_it_has_the_permissions_of_a_new_file(client: Any, server: ScriptedServer, tmp_path: Path) -> None:
    (tmp_path / "new").touch()
    server.sends(CONTENT)
    target = client.download("resources/a", tmp_path / "out")
    assert target.stat().st_mode == (tmp_path / "new").stat().st_mode


def test_a_name_may_be_as_long_as_the_disk_allows(client: Any, server: ScriptedServer, tmp_path: Path) -> None:
    server.sends(CONTENT)
    assert client.download("resources/a", tmp_path / ("文" * 85)).stat().st_size == len(CONTENT)


def test_what_is_there_is_kept(client: Any, server: ScriptedServer, tmp_path: Path) -> None:
    target = tmp_path / "out.bin"
    target.write_text("mine")
    with pytest.raises(errors.AlreadyExistsError, match=r"out\.bin exists already"):
        client.download("resources/a.bin", target)
    assert server.take() == []
    assert target.read_text() == "mine"
    server.sends(CONTENT)
    client.download("resources/a.bin", target, overwrite=True)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_comes_meanwhile_is_kept(tmp_path: Path, overwrite: bool) -> None:
    target = tmp_path / "out.bin"
    outcome = contextlib.nullcontext() if overwrite else pytest.raises(errors.AlreadyExistsError)
    with outcome, Download(target, overwrite).open() as file:
        file.write(CONTENT)
        target.write_text("mine")
    assert target.read_bytes() == (CONTENT if overwrite else b"mine")
    assert [path.name for path in tmp_path.iterdir()] == ["out.bin"]


def test_a_dangling_link_is_something(client: Any, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(errors.AlreadyExistsError):
        client.download("resources/a.bin", tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_broken_transfer_leaves_nothing(
    make: Callable[..., Any], flavour: Flavour, server: ScriptedServer, tmp_path: Path, overwrite: bool
) -> None:
    target = tmp_path / "out.bin"
    if overwrite:
        target.write_text("mine")
    client = make(flavour, retries=1)
    for _ in range(2):
        server.sends(CONTENT, cut=100_000)
    with pytest.raises(errors.UnavailableError):
        client.download("resources/a.bin", target, overwrite=overwrite)
    assert len(server.take()) == 2
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == (
        [("out.bin", "mine")] if overwrite else []
    )


def test_a_broken_transfer_is_begun_again(
    make: Callable[..., Any], flavour: Flavour, server: ScriptedServer, tmp_path: Path
) -> None:
    client = make(flavour, retries=1)
    server.sends(CONTENT, cut=100_000)
    server.sends(CONTENT)
    assert client.download("resources/a.bin", tmp_path / "out.bin").read_bytes() == CONTENT


def test_a_refusal_leaves_nothing(client: Any, server: ScriptedServer, tmp_path: Path) -> None:
    server.refuses(404, "NOT_FOUND", "File not found: viking://resources/a")
    with pytest.raises(errors.NotFoundError, match="File not found"):
        client.download("resources/a", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_not_there_is_an_error_of_the_disk(
    client: Any, server: ScriptedServer, tmp_path: Path
) -> None:
    server.sends(CONTENT)
    with pytest.raises(FileNotFoundError):
        client.download("resources/a", tmp_path / "none" / "out")


def test_an_answer_is_not_taken_into_memory_without_end(
    client: Any, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for module in ("sync_sending", "async_sending"):
        monkeypatch.setattr(f"openviking_sdk.{module}.MAX_ANSWER_BYTES", 1000)
    server.sends(CONTENT)
    with pytest.raises(errors.ResourceExhaustedError, match="download"):
        client.download_bytes("resources/a")
    server.sends(b'{"status": "ok", "result": "%s"}' % (b"x" * 2000))
    with pytest.raises(errors.ResourceExhaustedError):
        client.read("resources/a")
    server.sends(CONTENT)
    assert client.download("resources/a", tmp_path / "out").stat().st_size == len(CONTENT)
    assert meaning.MAX_ANSWER_BYTES == 512 * 2**20

"""Calling ``ov`` inside the test's process, on a data directory of the test's own."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from openviking.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True)
class Call:
    """What one call gave: its exit status and the two streams."""

    status: int
    out: str
    err: str

    @property
    def result(self) -> Any:
        """The result in the JSON envelope of a successful call."""
        assert self.status == 0, self.err
        envelope = json.loads(self.out)
        assert envelope["ok"] is True
        assert self.out.count("\n") == 1
        return envelope["result"]

    @property
    def error(self) -> dict[str, Any]:
        """The error in the JSON envelope of a failed call."""
        assert self.out == ""
        envelope = json.loads(self.err)
        assert envelope["ok"] is False
        assert set(envelope["error"]) == {"code", "message", "details"}
        error: dict[str, Any] = envelope["error"]
        return error


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Call]:
    """Run ``ov`` with exactly these arguments; ``stdin`` are the bytes that it may read."""

    def run(*arguments: str, stdin: bytes = b"") -> Call:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        status = main(arguments)
        captured = capsys.readouterr()
        return Call(status, captured.out, captured.err)

    return run


@pytest.fixture
def ov(call: Callable[..., Call], data: Path) -> Callable[..., Call]:
    """Run ``ov`` on the test's own data directory."""

    def run(*arguments: str, stdin: bytes = b"") -> Call:
        return call(*arguments, "--path", str(data), stdin=stdin)

    return run

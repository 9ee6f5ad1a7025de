"""A short commit storm: messages and commits cross in many sessions on a server that is killed at random."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

STORM = Path(__file__).resolve().parents[2] / "benchmarks/commit_storm.py"


@pytest.mark.slow
def test_every_message_is_in_one_place_and_every_archive_has_its_event() -> None:
    argv = [sys.executable, str(STORM), "--minutes", "0.04", "--every", "2", "--sessions", "6", "--clients", "6"]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "**wrong or lost** | **0**" in ended.stdout
    assert "archives with one memory of their event" in ended.stdout

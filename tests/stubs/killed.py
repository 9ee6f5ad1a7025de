"""Lets a process talk, a line for each call that came to its end, and kills it in the middle of whatever it does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "src"


def talk_until_killed(program: Path, place: Path, first: int, lines: int, word: str) -> int:
    """Let ``program`` go on from ``first`` in ``place`` for ``lines`` lines and a moment; the number of its last whole line that begins with ``word``."""
    process = subprocess.Popen(
        [sys.executable, str(program), str(place), str(first)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
    )
    assert process.stdout
    told = [process.stdout.readline() for _ in range(lines)]
    process.send_signal(signal.SIGKILL)
    told += process.stdout.readlines()
    process.stdout.close()
    process.wait()
    return max(int(line.split()[1]) for line in told if line.startswith(word.encode()) and line.endswith(b"\n"))

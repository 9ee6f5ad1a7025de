"""A short run of the fuzzer; `tests/fuzz/run.py --minutes 60` is a long one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).with_name("run.py")


@pytest.mark.slow
def test_nothing_hostile_is_a_fault_for_some_seconds() -> None:
    done = subprocess.run(
        [sys.executable, str(RUN), "--minutes", "0.15", "--seed", "7"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.findall(r"^(\w+): ([\d,]+) inputs$", done.stdout, re.MULTILINE)
    assert {name for name, _ in told} >= {"uris", "names", "archives", "filters"}
    assert all(int(count.replace(",", "")) > 0 for _, count in told)

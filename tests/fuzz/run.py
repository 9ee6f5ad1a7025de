"""Feeds hostile input to every target in turn until time is over: ``python tests/fuzz/run.py --minutes 60``.

Prints how many inputs each target had, and each distinct fault with the smallest input that shows it; status 1 if
there was one.
"""

from __future__ import annotations

import argparse
import collections
import logging
import os
import random
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import hypothesis  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from tests.fuzz.targets import TARGETS, Target  # noqa: E402

ROUND: Final = 100
"""Inputs that a target has before the next one's turn."""

SLOW_S: Final = 5.0
"""CPU seconds that one input may take; more is a fault."""


def main() -> int:
    """Run; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--target", choices=sorted(TARGETS), action="append", help="only this one; may be repeated")
    asked = parser.parse_args()
    chosen = {name: TARGETS[name] for name in asked.target or TARGETS}
    seeds = random.Random(asked.seed)
    ends = time.monotonic() + 60 * asked.minutes
    inputs: collections.Counter[str] = collections.Counter()
    faults: dict[tuple[str, ...], str] = {}
    logging.getLogger("python_multipart").setLevel(logging.CRITICAL)
    _say(f"seed {asked.seed}, {asked.minutes:g} min, targets {', '.join(chosen)}")
    while time.monotonic() < ends:
        for name, target in chosen.items():
            if time.monotonic() >= ends:
                break
            fault = _round(name, target, seeds.getrandbits(64), inputs)
            if fault is not None and fault[0] not in faults:
                faults[fault[0]] = fault[1]
                _say(f"FAULT in {name}\n{fault[1]}")
    for name in chosen:
        _say(f"{name}: {inputs[name]:,} inputs")
    _say(f"{sum(inputs.values()):,} inputs, {len(faults)} faults")
    return bool(faults)


def _round(
    name: str, target: Target, seed: int, inputs: collections.Counter[str]
) -> tuple[tuple[str, ...], str] | None:
    """One round of a target; a fault as what tells it from others, and its full text."""
    holds, strategies = target

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=ROUND, deadline=None, database=None, suppress_health_check=list(hypothesis.HealthCheck)
    )
    @hypothesis.given(st.tuples(*strategies))
    def fed(values: tuple[Any, ...]) -> None:
        inputs[name] += 1
        before = time.process_time()
        holds(*values)
        taken = time.process_time() - before
        assert taken < SLOW_S, f"one input took {taken:.1f} s of CPU"

    try:
        fed()
    except Exception as error:  # noqa: BLE001
        where = traceback.extract_tb(error.__traceback__)[-1]
        told = "".join(traceback.format_exception(error))
        return (name, type(error).__name__, where.filename, str(where.lineno)), told
    return None


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

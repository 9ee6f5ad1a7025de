"""Gates for every test: no network but loopback, a CPU budget, a home of its own; Hypothesis that repeats itself.

CPU time and not wall time: with other work on a machine the wall clock of one suite grows several times while its
CPU time stays the same.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

CPU_BUDGET_S = 4.0
LOOPBACK = {"127.0.0.1", "::1", "localhost", ""}

hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None, database=None, print_blob=True)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=2000, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def _refuse_network(event: str, args: tuple[Any, ...]) -> None:
    """An audit hook: it sees connections of every library in this process, and cannot be unhooked by a test."""
    if event == "socket.connect":
        address = args[1]
        if isinstance(address, tuple) and address[0] not in LOOPBACK:
            raise RuntimeError(f"a test tried to reach {address}")
    elif event == "socket.getaddrinfo":
        host = args[0].decode() if isinstance(args[0], bytes) else args[0]
        if host is not None and host not in LOOPBACK:
            raise RuntimeError(f"a test tried to look up {host}")


sys.addaudithook(_refuse_network)


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path, None, None]:
    """``~`` is a directory of the tests' own: none reads or leaves anything in the home of whoever runs them.

    Its ov.conf says that there is no embedding model, so that the tests, and the processes that they start, make
    vectors only where they say so: ``OpenViking(…, embedder=…)``.
    """
    home = tmp_path_factory.mktemp("home")
    (home / ".openviking").mkdir()
    (home / ".openviking" / "ov.conf").write_text('{"embedding": {"dense": {"provider": "none"}}}')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        for name in [name for name in os.environ if name.startswith("OPENVIKING_")]:
            patch.delenv(name)
        yield home


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test that took more CPU than its budget; ``slow`` ones are free of it."""
    marker = item.get_closest_marker("cpu_budget")
    budget = float(marker.args[0]) if marker else CPU_BUDGET_S
    start = time.process_time()
    outcome = yield
    used = time.process_time() - start
    if used > budget and item.get_closest_marker("slow") is None:
        pytest.fail(f"{used:.1f} s of CPU, budget {budget:.0f} s: shrink it or mark it slow", pytrace=False)
    return outcome

"""The stores of a data directory: a user's tree is always there, and no account waits for another."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from openviking import OpenViking
from openviking.errors import FailedPreconditionError, NotFoundError
from openviking.model.identity import Identity

ALICE = Identity(account="acme", user="alice", role="root")
BOB = Identity(account="other", user="bob", role="root")


def test_a_removed_home_is_made_again(ov: OpenViking) -> None:
    ov.write("viking://~/memories/a.md", "zorblax", "create")
    ov.rm("viking://~", recursive=True)
    assert [entry["uri"].rpartition("/")[2] for entry in ov.ls("viking://~")] == [
        "memories", "peers", "privacy", "resources", "sessions", "skills",
    ]  # fmt: skip
    with pytest.raises(NotFoundError):
        ov.read("viking://~/memories/a.md")
    ov.rm("viking://resources", recursive=True)
    assert ov.ls("viking://resources").total == 0


def test_a_home_that_another_process_removed_is_made_again(ov: OpenViking, place: Path) -> None:
    with OpenViking(place, workers=0) as other:
        other.rm("viking://~/memories", recursive=True)
    assert ov.ls("viking://~/memories").total == 0


def test_an_account_that_takes_long_to_open_keeps_no_other_waiting(services: Any, place: Path) -> None:
    services.accounts.store(ALICE)
    services.accounts.store(BOB)
    services.accounts.close()
    from openviking.service.accounts import Accounts

    accounts = Accounts(place)
    blocker = sqlite3.connect(place / "accounts" / "acme" / "store.db", isolation_level=None)
    # Terms of another version are made anew at opening, which needs the write lock that is held here.
    blocker.execute("UPDATE meta SET value = 0 WHERE name = 'analyser'")
    blocker.execute("BEGIN IMMEDIATE")
    slow = threading.Thread(target=accounts.store, args=(ALICE,))
    slow.start()
    try:
        assert accounts.store(BOB) in accounts.open_stores()
        assert slow.is_alive()
    finally:
        blocker.execute("ROLLBACK")
        blocker.close()
        slow.join(30)
    assert not slow.is_alive()
    assert len(accounts.open_stores()) == 2
    accounts.close()


def test_nothing_is_opened_after_the_end(services: Any) -> None:
    services.accounts.store(ALICE)
    services.accounts.close()
    for who in (ALICE, BOB):
        with pytest.raises(FailedPreconditionError, match="closed"):
            services.accounts.store(who)
    assert services.accounts.open_stores() == []


def test_threads_that_ask_at_once_get_one_store(services: Any) -> None:
    found: list[object] = []
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait(10)
        found.append(services.accounts.store(ALICE))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(found) == 8
    assert len(set(map(id, found))) == 1

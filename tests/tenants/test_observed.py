"""What the root key observes while accounts come and go."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from openviking.config.settings import EmbeddingSettings
from openviking.errors import DeadlineExceededError
from openviking.model.identity import Identity
from openviking.service.accounts import Accounts
from openviking.service.embedding import Embedding
from openviking.service.observer import Observer
from openviking.service.tasks import Tasks
from openviking.store.jobs import NewJob
from openviking.store.port import AccountStore

ROOT = Identity("default", "default", "root")


class Leaving(Accounts):
    """The accounts of a server, of which one is removed as soon as the open ones were listed."""

    def __init__(self, accounts: Accounts, remove: Callable[[], object]) -> None:
        self.__dict__ = accounts.__dict__
        self._remove = remove

    def open_stores(self) -> list[AccountStore]:
        stores = super().open_stores()
        self._remove()
        return stores

    def of(self, name: str) -> AccountStore:
        store = super().of(name)
        self._remove()
        return store


def observer(server: Any, accounts: Accounts) -> Observer:
    embedding = Embedding(EmbeddingSettings(provider="none"), lambda _: None)
    return Observer(accounts, server.tenancy.worker, embedding, root_sees_all=True)


@pytest.mark.parametrize("ask", ["queue", "vikingdb", "filesystem", "wait"])
def test_an_account_that_is_removed_meanwhile_is_passed_over(server: Any, ask: str) -> None:
    for name in ("stays", "leaves"):
        server.content.write(server.who(server.account(name)), "viking://resources/a.md", "words", "create")
        server.work(name)
    expected = getattr(observer(server, server.tenancy.accounts), ask)(ROOT)
    left: list[str] = []

    def remove() -> None:
        if not left:
            left.append("leaves")
            server.tenancy.admin.delete_account(ROOT, "leaves")

    told = getattr(observer(server, Leaving(server.tenancy.accounts, remove)), ask)(ROOT)
    assert left
    assert told.keys() == expected.keys()
    if ask == "filesystem":
        files = [int(one["status"].splitlines()[2].split()[0]) for one in (expected, told)]
        assert files == [2, 1]


def test_a_wait_of_the_root_key_is_one_wait_however_many_accounts(server: Any) -> None:
    for number in range(5):
        server.content.write(server.who(server.account(f"a{number}")), "viking://resources/a.md", "words", "create")
        server.work(f"a{number}")
        # Work that only another release knows is waited for.
        server.tenancy.accounts.of(f"a{number}").jobs.enqueue(NewJob("unheard of", "1", {}))
    began = time.monotonic()
    with pytest.raises(DeadlineExceededError):
        observer(server, server.tenancy.accounts).wait(ROOT, 0.3)
    assert time.monotonic() - began < 1.2


def test_the_tasks_of_the_root_key_without_those_of_an_account_that_is_removed_meanwhile(server: Any) -> None:
    followed = {}
    for name in ("stays", "leaves"):
        server.account(name)
        server.user(name, "bob")
        followed[name] = server.tenancy.admin.delete_user(ROOT, name, "bob")["task_id"]
    assert {one["task_id"] for one in server.tenancy.tasks.find(ROOT)} == set(followed.values())
    left: list[str] = []

    def remove() -> None:
        if not left:
            left.append("leaves")
            server.tenancy.admin.delete_account(ROOT, "leaves")

    tasks = Tasks(Leaving(server.tenancy.accounts, remove), server.tenancy.worker, server.tenancy.system)
    assert [one["task_id"] for one in tasks.find(ROOT)] == [followed["stays"]]
    assert left

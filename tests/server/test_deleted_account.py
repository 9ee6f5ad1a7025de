"""A call that is under way while its account is deleted is told that, not how stores work."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.conftest import ROOT, ROOT_KEY

from openviking.config.settings import EmbeddingSettings, Settings
from openviking.errors import FailedPreconditionError, NotFoundError, OpenVikingError, UnauthenticatedError
from openviking.ingest.prepare import prepare
from openviking.model.identity import Identity
from openviking.server.edge import Edge
from openviking.server.lanes import Lane, Lanes
from openviking.service.authentication import Rules
from openviking.service.services import Services
from openviking.store.batch import PutFile


@pytest.fixture
def services(place: Path) -> Iterator[Services]:
    settings = Settings(path=place, workers=0, embedding=EmbeddingSettings(provider="none"))
    made = Services(settings, Rules.of(None, ROOT_KEY, "127.0.0.1"))
    yield made
    made.close()


@pytest.mark.parametrize(("of_root", "told"), [(False, UnauthenticatedError), (True, NotFoundError)])
def test_what_was_under_way_is_told_that_the_account_is_gone(
    services: Services, of_root: bool, told: type[OpenVikingError]
) -> None:
    services.admin.create_account(ROOT, "acme", "boss")
    caller = services.tenancy.accounts.identity_of("acme", "boss", "admin")
    if of_root:
        caller = Identity("acme", "boss", "root")
    writing = PutFile("resources/late.md", prepare("late.md", b"late"))

    def deleted_meanwhile() -> None:
        store = services.tenancy.accounts.store(caller)
        services.admin.delete_account(ROOT, "acme")
        store.apply([writing])

    def closed_for_another_reason() -> None:
        store = services.tenancy.accounts.store(caller)
        services.tenancy.accounts.release("acme", services.tenancy.accounts.place(caller))
        store.apply([writing])

    lanes = Lanes(Lane("quick", 1, 1), Lane("asking", 1, 1), Lane("waiting", 1, 0))
    try:
        edge = Edge(services, caller, lanes)
        with pytest.raises(FailedPreconditionError, match="closed"):
            asyncio.run(edge.call(closed_for_another_reason))
        with pytest.raises(told):
            asyncio.run(edge.call(deleted_meanwhile))
    finally:
        lanes.close()

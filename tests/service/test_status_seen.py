"""What `status` lists by name is only what its caller may see; counts are those of the account."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.stubs.embedders import HashEmbedder

from openviking import OpenViking
from openviking.model.identity import Identity
from openviking.service.system import System
from openviking.store.jobs import NewJob

PLACES = ("resources/shared.md", "user/ane/memories/own.md", "user/bob/memories/secret.md")


@pytest.fixture
def ov(place: Path) -> Iterator[OpenViking]:
    with OpenViking(place, embedder=HashEmbedder(), workers=0) as door:
        for path in PLACES:
            door.write(f"viking://{path}", f"POISON {path}\n", "create")
        door.wait_processed(60)
        store = door._accounts.store(door._identity)
        for path in PLACES:
            store.jobs.enqueue(
                NewJob("import", path, {"location": "/gone", "root": path, "parent": None, "options": {}})
            )
        while (job := store.jobs.claim(("import",), 60_000, due_only=False)) is not None:
            store.jobs.fail(job, "/gone is not there", retry_in=0)
        yield door


def seen(system: System, identity: Identity) -> tuple[list[str], list[str]]:
    status = system.status(identity)
    refused = sorted(one["uri"].removeprefix("viking://") for one in status["embedding"]["refused"])
    failed = sorted(one["key"] for one in status["failed"])
    assert status["failed_total"] == len(PLACES)
    assert status["embedding"]["refused_total"] >= len(PLACES)
    return [uri for uri in refused if uri.endswith(".md") and "/." not in uri], failed


def test_the_names_of_others_are_not_told(ov: OpenViking) -> None:
    everything = sorted(PLACES)
    assert seen(ov._system, ov._identity) == (everything, everything)
    own = [path for path in everything if "bob" not in path]
    assert seen(ov._system, Identity(account="default", user="ane", role="user")) == (own, own)

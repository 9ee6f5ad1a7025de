"""A server whose embedding model fails and comes back: honest meanwhile, and well again without anybody's help."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.stubs.models import StubModels

from openviking.config.settings import BreakerSettings, EmbeddingSettings, Settings
from openviking.model.identity import Identity
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.services import Services

R = "viking://resources/r"
SECRET = "a-text-of-somebody"


@pytest.fixture
def stub() -> Iterator[StubModels]:
    with StubModels(dimension=64) as running:
        yield running


@pytest.fixture
def server(place: Path, stub: StubModels) -> Iterator[Any]:
    """A client of a server that asks the stub, which is left alone for 0.2 s after a failure."""
    model = EmbeddingSettings(
        provider="openai", model="stub", api_base=stub.url, api_key="k", max_retries=0, batch_size=8, query_timeout=1.0,
        circuit_breaker=BreakerSettings(reset_timeout=0.2, max_reset_timeout=0.4),
    )  # fmt: skip
    services = Services(Settings(path=place, poll_interval=0.1, embedding=model), Rules.of(None, None, "127.0.0.1"))
    with TestClient(create_app(services)) as client:
        yield client


@pytest.fixture
def caller(server: TestClient) -> Any:
    from tests.server.conftest import Caller

    return Caller(server)


def vectors(api: Any) -> tuple[int, int]:
    told = api.post("search/find", query="quokka", target_uri=R)["retrieval"]["vectors"]
    return told["have"], told["of"]


@pytest.mark.slow
def test_an_outage_is_told_and_heals_by_itself(server: Any, caller: Any, stub: StubModels, until: Any) -> None:
    caller.write(f"{R}/well.md", "The quokka was made before.", wait=True, timeout=30)
    assert server.get("/ready").json()["checks"]["embedding"] == "ok"
    stub.behave(status=503, message=f"overloaded by {SECRET}")
    for number in range(20):
        caller.write(f"{R}/f{number}.md", f"The quokka number{number} is found by its words.")
    # Health and readiness: the server serves, and says what does not.
    until(lambda: "does not answer" in server.get("/ready").json()["checks"]["embedding"])
    assert server.get("/ready").status_code == server.get("/health").status_code == 200
    models = caller.get("observer/models")
    assert (models["is_healthy"], models["has_errors"]) == (False, True)
    assert SECRET in models["status"]
    system = caller.get("observer/system")
    assert (system["is_healthy"], bool(system["errors"])) == (False, True)
    found = caller.post("search/find", query="number7", target_uri=R)
    assert found["resources"][0]["uri"] == f"{R}/f7.md"
    until(lambda: caller.post("search/find", query="another one", target_uri=R)["retrieval"]["degraded"])
    assert "words alone" in caller.get("observer/retrieval")["status"]
    # What the service says may quote what somebody sent it: it is for the operator alone.
    degraded = caller.post("search/find", query="a third one", target_uri=R)["retrieval"]["degraded"]
    assert SECRET not in json.dumps(degraded)
    member = Identity("default", "ann", "user")
    observer = server.app.state.services.observer
    assert SECRET not in json.dumps([observer.models(member), observer.retrieval(member), observer.system(member)])
    waited = caller.call("POST", "system/wait", json={"timeout": 0.5})
    assert (waited.status_code, waited.json()["error"]["code"]) == (504, "DEADLINE_EXCEEDED")
    audit = caller.post("system/consistency", uri=R)
    # What waits is no fault.
    assert audit["ok"]
    assert audit["pending"]["vectors"] > 0
    have, of = vectors(caller)
    assert 0 < have < of
    stub.behave()
    until(lambda: vectors(caller)[0] == vectors(caller)[1])
    until(lambda: caller.get("observer/system")["is_healthy"])
    until(lambda: not caller.post("search/find", query="yet another", target_uri=R)["retrieval"]["degraded"])
    assert server.get("/ready").json()["checks"]["embedding"] == "ok"
    assert caller.post("system/wait", timeout=30)["Embedding"]["error_count"] == 0
    audit = caller.post("system/consistency", uri="viking://")
    assert (audit["ok"], audit["pending"]["vectors"]) == (True, 0)


@pytest.mark.slow
def test_what_a_model_refuses_is_told_and_made_once_it_takes_it(caller: Any, stub: StubModels, until: Any) -> None:
    stub.behave(refuse="POISON")
    caller.write(f"{R}/bad.md", "POISON for the model, zorblax for the words", wait=True, timeout=30)
    caller.write(f"{R}/good.md", "nothing of the kind", wait=True, timeout=30)
    audit = caller.post("system/consistency", uri=R)
    assert (audit["ok"], audit["pending"]["refused"] > 0) == (True, True)
    assert caller.post("search/find", query="zorblax", target_uri=R)["resources"][0]["uri"] == f"{R}/bad.md"
    stub.behave()
    caller.post("content/reindex", uri=R, mode="vectors_only", timeout=30)
    until(lambda: caller.post("system/consistency", uri=R)["pending"]["refused"] == 0)

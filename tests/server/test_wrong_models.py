"""An embedding model that can't work as it is configured, or does not answer, is told of and never called well."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from openviking.config.file import load_settings
from openviking.config.settings import EmbeddingSettings, Settings
from openviking.errors import OpenVikingError
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.services import Services

RULES = Rules.of(None, None, "127.0.0.1")


@pytest.mark.parametrize(
    ("dense", "told"),
    [
        ({"provider": "opena"}, "embedding.dense.provider: 'opena' is not known; did you mean 'openai'?"),
        (
            {"provider": "openai", "model": "text-embedding-3-small"},
            "embedding.dense.api_key: the provider 'openai' needs",
        ),
        ({"provider": "openai", "api_key": "k"}, "embedding.dense.model: the provider 'openai' needs"),
        ({"provider": "openai", "model": "m", "api_key": "$OPENVIKING_NO_SUCH_KEY"}, "is not set"),
        ({"provider": "openai", "model": "m", "api_key": "k", "api_base": "localhost"}, "embedding.dense.api_base"),
        ({"model": "bge-large"}, "embedding.dense.model: the built-in model is"),
    ],
)
def test_a_server_refuses_a_model_that_can_not_be(tmp_path: Path, dense: dict[str, Any], told: str) -> None:
    file = tmp_path / "ov.conf"
    file.write_text(json.dumps({"embedding": {"dense": dense}, "storage": {"workspace": str(tmp_path / "data")}}))
    settings = load_settings(str(file), env={}, home=tmp_path)
    with pytest.raises(OpenVikingError) as caught:
        Services(settings, RULES)
    assert told in caught.value.message
    assert caught.value.message.startswith(str(file))
    assert not (tmp_path / "data").exists()


def test_a_service_that_was_never_asked_is_asked_before_it_is_called_well(tmp_path: Path, until: Any) -> None:
    nobody = EmbeddingSettings(
        provider="openai", model="m", dimension=8, api_base="http://127.0.0.1:9/v1", api_key="k", max_retries=0,
        query_timeout=1.0,
    )  # fmt: skip
    services = Services(Settings(path=tmp_path / "data", embedding=nobody), RULES)
    with TestClient(create_app(services)) as client:
        until(lambda: client.get("/ready").json()["status"] == "ready")
        assert "does not answer" in client.get("/ready").json()["checks"]["embedding"]
        models = client.get("/api/v1/observer/models").json()["result"]
        assert (models["is_healthy"], models["has_errors"]) == (False, True)
        assert "words alone" in client.get("/api/v1/observer/retrieval").json()["result"]["status"]

"""The scripted service as a process of its own, and the doctor that calls models."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from openviking.cli.server_doctor import findings

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).resolve().parents[1] / "stubs" / "scripted.py"


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with subprocess.Popen([sys.executable, str(PROGRAM)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def behave(service: str, **script: Any) -> None:
    with httpx2.Client(trust_env=False) as client:
        assert client.post(f"{service}/behave", json=script).status_code == 200


def looked(service: str, tmp_path: Path, **rerank: Any) -> dict[str, tuple[str, str]]:
    file = tmp_path / "ov.conf"
    file.write_text(
        json.dumps(
            {
                "storage": {"workspace": str(tmp_path / "data")}, "embedding": {"dense": {"provider": "none"}},
                "vlm": {"model": "talker", "api_base": f"{service}/v1", "max_retries": 0},
                "rerank": {"api_key": "k", "api_base": f"{service}/rerank", **rerank},
            }
        )
    )  # fmt: skip
    file.chmod(0o600)
    found = findings(str(file), None, 0, tmp_path, {})
    return {told.partition(":")[0]: (state, told) for state, told, _ in found}


@pytest.mark.parametrize(
    ("script", "chat", "rerank"),
    [
        ({}, ("ok", "plans 2 queries"), ("ok", "scores such as 0.286, 0")),
        ({"reply": "hello"}, ("ok", "no plan"), ("ok", "scores")),
        ({"mood": "badly"}, ("wrong", "not JSON"), ("wrong", "not JSON")),
        ({"status": 401}, ("wrong", "HTTP 401"), ("wrong", "HTTP 401")),
    ],
)
def test_the_doctor_calls_the_models(
    service: str, tmp_path: Path, script: dict[str, Any], chat: tuple[str, str], rerank: tuple[str, str]
) -> None:
    behave(service, **script)
    told = looked(service, tmp_path)
    for name, (state, says) in (("chat model talker (vlm)", chat), ("rerank model (openai)", rerank)):
        assert told[name][0] == state
        assert says in told[name][1]
    with httpx2.Client(trust_env=False) as client:
        assert [call["path"] for call in client.get(f"{service}/calls").json()] == ["/v1/chat/completions", "/rerank"]


def test_the_doctor_says_what_cannot_be(service: str, tmp_path: Path) -> None:
    assert looked(service, tmp_path, provider="x")["rerank model"][0] == "wrong"

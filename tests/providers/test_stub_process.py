"""The stub of model services as a process of its own, for tests that need one that outlives or precedes others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx2

PROGRAM = Path(__file__).resolve().parents[1] / "stubs" / "models.py"


def test_the_stub_runs_alone_and_is_told_over_http() -> None:
    with subprocess.Popen([sys.executable, str(PROGRAM)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            root = url.removesuffix("/v1")
            with httpx2.Client(trust_env=False) as client:
                asked = {"model": "m", "input": ["tea", "tea"]}
                first, second = client.post(f"{url}/embeddings", json=asked).json()["data"]
                assert first["embedding"] == second["embedding"]
                client.post(f"{root}/behave", json={"status": 429, "headers": {"Retry-After": "3"}})
                refused = client.post(f"{url}/embeddings", json=asked)
                assert refused.status_code == 429
                assert refused.headers["retry-after"] == "3"
                assert client.get(f"{root}/calls").json() == {"calls": 2, "inputs": ["tea"] * 4}
        finally:
            process.kill()

#!/usr/bin/env python3
"""Call a real server with what its own OpenAPI document allows, and with what it forbids; every answer must be described.

usage: fuzz_schema.py [--requests N] [--seed N] [--keep DIRECTORY]

A server is started on a fresh directory, with keys; half of the requests come with the key of a user, half with the root
key. Operations that answer 501 to everything are left out. Checked are: no fault of the server (501, 503 and 504 in the
envelope are none), status, content type and body as described, wrong data refused, keys asked for. The status is 1 if a
check failed; needs schemathesis.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parents[1] / "src"
ROOT_KEY = "root-key-of-the-fuzzer"
CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance", "ignored_auth",
)  # fmt: skip
STANDS_STILL = ("/api/v1/system/wait",)
"""Operations that wait, as they should, for as long as they are told."""
CONFIG = """
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 501, 503, 504]
"""


def main() -> int:
    """Run; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=5_000, help="in all, at least (5000)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(31))
    parser.add_argument("--keep", type=Path, help="where the reports go")
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    place = Path(tempfile.mkdtemp(prefix="fuzz-schema-"))
    try:
        with served(place) as url:
            user_key = called(url, "POST", "/api/v1/admin/accounts", {"account_id": "acme", "admin_user_id": "ann"})
            keys = {"user": str(user_key["user_key"]), "root": ROOT_KEY}
            schema = place / "openapi.json"
            schema.write_text(json.dumps(present(fetched(f"{url}/openapi.json"))), encoding="utf-8")
            (place / "schemathesis.toml").write_text(CONFIG, encoding="utf-8")
            sent, failed = 0, False
            for number, (who, key) in enumerate(keys.items()):
                turn, left = 0, asked.requests // len(keys)
                while left > 0:
                    made, status = run(place, url, key, examples(left, schema), asked.seed + 1000 * number + turn)
                    print(f"{who}: {made:,} requests, {'failed' if status else 'no fault'}", flush=True)
                    sent, left, turn, failed = sent + made, left - max(made, 1), turn + 1, failed or status != 0
            print(f"{sent:,} requests in all")
            return int(failed)
    finally:
        if asked.keep:
            shutil.copytree(place, asked.keep, dirs_exist_ok=True)
        shutil.rmtree(place, ignore_errors=True)


@contextlib.contextmanager
def served(place: Path) -> Iterator[str]:
    """The address of a server on a fresh directory in ``place``."""
    config = place / "ov.conf"
    config.write_text(
        json.dumps(
            {
                "storage": {"workspace": str(place / "data")},
                "server": {"root_api_key": ROOT_KEY},
                "embedding": {"dense": {"provider": "none"}},
            }
        ),
        encoding="utf-8",
    )
    run_server = "from openviking.cli.server_command import run; run()"
    process = subprocess.Popen(
        [sys.executable, "-c", run_server, "--config", str(config), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=(place / "server.log").open("wb"),
        env={**os.environ, "PYTHONPATH": str(SOURCES), "HOME": str(place)},
    )
    try:
        told = process.stdout.readline() if process.stdout else b""
        found = re.search(rb"http://[0-9.:]+", told)
        if found is None:
            raise SystemExit((place / "server.log").read_text(encoding="utf-8"))
        yield found[0].decode()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def present(document: dict[str, Any]) -> dict[str, Any]:
    """``document`` without the operations that this version does not have, and without those that stand still."""
    for path, operations in list(document["paths"].items()):
        for method in [method for method, one in operations.items() if one.get("x-absent") or path in STANDS_STILL]:
            del operations[method]
        if not operations:
            del document["paths"][path]
    return document


def examples(requests: int, schema: Path) -> int:
    """How many generated requests each operation gets, so that there are about ``requests`` in all."""
    operations = sum(map(len, json.loads(schema.read_text(encoding="utf-8"))["paths"].values()))
    return max(1, requests // operations)


def run(place: Path, url: str, key: str, each: int, seed: int) -> tuple[int, int]:
    """How many requests were made, and the status of schemathesis."""
    report = place / f"{seed}.ndjson"
    done = subprocess.run(
        [
            sys.executable, "-m", "schemathesis.cli", "--config-file", str(place / "schemathesis.toml"), "run",
            str(place / "openapi.json"), "--url", url, "--header", f"X-API-Key: {key}", "--checks", ",".join(CHECKS),
            "--phases", "examples,coverage,fuzzing" if each > 20 else "fuzzing", "--max-examples", str(each),
            "--seed", str(seed), "--suppress-health-check", "all", "--warnings", "off", "--continue-on-failure",
            "--request-timeout", "60", "--report", "ndjson", "--report-ndjson-path", str(report), "--no-color",
        ],
        cwd=place,
        check=False,
        capture_output=True,
        text=True,
    )  # fmt: skip
    if done.returncode:
        print(done.stdout[-30_000:], done.stderr[-5_000:])
    return made(report), done.returncode


def made(report: Path) -> int:
    """How many requests a report tells of."""
    with report.open(encoding="utf-8") as lines:
        told = [json.loads(line).get("ScenarioFinished", {}) for line in lines]
    return sum(len(one.get("recorder", {}).get("interactions", {})) for one in told)


def called(url: str, method: str, path: str, body: dict[str, Any]) -> Any:
    """The result of a call with the root key."""
    request = urllib.request.Request(  # noqa: S310
        url + path,
        json.dumps(body).encode(),
        {"X-API-Key": ROOT_KEY, "Content-Type": "application/json"},
        method=method,
    )
    return fetched(request)["result"]


def fetched(request: Any) -> Any:
    """The JSON of an answer."""
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        return json.load(answer)


if __name__ == "__main__":
    sys.exit(main())

"""``ov`` against what is no server as it should be: a plain error and a status, whatever is answered."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.cpu_budget(10)

COMMANDS = (
    ["ls"], ["tree", "viking://resources"], ["stat", "viking://resources/a"], ["grep", "x"], ["glob", "*"], ["status"],
    ["read", "viking://resources/a"], ["task", "list"], ["session", "list"], ["observer", "queue"], ["add-memory", "x"],
    ["search", "x", "--mode", "context"], ["session", "archives", "x"], ["session", "context", "x"], ["relations", "viking://resources"],
    ["session", "tool-results", "x"], ["session", "tool-results", "x", "y"], ["session", "commit", "x", "--wait"],
)  # fmt: skip
RESULTS: tuple[Any, ...] = ("text", 7, None, [None, 1], {}, [{}])
DETAILS: tuple[Any, ...] = (
    {"type": ["x"], "unsupported_files": 5, "done": 3, "resource": {"a": 1}}, {"uri": 5, "expected": []}, {"operation": 1}, {},
)  # fmt: skip


class _Fixed(BaseHTTPRequestHandler):
    status = 200
    body = b""

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    do_POST = do_GET  # noqa: N815 - the name that is looked for

    def log_message(self, *_: Any) -> None:
        """Nothing: the test's output is for failures."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server that answers everything with what `_Fixed` says."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Fixed)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def answers(status: int, value: Any) -> None:
    _Fixed.status, _Fixed.body = status, json.dumps(value).encode()


@pytest.mark.parametrize("result", RESULTS, ids=repr)
def test_a_result_of_another_shape_is_a_plain_error(call: Callable[..., Any], url: str, result: Any) -> None:
    answers(200, {"status": "ok", "result": result})
    for command in COMMANDS:
        gave = call("--url", url, *command)
        if gave.status == 0:
            continue
        assert gave.status == 1, command
        assert gave.err.count("error: ") == 1, command
        assert "Error: " not in gave.err or f"error: What {url} answered is not" in gave.err, (command, gave.err)


@pytest.mark.parametrize("code", ["NOT_FOUND", "INVALID_URI", "DEADLINE_EXCEEDED", "ODD"])
def test_details_of_an_error_may_be_anything(call: Callable[..., Any], url: str, code: str) -> None:
    for details in DETAILS:
        answers(404, {"status": "error", "error": {"code": code, "message": "so it is", "details": details}})
        for command in (["ls"], ["write", "viking://resources/a", "--content", "x", "--wait"]):
            gave = call("--url", url, *command)
            assert gave.status == 1
            assert gave.err.startswith("error: so it is\n")
            told = call("-o", "json", "--url", url, *command).error
            assert (told["code"], told["details"]) == (code, details)


def test_half_of_a_surrogate_pair_is_no_fault_of_the_call(call: Callable[..., Any], url: str) -> None:
    answers(200, {"status": "ok", "result": "\ud800 and more"})
    gave = call("--url", url, "read", "viking://resources/a")
    assert (gave.status, gave.out) == (0, "\\ud800 and more")


def test_a_read_that_came_too_late_needs_no_waiting(call: Callable[..., Any], url: str) -> None:
    told = {"code": "DEADLINE_EXCEEDED", "message": "too late", "details": {"operation": "GET /api/v1/fs/ls"}}
    answers(504, {"status": "error", "error": told})
    assert call("--url", url, "ls").err == "error: too late\n"
    told["details"] = {"operation": "wait"}
    answers(504, {"status": "error", "error": told})
    assert "ov --url" in call("--url", url, "wait").err


ODD_CONTEXTS: tuple[Any, ...] = (
    {"entries": 5, "rendered": {"a": 1}, "stats": []}, {"stats": {"degraded": [5], "retrieval_errors": 7}},
    {"stats": {"tier_counts": [], "used_tokens": "x", "ignored": 5}, "entries": [1]}, {"entries": [], "stats": {"degraded": 3}},
)  # fmt: skip


@pytest.mark.parametrize("result", ODD_CONTEXTS, ids=repr)
def test_a_context_of_another_shape_is_a_plain_error(call: Callable[..., Any], url: str, result: Any) -> None:
    answers(200, {"status": "ok", "result": result})
    gave = call("--url", url, "search", "x", "--mode", "context")
    assert (gave.status, "Traceback" in gave.err) == (1, False)
    assert f"error: What {url} answered is not" in gave.err


@pytest.mark.parametrize("asked", [[], ["-o", "json"]], ids=["text", "json"])
def test_searches_that_failed_are_not_an_empty_block(call: Callable[..., Any], url: str, asked: list[str]) -> None:
    errors = ["UnavailableError: the store is damaged"]
    answers(200, {"status": "ok", "result": {"entries": [], "rendered": "", "stats": {"retrieval_errors": errors}}})
    gave = call(*asked, "--url", url, "search", "x", "--mode", "context")
    assert (gave.status, gave.out) == (1, "")
    assert "the store is damaged" in gave.err
    some = {"entries": [{"uri": "x"}], "rendered": "x", "stats": {"retrieval_errors": errors}}
    answers(200, {"status": "ok", "result": some})
    assert call(*asked, "--url", url, "search", "x", "--mode", "context").status == 0

"""Errors: the class of each code, answers that are none, connections that fail, and when a call is sent again."""

from __future__ import annotations

import pickle
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from openviking_sdk import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.sdk.conftest import Flavour, ScriptedServer

CODES = [
    (400, "INVALID_ARGUMENT", errors.InvalidArgumentError),
    (400, "INVALID_URI", errors.InvalidURIError),
    (400, "UNSUPPORTED_URI", errors.UnsupportedURIError),
    (400, "UNSUPPORTED_MODE", errors.UnsupportedModeError),
    (400, "INVALID_FILTER", errors.InvalidFilterError),
    (400, "SKILL_INVALID", errors.SkillInvalidError),
    (400, "SKILL_CAPABILITY_UNAVAILABLE", errors.SkillCapabilityUnavailableError),
    (401, "UNAUTHENTICATED", errors.UnauthenticatedError),
    (403, "PERMISSION_DENIED", errors.PermissionDeniedError),
    (404, "NOT_FOUND", errors.NotFoundError),
    (409, "ALREADY_EXISTS", errors.AlreadyExistsError),
    (409, "CONFLICT", errors.ConflictError),
    (409, "ABORTED", errors.AbortedError),
    (409, "WRITE_CONFLICT", errors.WriteConflictError),
    (410, "SESSION_EXPIRED", errors.SessionExpiredError),
    (412, "FAILED_PRECONDITION", errors.FailedPreconditionError),
    (429, "RESOURCE_EXHAUSTED", errors.ResourceExhaustedError),
    (500, "INTERNAL", errors.InternalError),
    (500, "INTERNAL_ERROR", errors.InternalError),
    (500, "NOT_INITIALIZED", errors.NotInitializedError),
    (500, "PROCESSING_ERROR", errors.ProcessingError),
    (500, "EMBEDDING_FAILED", errors.EmbeddingFailedError),
    (500, "VLM_FAILED", errors.VLMFailedError),
    (500, "WRITE_FAILED", errors.WriteFailedError),
    (500, "REFRESH_FAILED", errors.RefreshFailedError),
    (500, "AGENT_OUTPUT_INVALID", errors.AgentOutputInvalidError),
    (500, "RESTORE_WRITEBACK_PARTIAL", errors.RestoreWritebackPartialError),
    (500, "UNKNOWN", errors.UnknownError),
    (501, "UNIMPLEMENTED", errors.UnimplementedError),
    (503, "UNAVAILABLE", errors.UnavailableError),
    (503, "MODEL_UNAVAILABLE", errors.ModelUnavailableError),
    (503, "BOT_RESTARTED", errors.BotRestartedError),
    (503, "NO_VECTOR_DB", errors.NoVectorDBError),
    (504, "DEADLINE_EXCEEDED", errors.DeadlineExceededError),
]


@pytest.mark.parametrize(("status", "code", "kind"), CODES, ids=[code for _, code, _ in CODES])
def test_a_code_becomes_its_class(
    client: Any, server: ScriptedServer, status: int, code: str, kind: type[errors.OpenVikingError]
) -> None:
    server.refuses(status, code, "so it is", {"a": 1}, X_Request_ID="r-1")
    with pytest.raises(errors.OpenVikingError) as caught:
        client.stat("resources")
    error = caught.value
    assert type(error) is kind
    assert (error.code, error.status, error.message, error.details) == (code, status, "so it is", {"a": 1})
    assert (str(error), error.request_id) == ("so it is", "r-1")


def test_every_class_has_a_code_and_a_row() -> None:
    assert {code: kind for _, code, kind in CODES} == errors.BY_CODE


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (404, errors.NotFoundError),
        (418, errors.OpenVikingError),
        (599, errors.InternalError),
        (409, errors.ConflictError),
    ],
)
def test_an_unknown_code_falls_back_to_its_status(
    client: Any, server: ScriptedServer, status: int, kind: type[errors.OpenVikingError]
) -> None:
    server.refuses(status, "BRAND_NEW")
    with pytest.raises(errors.OpenVikingError) as caught:
        client.stat("resources")
    assert (type(caught.value), caught.value.code, caught.value.status) == (kind, "BRAND_NEW", status)


@pytest.mark.parametrize(
    ("body", "status", "kind", "code"),
    [
        (b"<html>gateway</html>", 502, errors.UnavailableError, "UNAVAILABLE"),
        (b"", 401, errors.UnauthenticatedError, "UNAUTHENTICATED"),
        (b"nope", 500, errors.InternalError, "INTERNAL"),
        (b"too large", 413, errors.ResourceExhaustedError, "RESOURCE_EXHAUSTED"),
        (b"<html>a router</html>", 200, errors.InternalError, "INTERNAL"),
        (b'{"hello": "there"}', 200, errors.InternalError, "INTERNAL"),
        (b"[1]", 200, errors.InternalError, "INTERNAL"),
        (b"\xff\xfe", 200, errors.InternalError, "INTERNAL"),
        (b"", 307, errors.InternalError, "INTERNAL"),
        (b'{"status": "error", "error": {"code": 5, "details": []}}', 200, errors.InternalError, "INTERNAL"),
        (b'{"detail": "gone"}', 404, errors.NotFoundError, "NOT_FOUND"),
        (b"<html>\n<h1>Files</h1>\n</html>", 404, errors.InternalError, "INTERNAL"),
        (b"Unsupported\nmethod", 501, errors.InternalError, "INTERNAL"),
    ],
)
def test_what_is_no_envelope_is_an_error_with_the_address(
    client: Any, server: ScriptedServer, body: bytes, status: int, kind: type[errors.OpenVikingError], code: str
) -> None:
    server.sends(body, status)
    with pytest.raises(errors.OpenVikingError, match=server.url) as caught:
        client.stat("resources")
    assert (type(caught.value), caught.value.code, caught.value.status) == (kind, code, status)
    assert "\n" not in caught.value.message


def test_an_error_in_a_success_is_an_error(client: Any, server: ScriptedServer) -> None:
    server.refuses(200, "PROCESSING_ERROR", "half done")
    with pytest.raises(errors.ProcessingError, match="half done"):
        client.add_resource("https://x.org")


@pytest.mark.parametrize(("method", "result"), [("ls", {}), ("stat", []), ("read", None), ("list_tasks", "x")])
def test_a_result_of_the_wrong_kind_is_an_error(client: Any, server: ScriptedServer, method: str, result: Any) -> None:
    server.gives(result)
    with pytest.raises(errors.InternalError, match="is right"):
        getattr(client, method)(*([] if method == "list_tasks" else ["resources"]))


def test_what_is_not_there_is_an_answer_for_some(client: Any, server: ScriptedServer) -> None:
    for _ in range(2):
        server.refuses(404, "NOT_FOUND")
    assert client.get_task("none") is None
    assert client.session_exists("none") is False
    server.refuses(403, "PERMISSION_DENIED")
    with pytest.raises(errors.PermissionDeniedError):
        client.session_exists("none")


def test_an_address_that_leads_elsewhere_is_no_answer(client: Any, server: ScriptedServer) -> None:
    """A page of a web server that says 404 does not mean that there is no such session."""
    for call in (client.session_exists, client.get_task):
        server.sends(b"<html>no such page</html>", 404)
        with pytest.raises(errors.InternalError, match=f"at {server.url} is no OpenViking server") as caught:
            call("s")
        assert "<" not in caught.value.message


def test_a_null_result_may_be_left_out(client: Any, server: ScriptedServer) -> None:
    server.sends(b'{"status": "ok"}')
    assert client.rm("resources/a") is None
    server.sends(b'{"status": "ok"}')
    with pytest.raises(errors.InternalError, match="NoneType where dict is right"):
        client.stat("resources/a")


def test_an_answer_that_can_not_be_decoded(client: Any, server: ScriptedServer) -> None:
    server.sends(b"no gzip", headers={"Content-Encoding": "gzip"})
    with pytest.raises(errors.InternalError, match="can't be decoded"):
        client.stat("resources")


def test_readiness_and_health_may_be_bad(client: Any, server: ScriptedServer) -> None:
    server.sends(b'{"status": "not_ready", "reason": "initializing"}', 503)
    assert client.ready() == {"status": "not_ready", "reason": "initializing"}
    server.sends(b'{"status": "starting"}', 503)
    assert client.health() is False
    server.sends(b"{}", 500)
    with pytest.raises(errors.InternalError):
        client.ready()


def test_a_refusal_may_say_when_to_come_again(client: Any, server: ScriptedServer) -> None:
    server.refuses(429, "RESOURCE_EXHAUSTED", Retry_After="7")
    with pytest.raises(errors.ResourceExhaustedError) as caught:
        client.stat("resources")
    assert caught.value.retry_after == 7
    server.refuses(503, "UNAVAILABLE", Retry_After="Fri, 31 Dec 1999 23:59:59 GMT")
    with pytest.raises(errors.UnavailableError) as unavailable:
        client.stat("resources")
    assert unavailable.value.retry_after is None


def test_an_error_survives_a_process_boundary() -> None:
    error = errors.NotFoundError("gone", code="NOT_FOUND", details={"type": "file"}, status=404, request_id="r")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is errors.NotFoundError
    assert (str(again), again.code, again.details, again.status, again.request_id) == (
        "gone", "NOT_FOUND", {"type": "file"}, 404, "r",
    )  # fmt: skip


# --- connections ---------------------------------------------------------------------------------------------------


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address at which nothing listens: the port is taken by a socket that does not accept."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_no_connection_names_the_address(make: Callable[..., Any], flavour: Flavour, nobody: str) -> None:
    client = make(flavour, url=nobody)
    for call in (client.health, lambda: client.write("resources/a", "x"), lambda: client.observer.queue):
        with pytest.raises(errors.UnavailableError, match=nobody) as caught:
            call()
        assert caught.value.status is None
        assert caught.value.details["service"] == nobody
        assert "may have been done" not in str(caught.value)


def test_no_answer_in_time(make: Callable[..., Any], flavour: Flavour, server: ScriptedServer) -> None:
    client = make(flavour, timeout=0.1, retries=5)
    never = threading.Event()
    for method, args, unsure in (("stat", ["resources"], False), ("write", ["resources/a", "x"], True)):
        server.sends(b"{}", after=never)
        with pytest.raises(errors.DeadlineExceededError, match=server.url) as caught:
            getattr(client, method)(*args)
        assert caught.value.details["timeout"] == 0.1
        assert ("may have been done" in str(caught.value)) is unsure
        assert len(server.take()) == 1, "what is slow is not asked again"
    never.set()


@pytest.mark.parametrize(
    ("method", "args"),
    [
        ("stat", ["resources"]),
        ("find", ["q"]),
        ("ls", []),
        ("download_bytes", ["resources/a"]),
        ("add_message", ["s", "user", "hello"]),
        ("batch_add_messages", ["s", [{"role": "user", "content": "x"}]]),
    ],
)
def test_what_may_be_done_twice_is_sent_again(
    make: Callable[..., Any], flavour: Flavour, server: ScriptedServer, method: str, args: list[Any]
) -> None:
    client = make(flavour, retries=1)
    server.sends(b"", cut=0)
    server.gives([] if method == "ls" else {})
    getattr(client, method)(*args)
    first, second = server.take()
    assert first == second, "with the same key"
    assert ("idempotency-key" in first.headers) == ("message" in method)


@pytest.mark.parametrize(
    ("method", "args"),
    [
        ("write", ["resources/a", "x", "append"]),
        ("rm", ["resources/a"]),
        ("mv", ["resources/a", "resources/b"]),
        ("commit_session", ["s"]),
        ("create_session", []),
        ("add_resource", ["https://x.org"]),
        ("admin_regenerate_key", ["a", "u"]),
        ("session_used", ["s"]),
    ],
)
def test_a_write_is_never_sent_again(
    make: Callable[..., Any], flavour: Flavour, server: ScriptedServer, method: str, args: list[Any]
) -> None:
    client = make(flavour, retries=5)
    server.sends(b"", cut=0)
    with pytest.raises(errors.UnavailableError, match="may have been done") as caught:
        getattr(client, method)(*args)
    assert server.url in str(caught.value)
    assert len(server.take()) == 1


@pytest.mark.parametrize("retries", [0, 1, 2])
def test_the_number_of_tries_is_bounded(
    make: Callable[..., Any], flavour: Flavour, server: ScriptedServer, retries: int
) -> None:
    client = make(flavour, retries=retries)
    for _ in range(5):
        server.sends(b"", cut=0)
    with pytest.raises(errors.UnavailableError):
        client.stat("resources")
    assert len(server.take()) == retries + 1


@pytest.mark.parametrize("status", [409, 429, 500, 503, 504])
def test_a_refusal_is_not_asked_again(
    make: Callable[..., Any], flavour: Flavour, server: ScriptedServer, status: int
) -> None:
    client = make(flavour, retries=5)
    server.refuses(status, "X")
    with pytest.raises(errors.OpenVikingError):
        client.stat("resources")
    assert len(server.take()) == 1


def test_each_message_has_a_key_of_its_own(client: Any, server: ScriptedServer) -> None:
    client.add_message("s", "user", "same")
    client.add_message("s", "user", "same")
    client.add_message("s", "user", "same", idempotency_key="mine")
    client.batch_add_messages("s", [], idempotency_key="mine too")
    keys = [asked.headers["idempotency-key"] for asked in server.take()]
    assert len(set(keys)) == 4
    assert keys[2:] == ["mine", "mine too"]


def test_a_server_that_comes_late_is_waited_for(make: Callable[..., Any], flavour: Flavour) -> None:
    """Nothing was sent while nothing listened, so that even a write may be sent when something does."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        client = make(flavour, url=f"http://127.0.0.1:{listener.getsockname()[1]}", retries=3, timeout=5)

        def serve() -> None:
            listener.listen()
            connection, _ = listener.accept()
            with connection:
                asked = connection.recv(65536)
                body = b'{"status": "ok", "result": {"asked": %d}}' % asked.count(b"POST")
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body)
                )

        threading.Timer(0.3, serve).start()
        assert client.batch_write("resources", [], wait=False) == {"asked": 1}

"""A service that fails, hangs or talks rubbish: when it is asked again, what callers are told, and for how long they wait."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.providers.conftest import QuickTime
from tests.stubs.models import StubModels

from openviking.errors import DeadlineExceededError, OpenVikingError, UnavailableError
from openviking.providers.openai import OpenAIEmbedder

Remote = Callable[..., OpenAIEmbedder]


def failure_of(embedder: OpenAIEmbedder, timeout: float = 300.0) -> OpenVikingError:
    with pytest.raises((UnavailableError, DeadlineExceededError)) as caught:
        embedder.passages(["tea"], timeout=timeout)
    return caught.value


# --- repeated ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_repeated(remote: Remote, stub: StubModels, quick: QuickTime, status: int) -> None:
    stub.behave(status=status, times=2)
    assert len(remote(time=quick).passages(["tea"], timeout=300)) == 1
    assert len(stub.calls) == 3
    assert quick.waits == [0.75, 1.5]


def test_a_closed_connection_is_repeated(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    stub.behave(close=True, times=1)
    assert len(remote(time=quick).passages(["tea"], timeout=300)) == 1
    assert len(stub.calls) == 2


def test_dropped_connections_are_made_anew(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    embedder = remote(time=quick)
    embedder.passages(["tea"], timeout=300)
    stub.drop_connections()
    assert len(embedder.passages(["coffee"], timeout=300)) == 1


def test_a_service_that_is_restarted_is_found_again(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    embedder = remote(time=quick)
    embedder.passages(["tea"], timeout=300)
    stub.stop()
    error = failure_of(embedder)
    assert error.code == "UNAVAILABLE"
    assert "permanent" not in error.details
    stub.start()
    assert len(embedder.passages(["tea"], timeout=300)) == 1


def test_repetitions_come_to_an_end(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    stub.behave(status=503, message="model is loading")
    error = failure_of(remote(time=quick, max_retries=5))
    assert "HTTP 503: model is loading" in error.message
    assert error.details["upstream_status_code"] == 503
    assert "permanent" not in error.details
    assert len(stub.calls) == 6
    assert quick.waits == [0.75, 1.5, 3.0, 6.0, 6.0]


@pytest.mark.parametrize("status", [401, 402, 403, 404, 410, 301])
def test_what_will_not_pass_is_not_repeated(remote: Remote, stub: StubModels, quick: QuickTime, status: int) -> None:
    stub.behave(status=status, message="no such model", headers={"Location": "http://127.0.0.1:1/"})
    error = failure_of(remote(time=quick))
    assert error.details["permanent"] is True
    assert error.details["upstream_status_code"] == status
    assert ("redirects to http://127.0.0.1:1/" if status == 301 else "no such model") in error.message
    assert len(stub.calls) == 1


def test_retry_after_is_honoured(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    stub.behave(status=429, headers={"Retry-After": "7"}, times=1)
    remote(time=quick).passages(["tea"], timeout=300)
    assert quick.waits == [7.0]


def test_who_cannot_wait_that_long_is_told_at_once(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    stub.behave(status=429, headers={"Retry-After": "86400"})
    embedder = remote(time=quick)
    error = failure_of(embedder, timeout=60)
    assert error.code == "UNAVAILABLE"
    assert error.details["retry_after"] == 600  # no service puts us off for a day
    assert failure_of(embedder, timeout=60).details["retry_after"] == 600
    assert len(stub.calls) == 1
    assert not quick.waits


def test_all_threads_together_ask_a_failing_service_once_in_a_while(remote: Remote, stub: StubModels) -> None:
    stub.behave(status=503)
    embedder = remote(batch_size=1, max_concurrent=4)
    end = time.monotonic() + 2.0
    while time.monotonic() < end:
        with pytest.raises((UnavailableError, DeadlineExceededError)):
            embedder.passages([f"text {number}" for number in range(8)], timeout=max(end - time.monotonic(), 0.01))
    # Four at first, that began together; then one after 0.75 s, and the next 1.5 s later.
    assert 2 <= len(stub.calls) <= 6


def test_a_query_has_a_pace_of_its_own(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    embedder = remote(time=quick)
    stub.behave(status=429, headers={"Retry-After": "60"}, times=1)
    assert failure_of(embedder, timeout=5).details["retry_after"] == 60
    assert embedder.query("tea", timeout=2).shape == (64,)


def test_whoever_is_answered_first_ends_the_outage_for_all(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    stub.behave(status=503)
    embedder = remote(time=quick, max_retries=5)
    failure_of(embedder)
    quick.waits.clear()
    with pytest.raises(UnavailableError, match="503"):
        embedder.query("tea", timeout=0.1)
    stub.behave()
    embedder.passages(["tea"], timeout=300)
    assert embedder.query("tea", timeout=0.1).shape == (64,)


# --- messages ------------------------------------------------------------------------------------------------------


def test_parts_of_secrets_are_not_shown(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    stub.behave(status=403, message="no rights for tok-en-of-team, body-secret")
    embedder = remote(time=quick, extra_headers={"X-Auth": "Basic tok-en-of-team"}, extra_body={"user": "body-secret"})
    with pytest.raises(UnavailableError) as raised:
        embedder.query("what", timeout=5)
    assert "tok-en-of-team" not in str(raised.value)
    assert "body-secret" not in str(raised.value)


def test_a_wrong_address_is_named(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    stub.behave(status=404)
    with pytest.raises(UnavailableError, match=r"HTTP 404 from .*/embeddings"):
        remote(time=quick).query("what", timeout=5)


def test_keys_are_not_shown(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    stub.behave(
        status=401,
        message="Incorrect key my-own-secret (team: other-secret)\x1b[31m, like\n sk-proj-1234567890abcdef; Bearer ey1.2_3",
    )
    embedder = remote(time=quick, api_key="my-own-secret", extra_headers={"X-Team": "other-secret"})
    error = failure_of(embedder)
    for told in (error.message, str(error.details), str(embedder.describe()), repr(embedder)):
        for secret in ("my-own-secret", "other-secret", "1234567890abcdef", "ey1.2_3", "\x1b", "\n"):
            assert secret not in told
    assert "Incorrect key *** (team: ***) [31m, like ***; Bearer ***" in error.message


def test_long_messages_are_cut(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    stub.behave(status=403, message="blocked " * 10_000)
    assert len(failure_of(remote(time=quick)).message) < 400


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("<html>Bad gateway</html>", "not JSON: <html>Bad gateway</html>"),
        ("[" * 20_000, "not JSON"),
        ('{"error": {"message": "quota"}}', "no list of embeddings"),
        ('{"data": []}', "0 embeddings for 1 texts"),
        ('{"data": [{"embedding": "no base64!"}]}', "base64"),
        ('{"data": [{"embedding": ["1", "2"]}]}', "no list of numbers"),
        ('{"data": [{"embedding": []}]}', "dimensions"),
        ('{"data": [{"embedding": [1, 2], "index": 7}]}', "indices"),
        ('{"data": ["vector"]}', "no object"),
    ],
)
def test_rubbish_is_no_answer(remote: Remote, stub: StubModels, quick: QuickTime, answer: str, told: str) -> None:
    stub.behave(answer=answer)
    error = failure_of(remote(time=quick))
    assert told in error.message
    assert "permanent" not in error.details
    assert len(stub.calls) == 1


def test_too_few_vectors_are_no_answer(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    stub.behave(count=2)
    with pytest.raises(UnavailableError, match="2 embeddings for 3 texts"):
        remote(time=quick).passages(["a", "b", "c"], timeout=300)


def test_a_huge_answer_is_not_read_to_its_end(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    stub.behave(huge=20)
    assert "exceeds 67,584 bytes" in failure_of(remote(time=quick)).message


def test_a_compressed_answer_is_not_unpacked(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    stub.behave(headers={"Content-Encoding": "gzip"})
    assert "compressed" in failure_of(remote(time=quick)).message


# --- dimensions ----------------------------------------------------------------------------------------------------


def test_a_wrong_dimension_names_both_and_what_to_do(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    stub.behave(dimension=32)
    embedder = remote(time=quick)
    error = failure_of(embedder)
    assert error.details["permanent"] is True
    assert "vectors of 32 numbers, and embedding.dense.dimension is 64: set it to 32, or to 0" in error.message
    with pytest.raises(UnavailableError, match="32"):
        embedder.query("tea", timeout=5)


def test_a_dimension_is_learned_once_and_kept(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    embedder = remote(time=quick, dimension=0)
    assert embedder.model.dimension == 64
    assert embedder.model.dimension == 64
    assert len(stub.calls) == 1
    stub.behave(dimension=32)
    assert "32 numbers, and gave 64 before" in failure_of(embedder).message


def test_the_first_vectors_tell_the_dimension_too(remote: Remote, stub: StubModels) -> None:
    embedder = remote(dimension=0)
    assert embedder.describe()["dimension"] == 0
    embedder.passages(["tea"], timeout=30)
    assert embedder.model.dimension == 64
    assert len(stub.calls) == 1


def test_a_dimension_that_nobody_tells_is_unavailable_and_asked_for_seldom(
    remote: Remote, stub: StubModels, quick: QuickTime
) -> None:
    stub.behave(status=503)
    embedder = remote(time=quick, dimension=0)
    for _ in range(5):
        with pytest.raises(UnavailableError, match="503"):
            _ = embedder.model
    assert len(stub.calls) == 1
    stub.behave()
    quick.wait(1)
    assert embedder.model.dimension == 64


def test_a_service_that_refuses_everything_is_seldom_asked_for_its_dimension(
    remote: Remote, stub: StubModels, quick: QuickTime
) -> None:
    stub.behave(status=400, message="no embeddings here")
    embedder = remote(time=quick, dimension=0)
    for _ in range(5):
        with pytest.raises(UnavailableError, match="every text is refused: HTTP 400: no embeddings here") as caught:
            _ = embedder.model
        assert caught.value.details["permanent"] is True
    assert len(stub.calls) == 2


def test_a_model_that_is_slow_to_load_is_known_later(remote: Remote, stub: StubModels) -> None:
    stub.behave(delay=30)
    embedder = remote(dimension=0, query_timeout=0.05)
    with pytest.raises(UnavailableError, match="no answer has come yet"):
        _ = embedder.model
    stub.behave()  # the delay is over; the first call is still under way and is answered
    while True:
        try:
            assert embedder.model.dimension == 64
            break
        except UnavailableError:
            continue
    assert len(stub.calls) == 1


# --- deadlines -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("behaviour", [{"hang": True}, {"delay": 30}, {"trickle": 0.02}])
def test_nobody_waits_beyond_the_deadline(remote: Remote, stub: StubModels, behaviour: dict[str, Any]) -> None:
    stub.behave(**behaviour)
    embedder = remote()
    for call in (lambda: embedder.query("tea", timeout=0.2), lambda: embedder.passages(["a", "b"], timeout=0.2)):
        start = time.monotonic()
        with pytest.raises(DeadlineExceededError) as caught:
            call()
        assert 0.15 < time.monotonic() - start < 2
        assert caught.value.details["timeout"] == 0.2


def test_a_call_that_nobody_waits_for_comes_to_its_end(remote: Remote, stub: StubModels) -> None:
    stub.behave(trickle=0.02)  # for minutes
    with pytest.raises(DeadlineExceededError):
        remote().query("tea", timeout=0.1)
    for thread in [one for one in threading.enumerate() if one.name == "openviking-embedding-call"]:
        thread.join(10)
        assert not thread.is_alive()


def test_a_call_out_of_time_is_no_deadline_of_the_caller(remote: Remote, stub: StubModels) -> None:
    stub.behave(hang=True)
    with pytest.raises(UnavailableError, match=r"no answer after 0\.1 s"):
        remote(timeout=0.1, max_retries=0).passages(["tea"], timeout=60)


def test_a_service_that_accepts_and_never_reads_holds_nobody(remote: Remote) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        embedder = remote(api_base=f"http://127.0.0.1:{deaf.getsockname()[1]}/v1")
        start = time.monotonic()
        with pytest.raises(DeadlineExceededError):
            embedder.query("tea", timeout=0.2)
        assert time.monotonic() - start < 2


def test_questions_do_not_wait_for_passages(remote: Remote, stub: StubModels) -> None:
    stub.behave(hang=True, times=2)
    embedder = remote(batch_size=1, max_concurrent=2, max_retries=0)
    with ThreadPoolExecutor(1) as pool:
        behind = pool.submit(embedder.passages, ["a", "b"], timeout=20)
        stub.wait(lambda one: len(one.calls) == 2)
        assert embedder.query("tea", timeout=10).shape == (64,)
        embedder.close()
        with pytest.raises(UnavailableError):
            behind.result(10)


def test_closing_ends_calls_under_way(remote: Remote, stub: StubModels) -> None:
    stub.behave(hang=True)
    others = set(threading.enumerate())
    embedder = remote(dimension=0)
    with ThreadPoolExecutor(3) as pool:
        passages = pool.submit(embedder.passages, ["a"], timeout=60)
        question = pool.submit(embedder.query, "b", timeout=60)
        stub.wait(lambda one: len(one.calls) == 2)
        start = time.monotonic()
        embedder.close()
        assert time.monotonic() - start < 5
        for call in (passages, question):
            with pytest.raises(UnavailableError, match="closed"):
                call.result(10)
    with pytest.raises(UnavailableError, match="closed"):
        embedder.query("tea", timeout=1)
    with pytest.raises(UnavailableError, match="closed"):
        embedder.passages(["tea"], timeout=1)
    embedder.close()
    assert not [one.name for one in threading.enumerate() if one not in others and "openviking" in one.name]


def test_closing_ends_pauses(remote: Remote, stub: StubModels) -> None:
    stub.behave(status=429, headers={"Retry-After": "30"})
    embedder = remote()
    with ThreadPoolExecutor(1) as pool:
        behind = pool.submit(embedder.passages, ["a"], timeout=60)
        stub.wait(lambda one: len(one.calls) == 1)
        embedder.close()
        with pytest.raises(UnavailableError):
            behind.result(10)


def test_many_threads_share_one_embedder(remote: Remote, stub: StubModels) -> None:
    embedder = remote(batch_size=3, max_concurrent=4)
    asked = [[f"thread {thread} text {number}" for number in range(10)] for thread in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for texts, found in zip(asked, pool.map(lambda one: embedder.passages(one, timeout=30), asked), strict=True):
            again = embedder.passages(texts, timeout=30)
            assert [one.tobytes() for one in found] == [one.tobytes() for one in again]  # type: ignore[union-attr]
    assert stub.most_at_once <= 4

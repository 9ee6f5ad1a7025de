"""Texts go out in batches, and each comes back with its vectors or with the reason why it has none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from tests.providers.conftest import QuickTime
from tests.stubs.models import POISON, StubModels, embedding

from openviking.errors import UnavailableError
from openviking.providers.embedder import Embedder, Refused, Unmade
from openviking.providers.failures import CallFailed
from openviking.providers.openai import OpenAIEmbedder, Vector
from openviking.providers.round import Round

Remote = Callable[..., OpenAIEmbedder]


def texts(count: int) -> list[str]:
    return [f"passage number {number} about ferries" for number in range(count)]


def assert_right(found: Sequence[Vector | Refused | Unmade], asked: list[str]) -> None:
    assert len(found) == len(asked)
    for vectors, text in zip(found, asked, strict=True):
        assert not isinstance(vectors, Refused | Unmade), text
        assert vectors.dtype == np.float32
        assert vectors.shape == (1, 64)
        assert vectors[0] @ vectors[0] == pytest.approx(1, abs=1e-6)
        assert vectors[0] @ np.array(embedding(text, 64)) == pytest.approx(1, abs=1e-4)


def test_vectors_come_in_the_order_of_the_texts(remote: Remote, stub: StubModels) -> None:
    embedder: Embedder = remote(batch_size=8, max_concurrent=3)
    asked = texts(50)
    assert_right(embedder.passages(asked, timeout=30), asked)
    assert len(stub.calls) == math.ceil(50 / 8)
    assert sorted(stub.inputs) == sorted(asked)
    assert embedder.batch == 24


def test_no_texts_cost_no_call(remote: Remote, stub: StubModels) -> None:
    assert remote().passages([], timeout=1) == []
    assert not stub.calls


def test_answers_out_of_order_are_put_in_order(remote: Remote, stub: StubModels) -> None:
    stub.behave(shuffled=True)
    asked = texts(20)
    assert_right(remote().passages(asked, timeout=30), asked)


def test_base64_answers_are_read(remote: Remote, stub: StubModels) -> None:
    asked = texts(3)
    assert_right(remote(encoding_format="base64").passages(asked, timeout=30), asked)
    assert stub.calls[0].body["encoding_format"] == "base64"


def test_a_connection_serves_many_calls(remote: Remote, stub: StubModels) -> None:
    embedder = remote(batch_size=1, max_concurrent=1)
    embedder.passages(texts(10), timeout=30)
    assert len(stub.calls) == 10
    assert stub.connections == 1


def test_calls_at_once_are_bounded(remote: Remote, stub: StubModels) -> None:
    stub.behave(delay=0.02)
    remote(batch_size=2, max_concurrent=3).passages(texts(24), timeout=30)
    assert len(stub.calls) == 12
    assert 2 <= stub.most_at_once <= 3
    assert stub.connections <= 3


def test_a_repeated_text_is_asked_for_once(remote: Remote, stub: StubModels) -> None:
    found = remote().passages(["same", "other", "same"], timeout=30)
    assert stub.inputs == ["same", "other"]
    assert np.array_equal(found[0], found[2])  # type: ignore[arg-type]


# --- what is sent --------------------------------------------------------------------------------------------------


def test_request_is_what_the_protocol_says(remote: Remote, stub: StubModels) -> None:
    embedder = remote(
        api_key="secret-key",
        extra_headers={"X-Team": "search"},
        extra_body={"user": "ov", "input": "never"},
        passage_prefix="passage: ",
        query_prefix="query: ",
        query_param={"": "query"},
        document_param={"": "document", "truncate": False},
    )
    embedder.passages(["tea"], timeout=30)
    embedder.query("which tea?", timeout=30)
    passage, question = stub.calls
    assert passage.path == "/v1/embeddings"
    assert passage.headers["authorization"] == "Bearer secret-key"
    assert passage.headers["x-team"] == "search"
    assert passage.headers["accept-encoding"] == "identity"
    shared = {"user": "ov", "model": "stub", "dimensions": 64}
    assert passage.body == {
        **shared, "input": ["passage: tea"], "input_type": "document", "truncate": False,
    }  # fmt: skip
    assert question.body == {**shared, "input": ["query: which tea?"], "input_type": "query"}


@pytest.mark.parametrize(
    ("provider", "dimension", "task"),
    [
        ("openai", "dimensions", "input_type"),
        ("jina", "dimensions", "task"),
        ("voyage", "output_dimension", "input_type"),
    ],
)
def test_services_have_names_of_their_own(
    remote: Remote, stub: StubModels, provider: str, dimension: str, task: str
) -> None:
    remote(provider, query_param={"": "asking"}).query("which tea?", timeout=30)
    assert stub.calls[0].body[dimension] == 64
    assert stub.calls[0].body[task] == "asking"


def test_no_dimension_is_asked_for_unless_configured(remote: Remote, stub: StubModels) -> None:
    remote(dimension=0).passages(["tea"], timeout=30)
    assert "dimensions" not in stub.calls[0].body


def test_a_service_that_knows_no_dimensions_is_asked_plainly(remote: Remote, stub: StubModels) -> None:
    stub.behave(without="dimensions")
    embedder = remote()
    assert_right(embedder.passages(texts(2), timeout=30), texts(2))
    assert len(stub.calls) == 4  # refused, a harmless text refused, the harmless text plainly, the texts
    embedder.passages(["more"], timeout=30)
    assert len(stub.calls) == 5


def test_a_bad_hour_does_not_make_it_forget_the_dimension(remote: Remote, stub: StubModels) -> None:
    embedder = remote(dimension=32)
    stub.behave(status=400)
    with pytest.raises(UnavailableError, match="every text is refused"):
        embedder.passages(["tea"], timeout=30)
    stub.behave()
    assert embedder.query("tea", timeout=30).shape == (32,)


def test_surrogates_and_rare_characters_arrive(remote: Remote, stub: StubModels) -> None:
    found = remote().passages(["broken \ud83d half", "𝒳 \x00 \u202e é"], timeout=30)
    assert stub.inputs == ["broken \ufffd half", "𝒳 \x00 \u202e é"]
    assert not any(isinstance(one, Refused) for one in found)


# --- long texts ----------------------------------------------------------------------------------------------------


def test_a_long_text_has_several_vectors_and_nothing_is_cut_off(remote: Remote, stub: StubModels) -> None:
    long = " ".join(f"word{number}" for number in range(400))
    found = remote(max_input_tokens=100, passage_prefix="p: ").passages(["short", long, "last"], timeout=30)
    shapes = [one.shape for one in found if not isinstance(one, Refused | Unmade)]
    assert shapes[0] == shapes[2] == (1, 64)
    assert shapes[1][0] == len(stub.inputs) - 2 >= 8
    assert "".join(text.removeprefix("p: ") for text in stub.inputs[1:-1]) == long


def test_the_beginning_of_a_long_question_counts(remote: Remote, stub: StubModels) -> None:
    assert remote(max_input_tokens=100).query("why " * 1000, timeout=30).shape == (64,)
    assert stub.inputs == ["why " * 100]


def test_a_request_has_a_bound_of_tokens(remote: Remote, stub: StubModels) -> None:
    asked = [f"{number} " + "x" * 16_000 for number in range(40)]  # 4,000 tokens each
    remote(max_concurrent=1).passages(asked, timeout=30)
    assert [len(call.inputs) for call in stub.calls] == [14, 14, 12]


def test_a_text_too_long_for_the_model_is_embedded_in_parts(remote: Remote, stub: StubModels) -> None:
    stub.behave(max_input=8_192)
    long = " ".join(f"word{number}" for number in range(1500))
    found = remote().passages(["fine", long], timeout=30)
    assert [one.shape for one in found if not isinstance(one, Refused | Unmade)] == [(1, 64), (2, 64)]
    assert "".join(stub.inputs[-2:]) == long


# --- texts that are refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [0, 11, 29])
def test_one_bad_text_does_not_sink_the_batch(remote: Remote, stub: StubModels, place: int) -> None:
    stub.behave(POISON)
    asked = texts(30)
    asked[place] = "POISON"
    found = remote().passages(asked, timeout=30)
    assert [number for number, one in enumerate(found) if isinstance(one, Refused)] == [place]
    assert found[place] == Refused("HTTP 400: an input is not acceptable")
    assert_right(found[:place] + found[place + 1 :], asked[:place] + asked[place + 1 :])
    assert len(stub.calls) <= 2 + 2 * math.ceil(math.log2(30))


def test_bad_texts_cost_few_calls_each(remote: Remote, stub: StubModels) -> None:
    stub.behave(POISON)
    asked = texts(64)
    bad = {3, 4, 40}
    for place in bad:
        asked[place] = f"POISON {place}"
    found = remote(batch_size=64).passages(asked, timeout=30)
    assert {number for number, one in enumerate(found) if isinstance(one, Refused)} == bad
    assert len(stub.calls) <= 2 + len(bad) * 2 * 6


def test_a_batch_of_nothing_but_bad_texts_is_refused_and_the_model_is_fine(remote: Remote, stub: StubModels) -> None:
    stub.behave(POISON)
    embedder = remote()
    found = embedder.passages([f"POISON {number}" for number in range(4)], timeout=30)
    assert all(isinstance(one, Refused) for one in found)
    assert "hello" in stub.inputs
    assert_right(embedder.passages(["fine"], timeout=30), ["fine"])


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_wrong_configuration_condemns_no_text(remote: Remote, stub: StubModels, status: int) -> None:
    stub.behave(status=status, message="the model `stub` does not do embeddings")
    with pytest.raises(UnavailableError, match="does not do embeddings") as caught:
        remote(dimension=0).passages(texts(30), timeout=30)
    assert caught.value.details["permanent"] is True
    assert len(stub.calls) == 2


def test_blank_texts_are_refused_without_a_call(remote: Remote, stub: StubModels) -> None:
    stub.behave(POISON)
    found = remote().passages(["", " \n\t", "tea"], timeout=30)
    assert [isinstance(one, Refused) for one in found] == [True, True, False]
    assert stub.inputs == ["tea"]


def test_a_refused_question_is_unavailable(remote: Remote, stub: StubModels) -> None:
    stub.behave(POISON)
    with pytest.raises(UnavailableError, match="the question is refused") as caught:
        remote().query("POISON", timeout=30)
    assert caught.value.details["refused"] is True
    assert "permanent" not in caught.value.details
    with pytest.raises(UnavailableError, match="blank"):
        remote().query(" ", timeout=30)


def test_a_limit_of_texts_is_learned(remote: Remote, stub: StubModels) -> None:
    stub.behave(max_batch=10)
    embedder = remote(batch_size=32, max_concurrent=1)
    assert_right(embedder.passages(texts(32), timeout=30), texts(32))
    stub.forget()
    asked = [f"later {number}" for number in range(32)]
    assert_right(embedder.passages(asked, timeout=30), asked)
    assert [len(call.inputs) for call in stub.calls] == [8, 8, 8, 8]


@pytest.mark.parametrize("number", [math.nan, 0.0, math.inf])
def test_a_vector_without_a_direction_is_that_texts_fault(remote: Remote, stub: StubModels, number: float) -> None:
    stub.behave(broken="BROKEN", broken_number=number)
    asked = texts(9)
    asked[5] = "BROKEN"
    found = remote().passages(asked, timeout=30)
    assert isinstance(found[5], Refused)
    assert "zeros, or of what is no number" in found[5].reason
    assert_right(found[:5] + found[6:], asked[:5] + asked[6:])
    assert len(stub.calls) == 2


def test_a_model_that_gives_nothing_but_zeros_condemns_no_text(remote: Remote, stub: StubModels) -> None:
    stub.behave(broken="e", broken_number=0.0)
    with pytest.raises(UnavailableError, match="vectors of zeros"):
        remote().passages(["tea", "coffee"], timeout=30)


def test_a_text_that_crashes_the_model_is_found(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    stub.behave(crash="CRASH")
    asked = texts(16)
    asked[9] = "CRASH"
    found = remote(time=quick, max_retries=1).passages(asked, timeout=300)
    assert [number for number, one in enumerate(found) if isinstance(one, Refused)] == [9]
    assert len(stub.calls) <= 20


def test_an_outage_with_status_500_condemns_no_text(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    stub.behave(status=500)
    with pytest.raises(UnavailableError) as caught:
        remote(time=quick).passages(texts(16), timeout=300)
    assert "permanent" not in caught.value.details
    assert len(stub.calls) == 5  # four attempts, and the harmless text


# --- what was made is not made twice ------------------------------------------------------------------------------


def test_what_was_made_before_a_failure_is_given(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    embedder = remote(batch_size=4, max_concurrent=1, max_retries=0, time=quick)
    asked = texts(12)
    stub.behave(status=503, after=2)
    found = embedder.passages(asked, timeout=300)
    assert_right(found[:8], asked[:8])
    assert ["503" in one.error.message for one in found[8:] if isinstance(one, Unmade)] == [True] * 4


def test_of_a_request_that_was_halved_what_was_made_before_a_failure_is_given() -> None:
    made = np.ones(4, np.float32)

    def ask(texts: Sequence[str], *, repeat: bool = True) -> list[Vector | None]:
        assert repeat in (True, False)
        if len(texts) > 2:
            raise CallFailed("too many", "refused")
        if "BAD" in texts:
            raise CallFailed("gone", "outage")
        return [made for _ in texts]

    found = Round(ask, lambda _: False, lambda _: None).settle(["a", "b", "c", "d", "e", "f", "BAD", "g"])
    assert [isinstance(one, CallFailed) for one in found] == [False] * 6 + [True] * 2


def test_after_a_failure_no_more_is_asked(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    stub.behave(status=403)
    with pytest.raises(UnavailableError, match="403"):
        remote(batch_size=1, max_concurrent=1, time=quick).passages(texts(10), timeout=300)
    assert len(stub.calls) == 1


def test_slow_requests_become_smaller(remote: Remote, stub: StubModels, quick: QuickTime) -> None:
    stub.behave(delay_per_input=0.02)
    embedder = remote(batch_size=16, max_concurrent=1, timeout=0.15, time=quick)
    asked = texts(16)
    assert_right(embedder.passages(asked, timeout=300), asked)
    assert [len(call.inputs) for call in stub.calls] == [16, 8, 4, 4, 8, 4, 4]
    stub.forget()
    embedder.passages([f"later {number}" for number in range(8)], timeout=300)
    assert [len(call.inputs) for call in stub.calls] == [4, 4]


def test_smaller_requests_grow_again(remote: Remote, stub: StubModels) -> None:
    stub.behave(max_batch=4)
    embedder = remote(batch_size=8, max_concurrent=1)
    embedder.passages(texts(8), timeout=30)
    stub.behave()
    embedder.passages([f"more {number}" for number in range(4 * 32)], timeout=30)
    stub.forget()
    embedder.passages([f"at last {number}" for number in range(8)], timeout=30)
    assert [len(call.inputs) for call in stub.calls] == [8]

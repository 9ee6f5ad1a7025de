"""Texts that the built-in embedding model is given: long ones, odd ones, and those that try to be something else."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openviking.providers.builtin import DIGESTS, FOLDER
from openviking.providers.embedder import Refused
from openviking.providers.inference import MAX_TOKENS, Encoder
from openviking.providers.windows import pieces, windows

FILLER = "The committee read the minutes of its last meeting and found nothing to change in them. "
SECRET = "Penguins of the southern ocean dive two hundred metres deep to catch krill."


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder(FOLDER, DIGESTS, window=512)


def go_on() -> None:
    """A text that may be read to its end."""


# --- cutting -------------------------------------------------------------------------------------------------------


@given(st.integers(0, 400), st.integers(2, 60), st.data())
def test_windows_leave_nothing_out(length: int, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    tokens = range(length)
    found = windows(tokens, size, overlap)
    assert {token for window in found for token in window} == set(tokens)
    assert all(len(window) <= size for window in found)
    assert len({len(window) for window in found}) == 1
    for left, right in pairwise(found):
        assert left[-1] - right[0] + 1 >= overlap
        assert left[0] < right[0]
    # None too many.
    if len(found) > 1:
        assert size + (len(found) - 2) * (size - overlap) < length


@given(st.text(alphabet="ab \n漢é", max_size=200), st.integers(2, 30))
def test_pieces_join_to_the_text(text: str, size: int) -> None:
    found = list(pieces(text, size))
    assert "".join(found) == text
    assert all(len(piece) <= size for piece in found)
    for piece, after in pairwise(found):
        blanks = {" ", "\n"} & set(piece[size // 2 :])
        assert after[0] in " \n" or not blanks, "a word was cut although there was a blank"


def test_pieces_change_no_token(encoder: Encoder) -> None:
    text = "Ferries' timetables (1997–2003), naïve ΣΊΣΥΦΟΣ; foo_bar[0] = 漢字 kana かな\n" * 400
    whole = encoder._tokens(text)
    for size in (64, 1000, 8192):
        assert [token for piece in pieces(text, size) for token in encoder._tokens(piece)] == whole


# --- long texts ----------------------------------------------------------------------------------------------------


def test_the_end_of_a_long_text_is_found(encoder: Encoder) -> None:
    found = encoder.passage(FILLER * 50 + SECRET, go_on)
    assert not isinstance(found, Refused)
    assert found.shape == (2, 384)
    near = found @ encoder.query("How deep do penguins dive for food?")
    assert near[1] > near[0] + 0.1


def test_of_a_long_question_the_beginning_counts(encoder: Encoder) -> None:
    asked = FILLER * 40
    assert encoder.query(asked).tobytes() == encoder.query(asked + SECRET).tobytes()
    assert encoder.query(FILLER).tobytes() != encoder.query(FILLER + SECRET).tobytes()
    assert encoder.query("ferry " * 200_000).shape == (384,)


def test_a_text_without_end_is_refused(encoder: Encoder) -> None:
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    refused = encoder.passage("a " * (MAX_TOKENS + 1), count)
    assert isinstance(refused, Refused)
    assert "50,000" in refused.reason
    # The deadline was looked at all the while.
    assert steps > 10


def test_work_is_left_at_the_next_window(encoder: Encoder) -> None:
    steps = 0

    def stop() -> None:
        nonlocal steps
        steps += 1
        if steps == 3:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        encoder.passage("ferry " * 2000, stop)
    assert steps == 3


# --- odd texts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "\n\t\r", "\0", "\x01\x7f\x9b", "\ud800", "a\udfffb", "\ud83d\ude00", "\ufeff\u200d\u202e", "\ufffd\uffff",
        "💥" * 300, "e" + "\u0301" * 5000, "漢字かな한글", "\u0627\u0644\u0639\u0631\u0628\u064a\u0629", "x" * 100_000,
        " " * 100_000, "\0" * 100_000, "\U0010ffff" * 50,
    ],
    ids=lambda text: ascii(text[:8]),
)  # fmt: skip
def test_every_text_has_a_vector(encoder: Encoder, text: str) -> None:
    found = encoder.passage(text, go_on)
    assert not isinstance(found, Refused)
    assert found.shape == (1, 384)
    assert float((found**2).sum()) == pytest.approx(1, abs=1e-5)
    assert float((encoder.query(text) ** 2).sum()) == pytest.approx(1, abs=1e-5)


def test_marks_of_the_model_in_a_text_are_text(encoder: Encoder) -> None:
    asked = encoder.query("cats [SEP] dogs [CLS]")
    assert asked.tobytes() == encoder.query("cats [sep] dogs [cls]").tobytes()

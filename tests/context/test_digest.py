"""The digest: what the model is sent, and which of its bullets are believed (contract/retrieval.md §5.10)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openviking.context.digest import HEADER, Digest, digest_messages, read_digest

A, B = "viking://user/ann/memories/events/a.md", "viking://resources/docs"
SPACED = "viking://resources/my file & notes.md"
SERVED = (A, B, SPACED)


def bullets(answer: str, most: int = 6) -> list[str]:
    digest = read_digest(answer, SERVED, most)
    if digest.status != "ok":
        assert digest == Digest("failed")
        return []
    header, *kept = digest.text.split("\n")
    assert header == HEADER == "OpenViking memory digest:"
    return kept


@pytest.mark.parametrize(
    "bullet",
    [
        f"- Ann moved to Rome. source: {A}",
        f"* Ann moved to Rome. source: {A}",
        f"- 安搬到了罗马。来源：{A}",
        f"- 安搬到了罗马（来源：{A}）。",
        f"- Two of them. source: {A}, {B}",
        f"- Two of them without a blank. source: {A},{B};{SPACED}",
        f"- In backticks. source: `{A}`.",
        f"- In brackets ({A}).",
        f"- With lines. source: {A}#L3-L9",
        f"- A directory. source: {B}/",
        f"- A name with blanks. source: {SPACED}",
        "- As an attribute has it. source: viking://resources/my file &amp; notes.md",
    ],
)
def test_bullets_whose_sources_were_served_are_kept(bullet: str) -> None:
    assert bullets(f"Here it is:\n\n  {bullet}  \nThat is all.") == [bullet]


@pytest.mark.parametrize(
    "bullet",
    [
        "- Ann moved to Rome.",
        "- Ann moved to Rome. source: viking://user/ann/memories/events/b.md",
        f"- One of two. source: {A}, viking://resources/b.md",
        f"- Below it. source: {B}/inner.md",
        f"- Longer. source: {B}2",
        f"- Other ending. source: {A}x",
        f"- Another file. source: {A}.bak",
        f"- Above it. source: {A[:-3]}",
        f"- Lines of something. source: {A}#L3-L9/x",
        f"- Not as it was copied. source: {A.upper()}",
        f"Ann moved to Rome. source: {A}",
        f"1. Ann moved to Rome. source: {A}",
    ],
)
def test_bullets_without_a_source_or_with_another_are_dropped(bullet: str) -> None:
    assert bullets(bullet) == []
    assert bullets(f"{bullet}\n- good. source: {A}") == [f"- good. source: {A}"]


def test_a_bullet_is_cut_before_its_source_is_looked_at() -> None:
    assert bullets(f"- {'x' * 500} source: {A}") == []
    assert bullets(f"- source: {A} {'x' * 600}") == [f"- source: {A} {'x' * 600}"[:500]]
    assert bullets(f"- source: {A} {'x' * 500} {B}") == [f"- source: {A} {'x' * 500}"[:500]]
    assert bullets(f"- source: {A} {'x' * (500 - 11 - len(A) - 15)} {B}") == []
    # What is left of a longer address must not pass for a shorter one.
    start = f"- source: {A} "
    line = f"{start}{'x' * (500 - len(start) - len(B) - 1)} {B}/secret.md"
    assert line[:500].endswith(B)
    assert bullets(line) == []


def test_at_most_so_many_bullets() -> None:
    answer = "\n".join(f"- {number} source: {A}" for number in range(9))
    assert bullets(answer, 3) == [f"- {number} source: {A}" for number in range(3)]


@pytest.mark.parametrize(
    "answer", ["NO_RELEVANT_MEMORY", " no_relevant_memory \n", "<think>hm</think>\nNO_RELEVANT_MEMORY"]
)
def test_the_word_alone_means_that_nothing_is_relevant(answer: str) -> None:
    assert read_digest(answer, SERVED, 6) == Digest("no_relevant")


@pytest.mark.parametrize("answer", ["", "  ", "- NO_RELEVANT_MEMORY", "NO_RELEVANT_MEMORY for this", "I can't."])
def test_everything_else_without_a_bullet_has_failed(answer: str) -> None:
    assert read_digest(answer, SERVED, 6) == Digest("failed")


def test_a_bullet_that_quotes_the_word_is_a_bullet() -> None:
    quoting = f"- The rule says NO_RELEVANT_MEMORY. source: {A}"
    assert bullets(quoting) == [quoting]


def test_the_model_is_sent_the_rules_apart_from_the_data() -> None:
    rules, said = digest_messages("where\nis\n## Fragments\nit?", "<memory …>\ntext\n</memory>", 4)
    assert (rules["role"], said["role"]) == ("system", "user")
    for demand in ("at most 4", "NO_RELEVANT_MEMORY", "source: ", "来源：", "never instructions"):
        assert demand in rules["content"]
    assert said["content"] == "## Question\n| where is ## Fragments it?\n\n## Fragments\n<memory …>\ntext\n</memory>"


@given(
    st.lists(
        st.sampled_from(["- ", "* ", A, B, "viking://", "x/", " ", "\n", ".md", "source: ", "(", ")", "/", "#L1", "."]),
        max_size=14,
    )
)
def test_no_answer_brings_in_an_address_that_was_not_served(parts: list[str]) -> None:
    for bullet in bullets("".join(parts)):
        rest = bullet
        for uri in sorted(SERVED, key=len, reverse=True):
            rest = rest.replace(uri, "\0")
        assert "\0" in rest
        assert "viking://" not in rest

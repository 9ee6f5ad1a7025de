"""grep's matching: exactly what a loop over single lines finds, quicker, and never for long."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
import warnings

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from openviking.errors import DeadlineExceededError, InvalidArgumentError
from openviking.index.line_pattern import LinePattern, _translate
from openviking.index.match_budget import MatchBudget
from openviking.text import split_lines

CATASTROPHIC = r"(a|aa)+$"
TRAP = "a" * 40 + "!"


def numbers(pattern: str, text: str, **options: bool) -> list[int]:
    found = list(LinePattern(pattern, **options).matching_lines(text))
    assert [text[match.start : match.end] for match in found] == [split_lines(text)[match.number] for match in found]
    return [match.number for match in found]


@pytest.mark.parametrize(
    ("pattern", "text", "lines"),
    [
        ("foo", "foobar\nbar\n#foobar", [0, 2]),
        ("foo", "", []),
        ("^$", "", []),
        ("^$", "a\n\nb\n", [1]),
        ("^", "a\nb\n", [0, 1]),
        ("$", "a\nb\n", [0, 1]),
        ("^a$", "a\na\r\nba\na", [0, 3]),
        ("a\nb", "a\nb", []),
        (r"a\nb", "a\nb", []),
        (r"a\s+b", "a\nb\na b", [2]),
        (r"[^x]b", "a\nb\nab", [2]),
        (r"\s", "a\nb \nc", [1]),
        (r"(?s)a.*b", "a\nb\nab", [2]),
        (r"\Aa", "ba\nab", [1]),
        (r"b\Z", "ba\nab\n", [1]),
        (r"(?<!#)foobar", "foobar\n#foobar", [0]),
        (r"(?<=\n)b", "a\nb", []),
        (r"a(?!\n)", "a\nb", [0]),
        (r"a(?=\n)", "a\nb", []),
        (r"\bneedle\b", "needles\na needle.\nneedle", [1, 2]),
        (r"(\w+) \1", "the the\nthe\nthe", [0]),
        (r"(?P<q>['\"]).*?(?P=q)", "say 'x'\nsay 'x\"", [0]),
        (r"(?i)FOO", "foo\nbar", [0]),
        (r"a{2}", "a{2}\naa", [1]),
        (r"a{e}", "abc\na{e}", [1]),
        (r"f\"{e}\"", 'f"{e}"\nabc', [0]),
        ("{}", "a{}\nb", [0]),
        ("{x", "{x", [0]),
        (r"[{]", "{\n}", [0]),
        (r"\.md", "a.md\namd", [0]),
        (r"项目.星", "项目北星\n项目", [0]),
        ("\u2028", "a\u2028b\nc", [0]),
        (r".", "\u2028\n\x0b\n\n\x85", [0, 1, 3]),
        (r"\p{Han}", "a\n中", [1]),
        (r"[[:digit:]]+", "a\n1", [1]),
        ("\ud800", "a\n\ud800", [1]),
    ],
)
def test_lines_match_one_by_one(pattern: str, text: str, lines: list[int]) -> None:
    assert numbers(pattern, text) == lines


def test_case_counts_unless_told_otherwise() -> None:
    text = "needleword\nNEEDLEWORD\nNeedle"
    assert numbers("NEEDLEWORD", text) == [1]
    assert numbers("NEEDLEWORD", text, case_insensitive=True) == [0, 1]
    assert numbers("ärger", "ÄRGER", case_insensitive=True) == [0]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("", "must not be empty"),
        (None, "must be a string"),
        (7, "must be a string"),
        ("(", "missing )"),
        (")", "does not compile"),
        ("[", "does not compile"),
        ("[z-a]", "bad character range"),
        ("*", "nothing to repeat"),
        ("a**", "multiple repeat"),
        ("a{99999999999999999999}", "counted repetitions make more than 10,000 parts"),
        ("\\", "bad escape"),
        (r"\1", "invalid group reference"),
        (r"\L<x>", "undefined named list"),
        (r"\p{Nonsense}", "unknown property"),
        (r"\N{NONSENSE}", "undefined character name"),
        ("(?<name", "does not compile"),
        ("(\ud800", "does not compile"),
        ("(" * 4000 + "a" + ")" * 4000, "nested more than 100 deep"),
        ("a" * 10_000, "10000 characters"),
        ("(" * 20_000, "20000 characters"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_the_fault(pattern: str, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=re.escape(said)) as caught:
        LinePattern(pattern)
    assert caught.value.code == "INVALID_ARGUMENT"
    assert len(caught.value.message) < 400
    json.dumps(caught.value.to_dict(), ensure_ascii=False).encode()


def test_the_longest_pattern_is_used() -> None:
    assert numbers("a" * 9_999, "a" * 9_999) == [0]


ATOMS = st.sampled_from(
    [
        "a",
        "b",
        "ab",
        ".",
        r"\n",
        "\n",
        r"\s",
        r"\S",
        r"\w",
        r"\W",
        r"\d",
        r"\D",
        "[ab]",
        "[^a]",
        r"[^\n]",
        r"[\s\S]",
        " ",
        "^",
        "$",
        r"\b",
        r"\B",
        r"\A",
        r"\Z",
        "(?=b)",
        "(?!a)",
        r"(?<=a)",
        r"(?<!\n)",
        r"(?<=\W)",
        r"(?!\n)",
        "{",
        "}",
        "]",
        "[{]",
        r"\{",
    ]
)
QUANTIFIERS = st.sampled_from(
    ["", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}", "{,2}?", "*+", "?+", "++", "{2}+", "{1"]
)
PATTERNS = st.recursive(
    st.builds(lambda atom, quantifier: atom + quantifier, ATOMS, QUANTIFIERS),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map("|".join),
        st.builds(
            lambda start, body, quantifier: f"{start}{body}){quantifier}",
            st.sampled_from(["(", "(?:", "(?>", "(?i:", "(?s:", "(?m:", "(?=", "(?!", "(?<=", "(?P<n>"]),
            inner,
            QUANTIFIERS,
        ),
        inner.map(lambda body: f"({body})\\1"),
        inner.map(lambda body: f"(a)?{body}(?(1)a|b)"),
    ),
    max_leaves=6,
)
TEXTS = st.text("ab \n\n{}1\r", max_size=14)


@given(PATTERNS, TEXTS, st.booleans())
@settings(max_examples=400)
@example(r"\B", "\n\n", False)
@example(r"a[^b]*b", "a\n\nb\nab", False)
@example(r"\s+$", "a\n \n\n", False)
def test_any_pattern_finds_what_a_loop_over_lines_finds(pattern: str, text: str, case_insensitive: bool) -> None:
    try:
        found = numbers(pattern, text, case_insensitive=case_insensitive)
    except InvalidArgumentError:
        return
    flags = regex.V0 | (regex.IGNORECASE if case_insensitive else 0)
    alone = regex.compile(_translate(pattern)[0], flags)
    assert found == [number for number, line in enumerate(split_lines(text)) if alone.search(line)]


@given(PATTERNS, TEXTS)
@settings(max_examples=400)
def test_a_pattern_of_the_standard_library_means_the_same_here(pattern: str, text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            standard = re.compile(pattern)
        except (re.error, RecursionError):
            return
    expected = [number for number, line in enumerate(split_lines(text)) if standard.search(line)]
    # On an empty line the standard library of Python before 3.14 knows no \B.
    if r"\B" not in pattern:
        assert numbers(pattern, text) == expected


@given(st.text(st.characters(codec=None), max_size=20) | st.text("(?P<>*+{}[]:=!#|\\aixsLNp1,-^$.", max_size=16))
@settings(max_examples=400)
def test_no_pattern_fails_but_with_a_reason(pattern: str) -> None:
    try:
        compiled = LinePattern(pattern)
        list(compiled.matching_lines("aab{}1\n\nb#a\n"))
    except (InvalidArgumentError, DeadlineExceededError) as error:
        json.dumps(error.to_dict(), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        ("foo", "foo"),
        (r"a\.b\{", "a.b{"),
        ("f{e}", "f{e}"),
        ("a-b_c", "a-b_c"),
        (r"\d", None),
        ("a{2}", None),
        ("a|b", None),
        (r"\é", None),
    ],
)
def test_a_plain_text_is_known_as_one(pattern: str, literal: str | None) -> None:
    assert _translate(pattern)[1] == literal


@pytest.mark.parametrize(
    "pattern",
    [
        "(?=a)",
        "(?<!a)b",
        r"\Aa",
        r"a\Z",
        "a++",
        "a{2}+",
        "(?>a)",
        "(?(1)a|b)",
        "(?R)",
        "(?r)a",
        "(?s)a",
        "(*FAIL)",
        r"\Ka",
        "(?x)a",
    ],
)
def test_what_sees_beyond_its_match_is_no_matter_of_blocks(pattern: str) -> None:
    assert not _translate(pattern)[2]


@pytest.mark.parametrize("pattern", ["needle", r"needle\d?", "(?<!x)needle", "NEEDLE"])
def test_line_numbers_count_on_through_all_blocks(pattern: str) -> None:
    text = "".join(f"line {number} needle\n" if number % 1000 == 7 else f"line {number}\n" for number in range(30_000))
    expected = [number for number in range(30_000) if number % 1000 == 7]
    assert numbers(pattern, text, case_insensitive=True) == expected


@pytest.mark.parametrize("pattern", ["needle_q9", r"needle_\w9$", "(?<=b)needle_q9"])
def test_the_tail_of_a_long_line_is_found(pattern: str) -> None:
    text = "short\n" + "ab" * 150_000 + "needle_q9\nshort\n"
    assert numbers(pattern, text) == [1]


def test_a_caller_who_has_enough_stops_the_work() -> None:
    matches = LinePattern(r"\w").matching_lines("word\n" * 2_000_000)
    began = time.thread_time()
    assert [next(matches).number for _ in range(3)] == [0, 1, 2]
    assert time.thread_time() - began < 0.5


@pytest.mark.cpu_budget(3)
def test_a_catastrophic_pattern_is_stopped_within_its_second_and_named() -> None:
    began = time.thread_time()
    with pytest.raises(DeadlineExceededError, match=re.escape(repr(CATASTROPHIC))) as caught:
        list(LinePattern(CATASTROPHIC).matching_lines(f"ok\n{TRAP}\nfoobar\n"))
    assert time.thread_time() - began < 1.5
    assert (caught.value.details["operation"], caught.value.details["timeout"]) == ("grep", 1.0)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", r"(?<!x)(a|aa)+$", "(?i)(A|AA)+$", r"(\w|a|aa)*\d"])
def test_no_catastrophic_pattern_gives_a_wrong_answer_or_takes_long(pattern: str) -> None:
    began = time.thread_time()
    with contextlib.suppress(DeadlineExceededError):
        assert list(LinePattern(pattern).matching_lines(f"ok\n{TRAP}\nfoobar!\n", MatchBudget(0.2))) == []
    assert time.thread_time() - began < 0.6


@pytest.mark.cpu_budget(4)
def test_others_work_while_a_catastrophic_pattern_runs() -> None:
    beats = 0

    def grep() -> None:
        with pytest.raises(DeadlineExceededError):
            list(LinePattern(CATASTROPHIC).matching_lines(TRAP, MatchBudget(0.4)))

    worker = threading.Thread(target=grep)
    worker.start()
    while worker.is_alive():
        worker.join(0.001)
        beats += 1
    assert beats > 20


def test_the_budget_is_one_for_all_texts_of_a_request() -> None:
    budget = MatchBudget(0.2)
    slow = LinePattern(CATASTROPHIC)
    began = time.thread_time()
    answered = 0
    with contextlib.suppress(DeadlineExceededError):
        for _ in range(1000):
            answered += list(slow.matching_lines("a" * 19 + "!", budget)) == []
    assert 1 <= answered < 999
    assert time.thread_time() - began < 0.5
    with pytest.raises(DeadlineExceededError):
        list(slow.matching_lines("harmless", budget))


@pytest.mark.parametrize(
    "pattern", ["needle", r"needle\w+ in group", r"(?<!#)needle", r"\s+$", r"^", r"[^\"]*\d", "(?i)todo|fixme"]
)
def test_plain_patterns_leave_the_budget_alone(pattern: str) -> None:
    budget = MatchBudget(1.0)
    text = 'The quick brown fox jumps over\n  the "lazy" dog, \n\n}\n' * 4000
    for _ in LinePattern(pattern).matching_lines(text, budget):
        pass
    assert budget.remaining > 0.8


def test_a_pattern_slow_across_lines_but_not_within_them_is_answered() -> None:
    text = ("ab" * 20 + "\n") * 4000 + "ab1\n"
    assert numbers(r"a[^\d]*\d", text) == [4000]


@pytest.mark.slow
def test_a_quadratic_pattern_on_a_very_long_line_is_stopped() -> None:
    for size in (300_000, 1_000_000):
        began = time.thread_time()
        with pytest.raises(DeadlineExceededError):
            list(LinePattern(r"\w+\d").matching_lines("ab" * (size // 2)))
        assert time.thread_time() - began < 2.0

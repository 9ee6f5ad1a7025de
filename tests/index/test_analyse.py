"""Text into terms: what is stored is what is asked for, whole and in parts, in every script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openviking.index.analyse import (
    MAX_TERM_CHARS,
    STOP_WORDS,
    TermFinder,
    analyse,
    analyse_query,
    name_terms,
)

ANY_ASCII = st.text(st.characters(max_codepoint=127), max_size=80) | st.text("aB1_-.'+# ", max_size=30)
ANY_TEXT = st.text(st.characters(), max_size=80)


def stored(text: str) -> list[str]:
    return analyse(text).joined.split()


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Running deployments", ["run", "deploy"]),
        ("getUserByEmail", ["getuserbyemail", "get", "user", "by", "email"]),
        ("HTTPServer2", ["httpserver2", "http", "server", "2"]),
        ("snake_case_name", ["snake_case_name", "snake", "case", "name"]),
        ("v2.13.7-rc2", ["v2.13.7-rc2", "v", "2", "13", "7", "rc", "2"]),
        ("ERR_TLS_0x8F", ["err_tls_0x8f", "err", "tls", "0", "x", "8", "f"]),
        ("10.42.7.9", ["10.42.7.9", "10", "42", "7", "9"]),
        ("C++ and C# or c", ["c++", "c", "and", "c#", "c", "or", "c"]),
        ("#tag", ["tag"]),
        ("the user's", ["the", "user"]),
        ("O'Reilly", ["oreilli", "o", "reilli"]),
        ("Müller naïve", ["muller", "naiv"]),
        ("Straße", ["strass"]),
        ("Ελλάδα", ["ελλαδα"]),
        ("кошка", ["кошка"]),
        ("кафе\u0301 йод", ["кафе\u0301", "йод"]),
        ("مَكْتَبَة", ["مكتبة"]),
        ("नदी", ["नदी"]),
        ("北极星", ["北极", "极星", "北", "极", "星"]),
        ("星", ["星"]),
        ("ｶﾀｶﾅ", ["カタ", "タカ", "カナ", "カ", "タ", "カ", "ナ"]),
        ("iPhone手机", ["iphon", "i", "phone", "手机", "手", "机"]),
        ("___ -- ?!", []),
    ],
)
def test_terms(text: str, terms: list[str]) -> None:
    assert stored(text) == terms


def test_length_counts_words_once_and_no_stop_words() -> None:
    assert analyse("the cat and the getUserById").length == 4
    assert analyse("项目北极星").length == 4
    assert analyse("").length == 0


def test_queries_drop_stop_words_unless_there_is_nothing_else() -> None:
    assert analyse_query("what is the budget of it") == ("budget",)
    assert analyse_query("to be or not to be") == ("to", "be", "or", "not", "to", "be")
    assert analyse_query("?!") == ()


def test_queries_put_single_characters_last() -> None:
    assert analyse_query("北极 plan") == ("北极", "plan", "北", "极")
    long = analyse_query("".join(map(chr, range(0x4E00, 0x4E00 + 100))))
    assert [len(term) for term in long] == [2] * 99 + [1] * 100


def test_names_give_each_term_once() -> None:
    assert name_terms("user-user.py") == ("user-user.py", "user", "py")


def test_a_finder_keeps_order_and_repetitions() -> None:
    finder = TermFinder(["user", "run"])
    assert finder.within("Users run; a user ran") == ["user", "run", "user"]
    assert finder.within("nothing here") == []


@pytest.mark.parametrize(
    "text",
    [
        "dying lying tying ties skies idly gently ugly early only singly news howe atlas cosmos bias andes inning",
        "happy happily hoping hopping sizing creating ability possibility sensibility relational operation analogy",
        "generously communism arsenal succeed proceeding exceeded YEARLY Young boy's saying sky flies organization",
        "O'Reilly\u2019s don't it\u2019s the users' rock'n'roll \u2014 getUserByEmail\u2026 ERR_TLS_0x8F v2.13.7-rc2 C++ C# e.g. _x_",
    ],
)
def test_a_finder_misses_no_form_of_a_word(text: str) -> None:
    """Texts without the beginning of any wanted term are skipped: a stem may not differ from its word there."""
    for word in text.split():
        for term in stored(word):
            assert term in TermFinder([term]).within(word), (word, term)


@given(
    st.from_regex(r"[A-Za-z0-9_'.+#-]{1,14}", fullmatch=True) | st.text("aeioustyingdlbmrcz", min_size=3, max_size=12)
)
def test_a_finder_misses_nothing_ascii(word: str) -> None:
    assert all(TermFinder([term]).within(word) for term in stored(word))


def test_very_long_words_are_cut_and_found() -> None:
    word = "Ab9" * 1000
    assert all(len(term) <= MAX_TERM_CHARS for term in stored(word))
    assert set(analyse_query(word)) <= set(stored(word))


@given(ANY_TEXT)
def test_a_text_has_all_that_it_is_asked_for(text: str) -> None:
    """Any text is found by itself: asking gives no term that storing does not."""
    assert set(analyse_query(text)) <= set(stored(text))


@given(ANY_TEXT)
def test_terms_can_be_stored(text: str) -> None:
    """No term is empty, has a blank, an ASCII capital or a character that the store's tokenizer would split at."""
    for term in analyse(text).joined.split(" "):
        kept = "".join(char for char in term if not char.isascii() or char.isalnum() or char in "-_.+#")
        assert term == kept == term.strip()
        assert not any("A" <= char <= "Z" for char in term)


@given(ANY_TEXT)
def test_a_finder_agrees_with_analyse(text: str) -> None:
    wanted = set(stored(text)[::2])
    assert TermFinder(wanted).within(text) == [term for term in stored(text) if term in wanted]


@given(ANY_ASCII)
def test_ascii_is_cut_into_the_same_words_as_part_of_other_text(text: str) -> None:
    """ASCII has a tokenizer of its own; a character of another script next to it makes no difference."""
    assert stored(text) == stored(f"{text} \u4e2d")[:-1]


def test_stop_words_are_single_terms() -> None:
    assert all(stored(word) == [word] for word in STOP_WORDS)

"""Text into terms: what is stored is what is asked for, whole and in parts, in every script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openviking.index.analyse import (
    MAX_QUERY_TERMS,
    MAX_TERM_CHARS,
    STOP_WORDS,
    analyse,
    analyse_query,
    is_mostly_unspaced,
    name_terms,
    terms_within,
)

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


def test_queries_put_single_characters_last_and_are_bounded() -> None:
    assert analyse_query("北极 plan") == ("北极", "plan", "北", "极")
    long = analyse_query("".join(map(chr, range(0x4E00, 0x4E00 + 100))))
    assert len(long) == MAX_QUERY_TERMS
    assert all(len(term) == 2 for term in long)


def test_names_give_each_term_once() -> None:
    assert name_terms("user-user.py") == ("user-user.py", "user", "py")


def test_terms_within_keeps_order_and_repetitions() -> None:
    assert terms_within("Users run; a user ran", frozenset({"user", "run"})) == ["user", "run", "user"]
    assert terms_within("nothing here", frozenset({"user"})) == []


def test_mostly_unspaced() -> None:
    assert is_mostly_unspaced("北极星项目 API")
    assert not is_mostly_unspaced("the 北极 project")
    assert not is_mostly_unspaced("")


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
def test_terms_within_agrees_with_analyse(text: str) -> None:
    wanted = frozenset(stored(text)[::2])
    assert terms_within(text, wanted) == [term for term in stored(text) if term in wanted]


def test_stop_words_are_single_terms() -> None:
    assert all(stored(word) == [word] for word in STOP_WORDS)

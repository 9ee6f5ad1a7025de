"""Names made for imports (contract/core.md §2.4)."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openviking.names import MAX_NAME_BYTES, fit_name, kept_name, root_name
from openviking.uri import RESERVED_NAMES, STORAGE_NAMES, URI, WATCH_NAMES, check_new_name, parse

HOSTILE = st.text(st.sampled_from("ab.．‥%2e5Ff{}:／/\\#?\0\ud800C日é\u0301 "), max_size=12)
ANY_TEXT = st.text(st.characters(codec=None), max_size=300)


@pytest.mark.parametrize(
    ("stem", "root"),
    [
        ("guide", "guide"),
        ("My report (final) v2.1", "My_report_final_v2.1"),
        ("a   b__c", "a_b_c"),
        ("__x__", "x"),
        ("..hidden..", "hidden"),
        ("日本語の資料", "日本語の資料"),
        ("Отчёт 2026", "Отчёт_2026"),
        ("تقرير", "تقرير"),
        ("हिन्दी", "हिन्दी"),
        ("Cafe\u0301 menu", "Cafe\u0301_menu"),
        ("a-b.c", "a-b.c"),
        ("a/b\\c:d", "a_b_c_d"),
        ("", "unnamed"),
        ("???", "unnamed"),
        ("..", "unnamed"),
        ("\ud800", "unnamed"),
        ("x" * 60, "x" * 50),
        ("x" * 49 + "._y", "x" * 49),
    ],
)
def test_the_root_of_an_import(stem: str, root: str) -> None:
    assert root_name(stem) == root


@pytest.mark.parametrize(
    "name",
    [
        "a.md",
        "Ünï cödé (1).txt",
        ".gitignore",
        "[id].tsx",
        "{id}.py",
        "50%.md",
        "a%20b",
        "a%2Fb",
        "ab:c",
        "...",
        "A／B",
        "e\u0301",
    ],
)
def test_a_name_is_kept_wherever_it_can_be(name: str) -> None:
    assert kept_name(name) == name


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("C#.md", "C_.md"),
        ("what?.md", "what_.md"),
        ("a\\b", "a_b"),
        ("a\nb", "a_b"),
        ("a\udcffb", "a_b"),
        ("C:x", "C_x"),
        ("{env:prod}.md", "{env_prod}.md"),
        ("%2e%2e", "_2e_2e"),
        ("..%2Fx", ".._2Fx"),
        ("", "_"),
        (".", "_"),
        ("..", "__"),
        ("．．", "__"),
        (".abstract.md", "_abstract.md"),
        (".overview.md", "_overview.md"),
        (".exact.ovlock.1", "_exact.ovlock.1"),
    ],
)
def test_a_name_that_cannot_be_kept_is_changed_as_little_as_needed(name: str, kept: str) -> None:
    assert kept_name(name) == kept


@pytest.mark.parametrize("name", sorted(RESERVED_NAMES | STORAGE_NAMES | WATCH_NAMES))
def test_no_reserved_name_is_kept(name: str) -> None:
    assert kept_name(name) == "_" + name[1:]


@given(HOSTILE | ANY_TEXT)
@example("x" * 10_000)
@example("日" * 10_000)
@example("%25" * 4000)
@example("{{a:b}:c}")
@example("{:}" * 3000)
@example("{" * 3000 + ":" * 3000)
def test_a_kept_name_may_be_given_and_addressed(name: str) -> None:
    kept = kept_name(name)
    uri = URI(("resources", kept))
    check_new_name(uri)
    assert parse(str(uri), user="u", today=date(2026, 1, 1)) == uri
    assert kept_name(kept) == kept


@given(ANY_TEXT)
@example("\ud800" * 10_000)
def test_a_root_may_be_given_and_addressed(stem: str) -> None:
    uri = URI(("resources", root_name(stem)))
    check_new_name(uri)
    assert parse(str(uri), user="u", today=date(2026, 1, 1)) == uri
    assert len(uri.name) <= 50


def test_a_long_name_is_cut_with_a_hash_and_keeps_its_extension() -> None:
    cut = fit_name("é" * 300 + ".markdown")
    assert len(cut.encode()) <= MAX_NAME_BYTES
    assert cut.endswith(".markdown")
    mark = cut.removesuffix(".markdown").rpartition("_")[2]
    assert len(mark) == 8
    assert int(mark, 16) >= 0
    assert fit_name("é" * 301 + ".markdown") != cut
    assert fit_name("x" * 255) == "x" * 255
    assert fit_name("." + "x" * 300).startswith(".xxx")


@given(ANY_TEXT)
@example("x" * 254 + "\ud800")
@example("\ud800" * 200 + "." + "\ud800" * 10)
def test_any_name_fits(name: str) -> None:
    assert len(fit_name(name).encode("utf-8", "surrogatepass")) <= MAX_NAME_BYTES

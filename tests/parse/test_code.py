"""Program text as sections: how classes are divided, what belongs to a definition, what is given up."""

from __future__ import annotations

from typing import Any

import pytest

from openviking.parse import parse
from openviking.parse.code import parse_code
from openviking.parse.definitions import LARGEST, find_definitions

FILLER = "".join(f"        value_{number} = compute(value_{number}, {number})\n" for number in range(14))
CLASS = f'''import os

# Keeps things.
@decorated
class Keeper(Base):
    """Keeps everything in its place."""

    limit = 3

    # Adds one.
    @staticmethod
    def add(self, item):
{FILLER}
    def remove(self, item):
{FILLER}
LAST = 1
'''


def test_a_large_class_is_divided_into_its_methods(checked: Any) -> None:
    document = parse("k.py", CLASS)
    found = [(section.headings, section.symbol) for section in document.sections]
    assert found == [
        ((), ""),
        (("Keeper",), "Keeper"),
        (("Keeper", "add"), "add"),
        (("Keeper", "remove"), "remove"),
        ((), ""),
    ]
    starts = [CLASS[section.start :].lstrip().split("\n", 1)[0] for section in document.sections]
    assert starts == ["import os", "# Keeps things.", "# Adds one.", "def remove(self, item):", "LAST = 1"]
    assert document.sections[1].lead == "Keeps everything in its place."
    checked(document, CLASS)


def test_offsets_are_characters(checked: Any) -> None:
    text = "# 中文说明 😀\ndef première():\n    return 'é'\n\ndef zweite(): return '中'\n"
    document = parse("a.py", text)
    assert [section.symbol for section in document.sections] == ["première", "zweite"]
    assert text[document.sections[1].start :].startswith("def zweite")
    checked(document, text)


def test_a_comment_apart_does_not_belong_to_what_follows() -> None:
    text = "# About the file.\n\n# About f.\ndef f():\n    pass\nx = 1  # trailing\ndef g():\n    pass\n"
    document = parse("a.py", text)
    starts = {
        section.symbol: text[section.start :].split("\n", 1)[0] for section in document.sections if section.symbol
    }
    assert starts == {"f": "# About f.", "g": "def g():"}


def test_definitions_survive_errors_around_them() -> None:
    text = "def good():\n    pass\n\n)))) broken ((((\n\ndef also():\n    pass\n"
    assert {item.name for item in find_definitions(text, "python")} >= {"good", "also"}


def test_module_docstring_is_title_and_lead() -> None:
    document = parse(
        "a.py", '#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n"""Reads small tables. And more."""\nimport os\n'
    )
    assert document.title == "Reads small tables."
    assert document.lead == "Reads small tables. And more."


def test_licence_is_no_lead() -> None:
    text = "// Copyright 2020 Somebody\n// Licensed under terms\n\n// Package p talks to servers.\npackage p\n"
    assert parse("a.go", text).lead == "Package p talks to servers."


def test_a_language_without_grammar_is_text_with_a_language(checked: Any) -> None:
    text = "-- Creates the users table for login.\nCREATE TABLE users (id int);\n"
    document = parse("a.sql", text)
    assert (document.kind, document.language) == ("code", "sql")
    assert document.lead == "Creates the users table for login."
    checked(document, text)


def test_too_large_programs_are_text(checked: Any) -> None:
    text = "def f(): pass\n" * (LARGEST // 14 + 1)
    document = parse("a.py", text)
    assert document.outline == ()
    checked(document, text)


def test_nesting_is_bounded() -> None:
    text = "".join(f"{' ' * depth}class C{depth}:\n" for depth in range(90)) + " " * 90 + "pass\n"
    assert max(entry.depth for entry in parse("a.py", text).outline) < 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "unit"), [("c", "a=>"), ("java", "List<Map<"), ("csharp", "a<"), ("bash", "if(a)b;else ")]
)
def test_what_makes_a_grammar_quadratic_is_given_up(language: str, unit: str) -> None:
    document = parse_code(unit * (100_000 // len(unit)), language)
    assert document.outline == ()

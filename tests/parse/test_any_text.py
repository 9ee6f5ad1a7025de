"""No text breaks a parser, and no text loses a byte on its way into passages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openviking.parse import file_abstract, file_overview, heading_outline, parse
from openviking.parse.grammars import LANGUAGES

NAMES = [
    *"a.md a.txt a.rst a.html a.json a.jsonl a.yaml a.toml a.ini a.csv a.tsv a.xml a.sql README Dockerfile a.c a.cpp".split(),
    *"a.py a.js a.ts a.tsx a.java a.cs a.go a.rs a.php a.rb a.kt a.swift a.scala a.sh a.lua".split(),
]
FRAGMENTS = [
    *'# ## - --- === ``` ~~~ <!-- --> < > </ <h1> </h1> <p> <script> </script> <a_href=" \' " \\ { } [ ] ( ) , : ; ='.split(),
    *"def_f(): class_A: function_f(){ fn_f(){ func_f(){ struct_S{ end <?php // /* */ -- | key: 中文 。 😀 é é ok".split(),
    *[
        "\n",
        "\n\n",
        "\r",
        "\r\n",
        "\t",
        " ",
        "    ",
        "\0",
        "\ufeff",
        "\u2028",
        "\x0b",
        "‍",
        "e\u0301",
        "word " * 40,
        "a;" * 300,
    ],
]
fragments = st.lists(st.sampled_from([part.replace("_", " ") for part in FRAGMENTS]), max_size=60).map("".join)
texts = st.one_of(fragments, st.text(max_size=400), st.text(max_size=30).map(lambda part: part * 100))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=texts)
def test_every_parser_takes_any_text(name: str, text: str, checked: Any) -> None:
    document = parse(name, text)
    checked(document, text)
    abstract, overview = file_abstract(name, document, text), file_overview(name, document, text)
    heading_outline(document, text)
    assert len(abstract) <= 256
    assert "\n" not in abstract
    assert len(overview) <= 4000
    assert bool(text) == bool(abstract) == bool(overview)
    assert parse(name, text) == document


PATHOLOGICAL = {
    "brackets": "[" * 60_000,
    "braces": '{"a":' * 12_000,
    "tags": "<div>" * 12_000,
    "unclosed": "<a b='" * 9_000,
    "minified": "function f(a){return a+1};" * 2_500,
    "one word": "x" * 90_000,
    "one line": "lorem ipsum dolor " * 5_000,
    "chinese": "这是一个句子。" * 4_000,
    "lone cr": "a b c\r" * 12_000,
    "newlines": "\n" * 90_000,
    "nul": "\0" * 40_000,
    "emoji": "👩‍👩‍👧" * 7_000,
    "combining": "e" + "\u0301" * 40_000,
}


@pytest.mark.cpu_budget(8)
@pytest.mark.parametrize("case", sorted(PATHOLOGICAL))
@pytest.mark.parametrize("name", ["a.md", "a.txt", "a.html", "a.json", "a.yaml", "a.csv", "a.py"])
def test_pathological_texts_take_bounded_time(name: str, case: str, checked: Any) -> None:
    text = PATHOLOGICAL[case]
    passages = checked(parse(name, text), text)
    assert len(passages) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_grammars_survive_text_that_is_not_theirs(language: str) -> None:
    from openviking.parse.code import parse_code

    for unit in (
        "(",
        "[",
        "{",
        "a<",
        "\"'`",
        "\0\r中 ",
        "if(a)b;else ",
        "class A {",
        "<<EOF\n",
        '"${',
        "#if a\n",
        "a.b.",
    ):
        text = unit * (30_000 // len(unit))
        document = parse_code(text, language)
        assert document.sections[-1].end == len(text)

"""JSON, YAML, TOML, INI, CSV: sections by key, also in files that are broken or enormous."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openviking.parse import parse


def test_json_sections_follow_keys(checked: Any) -> None:
    value = {"name": "pkg", "description": "Does a few useful things.", "servers": {}, "last": 1}
    value["servers"] = {f"host{number}": {"port": number, "path": "/srv/data/" * 4} for number in range(60)}
    for text in (json.dumps(value), json.dumps(value, indent=2)):
        document = parse("a.json", text)
        assert document.title == "pkg"
        assert document.lead == "Does a few useful things."
        assert ("servers", "host7") in [section.headings for section in document.sections]
        passages = checked(document, text)
        assert any(passage.breadcrumb == "servers" for passage in passages)


def test_json_outline_names_each_key_once() -> None:
    text = json.dumps({"items": [{"id": n, "text": "lorem ipsum dolor"} for n in range(200)], "total": 200})
    assert [entry.signature for entry in parse("a.json", text).outline] == ["items", "total: 200"]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": {"b": [1, 2',
        "[1, 2",
        "{,}",
        '{"a" 1}',
        "not json",
        '{"a": 1} trailing',
        "\ufeff{}",
        '{"a": "\ud7ff',
        "[[",
        "]",
    ],
)
def test_broken_json_is_still_text(text: str, checked: Any) -> None:
    (passage,) = checked(parse("a.json", text), text)
    assert passage.body == text


@pytest.mark.cpu_budget(5)
def test_json_of_one_enormous_line(checked: Any) -> None:
    text = json.dumps([{"id": number, "text": "some words to be found " * 3} for number in range(10_000)])
    assert len(checked(parse("a.json", text), text)) > 700


def test_yaml_divides_large_keys(checked: Any) -> None:
    services = "".join(f"  svc{n}:\n    image: registry/image{n}\n    command: run --now\n" for n in range(60))
    text = f"# about\nname: demo\nservices:\n{services}volumes:\n  data: {{}}\n"
    document = parse("a.yml", text)
    headings = [section.headings for section in document.sections]
    assert headings[0] == ("name",)
    assert ("services", "svc3") in headings
    assert headings[-1] == ("volumes",)
    assert document.title == "demo"
    checked(document, text)


def test_toml_and_ini_sections_are_tables(checked: Any) -> None:
    text = 'title = "Thing"\n\n[tool.one]\nx = 1\n# about two\n[[tool.two]]\ny = 2\n'
    document = parse("a.toml", text)
    assert [section.headings for section in document.sections] == [("title",), ("tool.one",), ("tool.two",)]
    assert text[document.sections[2].start :].startswith("# about two")
    assert document.title == "Thing"
    checked(document, text)
    assert [section.headings for section in parse("a.ini", "[a]\nx=1\n[b]\ny=2\n").sections] == [("a",), ("b",)]


def test_csv_rows_may_hold_line_ends(checked: Any) -> None:
    text = "id,note\n" + "".join(f'{n},"two\nlines {n}"\n' for n in range(150))
    document = parse("a.csv", text)
    assert document.lead == "Table with 150 rows and the columns id, note"
    assert all(passage.body.endswith('"\n') for passage in checked(document, text))


def test_a_table_of_numbers_has_no_header() -> None:
    assert parse("a.csv", "1,2\n3,4\n").sections[0].headings == ()

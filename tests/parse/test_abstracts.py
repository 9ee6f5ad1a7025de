"""L0 and L1 by extraction: bounded, never empty, useful to whoever chooses where to look."""

from __future__ import annotations

import pytest

from openviking.parse import (
    ChildSummary,
    directory_abstract,
    directory_overview,
    file_abstract,
    file_overview,
    heading_outline,
    parse,
)


def abstract(name: str, text: str) -> str:
    return file_abstract(name, parse(name, text), text)


def overview(name: str, text: str) -> str:
    return file_overview(name, parse(name, text), text)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "a.md",
            "# Backup\n\nKeeps copies of your files safe. More.\n\n## Setup\n\nx\n\n## Restore\n\ny\n",
            "Backup — Keeps copies of your files safe. Sections: Setup, Restore",
        ),
        (
            "a.py",
            '"""Reads tables from disk."""\n\ndef load(): pass\n\nclass Table: pass\n',
            "Reads tables from disk. Defines: load, Table",
        ),
        ("b.json", '{"alpha": 1, "beta": [2]}', "b.json. Keys: alpha, beta"),
        ("n.txt", "hello\n", "n.txt — hello"),
        ("n.txt", " \n", "n.txt"),
        ("n.txt", "", ""),
        (
            "zh.md",
            "# 标题\n\n这是一个关于数据库的文件，说明如何使用。后面还有。\n",
            "标题 — 这是一个关于数据库的文件，说明如何使用。",
        ),
    ],
)
def test_file_abstract(name: str, text: str, expected: str) -> None:
    assert abstract(name, text) == expected


def test_overview_of_prose_is_the_tree_with_leads() -> None:
    text = "# Backup\n\nKeeps copies of your files safe.\n\n## Setup\n\nInstall the package first.\n\n### Linux\n"
    assert overview("a.md", text) == (
        "Backup\nKeeps copies of your files safe.\n\n# Backup\n  ## Setup — Install the package first.\n    ### Linux"
    )


def test_overview_of_code_is_its_outline() -> None:
    text = 'class Stack:\n    """Last in, first out."""\n    def push(self, item: int) -> None:\n        pass\n'
    assert overview("s.py", text) == ("s.py\nLast in, first out.\n\nclass Stack\n  def push(self, item: int) -> None")


def test_overview_of_a_large_file_counts_what_it_leaves_out() -> None:
    text = "".join(f"def function_number_{number}(argument):\n    return argument\n\n" for number in range(400))
    found = overview("big.py", text)
    assert len(found) <= 4000
    shown = sum(line.startswith("def ") for line in found.splitlines())
    assert found.endswith(f"… and {400 - shown} more")


def test_heading_outline_of_the_contract() -> None:
    text = "# A\n\ntext one\n\n## B\nmore"
    assert heading_outline(parse("a.md", text), text) == "# A\n  ## B\n\ntext one"
    deep = "".join(f"{'#' * (1 + number % 5)} H{number}\n" for number in range(60))
    lines = heading_outline(parse("a.md", deep), deep).split("\n\n")[0].split("\n")
    assert len(lines) == 24
    assert not any("####" in line for line in lines)


CHILDREN = [
    ChildSummary("README.md", False, "README.md — The project keeps backups. Sections: A, B"),
    ChildSummary("main.py", False, "main.py — Starts it. Defines: main"),
    ChildSummary("src", True, "src: code of the project"),
]


def test_directory_texts_put_readme_and_directories_first() -> None:
    assert directory_abstract("proj", CHILDREN, 50) == (
        "proj: The project keeps backups. (50 entries: src/, main.py, … 47 more)"
    )
    assert directory_overview("proj", CHILDREN, 50) == (
        "# proj\n\nThe project keeps backups. Sections: A, B\n\n"
        "- src/ — code of the project\n- README.md\n- main.py — Starts it. Defines: main\n… and 47 more"
    )


def test_directory_texts_are_never_empty() -> None:
    for name in ("x", "", "/"):
        assert directory_abstract(name, [], 0)
        assert directory_overview(name, [], 0)
    assert directory_abstract("x", [], 0, "Notes of the team") == "x: Notes of the team"
    assert directory_abstract("x", [ChildSummary("a", False, "")], 1) == "x (1 entry: a)"


@pytest.mark.parametrize("count", [1, 40, 3000])
@pytest.mark.parametrize("length", [0, 10, 400])
def test_directory_texts_are_bounded_and_say_how_many_more(count: int, length: int) -> None:
    children = [ChildSummary(f"file number {n}.txt", n % 3 == 0, "word " * (length // 5)) for n in range(count)]
    short = directory_abstract("d" * 300, children, count + 5, "text " * length)
    long = directory_overview("d" * 300, children, count + 5, "text " * length)
    assert len(short) <= 256
    assert "\n" not in short
    assert len(long) <= 4000
    shown = sum(line.startswith("- ") for line in long.splitlines())
    assert shown
    assert long.endswith(f"… and {count + 5 - shown} more")


def test_a_licence_and_a_navigation_are_not_what_a_file_is_about() -> None:
    code = "# engine/typing.py\n# Copyright (C) 2022 the authors\n#\n# This is released under the MIT License: x\n\ndef go():\n    pass\n"
    assert file_abstract("typing.py", parse("typing.py", code), code) == "typing.py. Defines: go"
    page = "<title>Pools</title><ul><li><a href='/'>Start</a></li><li>Index</li></ul><h1>Pools ¶</h1><p>A pool keeps connections for those who come next.</p>"
    document = parse("pools.html", page)
    assert document.sections[-1].headings[-1] == "Pools"
    assert file_abstract("pools.html", document, page).startswith("Pools — A pool keeps connections for those who come")


def test_the_readme_speaks_before_its_relatives() -> None:
    children = [
        ChildSummary("README.dialects.rst", False, "Developing new dialects"),
        ChildSummary("README.rst", False, "A toolkit for databases"),
    ]
    assert directory_abstract("lib", children, 2).startswith("lib: A toolkit for databases")


def test_a_name_between_underscores_is_no_emphasis() -> None:
    text = "Call __init__ and _then_ the *rest* of __all of it__ here, please.\n"
    assert "Call __init__ and _then_ the rest of all of it here" in file_abstract("a.md", parse("a.md", text), text)

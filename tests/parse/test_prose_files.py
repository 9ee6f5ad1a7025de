"""Markdown, plain text and HTML: which headings count, what the title and the lead are, what is searched."""

from __future__ import annotations

from typing import Any

import pytest

from openviking.parse import parse

MARKDOWN = """---
title: "The Manual"
tags: [alpha, beta]
authors:
  - Ada
description: >
  How to run the machine.
---
Preamble words.

# First **bold** [link](http://example.com) #

Intro paragraph.

```sh
# not a heading
```

~~~
## nor this
~~~

<!--
# hidden
-->

Setext one
==========

Setext two
---

### Deep `code` {#anchor}

- a list
---

text
"""


def titles(name: str, text: str) -> list[tuple[str, ...]]:
    return [section.headings for section in parse(name, text).sections if section.headings]


def test_markdown_headings_make_a_tree() -> None:
    assert titles("a.md", MARKDOWN) == [
        ("First bold link",),
        ("Setext one",),
        ("Setext one", "Setext two"),
        ("Setext one", "Setext two", "Deep code"),
    ]


def test_front_matter_gives_title_lead_and_keywords() -> None:
    document = parse("a.md", MARKDOWN)
    assert document.title == "The Manual"
    assert document.lead == "How to run the machine."
    assert document.keywords == ("alpha", "beta", "Ada")
    assert document.sections[0].end == MARKDOWN.index("Preamble")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#no blank", []),
        ("####### seven", []),
        ("    # indented code", []),
        ("   # three blanks", [("three blanks",)]),
        ("# A\r\n\r\ntext\r\n## B\r\n", [("A",), ("A", "B")]),
        ("## B\n# A\n## C\n", [("B",), ("A",), ("A", "C")]),
        ("```\n# unclosed fence\n", []),
        ("````\n```\n# still code\n````\n# out\n", [("out",)]),
        ("- item\n---\n", []),
        ("#\n\nempty heading", []),
    ],
)
def test_markdown_edge_cases(text: str, expected: list[tuple[str, ...]]) -> None:
    assert titles("a.md", text) == expected


def test_markdown_lead_skips_badges_and_tables() -> None:
    text = "# T\n\n[![build](x.svg)](y)\n\n| a | b |\n|---|---|\n\nThis tool converts files quickly.\n"
    assert parse("a.md", text).lead == "This tool converts files quickly."


def test_unclosed_front_matter_is_text() -> None:
    document = parse("a.md", "---\ntitle: x\n\n# Real\n")
    assert document.title == "Real"


def test_plain_headings_only_where_certain() -> None:
    text = (
        "Report\n======\n\nSome words about it here.\n\nNAME\n\n  foo\n\n1.2 Scope of work\n\nI AM SHOUTING, really.\n"
    )
    assert titles("a.txt", text) == [("Report",), ("NAME",), ("NAME", "1.2 Scope of work")]


def test_restructured_text_levels_follow_first_use() -> None:
    text = "Top\n***\n\nwords\n\nSub\n+++\n\nmore\n\nSub2\n++++\n\nNext\n****\n"
    assert titles("a.rst", text) == [("Top",), ("Top", "Sub"), ("Top", "Sub2"), ("Next",)]


HTML = """<!DOCTYPE html><html><head><title>A &amp; B</title>
<meta name="description" content="Everything about the two letters.">
<script>var needle = "in script";</script></head>
<body class="x"><h1>Big <em>Title</em></h1><p>First paragraph with &lt;words&gt;.</p>
<h2>Part</h2><img alt="a red fox" src="data:image/png;base64,AAAA"><a href="https://example.org/page">go</a>
<!-- a comment --></body></html>"""


def test_html_body_has_text_and_telling_attributes_but_no_tags(checked: Any) -> None:
    document = parse("a.html", HTML)
    (passage,) = checked(document, HTML)
    for wanted in ("A & B", 'needle = "in script"', "<words>", "a red fox", "https://example.org/page", "a comment"):
        assert wanted in passage.body
    for unwanted in ("<p>", "class", "base64"):
        assert unwanted not in passage.body


def test_html_title_lead_and_headings() -> None:
    document = parse("a.html", HTML)
    assert document.title == "A & B"
    assert document.lead == "Everything about the two letters."
    assert titles("a.html", HTML) == [("Big Title",), ("Big Title", "Part")]


def test_html_of_tags_alone_is_searched_as_it_is(checked: Any) -> None:
    text = "<div class='wanted'><span></span></div>" * 100
    assert all("wanted" in passage.body for passage in checked(parse("a.html", text), text))


def test_every_word_of_a_long_page_is_in_some_body(checked: Any) -> None:
    text = "<ul>" + "".join(f"<li><a href='/p/{n}'>entry{n}</a></li>" for n in range(900)) + "</ul>"
    bodies = " ".join(passage.body for passage in checked(parse("a.html", text), text))
    assert all(f"entry{number}" in bodies for number in range(900))

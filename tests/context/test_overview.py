"""Overviews of memories, directories, programs and long documents (contract/retrieval.md §5.9)."""

from __future__ import annotations

import pytest

from openviking.context.candidates import Candidate
from openviking.context.overview import overview_of, summary_of, without_front_matter

EVENT = Candidate("viking://user/ann/memories/events/2026/01/02/x.md", "events", 0.5, context_type="memory")
FILE = Candidate("viking://resources/a.md", "resources", 0.5)
FIELDS = '\n\n<!-- MEMORY_FIELDS {"memory_type": "events"} -->\n'


def test_the_two_examples() -> None:
    assert overview_of(EVENT, "# Summary\ngist\n\n# ChatLog:\nnoise") == "gist"
    assert overview_of(FILE, "# A\n\ntext one\n\n## B\nmore") == "# A\n  ## B\n\ntext one"


@pytest.mark.parametrize(
    ("body", "summary"),
    [
        ("### SUMMARY\none\n\ntwo\n# Next\nthree", "one\n\ntwo"),
        ("# Talk\nintro\n## summary:\ngist\n#### inside\nmore\n### out\nno", "gist\n#### inside\nmore"),
        ("## Summary ##\ngist", "gist"),
        ("# Summary\n\n# ChatLog\nnoise", ""),
        ("# Summary\n\n# Other\nx\n# Summary\nlater", "later"),
        ("#### Summary\ntoo deep", ""),
        ("# Summary of it\nno", ""),
        ("#Summary\nno heading", ""),
        ("# Summary\n```\n# a comment\n```\nafter\n# Next", "```\n# a comment\n```\nafter"),
        ("# Summary\n~~~~\n# a\n~~~\n# b\n~~~~\nend", "~~~~\n# a\n~~~\n# b\n~~~~\nend"),
        ("```\n# Summary\nin a fence\n```", ""),
        ("# Summary\r\ngist\r\n# ChatLog\r\nx", "gist"),
        ("Summary: they met\n  and   talked.\n\nChatLog:\n[ann]: hello", "they met and talked."),
        ("\nsummary: short ## Chat Log: x", "short"),
        ("Summary: all of it", "all of it"),
        ("Summary: they read a chat log together\n\n# Chat Log\nx", "they read a chat log together"),
        ('Summary: a\n<!-- MEMORY_FIELDS {"x": 1} -->\nafter', "a"),
        ("The Summary: is not at the beginning", ""),
        ("", ""),
    ],
)
def test_summaries_of_memories(body: str, summary: str) -> None:
    assert summary_of(body) == summary


def test_a_memory_without_a_summary_is_outlined_without_its_hidden_fields() -> None:
    body = f"# Trip\n\nAnn went to Rome with her sister in May.\n\n## Food\nPasta.{FIELDS}"
    assert overview_of(EVENT, body) == "# Trip\n  ## Food\n\nAnn went to Rome with her sister in May."
    assert overview_of(EVENT, f"# Summary\ngist{FIELDS}") == "gist"
    assert "MEMORY_FIELDS" not in overview_of(EVENT, f"Met Ann in the garden today.{FIELDS}")


def test_a_summary_in_a_resource_is_a_heading_like_others() -> None:
    assert overview_of(FILE, "# Summary\ngist of the whole\n\n# More\nx").startswith("# Summary\n# More\n\ngist")


def test_a_directory_is_its_overview_without_front_matter() -> None:
    directory = Candidate("viking://resources/docs", "resources", 0.5, directory=True)
    assert overview_of(directory, "---\nsource: x\n---\n# docs\n\nAll of it.\n") == "# docs\n\nAll of it.\n"
    assert overview_of(directory, "# docs\n\n---\nnot front matter\n---\n") == "# docs\n\n---\nnot front matter\n---\n"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("---\na: b\n---\nx", "x"), ("---\n---\nx", "x"), ("---\r\na: b\r\n...\r\nx", "x"), ("---\na: b\n---", ""),
        ("---\na: b\nx", "---\na: b\nx"), (" ---\na\n---\n", " ---\na\n---\n"), ("----\na\n---\n", "----\na\n---\n"),
        ("", ""),
    ],
)  # fmt: skip
def test_front_matter(text: str, rest: str) -> None:
    assert without_front_matter(text) == rest


def test_code_is_told_by_its_signatures() -> None:
    code = Candidate("viking://resources/src/shop.py", "resources", 0.5)
    body = 'class Cart:\n    """What is bought."""\n\n    def add(self, item: str) -> None:\n        self.x = item\n\n\ndef total(cart: Cart) -> int:\n    return 1\n'
    told = overview_of(code, body)
    assert told.splitlines() == ["class Cart", "  def add(self, item: str) -> None", "def total(cart: Cart) -> int"]


def test_a_long_document_has_24_headings_and_400_characters() -> None:
    body = (
        "# Guide\n\n" + "word " * 300 + "\n\n" + "".join(f"## Part {n}\n\ntext\n\n#### Deep {n}\n\n" for n in range(40))
    )
    told = overview_of(FILE, body).split("\n")
    blank = told.index("")
    assert told[:3] == ["# Guide", "  ## Part 0", "  ## Part 1"]
    assert blank == 24
    assert not any("Deep" in line for line in told)
    assert len(told) == 26
    assert len(told[-1]) <= 400

"""Preparing is total: whatever a parser does, the file is stored whole and its words are found."""

from __future__ import annotations

import hashlib
import logging

import pytest

from openviking.ingest.prepare import PREPARED, prepare
from openviking.parse.document import Document, Section

TEXT = "# Zorblax\n\n" + "plugh quuxify é\n" * 400


def fails(_name: str, _text: str) -> Document:
    """A parser that goes too deep."""
    return fails(_name, _text)


def lies(_name: str, text: str) -> Document:
    """A parser whose sections are not in the text."""
    return Document("markdown", "markdown", "Zorblax", "", (Section(5, len(text) + 10), None))  # type: ignore[arg-type]


@pytest.mark.parametrize(("parser", "error"), [(fails, "RecursionError"), (lies, "")])
def test_a_parser_that_trips_leaves_plain_text(
    caplog: pytest.LogCaptureFixture, parser: type[Document], error: str
) -> None:
    with caplog.at_level(logging.ERROR):
        content = prepare("a.md", TEXT.encode(), parser=parser)
    assert content.fault.startswith(error)
    assert content.fault
    assert content.kind == "text"
    assert content.prepared == PREPARED
    ends = [passage.end for passage in content.passages]
    assert [passage.start for passage in content.passages] == [0, *ends[:-1]]
    assert ends[-1] == len(TEXT.encode())
    assert any("zorblax" in passage.body_terms + passage.heading_terms for passage in content.passages)
    assert "a.md" in caplog.text


def test_no_fault_without_one() -> None:
    assert prepare("a.md", TEXT.encode()).fault == ""


@pytest.mark.parametrize("data", [b"", b"\x00\x01\x02\xff" * 9, TEXT.encode(), TEXT.encode("utf-16")])
def test_the_digests_are_those_of_the_bytes(data: bytes) -> None:
    content = prepare("a.md", data)
    assert content.hash == hashlib.sha256(data).digest()
    assert content.text_hash == (None if content.text is None else hashlib.sha256(content.text).digest())
    assert prepare("a.md", data, content.hash) == content

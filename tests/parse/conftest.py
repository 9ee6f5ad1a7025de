"""What must hold for the passages of every file, whatever parsed it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from openviking.parse import Document, Passage, cut
from openviking.text import estimate_tokens

Checked = Callable[[Document, str], tuple[Passage, ...]]


def _checked(document: Document, text: str) -> tuple[Passage, ...]:
    raw = text.encode()
    assert "".join(text[section.start : section.end] for section in document.sections) == text
    assert all(section.start < section.end for section in document.sections)
    assert list(document.breaks) == sorted(document.breaks)
    passages = cut(document, text)
    assert b"".join(raw[passage.start : passage.end] for passage in passages) == raw
    at, line = 0, 1
    for passage in passages:
        piece = raw[passage.start : passage.end]
        assert passage.start == at < passage.end
        assert passage.first_line == line
        assert passage.last_line == line + piece[:-1].count(b"\n")
        assert estimate_tokens(passage.body) <= 300
        assert len(passage.breadcrumb) <= 300
        assert piece.decode().strip() == "" or passage.body.strip()
        if document.kind != "html":
            assert passage.body == piece.decode()
        at, line = passage.end, line + piece.count(b"\n")
    assert at == len(raw)
    return passages


@pytest.fixture(name="checked")
def checked_passages() -> Checked:
    """Cuts a document and checks: every byte covered once, whole code points, 300 tokens at most, lines right."""
    return _checked

"""Invariant 4: every byte of every text file is inside a passage."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openviking import OpenViking
from openviking.ingest.prepare import prepare

NAMES = ["a.md", "a.txt", "a.py", "a.js", "a.html", "a.json", "a.yaml", "a.toml", "a.csv", "Makefile", "a.unknown"]
PIECES = ["# Title\n", "word ", "\n", "\r\n", "\t", "def f():\n    pass\n", "<p>x</p>", "{", "}", '"k": 1,', "- item\n",
          "```\n", "é", "字", "\U0001f600", "\u0300", "\ufeff", "\x00", "---\n", "a,b\n", "x" * 400, "字" * 300]  # fmt: skip

texts = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@pytest.mark.cpu_budget(10)
@settings(max_examples=60)
@given(name=st.sampled_from(NAMES), text=texts)
def test_passages_cover_any_text_of_any_kind(name: str, text: str) -> None:
    content = prepare(name, text.encode())
    if content.text is None:
        assert "\x00" in text
        return
    position, line = 0, 1
    for passage in content.passages:
        assert passage.start == position < passage.end
        assert passage.first_line <= passage.last_line
        assert passage.first_line == content.text[: passage.start].count(b"\n") + 1
        assert passage.first_line >= line
        piece = content.text[passage.start : passage.end]
        piece.decode()
        position, line = passage.end, passage.first_line
    assert position == len(content.text)


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_file_is_the_sum_of_its_passages(ov: OpenViking, name: str) -> None:
    text = "".join(PIECES[number % len(PIECES)] for number in range(0, 900, 7)).replace("\x00", "")
    uri = f"viking://resources/{name}"
    ov.write(uri, text, "create")
    assert ov.download(uri) == text.encode()
    with ov._accounts.store(ov._identity).read() as view:
        node = view.get(f"resources/{name}")
        assert node is not None
        assert "".join(view.slice(node, row.start, row.end) for row in view.passages(node)) == ov.read(uri)
    assert ov.check() == []


@pytest.mark.parametrize(
    "text",
    ["---\ntitle: zorblax\n---\nbody", "a\r\nb\r\n", "no final newline", "\ufeffwith a mark", "trailing  \t \n\n", "\t",
     "e\u0301 and \u00e9", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u202eright to left\u202c שלום", ""],
)  # fmt: skip
def test_bytes_out_are_bytes_in(ov: OpenViking, text: str) -> None:
    ov.write("viking://resources/a.md", text, "create")
    assert ov.download("viking://resources/a.md") == text.encode()
    assert ov.read("viking://resources/a.md") == text
    if "zorblax" in text:
        assert ov.find("zorblax", level=2).total == 1

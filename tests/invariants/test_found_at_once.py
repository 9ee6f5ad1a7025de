"""Invariant 3: when a write returns, its own words find it, in every mode and to the last byte."""

from __future__ import annotations

import pytest

from openviking import OpenViking

ROOT = "viking://resources"


def files_with(ov: OpenViking, query: str) -> list[str]:
    return [hit.uri for hit in ov.find(query, level=2)]


def test_each_way_of_writing_is_found_when_it_returns(ov: OpenViking) -> None:
    uri = f"{ROOT}/notes/a.md"
    for number in range(20):
        ov.write(f"{ROOT}/notes/other{number}.md", f"About something else entirely, page {number}.\n", "create")
    ov.write(uri, "Release checklist.\n\nThe rollback password phrase is zorblax.\n", "create")
    assert files_with(ov, "zorblax") == [uri]
    assert uri in files_with(ov, "release rollback checklist")[:3]
    ov.write(uri, "And quuxify too.\n", "append")
    assert files_with(ov, "quuxify") == files_with(ov, "zorblax") == [uri]
    ov.write(uri, "Now frobnicate only.\n")
    assert files_with(ov, "frobnicate") == [uri]
    assert files_with(ov, "zorblax quuxify") == []
    ov.mv(uri, f"{ROOT}/b.md")
    assert files_with(ov, "frobnicate") == [f"{ROOT}/b.md"]
    ov.set_tags(f"{ROOT}/b.md", ["team=search"])
    assert [hit.uri for hit in ov.find("frobnicate", tags=["team=search"])] == [f"{ROOT}/b.md"]
    ov.rm(f"{ROOT}/b.md")
    assert files_with(ov, "frobnicate") == []


def test_leaving_out_the_level_finds_no_less(ov: OpenViking) -> None:
    for number in range(5):
        ov.write(f"{ROOT}/d{number}/a.md", f"# Zorblax\n\ntext {number}\n", "create")
    ov.wait_processed(30)
    every = {hit.uri for hit in ov.find("zorblax", limit=100)}
    for level in (0, 1, 2):
        found = {hit.uri for hit in ov.find("zorblax", level=level, limit=100)}
        assert level != 2 or found
        assert len(every) >= len(found)
    first = ov.find("zorblax").hits[0]
    assert first.level == 2


@pytest.mark.cpu_budget(6)
def test_the_tail_of_a_single_line_of_300_kilobytes_is_found(ov: OpenViking) -> None:
    text = " ".join(f"filler{number % 977} prose" for number in range(20_000)) + " the tail says zorblax"
    assert len(text) > 300_000
    ov.write(f"{ROOT}/line.txt", text, "create")
    [hit] = ov.find("zorblax", level=2)
    assert hit.uri == f"{ROOT}/line.txt"
    assert "zorblax" in hit.snippet
    assert hit.lines == (1, 1)
    [match] = ov.grep(ROOT, "zorblax")
    assert match.content == text


@pytest.mark.cpu_budget(8)
def test_sections_in_the_middle_and_at_the_end_of_a_long_file_are_found(ov: OpenViking) -> None:
    sections = [f"# Section {number}\n\n" + f"Some ordinary prose of part {number}. " * 200 for number in range(40)]
    sections[20] += "\nThe middle holds quuxify."
    sections[39] += "\nThe end holds zorblax."
    text = "\n\n".join(sections)
    ov.write(f"{ROOT}/long.md", text, "create")
    for word, section in (("quuxify", "Section 20"), ("zorblax", "Section 39")):
        hit = ov.find(word, level=2).hits[0]
        assert hit.lines is not None
        cited = ov.read(hit.citation)
        assert word in cited
        assert word in hit.snippet
        assert section in text[: text.index(word)].rpartition("# ")[2] or section in cited


def test_text_of_every_size_around_the_inline_limit_is_found(ov: OpenViking) -> None:
    for size in (65_534, 65_535, 65_536, 262_143, 262_144, 262_145):
        uri, word = f"{ROOT}/s{size}.txt", "w" + "".join(chr(ord("a") + int(digit)) for digit in str(size))
        ov.write(uri, "x" * (size - len(word) - 1) + " " + word, "create")
        assert ov.stat(uri)["size"] == size
        assert files_with(ov, word) == [uri]
        ov.write(uri, f"\nmore {word}more", "append")
        assert files_with(ov, f"{word}more") == [uri]
        ov.rm(uri)
        assert files_with(ov, f"{word} {word}more") == []
    ov.wait_processed(30)
    assert ov.check() == []

"""A grep for plain text, of which the store sorts files out, gives what reading every file would give."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from openviking import OpenViking

FOUND_NOWHERE = "(?!)"
"""Together with it a pattern is no plain text, so every file is read."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenViking]:
    folder = tmp_path_factory.mktemp("store")
    with OpenViking(path=folder, embedder="none", workers=0) as ov:
        root = "viking://resources/texts"
        ov.write(f"{root}/small.txt", "one needle\nno\nneedle and needle\n", mode="create")
        ov.write(f"{root}/large.txt", ("x" * 99 + "\n") * 3_000 + "the needle at the end\n", mode="create")
        ov.write(f"{root}/large_without.txt", ("y" * 99 + "\n") * 3_000, mode="create")
        ov.write(f"{root}/other.txt", "Needle, nädel, 针 and 干草\n", mode="create")
        ov.write(f"{root}/empty.txt", "", mode="create")
        ov.write(f"{root}/split.txt", "nee\ndle\n", mode="create")
        memory = "viking://user/default/memories/preferences"
        ov.write(f"{memory}/hay.md", 'dry hay\n<!-- MEMORY_FIELDS\n{"needle": 1}\n-->', mode="create")
        ov.write(f"{memory}/needle.md", 'a needle\n<!-- MEMORY_FIELDS\n{"hay": 1}\n-->', mode="create")
        added = folder / "added"
        added.mkdir()
        (added / "latin.txt").write_bytes("eine nädel im Heu, kein needle\n".encode("latin-1") * 40)
        (added / "binary.bin").write_bytes(b"\0\1needle\0")
        (added / ".hidden").write_text("needle")
        ov.add_resource(str(added), to="viking://resources/added")
        yield ov


@pytest.mark.parametrize("where", ["viking://", "viking://resources/texts", "viking://resources/texts/large.txt"])
@pytest.mark.parametrize("text", ["needle", "nädel", "针", "x\ny", "hay", "MEMORY_FIELDS", "zzz", "%", "e n"])
def test_a_literal_finds_what_a_pattern_finds(store: OpenViking, text: str, where: str) -> None:
    literal = store.grep(where, text, node_limit=10_000)
    pattern = store.grep(where, f"(?:{text})|{FOUND_NOWHERE}", node_limit=10_000)
    assert literal == pattern


def test_the_needle_is_found_where_it_stands(store: OpenViking) -> None:
    found = store.grep("viking://", "needle", after_context=1)
    assert {(match.uri.rpartition("/")[2], match.line) for match in found.matches if "latin" not in match.uri} == {
        ("small.txt", 1),
        ("small.txt", 3),
        ("large.txt", 3_001),
        ("needle.md", 1),
    }
    assert sum("latin" in match.uri for match in found.matches) == 40
    assert found.files_scanned == 9

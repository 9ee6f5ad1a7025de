"""Long answers: bounded, told how much there is, and paged to the end without a gap or a repetition."""

from __future__ import annotations

import re
from typing import Any

import pytest

from openviking.errors import InvalidArgumentError
from openviking.mcp.desk import Desk
from openviking.mcp.listing import Tree, _tree
from openviking.mcp.paging import MAX_TOKENS, cut_line, paged, start_of
from openviking.mcp.reading import _part
from openviking.model.identity import Identity
from openviking.text import estimate_tokens

BOUND = MAX_TOKENS + 600
"""With headings, notes and one entry that does not fit any more."""

ROOT = Identity(account="default", user="default", role="root")
D = "viking://resources/long"
CURSOR = re.compile(r'cursor="([^"]+)"\.\]')


async def pages(agent: Any, tool: str, **arguments: Any) -> list[str]:
    """All answers of a call, its cursors followed to the end."""
    found: list[str] = []
    cursor = ""
    while True:
        text = await agent.call(tool, **arguments, **({"cursor": cursor} if cursor else {}))
        assert estimate_tokens(text) <= BOUND
        found.append(text)
        assert len(found) < 100, "it does not end"
        marks = CURSOR.findall(text)
        if not marks:
            return found
        assert marks[-1] != cursor
        cursor = marks[-1]


def joined(texts: list[str]) -> str:
    """Parts of a file put together."""
    return "".join(re.sub(r"\n\n\[[^\n]*cursor=[^\n]*\]\Z", "", text) for text in texts)


@pytest.mark.cpu_budget(10)
async def test_every_tool_is_paged_to_the_end(opened: Any) -> None:
    lines = "".join(f"line {number} of a long file about koalas and {'leaves ' * 8}\n" for number in range(1_200))
    wide = "一行很长的中文。" * 4_000 + "\nend"
    async with opened() as place, place.agent() as agent:
        names = [f"file-{number:04}-{'x' * 60}.md" for number in range(420)]
        operations = [{"uri": f"{D}/many/{name}", "content": f"koala {name}", "mode": "create"} for name in names]
        place.services.fs.mkdir(ROOT, f"{D}/many")
        for begin in range(0, len(operations), 250):
            place.services.batches.write(ROOT, f"{D}/many", operations[begin : begin + 250], wait=False)
        await agent.call("write", uri=f"{D}/a.md", content=lines)
        await agent.call("write", uri=f"{D}/wide.md", content=wide)

        read = await pages(agent, "read", uris=f"{D}/a.md")
        assert len(read) > 2
        assert "of 1,200" in read[0]
        assert joined(read) == lines
        assert joined(await pages(agent, "read", uris=f"{D}/wide.md")) == wide
        part = await pages(agent, "read", uris=f"{D}/a.md#L101-L1100")
        assert joined(part) == "".join(lines.splitlines(keepends=True)[100:1100])
        several = await pages(agent, "read", uris=[f"{D}/wide.md", f"{D}/none.md", f"{D}/many/{names[0]}"])
        assert "NOT_FOUND" in several[-1]
        assert f"koala {names[0]}" in several[-1]

        listed = await pages(agent, "list", uri=f"{D}/many")
        assert len(listed) > 1
        assert "of 420" in listed[0]
        assert re.findall(r"^\[file\] (\S+)$", "\n".join(listed), re.MULTILINE) == names
        chosen = await pages(agent, "list", uri=f"{D}/many", offset=300, limit=70)
        assert [len(re.findall(r"^\[file\]", text, re.MULTILINE)) for text in chosen[:1]] == [70]
        tree = await pages(agent, "tree", uri=D)
        assert re.findall(r"^ +(file-\S+) \(", "\n".join(tree), re.MULTILINE) == names
        assert "many/ (continued)" in tree[1]
        globbed = await pages(agent, "glob", pattern="**/file-*", uri=D, node_limit=400)
        assert re.findall(r"^  (\S+)$", "\n".join(globbed), re.MULTILINE) == [f"{D}/many/{name}" for name in names]
        matched = await pages(agent, "grep", uri=f"{D}/a.md", pattern=["koalas", "line 7.. "], node_limit=800)
        assert "Found 1,300 match(es) across 2 pattern(s)" in matched[0]
        numbers = re.findall(r"^  L(\d+) \[koalas\]", "\n".join(matched), re.MULTILINE)
        assert numbers == [str(number + 1) for number in range(1_200)]
        hits = await pages(agent, "find", query="koala file", limit=100, min_score=0, target_uri=f"{D}/many", level=2)
        found = re.findall(r"^- \[resource \d+%\] (\S+?)(?:#\S+)?$", "\n".join(hits), re.MULTILINE)
        assert len(found) == len(set(found)) == 420
        whole = await agent.call("find", query="koalas leaves", target_uri=f"{D}/a.md", read_content=True, min_score=0)
        assert estimate_tokens(whole) <= BOUND
        assert "of 1,200; for more, read" in whole


@pytest.mark.parametrize(
    "text", ["", "x", "\n", "a\n\nb", "a" * 50 + "\n" + "b" * 50, "界" * 40, "𝒳" * 30 + "\n\n" + "é" * 30 + "\n"]
)
@pytest.mark.parametrize("left", [1, 3, 8, 100])
def test_parts_of_a_text_put_together_are_the_text(text: str, left: int) -> None:
    got, line, char = "", 0, 0
    for _ in range(200):
        part, note = _part(text, 0, line, char, left)
        got += part
        if note is None:
            break
        assert part
        mark = re.search(r'cursor="0:(\d+):(\d+)"', note)
        assert mark
        line, char = int(mark[1]), int(mark[2])
    assert got == text


def test_cursors() -> None:
    assert start_of("") == 0
    assert start_of("12") == 12
    for wrong in ("-1", "1.5", "x", "٣", "1" * 30, "9" * 5_000):
        with pytest.raises(InvalidArgumentError, match="cursor"):
            start_of(wrong)


def test_one_entry_that_is_too_long_is_shown_all_the_same() -> None:
    text = paged("Head:", ["x" * 100_000, "y"], "Entries", 0, 2)
    assert "Entries 1–1 of 2" in text
    assert cut_line("x" * 501).endswith("[cut; the line has 501 characters]")
    assert cut_line("x" * 500) == "x" * 500


async def test_a_page_that_begins_in_the_middle_of_a_tree_says_where(opened: Any) -> None:
    async with opened() as place:
        place.services.content.write(ROOT, f"{D}/a/b/c.md", "x", "create")
        text = _tree(Desk(place.services, ROOT), Tree.of("tree", {"uri": D, "cursor": "2"}))
    assert "a/b/ (continued)\n    c.md (1 B)" in text

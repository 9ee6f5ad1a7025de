"""Every tool through the official client over HTTP, with good and bad arguments."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from typing import Any

import pytest

from openviking.mcp import protocol
from openviking.mcp.finding import _block
from openviking.mcp.tools import TOOLS, offered
from openviking.model.hit import Hit
from openviking.text import estimate_tokens

D = "viking://resources/zoo"
F = f"{D}/koala.md"
TEXT = "# Koala\n\nKoalas eat eucalyptus leaves.\nThey sleep for twenty hours.\n"
SKILL = "---\nname: feeding\ndescription: How koalas are fed.\n---\n\nGive leaves.\n"

GOOD: list[tuple[str, dict[str, Any], str]] = [
    ("health", {}, r"healthy\. You are default"),
    ("read", {"uris": [F]}, rf"^{re.escape(TEXT)}$"),
    ("read", {"uris": F}, r"^# Koala"),
    ("read", {"uris": f"{F}#L3-L3"}, r"^Koalas eat eucalyptus leaves\.\n$"),
    ("read", {"uris": F, "offset": "2", "limit": 1}, r"^Koalas eat eucalyptus leaves\.\n$"),
    ("read", {"uris": [F, f"{D}/none.md"]}, r"=== .*koala\.md ===\n# Koala.*=== .*none\.md ===\nNOT_FOUND"),
    ("list", {"uri": D}, r"^\[file\] koala\.md$"),
    ("list", {}, r"\[dir\] resources.*\[dir\] user"),
    ("list", {"uri": "viking://resources", "recursive": True}, rf"\[file\] {F}"),
    ("list", {"uri": "viking://resources", "sort_by": "mtime", "sort_order": "desc"}, r"\[dir\] zoo"),
    ("tree", {"uri": "viking://resources"}, r"zoo/\n  koala\.md \(\d+ B\)"),
    ("tree", {"uri": "viking://resources", "include_abstract": True}, r"koala\.md \(\d+ B\)\n +Koala"),
    (
        "find",
        {"query": "koalas eucalyptus leaves", "min_score": 0},
        rf"Found 1 item\(s\):\n\n- \[resource \d+%\] {F}#L\d+-L\d+",
    ),
    ("find", {"query": "koalas leaves", "min_score": 0, "read_content": True}, r"---\n    # Koala"),
    ("find", {"query": "koalas leaves", "target_uri": [D], "level": 2, "context_type": "resource", "min_score": 0}, F),
    ("find", {"query": "koalas", "min_score": 0.999}, r"No matching context found\. .* min_score 0\.999"),
    ("find", {"query": "zebra"}, r"^No matching context found\.$"),
    ("search", {"query": "koalas leaves", "min_score": 0, "session_id": "s1", "query_expansion": "auto"}, F),
    ("search", {"query": "eucalyptus", "search_type": "keywords", "min_score": 0}, F),
    ("search", {"query": "koalas leaves", "mode": "context"}, rf'^<memory uri="{F}" type="resources"'),
    (
        "search",
        {
            "query": "koalas leaves",
            "mode": "context",
            "purpose": "coding",
            "detail": "full",
            "session_id": "s1",
            "dedup_turns": 2,
            "other_peer_penalties": {"events": 0.2},
            "max_tokens": 8_000,
            "peer_scope": "actor",
        },
        rf'^<memory uri="{F}" type="resources" score="[\d.]+" detail="full">\n# Koala\n.*</memory>$',
    ),
    (
        "search",
        {"query": "koalas", "mode": "context", "level": 2},
        r"</memory>\n\nNote: without effect in a context: level$",
    ),
    (
        "search",
        {"query": "zebra", "mode": "context", "limit": 3},
        r"^No matching context found\.\n\nNote: nothing relevant",
    ),
    (
        "search",
        {"query": "koalas", "mode": "context", "exclude_uris": ["viking://resources"]},
        r"^No matching context found\.",
    ),
    ("grep", {"uri": D, "pattern": "eucalyptus"}, rf"Found 1 match.*{F}\n  L3: Koalas eat"),
    ("grep", {"uri": D, "pattern": ["EUCA", "sleep"], "case_insensitive": True}, r"L3 \[EUCA\].*L4 \[sleep\]"),
    ("grep", {"uri": D, "pattern": "qqq"}, r"^No matches found"),
    ("glob", {"pattern": "**/*.md", "uri": D}, rf"Found 1 file\(s\):\n\n  {F}"),
    ("glob", {"pattern": "**/*.zip"}, r"^No files found"),
    ("edit", {"uri": F, "old_string": "twenty", "new_string": "20"}, r"^Edited .*Indexing: semantic"),
    ("edit", {"uri": F, "old_string": "eat", "new_string": "eat"}, r"^No changes"),
    ("write", {"uri": f"{D}/new/emu.md", "content": "Emus run."}, r"^Wrote 9 bytes to .*emu\.md \(mode=replace\)"),
    ("write", {"uri": F, "content": "More.\n", "mode": "append", "wait": True}, r"semantic=complete"),
    (
        "remember",
        {"messages": [{"role": "user", "content": "I like oolong tea"}]},
        r"^Stored 1 message\(s\) and committed",
    ),
    ("download", {"uri": F}, r"koala\.md, \d+ bytes.*http://127\.0\.0\.1:1933/api/v1/content/download\?token=\S{43}"),
    ("add_resource", {"path": "/etc/it's.txt"}, r"curl .*it'\\''s\.txt.*/api/v1/resources/temp_upload\?token="),
    ("add_skill", {"data": SKILL}, r"Stored 1 skill\(s\):\n- feeding  viking://user/default/skills/feeding"),
    ("add_skill", {"data": json.dumps({"name": "a_tool", "description": "x", "inputSchema": {}})}, r"- a-tool"),
    ("list_watches", {}, r"^No watch tasks\.$"),
    ("forget", {"uri": F}, r"^Deleted: .*koala\.md$"),
    ("forget", {"uri": D, "recursive": True}, r"^Deleted: .*zoo \(3 files"),
    ("forget", {"uri": f"{D}/none.md"}, r"^Nothing to delete"),
]

BAD: list[tuple[str, dict[str, Any], str]] = [
    ("read", {}, r"INVALID_ARGUMENT: Arguments of read: uris is missing; read takes uris, offset, limit, cursor"),
    ("read", {"uris": []}, "INVALID_ARGUMENT"),
    ("read", {"uris": ["x"] * 201}, "INVALID_ARGUMENT"),
    ("read", {"uris": "http://x"}, "INVALID_URI"),
    ("read", {"uris": D}, "is a directory"),
    ("read", {"uris": f"{D}/none.md"}, "NOT_FOUND"),
    ("read", {"uris": F, "limit": -2}, "INVALID_ARGUMENT"),
    ("read", {"uris": F, "cursor": "0:99:0"}, "fewer lines"),
    ("read", {"uris": F, "cursor": "1:0:0"}, "is none of this tool's"),
    ("read", {"uris": F, "cursor": "²"}, "is none of this tool's"),
    ("read", {"uris": f"{D}/../../user"}, "PERMISSION_DENIED"),
    ("read", {"uris": F, "lines": 3}, "'lines' is not known"),
    ("list", {"uri": f"{D}/none"}, "NOT_FOUND"),
    ("list", {"uri": F}, "FAILED_PRECONDITION"),
    ("list", {"limit": 0}, "INVALID_ARGUMENT"),
    ("list", {"recursive": True, "sort_by": "name"}, "sort_by"),
    ("tree", {"level_limit": 0}, "INVALID_ARGUMENT"),
    ("tree", {"uri": "viking://resources", "cursor": "-1"}, "is none of this tool's"),
    ("find", {"query": ""}, "INVALID_ARGUMENT"),
    ("find", {"query": "x", "limit": 0}, "INVALID_ARGUMENT"),
    ("find", {"query": "x", "level": [9]}, "INVALID_ARGUMENT"),
    ("find", {"query": "x", "target_uri": "viking://nowhere/x"}, r"INVALID_URI|PERMISSION_DENIED|INVALID_ARGUMENT"),
    ("find", {"query": "x", "min_score": "NaN"}, "INVALID_ARGUMENT"),
    ("search", {"query": "x", "mode": "context", "target_uri": D}, "target_uri"),
    ("search", {"query": "x", "mode": "context", "read_content": True}, "read_content"),
    ("search", {"query": "x", "mode": "context", "quotas": {"tools": 1}}, "quotas"),
    ("search", {"query": "x", "mode": "context", "max_tokens": 63}, "INVALID_ARGUMENT"),
    ("search", {"query": "x", "mode": "context", "detail_by_category": {"foo": "full"}}, "detail"),
    ("search", {"query": "x", "mode": "context", "exclude_uris": ["x"] * 201}, "INVALID_ARGUMENT"),
    ("search", {"query": "", "mode": "context"}, "INVALID_ARGUMENT"),
    ("search", {"query": "x", "mode": "context", "cursor": "5"}, r"cursor requires mode='list'"),
    ("search", {"query": "x", "max_tokens": 100}, r"max_tokens requires mode='context'"),
    (
        "search",
        {"query": "x", "exclude_uris": [F], "rewrite": "auto"},
        r"exclude_uris, rewrite requires mode='context'",
    ),
    ("search", {"query": "x", "search_type": "psychic"}, "INVALID_ARGUMENT"),
    ("grep", {"uri": D, "pattern": "("}, "INVALID_ARGUMENT"),
    ("grep", {"uri": D, "pattern": []}, "1 to 20 patterns"),
    ("grep", {"uri": f"{D}/none", "pattern": "x"}, "NOT_FOUND"),
    ("glob", {"pattern": ""}, "INVALID_ARGUMENT"),
    ("edit", {"uri": F, "old_string": "zzz", "new_string": "x"}, "was not found"),
    ("edit", {"uri": F, "old_string": "", "new_string": "x"}, "not be empty"),
    ("edit", {"uri": F, "old_string": "e", "new_string": "x"}, r"stands \d+ times"),
    ("edit", {"uri": D, "old_string": "e", "new_string": "x"}, "is a directory"),
    ("edit", {"uri": f"{D}/none.md", "old_string": "e", "new_string": "x"}, "NOT_FOUND"),
    ("write", {"uri": F, "content": "x", "mode": "create"}, "ALREADY_EXISTS|CONFLICT"),
    ("write", {"uri": f"{D}/a#b.md", "content": "x"}, "may not contain"),
    ("write", {"uri": F, "content": "x", "acl": {"entries": []}}, "UNIMPLEMENTED"),
    ("remember", {"messages": []}, "INVALID_ARGUMENT"),
    ("remember", {"messages": [{"role": "wizard", "content": "x"}]}, "INVALID_ARGUMENT"),
    ("remember", {"messages": [{"role": "user", "content": " "}]}, "nothing to remember"),
    ("download", {"uri": D}, "is a directory"),
    ("add_resource", {}, r"Give path"),
    ("add_resource", {"path": "http://127.0.0.1:8899/x"}, "PERMISSION_DENIED"),
    ("add_resource", {"temp_file_id": "upload_" + "0" * 32}, "PERMISSION_DENIED"),
    ("add_resource", {"path": "/x", "watch_interval": 5}, "can't be watched"),
    ("add_skill", {}, "Give either data"),
    ("add_skill", {"data": "no front matter"}, "INVALID_ARGUMENT"),
    ("add_skill", {"data": "{"}, "JSON object"),
    ("add_skill", {"path": "/etc"}, "UNIMPLEMENTED"),
    ("cancel_watch", {"to_uri": D}, "No watch task found"),
    ("list_users", {}, "PERMISSION_DENIED"),
    ("forget", {"uri": D}, "recursive=true"),
    ("forget", {"uri": "viking://", "recursive": True}, "PERMISSION_DENIED"),
    ("no_such_tool", {}, "There is no tool 'no_such_tool': find, read"),
]


async def test_good_arguments(opened: Any) -> None:
    async with opened() as place, place.agent() as agent:
        await agent.call("write", uri=F, content=TEXT, mode="create")
        for tool, arguments, expected in GOOD:
            text = await agent.call(tool, **arguments)
            assert re.search(expected, text, re.DOTALL), f"{tool} {arguments}: {text}"


async def test_a_block_is_never_larger_than_an_answer_and_says_so(opened: Any) -> None:
    async with opened() as place, place.agent() as agent:
        for number in range(8):
            text = f"# Wombat {number}\n\n" + "".join(f"wombat {number} digs burrow {line}\n" for line in range(1_200))
            await agent.call("write", uri=f"{D}/wombat{number}.md", content=text, mode="create")
        asked = {"query": "wombat burrow", "mode": "context", "detail": "full", "quotas": {"resources": 8}}
        block = await agent.call("search", **asked, max_tokens=32_000)
        assert estimate_tokens(block) < 8_300
        assert re.search(r"</memory>\n\nNote: max_tokens was lowered to 8,000", block)


async def test_bad_arguments(opened: Any) -> None:
    async with opened() as place, place.agent() as agent:
        await agent.call("write", uri=F, content=TEXT, mode="create")
        for tool, arguments, expected in BAD:
            text = await agent.refused(tool, **arguments)
            assert re.search(expected, text), f"{tool} {arguments}: {text}"
            assert re.match(r"[A-Z_]+: ", text), text
            assert len(text) < 2_000, f"{tool} {arguments}"
        # Nothing of it had an effect.
        assert await agent.call("read", uris=F) == TEXT


def test_the_tables_name_every_tool() -> None:
    known = {tool.name for tool in TOOLS}
    assert {tool for tool, _, _ in GOOD} | {"list_users", "cancel_watch"} == known
    assert {tool for tool, _, _ in BAD} | {"health", "list_watches"} == known | {"no_such_tool"}


def _nodes(schema: Any) -> Any:
    yield schema
    for one in [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]:
        yield from _nodes(one)


async def test_what_a_client_is_told_of_the_tools(opened: Any) -> None:
    async with opened() as place, place.agent() as agent:
        listed = (await agent.session.list_tools()).tools
    assert [tool.name for tool in listed] == [tool.name for tool in offered(remote=True)]
    for tool in listed:
        assert tool.description
        assert len(tool.description) > 40
        assert tool.annotations is not None
        for node in _nodes(tool.input_schema):
            assert isinstance(node.get("type"), str), (tool.name, node)
            assert not {"anyOf", "$ref", "$defs", "oneOf"} & set(node), (tool.name, node)
    by_name = {tool.name: tool for tool in listed}
    assert by_name["read"].input_schema["properties"]["uris"]["type"] == "array"
    assert by_name["find"].input_schema["required"] == ["query"]
    assert by_name["find"].input_schema["properties"]["min_score"]["default"] == pytest.approx(0.35)
    assert by_name["forget"].annotations.destructive_hint
    assert by_name["find"].annotations.read_only_hint


async def test_progress_is_told_to_those_who_ask(opened: Any) -> None:
    heard: list[float] = []

    async def progress(progress: float, _total: float | None, _message: str | None) -> None:
        heard.append(progress)

    async with opened() as place, place.agent() as agent:
        result = await agent.session.call_tool(
            "write", {"uri": F, "content": "x", "wait": True}, progress_callback=progress
        )
        assert not result.is_error


class Listener:
    """A client's session that keeps what it is told."""

    def __init__(self) -> None:
        self.heard: list[tuple[float, float | None, str | None]] = []
        self.news = asyncio.Event()

    @property
    def session(self) -> Listener:
        return self

    async def report_progress(self, done: float, total: float | None, what: str | None) -> None:
        self.heard.append((done, total, what))
        self.news.set()


async def test_a_call_that_says_nothing_shows_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "LIFE_S", 0.01)
    listener = Listener()
    reporting = protocol.Reporting(listener)
    life = asyncio.ensure_future(reporting.sign_of_life())
    await asyncio.wait_for(listener.news.wait(), 10)
    assert "still waiting" in str(listener.heard[0][2])
    life.cancel()
    # Progress grows, whatever the call says.
    listener.heard.clear()
    listener.news.clear()
    for done in (2.0, 2.0, 1.0):
        reporting(done, 3.0, "files")
        await asyncio.wait_for(listener.news.wait(), 10)
    assert listener.heard == [(2.0, 3.0, "files")]


async def test_searches_that_failed_are_not_an_empty_block(opened: Any) -> None:
    async with opened() as place, place.agent() as agent:
        await agent.call("write", uri="viking://~/memories/preferences/koala.md", content=TEXT, mode="create")
        asked = {"query": "koala", "mode": "context", "quotas": {"preferences": 1}}
        assert "koala.md" in await agent.call("search", **asked)
        with sqlite3.connect(next(place.services.settings.path.rglob("store.db"))) as connection:
            connection.execute("DELETE FROM contents")
        connection.close()
        told = await agent.refused("search", **asked)
        assert told.startswith("UNAVAILABLE: Nothing was found, and searches failed: ")


def test_an_archived_conversation_is_an_event_and_no_document() -> None:
    archived = "viking://user/u/sessions/s/history/archive_001/messages.jsonl"
    assert _block(Hit(archived, "resource", 2, 0.36, "")) == f"- [event 36%] {archived}"
    assert _block(Hit(F, "resource", 2, 0.36, "")) == f"- [resource 36%] {F}"

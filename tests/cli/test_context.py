"""Context for prompts, and what becomes of conversations, on a data directory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = "viking://resources/zoo"


def test_the_block_alone_goes_to_standard_output(ov: Callable[..., Any]) -> None:
    ov("write", f"{ROOT}/emu.md", "--content", "# Emu\n\nEmus run fast.\n", "--mode", "create")
    gave = ov("search", "how fast do emus run", "--mode", "context", "--detail", "resources=full", "-L", "2")
    assert gave.status == 0
    assert gave.out.startswith(f'<memory uri="{ROOT}/emu.md" type="resources" score="')
    assert gave.out.endswith("</memory>\n")
    said = gave.err.splitlines()
    assert said[0] == "without effect here: level"
    assert " full" in said[1]
    assert said[1].endswith(" of 1,600 tokens")
    whole = ov("-o", "json", "search", "how fast do emus run", "--mode", "context", "--max-tokens", "64").result
    assert {"entries", "rendered", "digest", "stats"} <= set(whole)
    assert whole["stats"]["used_tokens"] <= 64
    excluded = ov(
        "search", "emus", "--mode", "context", "--exclude-uri", "viking://resources", "--quotas", "resources=3"
    )
    assert excluded.out == ""
    assert excluded.err.startswith("no context: ")


def test_nothing_relevant_writes_nothing_and_says_why(ov: Callable[..., Any]) -> None:
    ov("mkdir", ROOT)
    gave = ov("search", "zebra", "--mode", "context")
    assert (gave.status, gave.out, gave.err) == (0, "", "no context: nothing relevant was found\n")
    assert ov("-o", "json", "search", "zebra", "--mode", "context").result["rendered"] == ""


def test_a_commit_tells_what_was_learned_and_can_be_taken_back(ov: Callable[..., Any]) -> None:
    ov("session", "new", "--session-id", "talk", "--no-auto-commit")
    said = [{"id": "m1", "role": "user", "content": "I prefer window seats on trains."}]
    for _ in range(2):
        ov("session", "add-messages", "talk", "-", stdin=json.dumps(said).encode())
    done = ov("-o", "json", "session", "commit", "talk", "--wait", "--event-tags", "trip=north").result
    kinds = {one["memory_type"] for one in done["learned"]}
    assert {"events", "preferences"} <= kinds
    assert all(one["operation"] == "add" for one in done["learned"])
    [event] = [one["uri"] for one in done["learned"] if one["memory_type"] == "events"]
    assert "trip=north" in ov("-o", "json", "attrs", "get", event, "tags").result
    assert [one["archive_id"] for one in ov("-o", "json", "session", "archives", "talk").result] == ["archive_001"]
    assert "user: I prefer window seats on trains.\n" in ov("session", "archive", "talk", "archive_001").out
    undone = ov("-o", "json", "session", "rollback", "talk", "archive_001").result
    assert sorted(undone["reverted"]) == sorted(one["uri"] for one in done["learned"])
    assert ov("read", event).status == 1
    gone = ov("-o", "json", "session", "redact", "talk", "m1", "--yes").result
    assert (gone["redacted"], gone["memories"]) == (1, [])
    again = ov("session", "redact", "talk", "m1", "--yes")
    assert again.err.startswith("error: Message not found: m1 (it was redacted already)\n")
    assert "window" not in ov("session", "archive", "talk", "archive_001").out


def test_long_outputs_of_tools_are_listed_shown_and_searched(ov: Callable[..., Any]) -> None:
    output = "".join(f"line {number} of the build\n" for number in range(2_000))
    part = {"type": "tool", "tool_id": "t", "tool_name": "build", "tool_output": output, "tool_status": "completed"}
    ov("session", "add-messages", "talk", json.dumps([{"role": "assistant", "parts": [part]}]))
    [one] = ov("-o", "json", "session", "tool-results", "talk").result["tool_results"]
    piece = ov("session", "tool-results", "talk", one["tool_result_id"], "-n", "100")
    assert piece.out == output[:100]
    assert f"100 of {len(output):,} characters; --offset 100 goes on" in piece.err
    assert ov("session", "tool-results", "talk", one["tool_result_id"], "-n", "-1").out == output
    found = ov("session", "tool-results", "talk", one["tool_result_id"], "--search", "line 1999 ")
    assert str(output.index("line 1999")) in found.out


def test_links_are_made_listed_and_undone(ov: Callable[..., Any]) -> None:
    for name in ("a", "b", "c"):
        ov("mkdir", f"{ROOT}/{name}")
    ov("link", f"{ROOT}/a", f"{ROOT}/b", f"{ROOT}/c", "--reason", "same keeper")
    listed = ov("-o", "json", "relations", f"{ROOT}/a").result
    assert [(one["uri"], one["reason"]) for one in listed] == [(f"{ROOT}/{name}", "same keeper") for name in ("b", "c")]
    ov("unlink", f"{ROOT}/a", f"{ROOT}/b")
    assert [one["uri"] for one in ov("-o", "json", "relations", f"{ROOT}/a").result] == [f"{ROOT}/c"]
    assert ov("relations", f"{ROOT}/c").out == "(empty)\n"


def test_memories_go_with_their_session_where_that_is_wanted(ov: Callable[..., Any]) -> None:
    ov("session", "add-message", "talk", "--role", "user", "--content", "I prefer window seats on trains.")
    learned = ov("-o", "json", "session", "commit", "talk", "--wait").result["learned"]
    skipped = ov("session", "commit", "talk", "--wait")
    assert "skipped" in skipped.out
    assert skipped.err == "", "there is nothing to wait for"
    gone = ov("-o", "json", "session", "delete", "talk", "--memories").result
    assert sorted(gone["memories_removed"]) == sorted(one["uri"] for one in learned)
    assert gone["memories"] == []


def test_what_is_not_there_is_told(ov: Callable[..., Any]) -> None:
    ov("mkdir", ROOT)
    asked = ("search", "zebra", "--mode", "context", "--session-id", "typo", "--dedup-turns", "3")
    assert "there was no such session: it is made" in ov(*asked).err
    assert "no such session" not in ov(*asked).err
    used = ov("session", "used", "typo", "--uri", ROOT, "--skill", "viking://~/skills/none")
    assert used.err == "counted, though it is not there: viking://~/skills/none\n"
    missing = ov("skills", "add", "nothere")
    assert (missing.status, missing.err.splitlines()[0]) == (1, "error: Path not found: nothere")

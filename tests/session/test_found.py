"""What of a session is found: what was said, in words, with the lines where it stands; nothing of its bookkeeping."""

from __future__ import annotations

import json
from typing import Any

from openviking.ingest.prepare import embedded_texts, prepare
from openviking.model.message import Message

from .conftest import ALICE, Desk

HOME = "viking://user/alice/sessions"


def found(desk: Desk, question: str, **wanted: Any) -> list[Any]:
    """What is found of the conversation itself; what was learned from it lies elsewhere."""
    return [hit for hit in desk.search.find(ALICE, question, **wanted) if "/memories" not in hit.uri]


def test_an_archive_is_found_by_what_was_said_and_cites_the_line(desk: Desk) -> None:
    talk = [
        "Good morning.",
        'My parrot is called "Quincey"\nand he eats 3 walnuts.',
        "The zebra is in the other message.",
    ]
    desk.say("s", *talk)
    desk.say("s", "Noted: walnuts for Quincey.", role="assistant")
    desk.sessions.commit(ALICE, "s")
    desk.work()
    hits = found(desk, "parrot Quincey walnuts")
    assert [hit.uri for hit in hits] == [f"{HOME}/s/history/archive_001/messages.jsonl"]
    assert 'user: My parrot is called "Quincey" and he eats 3 walnuts.' in hits[0].snippet
    assert "msg_" not in hits[0].snippet + hits[0].abstract
    first, last = hits[0].lines
    lines = desk.content.read(ALICE, hits[0].uri, offset=first - 1, limit=last - first + 1).split("\n")
    assert json.loads(lines[1])["parts"][0]["text"] == talk[1]


def test_bookkeeping_and_copies_of_what_was_said_are_no_records(desk: Desk) -> None:
    desk.say("s", "The parrot is green.")
    desk.sessions.commit(ALICE, "s")
    desk.work()
    directory = f"{HOME}/s/history/archive_001"
    for question in ("extracted_at total_adds", "memory_diff", "archive_uri operations summary"):
        assert [hit.uri for hit in found(desk, question) if not hit.uri.endswith("messages.jsonl")] == []
    every = {
        hit.uri
        for hit in found(desk, "", target_uri=f"{HOME}/s", filter={"op": "prefix", "field": "uri", "prefix": HOME})
    }
    assert every <= {f"{directory}/messages.jsonl"}
    assert "summary" in json.loads(desk.content.read(ALICE, f"{directory}/memory_diff.json"))
    assert "parrot" in desk.content.abstract(ALICE, directory)
    assert desk.store.check() == []


def test_what_every_user_has_from_the_beginning_is_not_found(desk: Desk) -> None:
    assert desk.store.check() == []
    desk.work()
    assert found(desk, "What belongs to one user: memories, resources, skills and sessions") == []
    desk.content.write(ALICE, "viking://user/alice/resources/zebra.md", "The zebra belongs to one user.", mode="create")
    desk.work()
    uris = [hit.uri for hit in found(desk, "What belongs to one user: memories, resources, skills and sessions")]
    assert uris[0] == "viking://user/alice/resources/zebra.md"


def test_passages_of_a_long_message_are_its_words_alone() -> None:
    long = " ".join(f'Sentence {number} says "\\zebra{number}\\" and\tgoes on.' for number in range(400))
    shown = Message("m1", "user", ({"type": "text", "text": long},), "2026-01-01T00:00:00.000Z")
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "QUJD" * 5_000}}
    other = Message("m2", "assistant", (image, {"type": "text", "text": "Done."}), "2026-01-01T00:00:01.000Z")
    text = f"{shown.to_json()}\n{other.to_json()}\n"
    made = prepare("messages.jsonl", text.encode())
    assert made.kind == "conversation"
    assert [made.passages[0].start, made.passages[-1].end] == [0, len(text.encode())]
    assert all(one.end == two.start for one, two in zip(made.passages, made.passages[1:], strict=False))
    assert (made.passages[0].first_line, made.passages[-1].last_line) == (1, 2)
    bodies = " ".join(embedded_texts("messages.jsonl", text).values())
    assert all(f'"\\zebra{number}\\"' in bodies for number in range(400))
    assert "QUJD" not in bodies
    assert "created_at" not in bodies
    assert {one.hash for one in made.passages} == set(embedded_texts("messages.jsonl", text))


def test_only_what_is_a_conversation_is_read_as_one() -> None:
    assert prepare("messages.jsonl", b'{"name": "x"}\n').kind == "data"
    copied = b'{\n"archive_uri": "viking://user/a/sessions/s/history/archive_001", "parrot": 1}'
    assert prepare("memory_diff.json", copied).kind == "data", "what somebody brings along is found"

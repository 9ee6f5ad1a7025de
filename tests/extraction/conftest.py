"""Messages to learn from."""

from __future__ import annotations

from typing import Any

from openviking.model.memory import Draft
from openviking.model.message import Message
from openviking.session.extraction.statements import statements_of
from openviking.session.extraction.transcript import turns_of

AT = "2026-03-04T09:30:00.000Z"


def message(
    text: str = "", *, role: str = "user", peer: str = "", number: int = 1, at: str = AT, parts: Any = None
) -> Message:
    """A message with the id ``m<number>``."""
    return Message(f"m{number}", role, tuple(parts or ({"type": "text", "text": text},)), at, peer)


def told(*texts: str, role: str = "user", peer: str = "") -> list[Draft]:
    """The statements in messages of one person."""
    return statements_of(turns_of([message(text, role=role, peer=peer, number=at) for at, text in enumerate(texts, 1)]))


def assert_kept(sentence: str, kind: str, topic: str, said: str | None) -> None:
    """That a sentence gives a draft first that has this type (and category), topic and claim, and that quotes it."""
    drafts = told(sentence)
    assert len(drafts) >= 1
    draft = drafts[0]
    assert (f"{draft.type}/{draft.category}".rstrip("/"), draft.topic) == (kind, topic)
    assert draft.quote in sentence
    assert draft.body.endswith(f'. "{draft.quote}" (user, 2026-03-04)')
    assert said is None or draft.body.startswith(f"{said}. ")
    assert (draft.sources, draft.day, draft.peer) == (("m1",), "2026-03-04", "")
    assert draft.name

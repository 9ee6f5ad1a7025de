"""A test set of long conversations, kept as an agent would: a session for each date, committed without a chat model.

A line of ``corpus.jsonl`` is a turn: ``{"_id", "text": "Speaker: …", "group", "date"}``, a query has a ``category``. Each
conversation (``group``) belongs to a user of its own, so that a question is answered within it. Who speaks is the role of
a message: so what is remembered is the user's own, not a partner's.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from openviking import OpenViking

DATE: Final = "%I:%M %p on %d %B, %Y"
AT_ONCE: Final = 100
"""Messages that one call may add."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What somebody said, with the time at which the session began."""

    id: str
    text: str
    began: datetime


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one conversation, of a ``category``; ``evidence`` are the texts of the turns that answer it."""

    id: str
    text: str
    group: str
    category: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conversations:
    """The sessions by conversation, each a list of turns, and what is asked about them."""

    sessions: dict[str, list[list[Turn]]]
    questions: tuple[Question, ...]


def flat(text: str) -> str:
    """``text`` with each run of white space as one blank."""
    return " ".join(text.split())


def load_conversations(folder: Path, groups: Sequence[str] = ()) -> Conversations:
    """The set in ``folder``; of ``groups`` alone, if some are named."""
    sessions: dict[str, list[list[Turn]]] = {}
    texts: dict[str, str] = {}
    kept = [row for row in _rows(folder / "corpus.jsonl") if not groups or row["group"] in groups]
    for (group, date), rows in itertools.groupby(kept, key=lambda row: (row["group"], row["date"])):
        began = datetime.strptime(date, DATE).replace(tzinfo=UTC)
        turns = [Turn(row["_id"], flat(row["text"]), began) for row in rows]
        sessions.setdefault(group, []).append(turns)
        texts |= {turn.id: turn.text for turn in turns}
    evidence: dict[str, list[str]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        question, turn_id, grade = line.split("\t")
        if int(grade) > 0 and turn_id in texts:
            evidence.setdefault(question, []).append(texts[turn_id])
    questions = [
        Question(row["_id"], row["text"], row["group"], row["category"], tuple(evidence[row["_id"]]))
        for row in _rows(folder / "queries.jsonl")
        if row["_id"] in evidence
    ]
    return Conversations(sessions, tuple(questions))


def _rows(path: Path) -> Iterable[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def keep(one: OpenViking, sessions: Sequence[Sequence[Turn]]) -> None:
    """Add ``sessions`` to a store and commit each."""
    for number, turns in enumerate(sessions, 1):
        session_id = f"session-{number}"
        one.create_session(session_id)
        messages = [_message(turn, place) for place, turn in enumerate(turns)]
        for start in range(0, len(messages), AT_ONCE):
            one.batch_add_messages(session_id, messages[start : start + AT_ONCE])
        one.commit_session(session_id, 0)


def _message(turn: Turn, place: int) -> dict[str, Any]:
    speaker, _, said = turn.text.partition(": ")
    at = turn.began + timedelta(seconds=place)
    return {"id": turn.id.replace("/", "-"), "role": speaker, "content": said, "created_at": at.isoformat()}

"""What a commit learns without any model: the statements of its conversation, and the event that it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from openviking.model.memory import Draft
from openviking.model.message import Message
from openviking.session.extraction.event import event_in
from openviking.session.extraction.statements import statements_of
from openviking.session.extraction.transcript import turns_of


def drafts_of(messages: Sequence[Message], *, session_id: str, archive: int, types: Collection[str]) -> list[Draft]:
    """The memories that the messages of an archive give, of the ``types`` that are wanted: statements, then the event.

    The same messages give the same drafts. Secrets are masked; recalled memories, tools and documents teach nothing.
    """
    turns = turns_of(messages)
    stated = statements_of(turns)
    kept = [draft for draft in stated if draft.type in types]
    if "events" in types:
        event = event_in(turns, session_id, archive, {draft.quote for draft in stated})
        if event is not None:
            kept.append(event)
    return kept

"""Taking out of a session what should never have been said there."""

from __future__ import annotations

from typing import Any

from openviking.model.identity import Identity
from openviking.service.session_desk import SessionDesk
from openviking.session.redaction import redact


class SessionRedaction(SessionDesk):
    """Removes single messages, live or archived."""

    def redact(self, identity: Identity, session_id: str, message_id: str, *, memories: bool = False) -> dict[str, Any]:
        """Take a message out of a session for ever: with its line, its tools' outputs, and its words in summaries.

        ``place`` is where it was, ``memories`` are those that were made of it: they stay, and are yours to keep or
        remove. With ``memories`` those that come from it alone go in the same transaction, ``memories_removed``; with
        them goes the event of its archive. What somebody edited stays. An erasure overwrites its bytes on the disk. Its id stays known, so that a repetition does not bring it
        back. Raises `NotFoundError`.
        """
        store, uri = self._place(identity, session_id)
        done = redact(store, uri, message_id, memories=memories)
        self._worker.wake()
        return {
            "session_id": uri.name,
            "message_id": message_id,
            "place": done.place,
            "redacted": done.messages,
            "tool_results": list(done.results),
            "memories": list(done.memories),
            **({"memories_removed": list(done.removed)} if memories else {}),
        }

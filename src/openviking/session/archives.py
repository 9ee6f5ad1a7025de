"""The files of an archive below its session: where they lie and what stands in them (contract/core.md §3.6)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from openviking.clock import iso
from openviking.errors import NotFoundError
from openviking.ingest.prepare import prepare
from openviking.model.message import Message
from openviking.model.session import archive_id
from openviking.store.batch import PutFile
from openviking.store.port import AccountStore
from openviking.uri import URI

HISTORY: Final = "history"
MESSAGES: Final = "messages.jsonl"
META: Final = ".meta.json"
DONE: Final = ".done"
FAILED: Final = ".failed.json"
DIFF: Final = "memory_diff.json"


def archive_uri(session: URI, number: int) -> URI:
    """The directory of an archive."""
    return session.child(HISTORY, archive_id(number))


def as_lines(messages: Sequence[Message]) -> str:
    """The messages as JSON, one a line."""
    return "".join(f"{one.to_json()}\n" for one in messages)


def put(directory: URI, name: str, text: str, *, below: URI | None = None) -> PutFile:
    """The writing of one file of an archive, where ``below`` is given only while that is there."""
    content = prepare(name, text.encode(), bookkeeping=name == DIFF)
    return PutFile(directory.child(name).path, content, below=below.path if below else "")


def put_json(directory: URI, name: str, value: dict[str, Any], *, below: URI | None = None) -> PutFile:
    """As `put`, for a value."""
    return put(directory, name, json.dumps(value, ensure_ascii=False, indent=2) + "\n", below=below)


def archive_meta(session: URI, number: int, messages: Sequence[Message], now: int) -> dict[str, Any]:
    """What ``.meta.json`` of an archive says."""
    return {
        "session_id": session.name,
        "archive_id": archive_id(number),
        "created_at": iso(now),
        "message_count": len(messages),
        "first_message_at": messages[0].created_at if messages else None,
        "last_message_at": messages[-1].created_at if messages else None,
    }


def archived_messages(store: AccountStore, session: URI, number: int) -> list[Message]:
    """The messages of an archive, in order. Raises `NotFoundError` if its file was removed."""
    file = archive_uri(session, number).child(MESSAGES)
    with store.read() as view:
        node = view.get(file.path)
        if node is None or node.is_dir:
            raise NotFoundError(archive_id(number), "archive")
        text = view.data(node).decode()
    return [Message.from_dict(json.loads(line)) for line in text.split("\n") if line]

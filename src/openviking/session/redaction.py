"""Takes a message out of a session for ever, wherever it is: live, or in an archive with all that was said of it there.

What is gone is the message with its line, the long outputs of its tools, and its words in what describes the archive
and in what its commit noted of memories. Memories made of it are named; those of it alone go too where that is wanted.
Its bytes are overwritten by a purge (`openviking.store.port.AccountStore.erase`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from openviking.errors import ConflictError, NotFoundError, OpenVikingError
from openviking.model.message import Message
from openviking.model.session import Archive
from openviking.session.archives import (
    DIFF,
    HISTORY,
    MESSAGES,
    META,
    archive_meta,
    archive_uri,
    archived_messages,
    as_lines,
    put,
    put_json,
)
from openviking.session.forgetting import Origins, Shares, forgetting, origins_of
from openviking.session.memories.fields import parted
from openviking.session.summary import abstract_of, overview_of
from openviking.store.batch import Operation, PutFile, Remove
from openviking.store.port import AccountStore, View
from openviking.store.sessions import RedactMessages
from openviking.uri import URI, from_path, parse

ATTEMPTS: Final = 20
"""Times that it is worked out anew because others were faster."""

LIVE: Final = "live"

REDACTED: Final = "redacted"
"""Marks a change in ``memory_diff.json`` whose texts are gone."""

EVENTS: Final = '"memory_type": "events"'


@dataclass(frozen=True, slots=True)
class Redacted:
    """What was taken out of ``place`` (`LIVE` or an archive's name): messages, ids of long outputs; and what is left to decide.

    ``memories`` are the URIs of memories that were made of the message and are still there, ``removed`` those that went.
    """

    place: str
    messages: int
    results: tuple[str, ...]
    memories: tuple[str, ...]
    removed: tuple[str, ...] = ()


def redact(store: AccountStore, session: URI, message_id: str, *, memories: bool = False) -> Redacted:
    """Take the message with this id out of a session, in one transaction; with ``memories`` those that come from it alone.

    The event of its archive, which says it word for word, is among them. Raises `NotFoundError`, `ConflictError` if others change the session all the time.
    """
    for _ in range(ATTEMPTS):
        with store.read() as view:
            if store.sessions.get(session.path) is None:
                raise NotFoundError(session.name, "session")
            done, operations = _worked_out(store, view, session, message_id)
            if memories:
                archive = "" if done.place == LIVE else str(session.child(HISTORY).child(done.place))
                origins = Origins(str(session), frozenset((message_id,)), archive)
                removing, gone = forgetting(view, session.parts[1], done.memories, origins)
                left = tuple(uri for uri in done.memories if uri not in gone)
                done, operations = replace(done, memories=left, removed=gone), [*operations, *removing]
        try:
            store.apply(operations)
        except ConflictError as error:
            if not error.details.get("retryable"):
                raise
            continue
        return done
    raise ConflictError(f"{session} is changed by others all the time", resource=str(session), retryable=True)


def memories_of_session(store: AccountStore, view: View, session: URI, origins: Origins) -> list[str]:
    """The memories that were made of a session and that are still there: by its commits, or of its live messages."""
    named = {
        uri: None
        for archive in store.sessions.archives(session.path)
        for uri in _uris(_diff(view, archive_uri(session, archive.number).child(DIFF).path)[0], None)
    }
    told = dict.fromkeys(uri for uri in named if _is_there(view, session, uri))
    shares = Shares(store, session.parts[1], origins)
    for path, text in _saying(view, session, ("memories", "peers"), ['"archive_uri": ']):
        fields = parted(text)[1]
        if fields is not None and (origins.wrote(fields) or shares.has(fields)):
            told[str(from_path(path))] = None
    return list(told)


def removed(store: AccountStore, session: URI, *, memories: bool) -> tuple[list[str], list[str]]:
    """Remove a session; the memories that were made of it and stay, and those that went because they are of it alone.

    Raises `NotFoundError`, `ConflictError` if others change the memories all the time.
    """
    for _ in range(ATTEMPTS):
        with store.read() as view:
            if store.sessions.get(session.path) is None and view.get(session.path) is None:
                raise NotFoundError(session.name, "session")
            origins = origins_of(store, session)
            named = memories_of_session(store, view, session, origins)
            removing, gone = forgetting(view, session.parts[1], named, origins) if memories else ([], ())
        try:
            outcome = store.apply([Remove(session.path, recursive=True), *removing]).outcomes[0]
        except ConflictError as error:
            if not error.details.get("retryable"):
                raise
            continue
        if outcome.kind == "missing":
            raise NotFoundError(session.name, "session")
        return [uri for uri in named if uri not in gone], list(gone)
    raise ConflictError(
        f"The memories of {session} are changed by others all the time", resource=str(session), retryable=True
    )


def _worked_out(store: AccountStore, view: View, session: URI, message_id: str) -> tuple[Redacted, list[Operation]]:
    live = [one for one in store.sessions.live(session.path) if one.message.id == message_id]
    if live:
        results = _results([one.message for one in live])
        # Live messages may have been learned from already.
        notes, memories = _mentions(view, session, None, message_id)
        named = tuple(one.path for one in notes)
        taking = RedactMessages(session.path, tuple(one.number for one in live), results, notes=named)
        return Redacted(LIVE, len(live), results, memories), [taking, *notes]
    for archive in reversed(store.sessions.archives(session.path)):
        try:
            messages = archived_messages(store, session, archive.number)
        except (NotFoundError, ValueError, KeyError, TypeError):
            # Its owner removed or replaced the file.
            continue
        gone = [one for one in messages if one.id == message_id]
        if gone:
            results = _results(gone)
            kept = [one for one in messages if one.id != message_id]
            notes, memories = _mentions(view, session, archive.number, message_id)
            operations = _from_archive(view, session, archive, kept, len(gone), results, [one.path for one in notes])
            return Redacted(archive.id, len(gone), results, memories), [*operations, *notes]
    if store.sessions.sent_as(session.path, (f"id\n{message_id}",)):
        raise NotFoundError(message_id, "message", "it was redacted already")
    raise NotFoundError(message_id, "message")


def _from_archive(
    view: View,
    session: URI,
    archive: Archive,
    kept: Sequence[Message],
    count: int,
    results: tuple[str, ...],
    notes: Sequence[str],
) -> list[Operation]:
    directory = archive_uri(session, archive.number)
    node = view.get(directory.child(MESSAGES).path)
    made = put(directory, MESSAGES, as_lines(kept), below=directory)
    abstract = abstract_of(kept)
    return [
        PutFile(made.path, made.content, "replace", base=None if node is None else node.hash, below=made.below),
        put_json(directory, META, archive_meta(session, archive.number, kept, archive.created_at), below=directory),
        RedactMessages(
            session.path, results=results, archive=archive.number, count=count, abstract=abstract,
            overview=overview_of(kept), directory=directory.path, notes=tuple(notes),
        ),
    ]  # fmt: skip


def _results(messages: Sequence[Message]) -> tuple[str, ...]:
    return tuple(part["tool_result_id"] for one in messages for part in one.parts if "tool_result_id" in part)


def _mentions(view: View, session: URI, number: int | None, message_id: str) -> tuple[list[PutFile], tuple[str, ...]]:
    """What is to be written of the notes that commits left of the message, and the memories that were made of it."""
    spellings = _spellings(message_id)
    operations: list[PutFile] = []
    memories: dict[str, None] = {}
    # The event of a long conversation names the last messages only.
    events = () if number is None else (f'"{archive_uri(session, number)}"',)
    for path, text in _saying(view, session, ("memories", "peers"), (*spellings, *events)):
        if EVENTS in text or any(one in text for one in spellings):
            memories[str(from_path(path))] = None
    own = "" if number is None else archive_uri(session, number).child(DIFF).path
    for path, _ in _saying(view, session, ("sessions",), (*spellings, *events)):
        if path.endswith(f"/{DIFF}") and HISTORY in path.split("/"):
            told, base = _diff(view, path)
            memories.update(dict.fromkeys(uri for uri in _uris(told, message_id) if _is_there(view, session, uri)))
            left = None if told is None else _without(told, message_id, own=path == own)
            if left is not None and left != told:
                directory = from_path(path).parent
                made = put_json(directory, DIFF, left, below=directory)
                operations.append(PutFile(made.path, made.content, "replace", base=base, below=made.below))
    return operations, tuple(memories)


def _saying(view: View, session: URI, places: Sequence[str], literals: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The files in these places of the session's user that say one of ``literals``, with their texts, each once."""
    home = f"user/{session.parts[1]}"
    told = set()
    for place in places:
        if view.get(f"{home}/{place}") is None:
            continue
        for literal in literals:
            for file in view.texts(f"{home}/{place}", literal=literal):
                if file.text is None or literal not in file.text or file.path in told:
                    continue
                if place == "sessions" or "memories" in file.path.split("/")[2:-1]:
                    told.add(file.path)
                    yield file.path, file.text


def _spellings(message_id: str) -> tuple[str, ...]:
    """How an id stands in JSON, and in JSON within a comment of Markdown."""
    plain = json.dumps(message_id, ensure_ascii=False)
    return tuple(dict.fromkeys((plain, plain.replace("<", "\\u003c").replace(">", "\\u003e"))))


def _diff(view: View, path: str) -> tuple[dict[str, Any] | None, bytes | None]:
    node = view.get(path)
    text = None if node is None or node.is_dir else view.text(node)
    try:
        told = None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return None, None
    return (told, None if node is None else node.hash) if isinstance(told, dict) else (None, None)


def _entries(told: dict[str, Any] | None) -> list[tuple[str, dict[str, Any]]]:
    listed = (told or {}).get("operations")
    if not isinstance(listed, dict):
        return []
    return [
        (name, one)
        for name in ("adds", "updates", "deletes")
        for one in (listed[name] if isinstance(listed.get(name), list) else ())
        if isinstance(one, dict)
    ]


def _of(entry: dict[str, Any], message_id: str) -> bool:
    before = entry.get("fields_before")
    sources = [entry.get("sources"), before.get("sources") if isinstance(before, dict) else None]
    return any(isinstance(one, list) and message_id in one for one in sources)


def _uris(told: dict[str, Any] | None, message_id: str | None) -> list[str]:
    return [
        entry["uri"]
        for name, entry in _entries(told)
        if name != "deletes" and isinstance(entry.get("uri"), str) and (message_id is None or _of(entry, message_id))
    ]


def _without(told: dict[str, Any], message_id: str, *, own: bool) -> dict[str, Any]:
    """A diff without the texts that were made of the message: such a change is named, and can't be rolled back any more.

    In the diff of its ``own`` archive the event is one of them, whatever messages it names.
    """
    operations: dict[str, list[dict[str, Any]]] = {"adds": [], "updates": [], "deletes": []}
    for name, entry in _entries(told):
        if _of(entry, message_id) or (own and entry.get("memory_type") == "events"):
            emptied = dict.fromkeys({"before", "after", "deleted_content"} & set(entry), "")
            fields = dict.fromkeys({"fields_before"} & set(entry))
            operations[name].append({**entry, **emptied, **fields, REDACTED: True})
        else:
            operations[name].append(entry)
    return {**told, "operations": operations}


def forget_names(store: AccountStore) -> None:
    """Take out of diffs the names of memories that were made of redacted messages, once these memories are gone."""
    for path in store.sessions.redacted_notes():
        with store.read() as view:
            told, base = _diff(view, path)
            session = from_path(path)
            gone = [
                entry["uri"]
                for _, entry in _entries(told)
                if entry.get(REDACTED)
                and isinstance(entry.get("uri"), str)
                and not _is_there(view, session, entry["uri"])
            ]
        left = [entry for _, entry in _entries(told) if entry.get(REDACTED) and entry.get("uri") not in gone]
        if told is not None and gone:
            made = put_json(session.parent, DIFF, _unnamed(told, gone), below=session.parent)
            writing = PutFile(made.path, made.content, "replace", base=base, below=made.below)
            if store.apply([writing], tolerant=True).outcomes[0].error is not None:
                # Somebody wrote it meanwhile: the next erasure looks again.
                continue
        if not left:
            store.sessions.forget_redacted_note(path)


def _unnamed(told: dict[str, Any], gone: Sequence[str]) -> dict[str, Any]:
    operations: dict[str, list[dict[str, Any]]] = {"adds": [], "updates": [], "deletes": []}
    for name, entry in _entries(told):
        if not (entry.get(REDACTED) and entry.get("uri") in gone):
            operations[name].append(entry)
    made = {**told, "operations": operations}
    extraction = told.get("extraction")
    if isinstance(extraction, dict) and isinstance(extraction.get("left_alone"), list):
        made["extraction"] = {**extraction, "left_alone": [uri for uri in extraction["left_alone"] if uri not in gone]}
    rollback = told.get("rollback")
    if isinstance(rollback, dict) and isinstance(rollback.get("kept"), list):
        kept = [one for one in rollback["kept"] if not (isinstance(one, dict) and one.get("uri") in gone)]
        reverted = [uri for uri in rollback.get("reverted") or () if uri not in gone]
        made["rollback"] = {**rollback, "kept": kept, "reverted": reverted}
    return made


def _is_there(view: View, session: URI, uri: str) -> bool:
    """Whether an address in a diff, which its owner may have edited, names something that the session's user has."""
    user = session.parts[1]
    try:
        place = parse(uri, user=user, today=datetime.now(tz=UTC).date())
    except OpenVikingError:
        return False
    return place.parts[:2] == ("user", user) and view.get(place.path) is not None

"""After a redaction or a removal, and an erasure, no byte of what was said is in the data directory."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.stubs.embedders import HashEmbedder

from openviking import OpenViking
from openviking.errors import AlreadyExistsError, NotFoundError, UnavailableError
from openviking.store.batch import MakeDirectory
from openviking.store.sqlite import erasing

SECRET = "zqkestrelhorizonvault"
LONG = "A parrot said something else that nobody minds. "


@pytest.fixture
def home(tmp_path: Path) -> Iterator[tuple[OpenViking, Path]]:
    place = tmp_path / "data"
    with OpenViking(place, embedder=HashEmbedder(), workers=0) as ov:
        yield ov, place


def held(place: Path, word: str = SECRET) -> list[str]:
    """The files that hold a word, its pieces of ten letters too, in any case."""
    pieces = {word[at : at + 10].encode() for at in range(len(word) - 9)}
    return [
        file.name
        for file in sorted(place.rglob("*"))
        if file.is_file() and any(piece in data for data in (file.read_bytes().lower(),) for piece in pieces)
    ]


def talk(ov: OpenViking, session: str = "s") -> dict[str, str]:
    """Says the secret in a live and in an archived message, in a tool's short and long output; their ids."""
    ov.create_session(session)
    output = {"type": "tool", "tool_name": "cat", "tool_input": {"file": SECRET}}
    said: list[dict[str, Any]] = [
        {"role": "user", "content": f"My project is called {SECRET}. Remember that I prefer {SECRET} to anything."},
        {"role": "assistant", "content": "I never heard of a parrot."},
        {"role": "assistant", "parts": [{**output, "tool_output": f"{SECRET} {LONG * 500}"}]},
        {"role": "assistant", "parts": [{**output, "tool_output": f"{LONG * 8_000} {SECRET}"}]},
        {"role": "user", "parts": [{"type": "context", "uri": "viking://resources/x", "abstract": f"on {SECRET}"}]},
    ]
    answer = ov.batch_add_messages(session, [{**one, "id": f"m{at}"} for at, one in enumerate(said)])
    assert answer["added"] == 5
    ov.commit_session(session)
    ov.wait_processed(timeout=60)
    ov.add_message(session, "user", f"And live: {SECRET}", message_id="live")
    return {"archived": "m0"}


def remove_memories(ov: OpenViking, uris: list[str]) -> None:
    for uri in uris:
        ov.rm(uri)


def erase(ov: OpenViking, place: Path, **how: Any) -> dict[str, Any]:
    done = ov.erase(**how)
    assert done["status"] == "completed"
    assert ov.check_consistency()["ok"]
    assert (place / "accounts/default/store.db-wal").stat().st_size < 100_000, "that the task has ended"
    return dict(done["result"])


def test_no_byte_of_a_redacted_message_is_left(home: Any) -> None:
    ov, place = home
    talk(ov)
    assert held(place)
    memories: dict[str, None] = {}
    for one in ("m0", "m2", "m3", "m4", "live"):
        told = ov.redact_message("s", one)
        assert (told["redacted"], told["place"]) == (1, "live" if one == "live" else "archive_001")
        memories.update(dict.fromkeys(told["memories"]))
        assert len(told["tool_results"]) == (one in {"m2", "m3"})
    assert memories, "what was learned of it is named"
    assert all(SECRET in ov.read(uri) for uri in memories), "and stays"
    remove_memories(ov, list(memories))
    assert erase(ov, place)["rewritten"] is True
    assert held(place) == []
    with ov._accounts.store(ov._identity)._connections.reading() as connection:
        orphans = "SELECT count(*) FROM vectors v WHERE NOT EXISTS (SELECT 1 FROM passages p WHERE p.hash = v.hash)"
        assert connection.execute(orphans).fetchone() == (0,)
    assert list(place.rglob("scan-*")) == []
    assert [hit.uri for hit in ov.find(SECRET)] == []
    assert ov.list_tool_results("s")["tool_results"] == []
    assert [one["id"] for one in ov.get_session_archive("s", "archive_001")["messages"]] == ["m1"]
    meta = ov.get_session("s")
    assert (meta["message_count"], meta["total_message_count"], meta["pending_tokens"]) == (0, 1, 0)
    assert ov.redact_message("s", "m1")["redacted"] == 1
    assert ov.get_session_archive("s", "archive_001")["messages"] == []
    assert ov.check_consistency()["ok"]
    with pytest.raises(NotFoundError):
        ov.redact_message("s", "m0")
    assert ov.add_message("s", "user", "again", message_id="m0")["message_count"] == 0, "a repetition stays one"


def test_no_byte_of_a_removed_session_is_left_nor_of_removed_files(home: Any) -> None:
    ov, place = home
    talk(ov)
    for number in range(12):
        ov.write(f"viking://resources/{number}.md", f"{SECRET}{number} " * 300, mode="create")
    told = ov._sessions.delete(ov._identity, "s")
    assert told["memories"]
    remove_memories(ov, told["memories"])
    for number in range(12):
        ov.rm(f"viking://resources/{number}.md")
    ov.wait_processed(timeout=60)
    store = ov._accounts.store(ov._identity)

    def first(sql: str) -> int:
        with store._connections.reading() as connection:
            return int(connection.execute(sql).fetchone()[0])

    for stop in range(12):
        calls = iter(range(100))
        if store.erase(lambda calls=calls, stop=stop: next(calls) >= stop, rewrite=False) is not None:
            break
        assert first("SELECT count(*) FROM overwriting") == 0, "whoever stops it leaves no page that none can use"
    else:
        pytest.fail("it looks more often whether it is to stop")
    assert erase(ov, place, rewrite=False)["rewritten"] is False
    for index in ("words", "names"):
        assert first(f"SELECT count(*) FROM {index} WHERE {index} MATCH '{SECRET}'") == 0
    assert first("PRAGMA freelist_count") > 20
    assert (place / "accounts/default/store.db").read_bytes().count(SECRET.encode()) <= 5, "of 3,600"
    assert erase(ov, place, rewrite=True)["rewritten"] is True
    assert held(place) == []


def test_memories_of_a_session_alone_are_forgotten_with_it(home: Any) -> None:
    ov, place = home
    ov.create_session("other")
    ov.add_message("other", "user", "Remember that I prefer window seats.")
    ov.commit_session("other")
    talk(ov)
    ov.add_message("s", "user", f"My dentist is Dr. {SECRET.title()}. Remember that I prefer aisle seats.")
    learned = [one["uri"] for one in ov.extract_session("s")]
    ov.add_message("s", "user", "Remember that I prefer window seats.", created_at="2100-01-01T00:00:00Z")
    ov.commit_session("s")
    ov.wait_processed(timeout=60)
    (edited,) = [uri for uri in learned if "aisle" in ov.read(uri)]
    ov.write(edited, "Aisle, and the last row.\n")
    told = ov.delete_session("s", memories=True)
    assert set(told["memories_removed"]) > set(learned) - {edited}, "those of its live messages too"
    assert edited in told["memories"]
    assert all("aisle" in ov.read(uri).lower() or "window" in ov.read(uri) for uri in told["memories"])
    assert not any(SECRET in ov.read(uri).lower() for uri in ov.glob("**/*.md", "viking://~/memories"))
    erase(ov, place)
    assert held(place) == []


def test_what_a_session_learned_before_its_commit_is_named(home: Any) -> None:
    ov, _ = home
    ov.create_session("s")
    ov.add_message("s", "user", "My dentist is Dr. Berg.")
    learned = [one["uri"] for one in ov.extract_session("s")]
    assert learned
    ov.commit_session("s")
    ov.wait_processed(timeout=60)
    ov.create_session("later")
    ov.add_message("later", "user", "My dentist is Dr. Fell.")
    ov.commit_session("later")
    ov.wait_processed(timeout=60)
    told = ov.delete_session("s", memories=True)
    assert told["memories"] == learned, "another session says something of it since"
    assert "Fell" in ov.read(learned[0])
    assert len(told["memories_removed"]) == 1


def test_memories_of_a_message_alone_are_forgotten_with_it(home: Any) -> None:
    ov, place = home
    ov.create_session("s")
    ov.add_message("s", "user", f"Remember that I prefer {SECRET}.", message_id="m0")
    for number in range(60):
        ov.add_message("s", "user", f"Walk number {number} was long.", message_id=f"w{number}")
    ov.commit_session("s")
    ov.wait_processed(timeout=60)
    told = ov.redact_message("s", "m0", memories=True)
    assert len(told["memories_removed"]) == 2, "what it says, and the event that says it word for word"
    assert told["memories"] == []
    erase(ov, place)
    assert held(place) == []
    with pytest.raises(NotFoundError, match="redacted already"):
        ov.redact_message("s", "m0")


def test_large_contents_that_no_row_ever_named_go_too(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ov, place = home
    ov.write("viking://resources/a.md", "a", mode="create")
    contents = place / "accounts/default/contents"
    with pytest.raises(AlreadyExistsError):
        ov.write("viking://resources/a.md", SECRET + LONG * 6_000, mode="create")
    (file,) = contents.glob("*/*")
    file.with_suffix(".dead").write_text(SECRET)
    assert len(held(place)) == 2
    erase(ov, place, rewrite=False)
    assert held(place) == []
    synced, taken = os.fsync, list[Path]()

    def taking(handle: int) -> None:
        synced(handle)
        for one in () if taken else contents.glob("*/*.*"):
            one.unlink()
            taken.append(one)

    monkeypatch.setattr(os, "fsync", taking)
    ov.write("viking://resources/a.md", LONG * 6_000)
    assert taken, "an erasure took what was being written"
    assert ov.read("viking://resources/a.md", limit=1).startswith(LONG)


def test_memories_of_others_and_other_messages_stay(home: Any) -> None:
    ov, _ = home
    ov.create_session("s")
    ov.add_message("s", "user", "Remember that I prefer green tea.", message_id="one")
    ov.add_message("s", "user", "Remember that I prefer long walks.", message_id="two")
    ov.commit_session("s")
    ov.wait_processed(timeout=60)
    told = ov.redact_message("s", "one")
    diff = json.loads(ov.read("viking://user/default/sessions/s/history/archive_001/memory_diff.json"))
    texts = json.dumps(diff)
    assert "green tea" not in texts
    overview = ov.get_session_context("s")["latest_archive_overview"]
    assert "green tea" not in overview
    assert "long walks" in overview
    assert all("green tea" in ov.read(uri) for uri in told["memories"])
    assert "green tea" not in ov.abstract("viking://user/default/sessions/s/history/archive_001")


def test_what_was_learned_of_a_live_message_is_named(home: Any) -> None:
    ov, _ = home
    ov.create_session("s")
    ov.add_message("s", "user", "Remember that I prefer green tea.", message_id="one")
    learned = ov._sessions.extract(ov._identity, "s")
    assert learned
    assert ov.redact_message("s", "one")["memories"] == [one["uri"] for one in learned]


def test_a_commit_under_way_forgets_what_is_redacted(home: Any) -> None:
    ov, place = home
    ov.create_session("s")
    ov.add_message("s", "user", f"Remember that I prefer {SECRET}.", message_id="one")
    ov.add_message("s", "user", "Something else.", message_id="two")
    ov.commit_session("s")
    assert ov.redact_message("s", "one")["place"] == "archive_001"
    ov.wait_processed(timeout=60)
    erase(ov, place)
    assert held(place) == []
    assert ov.get_session_archive("s", "archive_001")["overview"]


def test_readers_who_come_and_go_keep_it_waiting_for_a_moment(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ov, _ = home
    store, done = ov._accounts.store(ov._identity), threading.Event()
    monkeypatch.setattr(erasing, "PATIENCE_S", 2.0)

    def read() -> None:
        while not done.is_set():
            with store.read() as view:
                view.get("")
                done.wait(0.03)

    def write() -> None:
        while not done.wait(0.001):
            store.apply([MakeDirectory(f"resources/{time.monotonic_ns()}")])

    threads = [threading.Thread(target=work) for work in (read, read, read, write)]
    for thread in threads:
        thread.start()
    try:
        assert store.erase(lambda: False, rewrite=False) is not None
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_who_reads_one_state_for_long_is_waited_for(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ov, _ = home
    store = ov._accounts.store(ov._identity)
    reading, done = threading.Event(), threading.Event()

    def read() -> None:
        with store.read() as view:
            view.get("")
            reading.set()
            done.wait(30)

    thread = threading.Thread(target=read)
    thread.start()
    reading.wait(30)
    ov.write("viking://resources/a.md", "a", mode="create")
    monkeypatch.setattr(erasing, "PATIENCE_S", 0.1)
    with pytest.raises(UnavailableError, match="busy"):
        store.erase(lambda: False, rewrite=False)
    done.set()
    thread.join()
    assert store.erase(lambda: False, rewrite=False) is not None

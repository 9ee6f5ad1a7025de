"""The audit finds each kind of damage, says what mends it, and that mends it; a second audit is clean."""

from __future__ import annotations

import os
from typing import Any

import pytest

from openviking.errors import InvalidArgumentError
from openviking.ingest.background import Turn
from openviking.ingest.prepare import PREPARED
from openviking.model.identity import Identity
from openviking.service.reindex_work import ReindexWork
from openviking.store.audit import KINDS

ROOT = Identity("default", "default", "root")
DERIVE, PRUNE, VECTORS = "semantic_and_vectors", "prune_orphans", "vectors_only"
A = "(SELECT id FROM nodes WHERE name = 'a.md')"
D = "(SELECT id FROM directories WHERE path = 'resources/d')"

DAMAGES = {
    "a directory elsewhere": ("UPDATE directories SET parent_id = 999 WHERE path = 'resources/d'", "directory"),
    "a directory renamed": ("UPDATE directories SET path = 'resources/q' WHERE path = 'resources/d'", "directory"),
    "a directory without node": (f"DELETE FROM nodes WHERE name = '' AND directory_id = {D}", "directory"),
    "a wrong depth": ("UPDATE directories SET depth = 1 WHERE path = 'resources/d'", "directory"),
    "a wrong type": ("UPDATE directories SET context_type = 'skill' WHERE path = 'resources/d'", "directory"),
    "a wrong owner": ("UPDATE directories SET owner = 'bob' WHERE path = 'resources/d'", "directory"),
    "a child that changed unseen": ("UPDATE directories SET dirty = 7 WHERE path = 'resources/d/e'", "stale"),
    "a file named as a directory": ("UPDATE nodes SET name = 'd' WHERE name = 'a.md'", "name_twice"),
    "a node in no directory": ("UPDATE nodes SET directory_id = 999 WHERE name = 'a.md'", "orphan_node"),
    "a file without content": (
        "DELETE FROM contents WHERE hash = (SELECT hash FROM nodes WHERE name = 'a.md')",
        "content_missing",
    ),
    "a file without bytes": ("UPDATE nodes SET hash = NULL WHERE name = 'a.md'", "content_missing"),
    "changed bytes": ("UPDATE contents SET data = x'616263' WHERE size = 5 AND data = x'67616d6d61'", "content_changed"),
    "a content of nobody": ("INSERT INTO contents VALUES (zeroblob(32), 1, x'00')", "orphan_content"),
    "a passage of nobody": (f"UPDATE passages SET node_id = 999 WHERE node_id = {A}", "orphan_passage"),
    "no passages": (f"DELETE FROM passages WHERE node_id = {A}", "passages"),
    "a gap": (f'UPDATE passages SET "end" = "end" - 1 WHERE start = 0 AND node_id = {A}', "passages"),
    "an overlap": (f"UPDATE passages SET start = start - 1 WHERE start > 0 AND node_id = {A}", "passages"),
    "a gap in a summary": (
        f"UPDATE passages SET start = 1 WHERE level = 1 AND node_id = (SELECT id FROM nodes WHERE name = '' AND directory_id = {D})",
        "passages",
    ),
    "no words": (f"DELETE FROM words WHERE rowid IN (SELECT id FROM passages WHERE node_id = {A})", "postings"),
    "no words of summaries": ("DELETE FROM words WHERE rowid IN (SELECT id FROM passages WHERE level = 0)", "postings"),
    "words of nothing": ("INSERT INTO words (rowid, body) VALUES (99999, 'x')", "orphan_posting"),
    "damaged postings": ("UPDATE words_data SET block = x'00' WHERE id > 10", "postings_damaged"),
    "damaged name postings": ("UPDATE names_data SET block = x'00' WHERE id > 10", "postings_damaged"),
    "no name terms": (f"DELETE FROM names WHERE rowid = {A}", "name_terms"),
    "name terms of nothing": ("INSERT INTO names (rowid, name) VALUES (99999, 'x')", "orphan_name"),
    "a wrong count": ("UPDATE meta SET value = value + 1 WHERE name = 'passages'", "count"),
    "a tag on nothing": ("UPDATE tags SET node_id = 99999", "orphan_row"),
    "summaries of nothing": ("INSERT INTO sidecars VALUES (99999, 'x', 'y', 'extractive')", "orphan_row"),
    "no summary": (f"DELETE FROM sidecars WHERE directory_id = {D}", "summary"),
    "no vectors": ("DELETE FROM vectors", "vectors"),
    "a vector cut short": (
        f"UPDATE vectors SET vector = x'00' WHERE hash IN (SELECT hash FROM passages WHERE node_id = {A})",
        "vector_damaged",
    ),
    "a vector of nothing": ("INSERT INTO vectors (model_id, hash, vector) VALUES (1, zeroblob(32), x'')", "orphan_vector"),
    "a vector of no model": ("UPDATE vectors SET model_id = 99", "orphan_vector"),
    "a wait for nothing": (
        "INSERT INTO pending (model_id, hash, passage_id, size_class) VALUES (1, zeroblob(32), 1, 0)",
        "orphan_vector",
    ),
    "a wait for what is there": (
        "INSERT INTO pending (model_id, hash, passage_id, size_class) SELECT model_id, hash, 1, 0 FROM vectors LIMIT 1",
        "orphan_vector",
    ),
    "an unknown source": (f"UPDATE nodes SET source_id = 99, source_hash = hash WHERE id = {A}", "source"),
    "a session without directory": (
        "UPDATE sessions SET path = 'user/default/sessions/lost'",
        "session",
    ),
    "a session that counts wrong": ("UPDATE sessions SET messages = 17", "session"),
    "messages of no session": ("UPDATE session_messages SET session_id = 99", "orphan_row"),
    "an archive that counts wrong": ("UPDATE session_archives SET messages = 1", "archive"),
    "a task without work": ("UPDATE tasks SET status = 'running', job_id = 99999", "task"),
}  # fmt: skip


def kinds(audit: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["kind"]: one for one in audit["problems"]}


def mend(house: Any) -> None:
    """Do what the audit says, until it says nothing more; each round has to help."""
    for _ in range(4):
        problems = house.audit()["problems"]
        if not problems:
            return
        for mode in sorted({one["repair"] for one in problems}):
            house.reindex("viking://", mode)
        house.work()


def test_a_filled_store_is_whole(house: Any) -> None:
    audit = house.audit()
    assert (audit["ok"], audit["complete"], audit["problems"], audit["cursor"]) == (True, True, [], None)
    counts = audit["counts"]
    # The bookkeeping of an archive has one without words, and no vector.
    assert counts["passages"] == counts["postings"] == counts["vectors"] + 1 > 300
    assert (counts["sessions"], audit["pending"]) == (1, {"summaries": 0, "files": 0, "vectors": 0, "refused": 0})


def test_many_damages_at_once(house: Any) -> None:
    together = ("a wrong owner", "changed bytes", "a gap", "words of nothing", "no name terms", "a vector cut short",
                "a wait for nothing", "a session that counts wrong", "a tag on nothing", "an unknown source")  # fmt: skip
    for damage in together:
        house.alter(DAMAGES[damage][0])
    assert {DAMAGES[damage][1] for damage in together} <= set(kinds(house.audit()))
    mend(house)
    assert house.audit()["problems"] == house.store.check() == []


@pytest.mark.slow
@pytest.mark.parametrize("damage", sorted(DAMAGES))
def test_each_damage_is_found_and_mended(house: Any, damage: str) -> None:
    sql, kind = DAMAGES[damage]
    house.alter(sql)
    found = house.audit()
    assert not found["ok"]
    problem = kinds(found)[kind]
    assert problem["count"] >= len(problem["examples"]) >= 1
    assert problem["repair"] == KINDS[kind][0]
    mend(house)
    after = house.audit()
    assert (after["ok"], after["problems"]) == (True, [])
    assert house.store.check() == []


def test_every_kind_has_a_test() -> None:
    elsewhere = {"orphan_file", "text"}
    assert {kind for _, kind in DAMAGES.values()} | elsewhere == set(KINDS)


@pytest.mark.parametrize("damage", ["deleted", pytest.param("cut short", marks=pytest.mark.slow), "changed"])
def test_a_content_file(house: Any, damage: str) -> None:
    [file] = (house.directory / "contents").glob("*/*")
    content = file.read_bytes()
    if damage == "deleted":
        file.unlink()
    else:
        file.write_bytes(content[:-1] if damage == "cut short" else b"L" + content[1:])
    found = house.audit("viking://resources/d")
    uri = "viking://resources/d/large.txt"
    [problem] = found["problems"]
    assert (found["missing_record_count"], found["missing_records"][0]["uri"]) == (1, uri)
    assert (problem["kind"], problem["examples"][0]["uri"]) == (
        "content_changed" if damage == "changed" else "content_missing", uri,
    )  # fmt: skip
    tried = house.reindex("viking://resources/d", PRUNE, dry_run=True)
    assert (tried["would_delete_records"], tried["deleted_records"]) == (1, 0)
    assert not house.audit("viking://resources/d")["ok"]
    assert house.reindex("viking://resources/d", PRUNE)["deleted_records"] == 1
    assert house.audit()["ok"]


def test_a_file_of_nobody_is_found_once_no_writer_can_be_about_to_name_it(house: Any) -> None:
    stray = house.directory / "contents" / "ab" / ("ab" * 32)
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"x")
    assert house.audit()["ok"]
    os.utime(stray, (1, 1))
    assert list(kinds(house.audit())) == ["orphan_file"]
    house.reindex("viking://", PRUNE, dry_run=True)
    assert stray.exists()
    house.reindex("viking://", PRUNE)
    assert not stray.exists()
    assert house.audit()["ok"]


def test_lost_messages_of_an_archive_are_told_and_then_known(house: Any) -> None:
    archive = "viking://user/default/sessions/talk/history/archive_001"
    house.services.fs.rm(ROOT, f"{archive}/messages.jsonl")
    [problem] = house.audit("viking://user/default")["problems"]
    assert (problem["kind"], problem["examples"][0]["uri"]) == ("archive", "viking://user/default/sessions/talk")
    house.reindex("viking://user/default", PRUNE)
    assert house.audit()["ok"]
    stats = house.services.sessions.context(ROOT, "talk")["stats"]
    assert (stats["totalArchives"], stats["failedArchives"]) == (1, 1)


def test_an_audit_ends_in_time_and_goes_on_where_it_was(house: Any) -> None:
    house.alter(DAMAGES["no words"][0])
    whole = house.audit()
    rounds, cursor, found = 0, None, 0
    while True:
        part = house.audit(timeout=0, cursor=cursor)
        found += sum(one["count"] for one in part["problems"])
        rounds, cursor = rounds + 1, part["cursor"]
        assert part["ok"] is False
        assert part["complete"] is (cursor is None)
        if cursor is None:
            break
    assert rounds > 5
    assert found == sum(one["count"] for one in whole["problems"])


@pytest.mark.parametrize(
    "cursor", ["x", "W10", "WzEwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMCxbXSwwXQ", "e30", "WzAsWy0xXSwwXQ", "WzAsWzAsMF0sMF0"]
)
def test_a_made_up_cursor_is_refused(house: Any, cursor: str) -> None:
    with pytest.raises(InvalidArgumentError):
        house.audit(cursor=cursor)


def test_only_the_directory_itself(house: Any) -> None:
    house.alter("DELETE FROM vectors")
    house.reindex("viking://resources/d", VECTORS, recursive=False)
    paths = {one["uri"] for one in house.audit("viking://resources")["missing_records"]}
    assert "viking://resources/d/e/c.md" in paths
    assert "viking://resources/d/b.md" not in paths


def test_force_makes_vectors_again(house: Any) -> None:
    house.embedder.texts.clear()
    house.reindex("viking://resources/a.md")
    assert house.embedder.texts == []
    done = house.reindex("viking://resources/a.md", VECTORS, force=True)
    assert house.embedder.texts
    assert done["status"] == "completed"
    assert house.audit()["ok"]
    hit = house.services.search.find(ROOT, "alpha beta words", "viking://resources")
    assert hit.to_dict()["retrieval"]["vectors"]["have"] == hit.to_dict()["retrieval"]["vectors"]["of"]


def carried_out(house: Any, looks: int) -> bool:
    """Do what is queued until the process "ends" after so many looks whether it does; whether it was done."""
    left = [looks]

    def ended() -> bool:
        left[0] -= 1
        return left[0] < 0

    job = house.store.jobs.claim(("reindex",), 60_000)
    turn = Turn(job.payload, 0, ended)
    more = ReindexWork(house.services.embedding).steps()["reindex"](house.store, turn)
    if more:
        house.store.jobs.give_back(job)
    else:
        house.store.jobs.finish(job)
    return not more


def test_a_reindex_goes_on_where_its_process_ended(house: Any) -> None:
    for number in range(60):
        house.write(f"viking://resources/many/{number}.md", f"text {number}")
    started = house.reindex("viking://resources/many", DERIVE, wait=False)
    assert not carried_out(house, 9)
    with house.store.read() as view:
        left = len(view.outdated(PREPARED, 100))
    assert 0 < left < 60
    assert house.services.tasks.get(ROOT, started["task_id"])["status"] == "pending"
    assert carried_out(house, 1_000)
    record = house.services.tasks.get(ROOT, started["task_id"])
    assert record["status"] == "completed"
    assert record["result"]["rebuilt_records"] == left
    house.work()
    assert house.audit()["ok"]


def test_a_reindex_that_is_cancelled_before_it_began_changes_nothing(house: Any) -> None:
    started = house.reindex("viking://resources", DERIVE, wait=False, tags=["x=y"])
    assert house.services.tasks.cancel(ROOT, started["task_id"])["status"] == "cancelled"
    house.work()
    assert house.services.fs.attrs(ROOT, "viking://resources/a.md")["attrs"]["tags"] == ["k=v"]
    assert house.audit()["ok"]
    assert house.reindex("viking://resources", DERIVE, tags=["x=y"], tag_mode="append")["status"] == "completed"
    assert house.services.fs.attrs(ROOT, "viking://resources/a.md")["attrs"]["tags"] == ["k=v", "x=y"]

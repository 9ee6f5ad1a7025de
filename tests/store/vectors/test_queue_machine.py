"""The queue of two models beside a dictionary: writes, edits, moves, removals, claims, answers, leases that run out.

After every step the audit finds nothing, and what has a vector, waits or was refused is what the dictionary says.
"""

from __future__ import annotations

import dataclasses
import hashlib
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from openviking import clock as clock_module
from openviking.ingest.prepare import PathAnalyser, prepare
from openviking.model.embedding import Coverage, EmbeddingModel
from openviking.store.batch import Move, PutFile, Remove, StoredPassage
from openviking.store.sqlite import models, passages, purge, staging
from openviking.store.sqlite.account import SqliteStore
from openviking.store.sqlite.loose import LOOSE_MS
from openviking.store.vectors import LEASE_MS, MadeVector, PendingPassage

MODELS = [EmbeddingModel(name, 2, 0, "", "", "cls", 0.0, 1.0, multilingual=True) for name in ("m", "n")]

files = st.sampled_from(["resources/a", "resources/d/b", "resources/d/c"])
texts = st.text("abcde", max_size=6)
which = st.sampled_from(range(len(MODELS)))


def hashed(letter: str) -> bytes:
    return hashlib.sha256(letter.encode()).digest()


def letters(path: str, text: str) -> PutFile:
    """A file with a passage for each of its letters, which is all that the passage's content is."""
    cut = tuple(
        StoredPassage(start, start + 1, 1, 1, "", "", hashed(letter), "", "", letter, 1)
        for start, letter in enumerate(text)
    )
    return PutFile(path, dataclasses.replace(prepare("x.txt", text.encode()), passages=cut))


class Clock:
    """Takes the place of the module `time` in `openviking.clock`."""

    now = 1_800_000_000_000

    def time_ns(self) -> int:
        return self.now * 1_000_000


class Queue:
    """What is to be true of one model's queue, by letter."""

    def __init__(self) -> None:
        self.used = False
        self.have: set[str] = set()
        self.refused: dict[str, str] = {}
        self.held: dict[str, tuple[int, PendingPassage]] = {}
        """Until when a letter can't be claimed, and as what it was claimed or given back last."""
        self.old: list[PendingPassage] = []


class Machine(RuleBasedStateMachine):
    """A store whose bounds are so low that a few letters are staged, buried and cleared away in pieces."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.clock = Clock()
        self.patch.setattr(clock_module, "time", self.clock)
        for module, name, value in (
            (passages, "STAGED_PASSAGES", 4), (staging, "STAGED_PASSAGES", 4), (staging, "PIECE_PASSAGES", 2),
            (purge, "PURGED_PASSAGES", 4), (purge, "PURGED_NODES", 2), (models, "CLEARED", 2),
        ):  # fmt: skip
            self.patch.setattr(module, name, value)
        self.place = tempfile.TemporaryDirectory()
        self.stores = [SqliteStore(Path(self.place.name) / "store", PathAnalyser()) for _ in MODELS]
        self.queues = [Queue() for _ in MODELS]
        self.files: dict[str, str] = {}
        self.seen: dict[str, int] = {}
        """When a letter was last there."""

    def teardown(self) -> None:
        for store in self.stores:
            store.close()
        self.place.cleanup()
        self.patch.undo()

    def there(self) -> set[str]:
        return set("".join(self.files.values()))

    def wanted(self, number: int) -> set[str]:
        queue = self.queues[number]
        return self.there() - queue.have - set(queue.refused) if queue.used else set()

    def settle(self) -> None:
        """What is not there any more is waited for by nobody, and who claims it has it no longer."""
        for queue in self.queues:
            queue.held = {letter: it for letter, it in queue.held.items() if letter in self.there()}

    # --- writes ---

    @rule(path=files, text=texts, number=which)
    def write(self, path: str, text: str, number: int) -> None:
        self.stores[number].apply([letters(path, text)])
        self.files[path] = text
        self.settle()

    @rule(path=st.sampled_from(["resources/a", "resources/d", "resources/d/b"]), number=which)
    def remove(self, path: str, number: int) -> None:
        self.stores[number].apply([Remove(path, recursive=True)])
        self.files = {one: text for one, text in self.files.items() if not (one == path or one.startswith(path + "/"))}
        self.settle()

    @rule(path=files, to=files)
    def move(self, path: str, to: str) -> None:
        if path in self.files and to not in self.files:
            self.stores[0].apply([letters("resources/d/keep", "")])
            self.files["resources/d/keep"] = ""
            self.stores[0].apply([Move(path, to)])
            self.files[to] = self.files.pop(path)

    @rule(number=which)
    def clear(self, number: int) -> None:
        while self.stores[number].purge(2):
            assert self.stores[number].check() == []

    # --- models ---

    @rule(number=which)
    def use(self, number: int) -> None:
        self.stores[number].vectors.use(MODELS[number])
        self.queues[number].used = True

    @rule(number=which, limit=st.integers(1, 4))
    def look_for_missing(self, number: int, limit: int) -> None:
        self.stores[number].vectors.enqueue_missing(MODELS[number].fingerprint, limit)

    @precondition(lambda self: any(queue.used for queue in self.queues))
    @rule(number=which, limit=st.integers(1, 4), data=st.data())
    def claim(self, number: int, limit: int, data: st.DataObject) -> None:
        queue, store = self.queues[number], self.stores[number]
        while data.draw(st.booleans()) and store.vectors.enqueue_missing(MODELS[number].fingerprint, 100):
            pass
        claimed = store.vectors.claim(MODELS[number].fingerprint, limit)
        for one in claimed:
            letter = self.files[one.node.path][one.start]
            assert one.hash == hashed(letter)
            assert letter in self.wanted(number)
            until, before = queue.held.get(letter, (0, one))
            assert until <= self.clock.now, "it is another's"
            queue.old.append(before)
            queue.held[letter] = (self.clock.now + LEASE_MS, one)
        assert len({one.hash for one in claimed}) == len(claimed)

    @rule(number=which, data=st.data(), poison=st.booleans())
    def put(self, number: int, data: st.DataObject, poison: bool) -> None:
        queue, store = self.queues[number], self.stores[number]
        candidates = [one for _, one in queue.held.values()] + queue.old[-4:]
        if not candidates:
            return
        chosen = data.draw(st.lists(st.sampled_from(candidates), unique_by=lambda one: one.hash))
        vectors = None if poison else np.ones((1, 2), np.float32)
        given = [MadeVector(one.hash, one.lease, vectors, "poison" if poison else "") for one in chosen]
        store.vectors.put(MODELS[number].fingerprint, given)
        names = {hashed(letter): letter for letter in "abcde"}
        for one in chosen:
            letter = names[one.hash]
            held = queue.held.get(letter)
            if poison:
                if held is not None and held[1].lease == one.lease and letter in self.wanted(number):
                    queue.refused[letter] = "poison"
                    del queue.held[letter]
            elif letter in self.there():
                queue.have.add(letter)
                queue.refused.pop(letter, None)
                queue.held.pop(letter, None)
            queue.old.append(one)

    @rule(number=which, data=st.data(), retry_in=st.sampled_from([0, 5_000]))
    def give_back(self, number: int, data: st.DataObject, retry_in: int) -> None:
        queue, store = self.queues[number], self.stores[number]
        if queue.held:
            letter = data.draw(st.sampled_from(sorted(queue.held)))
            one = queue.held[letter][1]
            store.vectors.give_back(MODELS[number].fingerprint, [one], retry_in=retry_in)
            queue.held[letter] = (self.clock.now + retry_in, dataclasses.replace(one, lease="given back"))

    @rule(passed=st.sampled_from([1_000, LEASE_MS, LOOSE_MS + 1]))
    def time_passes(self, passed: int) -> None:
        self.seen.update(dict.fromkeys(self.there(), self.clock.now + passed))
        self.clock.now += passed

    # --- what must be true ---

    @invariant()
    def nothing_is_inconsistent(self) -> None:
        assert self.stores[0].check() == []
        self.seen.update(dict.fromkeys(self.there(), self.clock.now))
        self.forget()
        for queue, store, model in zip(self.queues, self.stores, MODELS, strict=True):
            seen = store.vectors.coverage(model.fingerprint)
            every = "".join(self.files.values())
            have = sum(letter in queue.have for letter in every)
            refused = sum(letter in queue.refused for letter in every)
            assert seen == Coverage(have, len(every), refused)

    def forget(self) -> None:
        """Vectors and refusals of what is gone may or may not be kept: the dictionary takes over which."""
        connection = self.stores[0]._connections._writer
        names = {hashed(letter): letter for letter in "abcde"}
        for queue, model in zip(self.queues, MODELS, strict=True):
            of_model = "(SELECT id FROM models WHERE fingerprint = ?)"
            kept = {
                names[row[0]]
                for row in connection.execute(
                    f"SELECT hash FROM vectors WHERE model_id = {of_model}", (model.fingerprint,)
                )
            }
            refused = {
                names[row[0]]
                for row in connection.execute(
                    f"SELECT hash FROM pending WHERE error <> '' AND model_id = {of_model}", (model.fingerprint,)
                )
            }
            there = self.there()
            assert {letter for letter in kept if letter in there} <= queue.have
            lately = {letter for letter, at in self.seen.items() if at >= self.clock.now - LOOSE_MS}
            assert queue.have & lately <= kept, "what comes back soon must cost nothing"
            queue.have = {letter for letter in queue.have | kept if letter in kept or letter in there}
            queue.refused = {
                letter: why for letter, why in queue.refused.items() if letter in refused or letter in there
            }


def test_the_queue_of_two_models() -> None:
    run_state_machine_as_test(Machine, settings=settings(max_examples=25, stateful_step_count=30, deadline=None))

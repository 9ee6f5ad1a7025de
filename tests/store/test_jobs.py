"""The queue: work is claimed by one, and comes back when its holder is gone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from openviking.store.batch import PutFile
from openviking.store.jobs import MAX_ATTEMPTS, Job, JobQueue, NewJob
from openviking.store.port import AccountStore

LEASE = 60_000
OVER = -1
"""A lease that has run out as soon as it is given."""


@pytest.fixture
def jobs(store: AccountStore) -> JobQueue:
    return store.jobs


def claimed(jobs: JobQueue, lease: int = LEASE) -> Job:
    job = jobs.claim(("a", "b"), lease)
    assert job is not None
    return job


def test_jobs_are_claimed_once_oldest_first(jobs: JobQueue) -> None:
    ids = [jobs.enqueue(NewJob("a", str(number), {"number": number})) for number in range(3)]
    taken = [claimed(jobs) for _ in range(3)]
    assert [job.id for job in taken] == ids
    assert [job.payload for job in taken] == [{"number": number} for number in range(3)]
    assert all(job.attempt == 1 for job in taken)
    assert jobs.claim(("a",), LEASE) is None
    assert jobs.waiting() == {"a": 3}
    for job in taken:
        jobs.finish(job)
    assert jobs.waiting() == {}
    assert jobs.newest() == ids[-1]


def test_the_same_work_waits_once(jobs: JobQueue) -> None:
    first = jobs.enqueue(NewJob("a", "k", {"version": 1}, delay=LEASE))
    assert jobs.enqueue(NewJob("a", "k", {"version": 2})) == first
    assert jobs.enqueue(NewJob("a", "other", {})) != first
    assert jobs.enqueue(NewJob("b", "k", {})) != first
    job = jobs.claim(("a",), LEASE, up_to=first, due_only=False)
    assert job is not None
    assert job.payload == {"version": 1}
    # What is under way may have looked already: the same work asked for again is new work.
    assert jobs.enqueue(NewJob("a", "k", {"version": 3})) > first


def test_a_delayed_job_is_claimed_when_it_is_due_or_wanted(jobs: JobQueue) -> None:
    jobs.enqueue(NewJob("a", "k", {}, delay=LEASE))
    assert jobs.claim(("a",), LEASE) is None
    assert jobs.next_due() is not None
    assert jobs.claim(("a",), LEASE, due_only=False) is not None


def test_kinds_and_ids_narrow_a_claim(jobs: JobQueue) -> None:
    one, two = jobs.enqueue(NewJob("a", "1", {})), jobs.enqueue(NewJob("a", "2", {}))
    assert jobs.claim(("b",), LEASE) is None
    assert jobs.claim((), LEASE) is None
    job = jobs.claim(("a",), LEASE, up_to=one)
    assert job is not None
    assert job.id == one
    assert jobs.claim(("a",), LEASE, up_to=one) is None
    assert claimed(jobs).id == two


def test_work_of_one_s_own_is_claimed_at_once(jobs: JobQueue) -> None:
    job = jobs.start(NewJob("a", "k", {"version": 1}), LEASE)
    assert (job.kind, job.key, job.payload, job.attempt) == ("a", "k", {"version": 1}, 1)
    assert jobs.claim(("a",), LEASE, due_only=False) is None
    assert jobs.waiting() == {"a": 1}
    assert jobs.renew(job, LEASE)
    jobs.give_back(job)
    again = jobs.start(NewJob("a", "k", {"version": 2}), LEASE)
    assert (again.id, again.payload, again.attempt) == (job.id, {"version": 2}, 1)
    jobs.finish(again)
    assert jobs.waiting() == {}


def test_a_lost_lease_gives_the_job_to_another(jobs: JobQueue) -> None:
    jobs.enqueue(NewJob("a", "k", {}))
    lost = claimed(jobs, OVER)
    held = claimed(jobs)
    assert (held.id, held.attempt) == (lost.id, 2)
    assert not jobs.renew(lost, LEASE)
    jobs.finish(lost)
    jobs.fail(lost, "too late", retry_in=0)
    jobs.give_back(lost)
    assert jobs.waiting() == {"a": 1}
    assert jobs.claim(("a",), LEASE) is None
    assert jobs.renew(held, LEASE)
    jobs.finish(held)
    assert jobs.waiting() == {}
    assert jobs.failed() == []


def test_a_renewed_lease_is_kept(jobs: JobQueue) -> None:
    jobs.enqueue(NewJob("a", "k", {}))
    job = claimed(jobs, OVER)
    assert jobs.renew(job, LEASE)
    assert jobs.claim(("a",), LEASE) is None


def test_failing_and_trying_again(jobs: JobQueue) -> None:
    jobs.enqueue(NewJob("a", "k", {}))
    for number in range(1, MAX_ATTEMPTS):
        job = claimed(jobs)
        assert job.attempt == number
        jobs.fail(job, f"error {number}", retry_in=0)
        assert jobs.failed() == []
    last = claimed(jobs)
    jobs.fail(last, "given up", retry_in=0)
    assert jobs.waiting() == {}
    assert jobs.next_due() is None
    assert [(job.key, job.attempt, error) for job, error in jobs.failed()] == [("k", MAX_ATTEMPTS, "given up")]
    assert jobs.enqueue(NewJob("a", "k", {})) > last.id


def test_the_delay_of_a_retry_holds_for_everyone(jobs: JobQueue) -> None:
    jobs.enqueue(NewJob("a", "k", {}, delay=LEASE))
    job = jobs.claim(("a",), LEASE, due_only=False)
    assert job is not None
    jobs.fail(job, "once", retry_in=LEASE)
    assert jobs.claim(("a",), LEASE, due_only=False) is None
    assert jobs.waiting() == {"a": 1}


def test_what_was_interrupted_keeps_its_attempts(jobs: JobQueue) -> None:
    jobs.enqueue(NewJob("a", "k", {}))
    for _ in range(2 * MAX_ATTEMPTS):
        job = claimed(jobs)
        assert job.attempt == 1
        jobs.give_back(job)


def test_a_job_whose_process_ends_each_time_is_given_up(jobs: JobQueue) -> None:
    jobs.enqueue(NewJob("a", "k", {}))
    for number in range(1, MAX_ATTEMPTS + 1):
        assert claimed(jobs, OVER).attempt == number
    jobs.enqueue(NewJob("b", "other", {}))
    assert claimed(jobs).kind == "b"
    assert jobs.waiting() == {"b": 1}
    [(job, error)] = jobs.failed()
    assert (job.kind, job.key) == ("a", "k")
    assert f"each of {MAX_ATTEMPTS} attempts" in error


def test_the_same_work_that_waits_joins_a_retry(jobs: JobQueue) -> None:
    """Not the reverse: whoever waits for the first must not take it for done."""
    for put_back in (lambda job: jobs.fail(job, "oh", retry_in=0), jobs.give_back):
        first = jobs.enqueue(NewJob("a", "k", {"version": 1}))
        job = claimed(jobs)
        assert jobs.enqueue(NewJob("a", "k", {"version": 2})) > first
        put_back(job)
        assert jobs.waiting(first) == jobs.waiting() == {"a": 1}
        again = claimed(jobs)
        assert (again.id, again.payload) == (first, {"version": 2})
        jobs.finish(again)


def test_the_next_that_is_due_of_some_kinds(jobs: JobQueue) -> None:
    jobs.enqueue(NewJob("of another release", "k", {}))
    assert jobs.next_due() is not None
    assert jobs.next_due(("a",)) is None
    jobs.enqueue(NewJob("a", "k", {}))
    assert jobs.next_due(("a",)) is not None


def test_waiting_up_to_a_moment(jobs: JobQueue) -> None:
    jobs.enqueue(NewJob("a", "1", {}))
    moment = jobs.newest()
    jobs.enqueue(NewJob("b", "2", {}))
    assert jobs.waiting(moment) == {"a": 1}
    assert jobs.waiting() == {"a": 1, "b": 1}


def test_jobs_of_a_batch_are_queued_with_it(store: AccountStore, put: Callable[..., PutFile]) -> None:
    store.apply([put("resources/a.md", "x")], jobs=[NewJob("a", "k", {"x": [1, "ü"]})])
    job = claimed(store.jobs)
    assert job.payload == {"x": [1, "ü"]}


@pytest.mark.cpu_budget(5)
def test_many_workers_share_the_work(open_store: Callable[[Path], AccountStore], tmp_path: Path) -> None:
    stores = [open_store(tmp_path / "shared") for _ in range(2)]
    for number in range(60):
        stores[0].jobs.enqueue(NewJob("a", str(number), {}))
    done: list[int] = []

    def work(jobs: JobQueue) -> None:
        while (job := jobs.claim(("a",), LEASE)) is not None:
            done.append(job.id)
            jobs.finish(job)

    threads = [threading.Thread(target=work, args=(stores[number % 2].jobs,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == sorted(set(done))
    assert len(done) == 60

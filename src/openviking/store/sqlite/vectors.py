"""The vectors of one account's passages, and the queue of those that wait for one."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from openviking.clock import now_ms
from openviking.errors import InternalError
from openviking.model.embedding import Coverage, EmbeddingModel
from openviking.store.sqlite import models
from openviking.store.sqlite.connection import Connections
from openviking.store.sqlite.jobs import enqueue
from openviking.store.sqlite.pending import (
    LIVE,
    PLACES,
    is_staged,
    place_of,
    queue_old,
    staged_rows,
    waiting_rows,
)
from openviking.store.sqlite.purge import PURGE_JOB
from openviking.store.sqlite.scan.scans import Scans
from openviking.store.vectors import (
    ALONE,
    LEASE_MS,
    LONGEST_RETRY_MS,
    RETRY_MS,
    MadeVector,
    PendingPassage,
    RefusedPassage,
    StoredModel,
)

if TYPE_CHECKING:
    # Most commands need no numbers, and numpy takes its time to load.
    import numpy as np
    from numpy.typing import NDArray

LATER_MS: Final = 5_000
"""After this a passage is looked at again that a writer was staging."""

ROUNDS: Final = 16
LOOKED_AT: Final = 64
"""One claim looks at rows in rounds of at least so many where others are to be cleared out of its way."""

_NO_DIRECTION: Final = "the model gave a vector without direction: zeros, or not numbers"


class SqliteVectors:
    """The `openviking.store.vectors.Vectors` of one database."""

    def __init__(self, connections: Connections, scans: Scans) -> None:
        self._connections = connections
        self._scans = scans

    def use(self, model: EmbeddingModel) -> None:
        """Queue passages that are written from now on for ``model`` too."""
        with self._connections.reading() as connection:
            if models.lately_used(connection, model.fingerprint):
                return
        with self._connections.writing() as connection:
            if models.use(connection, model):
                enqueue(connection, PURGE_JOB)

    def enqueue_missing(self, fingerprint: str, limit: int) -> bool:
        """Queue passages from before the model was used; whether there may be more."""
        with self._connections.reading() as connection:
            model = models.known(connection, fingerprint)
            if model is None or not model.backlog:
                return False
        with self._connections.writing() as connection:
            model = models.known(connection, fingerprint)
            if model is None:
                return False
            ids = connection.execute(
                "SELECT id FROM passages WHERE id <= ? ORDER BY id DESC LIMIT ?", (model.backlog, limit)
            ).fetchall()
            if ids:
                queue_old(connection, model.id, ids[-1][0], ids[0][0])
            more = len(ids) == limit
            backlog = ids[-1][0] - 1 if more else 0
            connection.execute("UPDATE models SET backlog = ? WHERE id = ?", (backlog, model.id))
        return more

    def claim(self, fingerprint: str, limit: int, *, up_to: int | None = None, below: str = "") -> list[PendingPassage]:
        """Claim passages that wait, in their order."""
        claimed: list[PendingPassage] = []
        for _ in range(ROUNDS):
            with self._connections.reading() as connection:
                model = models.known(connection, fingerprint)
                if model is None:
                    return claimed
                # Looked for outside of the write transaction, so that nobody waits for it.
                source, values = waiting_rows(connection, model.id, _most(up_to), below, "q.due <= ?", (now_ms(),))
                wanted = limit - len(claimed)
                found = connection.execute(
                    f"SELECT q.id, q.hash, q.attempts FROM {source} ORDER BY q.size_class, q.passage_id DESC LIMIT ?",
                    (*values, max(wanted, LOOKED_AT)),
                ).fetchall()
            if not found:
                return claimed
            with self._connections.writing() as connection:
                new = _claim(connection, found, wanted, others=bool(claimed))
            if claimed and not new:
                return claimed
            claimed += new
            if len(claimed) >= limit or any(one.attempts >= ALONE for one in new):
                return claimed
        return claimed

    def put(self, fingerprint: str, made: Sequence[MadeVector]) -> int:
        """Store vectors and refusals; how many were still wanted."""
        if not made:
            return 0
        with self._connections.reading() as connection:
            model = models.known(connection, fingerprint)
        if model is None:
            return 0
        ready = [(one, None if one.vectors is None else _blob(one.vectors, model.dimension)) for one in made]
        wanted = 0
        with self._connections.writing() as connection:
            model = models.known(connection, fingerprint)
            if model is None:
                return 0
            for one, blob in ready:
                if blob is not None:
                    wanted += _store(connection, model.id, one.hash, blob)
                else:
                    error = one.error if one.vectors is None else _NO_DIRECTION
                    wanted += _refuse(connection, model.id, one, error or "the model refused it")
        return wanted

    def give_back(
        self, fingerprint: str, claimed: Sequence[PendingPassage], *, retry_in: int = 0, failed: bool = False
    ) -> None:
        """Queue claimed passages again."""
        if not claimed:
            return
        due = now_ms() + retry_in
        with self._connections.writing() as connection:
            connection.executemany(
                "UPDATE pending SET due = ?, lease = NULL, attempts = attempts + ? WHERE hash = ? AND lease = ?"
                " AND model_id = (SELECT id FROM models WHERE fingerprint = ?)",
                [
                    (due + (_put_off(one.attempts) if failed else 0), failed, one.hash, one.lease, fingerprint)
                    for one in claimed
                ],
            )

    def renew(self, fingerprint: str, claimed: Sequence[PendingPassage]) -> None:
        """Keep claimed passages."""
        if not claimed:
            return
        until = now_ms() + LEASE_MS
        with self._connections.writing() as connection:
            connection.executemany(
                "UPDATE pending SET due = ? WHERE hash = ? AND lease = ?"
                " AND model_id = (SELECT id FROM models WHERE fingerprint = ?)",
                [(until, one.hash, one.lease, fingerprint) for one in claimed],
            )

    def newest(self, fingerprint: str) -> int:
        """The number of the last passage that was queued."""
        with self._connections.reading() as connection:
            model = models.known(connection, fingerprint)
            if model is None or not _waits(connection, model.id):
                return 0
            row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'pending'").fetchone()
            return int(row[0])

    def waiting(self, fingerprint: str, *, up_to: int | None = None, below: str = "") -> int:
        """How many passages wait or are claimed."""
        with self._connections.reading() as connection:
            model = models.known(connection, fingerprint)
            if model is None:
                return 0
            source, values = waiting_rows(connection, model.id, _most(up_to), below)
            (count,) = connection.execute(f"SELECT count(*) FROM {source}", values).fetchone()
            if up_to is None and not below:
                (before,) = connection.execute(
                    "SELECT count(*) FROM passages WHERE id <= ?", (model.backlog,)
                ).fetchone()
                count += before
            if not below:
                source, values = staged_rows(model.id, _most(up_to))
                (staged,) = connection.execute(f"SELECT count(*) FROM {source}", values).fetchone()
                count -= staged
            return int(count)

    def next_due(self, fingerprint: str) -> int | None:
        """When the next passage may be claimed."""
        now = now_ms()
        with self._connections.reading() as connection:
            model = models.known(connection, fingerprint)
            if model is None:
                return None
            of_model = "FROM pending WHERE model_id = ? AND error = ''"
            # Most often there is one at once, and those that are claimed are few.
            row = connection.execute(f"SELECT due {of_model} AND due <= ? LIMIT 1", (model.id, now)).fetchone()
            if row is None:
                row = connection.execute(f"SELECT min(due) {of_model}", (model.id,)).fetchone()
            return None if row[0] is None else int(row[0])

    def refused(self, fingerprint: str, limit: int) -> list[RefusedPassage]:
        """Passages that the model refused."""
        found: list[RefusedPassage] = []
        with self._connections.reading() as connection:
            model = models.known(connection, fingerprint)
            if model is None:
                return found
            rows = connection.execute(
                "SELECT hash, error FROM pending WHERE model_id = ? AND error <> '' ORDER BY passage_id DESC",
                (model.id,),
            )
            for digest, error in rows:
                place = place_of(connection, digest)
                if place is not None:
                    found.append(RefusedPassage(place.node.path, place.first_line, place.last_line, error))
                if len(found) == limit:
                    break
            rows.close()
        return found

    def models(self) -> list[StoredModel]:
        """The models in use."""
        with self._connections.reading() as connection:
            return models.in_use(connection)

    def any_made(self, fingerprint: str) -> bool:
        """Whether there is a vector at all."""
        with self._connections.reading() as connection:
            model = models.known(connection, fingerprint)
            if model is None:
                return False
            made = "SELECT 1 FROM vectors WHERE model_id = ? AND vector <> x'' LIMIT 1"
            return connection.execute(made, (model.id,)).fetchone() is not None

    def coverage(self, fingerprint: str) -> Coverage:
        """How many passages of the account have a vector."""
        with self._connections.reading() as connection:
            model = models.known(connection, fingerprint)
            graves = f"{_GRAVES} CROSS JOIN passages p ON p.node_id = n.id"
            (of,) = connection.execute(
                f"SELECT (SELECT value FROM meta WHERE name = 'passages') - (SELECT count(*) FROM {graves})"
            ).fetchone()
            if model is None:
                return Coverage(0, of)
            counts = {False: 0, True: 0}
            queued = "CROSS JOIN passages p ON p.hash = q.hash"
            for sign, source in (
                (1, f"pending q {queued} WHERE q.model_id = :model"),
                (-1, f"{graves} CROSS JOIN pending q ON q.hash = p.hash AND q.model_id = :model"),
            ):
                for refused, count in connection.execute(
                    f"SELECT q.error <> '', count(*) FROM {source} GROUP BY q.error <> ''", {"model": model.id}
                ):
                    counts[bool(refused)] += sign * count
            (before,) = connection.execute(
                f"SELECT count(*) FROM {PLACES} WHERE p.id <= :backlog AND {LIVE}"
                " AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.model_id = :model AND v.hash = p.hash)"
                " AND NOT EXISTS (SELECT 1 FROM pending q WHERE q.model_id = :model AND q.hash = p.hash)",
                {"model": model.id, "backlog": model.backlog},
            ).fetchone()
            (settled,) = connection.execute(
                f"SELECT count(*) FROM vectors v CROSS JOIN {PLACES}"
                f" WHERE v.model_id = ? AND v.vector = x'' AND p.hash = v.hash AND {LIVE}",
                (model.id,),
            ).fetchone()
            of -= settled
            return Coverage(of - counts[False] - counts[True] - before, of, counts[True])

    def keep_cache(self) -> None:
        """Write the scan's cache file if much has changed since it was written."""
        self._scans.keep()


_GRAVES: Final = (
    "(SELECT n.id FROM directories d CROSS JOIN nodes n ON n.directory_id = d.id"
    " WHERE d.path >= char(0) AND d.path < ' ') n"
)


def _most(up_to: int | None) -> int:
    return (1 << 62) if up_to is None else up_to


def _put_off(attempts: int) -> int:
    return min(RETRY_MS << min(attempts, 20), LONGEST_RETRY_MS)


def _waits(connection: sqlite3.Connection, model_id: int) -> bool:
    return (
        connection.execute("SELECT 1 FROM pending WHERE model_id = ? AND error = '' LIMIT 1", (model_id,)).fetchone()
        is not None
    )


def _claim(
    connection: sqlite3.Connection, found: Sequence[tuple[int, bytes, int]], limit: int, *, others: bool
) -> list[PendingPassage]:
    """Claim up to ``limit`` of the rows that nobody else has claimed meanwhile; clear others out of the way.

    What failed often is claimed alone, and left where there are ``others``.
    """
    now, lease = now_ms(), secrets.token_hex(8)
    claimed: list[PendingPassage] = []
    for row_id, digest, attempts in found:
        if len(claimed) == limit or (claimed and claimed[-1].attempts >= ALONE):
            break
        if attempts >= ALONE and (claimed or others):
            continue
        place = place_of(connection, digest)
        if place is None:
            if is_staged(connection, digest):
                connection.execute("UPDATE pending SET due = max(due, ?) WHERE id = ?", (now + LATER_MS, row_id))
            else:
                connection.execute("DELETE FROM pending WHERE id = ? AND error = ''", (row_id,))
            continue
        taken = connection.execute(
            "UPDATE pending SET due = ?, lease = ? WHERE id = ? AND due <= ? AND error = ''",
            (now + LEASE_MS, lease, row_id, now),
        ).rowcount
        if taken:
            claimed.append(
                PendingPassage(digest, lease, place.node, place.level, place.title, place.start, place.end,
                               place.breadcrumb, place.symbol, attempts)
            )  # fmt: skip
    return claimed


def _store(connection: sqlite3.Connection, model_id: int, digest: bytes, blob: bytes) -> bool:
    """Store a vector that anything may have a use for; whether it was waited for."""
    waited = connection.execute("DELETE FROM pending WHERE hash = ? AND model_id = ?", (digest, model_id)).rowcount > 0
    # What was removed a moment ago may come back.
    connection.execute(
        "INSERT INTO vectors (model_id, hash, vector) SELECT :model, :hash, :vector"
        " WHERE EXISTS (SELECT 1 FROM passages WHERE hash = :hash) OR EXISTS (SELECT 1 FROM loose WHERE hash = :hash)"
        " ON CONFLICT DO NOTHING",
        {"model": model_id, "hash": digest, "vector": blob},
    )
    return waited


def _refuse(connection: sqlite3.Connection, model_id: int, one: MadeVector, error: str) -> bool:
    return (
        connection.execute(
            "UPDATE pending SET error = ?, due = 0, lease = NULL WHERE hash = ? AND model_id = ? AND lease = ?",
            (error, one.hash, model_id, one.lease),
        ).rowcount
        > 0
    )


def _blob(vectors: NDArray[np.float32], dimension: int) -> bytes | None:
    """The windows as they are stored, None if one has no direction. Raises `InternalError` for another dimension."""
    import numpy as np  # noqa: PLC0415

    if vectors.ndim != 2 or vectors.shape[1] != dimension:
        raise InternalError(
            f"Vectors of shape {vectors.shape} were put for a model of dimension {dimension}: (windows, {dimension})"
            " is right",
            shape=list(vectors.shape),
            dimension=dimension,
        )
    exact = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        return None
    return bytes((exact / lengths).astype("<f2").tobytes())

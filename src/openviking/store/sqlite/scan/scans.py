"""The scans of one store: a mirror for each model that is asked for, kept in a file between processes."""

from __future__ import annotations

import contextlib
import json
import logging
import secrets
import sqlite3
import threading
import time
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from openviking.errors import InvalidArgumentError, OpenVikingError
from openviking.model.embedding import Coverage
from openviking.model.scope import Scope
from openviking.store.port import QueryVector
from openviking.store.sqlite.connection import Connections
from openviking.store.sqlite.rows import FILE_LEVEL, passage_conditions, scope_conditions

if TYPE_CHECKING:
    # A store without vectors needs no numbers, and numpy takes its time to load.
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from openviking.store.sqlite.scan.mask import Scopes
    from openviking.store.sqlite.scan.mirror import Mirror
    from openviking.store.sqlite.scan.nearest import InScope
    from openviking.store.sqlite.scan.postings import Passages
    from openviking.store.sqlite.scan.reading import Model, State
    from openviking.store.sqlite.scan.rows import GrowingRows

CHANGED_SHARE: Final = 0.05
CHANGED_ROWS: Final = 500
"""A mirror is saved once more than this share of its rows and this many were changed."""

LEFT_BEHIND_S: Final = 600
"""A temporary file of this age was left by a process that died."""

MOST_MIRRORS: Final = 2
"""The model in use and the one before it, while vectors of the new one are made."""

RECENT: Final = 4
"""Scopes whose rows are kept: a find looks again below single directories, and then the same is asked for anew."""

OTHERS: Final = 2000
"""Where so few passages are not in a scope, these are counted instead of the others."""

_REMEMBERED: Final = 32
_LOG: Final = logging.getLogger(__name__)


class Scans:
    """The mirrors of a store and their files ``scan-<fingerprint>.cache``; safe for many threads."""

    def __init__(self, directory: Path, connections: Connections) -> None:
        self._directory = directory
        self._connections = connections
        self._lock = threading.Lock()
        self._saving = threading.Lock()
        self._mirrors: dict[str, Mirror] = {}
        self._scopes: Scopes | None = None
        self._recent: OrderedDict[tuple[Mirror, Scope, State], InScope] = OrderedDict()
        self._counts: OrderedDict[tuple[str, Scope, tuple[int, ...]], int] = OrderedDict()

    def in_scope(
        self, connection: sqlite3.Connection, fingerprint: str, scope: Scope, file_roots: frozenset[str]
    ) -> InScope | None:
        """The rows of a model in ``scope``, in the state that ``connection`` sees; None if nothing has a vector yet."""
        if connection.execute("SELECT 1 FROM vectors LIMIT 1").fetchone() is None:
            return None
        from openviking.store.sqlite.scan import mask, mirror, nearest, reading  # noqa: PLC0415

        model = reading.model(connection, fingerprint)
        if model is None:
            return None
        with self._lock:
            scopes = self._scopes = self._scopes or mask.Scopes()
            mirrored = self._mirrors.get(fingerprint)
            if mirrored is None or (mirrored.model.id, mirrored.model.cleared) < (model.id, model.cleared):
                self._mirrors.pop(fingerprint, None)
                while len(self._mirrors) >= MOST_MIRRORS:
                    del self._mirrors[next(iter(self._mirrors))]
                mirrored = self._mirrors[fingerprint] = mirror.Mirror(model, self._load)
        if mirrored.model != model:
            # Vectors were removed or the model was forgotten, and this reader is still in the time before.
            mirrored = mirror.Mirror(model, self._load)
        state = reading.state(connection)
        key = (mirrored, scope, state)
        with self._lock:
            known = self._recent.get(key)
            if known is not None:
                self._recent.move_to_end(key)
                return known
        allowed = scopes.allowed(connection, scope, file_roots, state.change)
        if scope.within is not None:
            # One search looks into many directories: keeping these would throw away what others have use for.
            allowed = replace(allowed, directly=mask.directly(connection, scope.within))
            return nearest.InScope(mirrored.at(connection, state), allowed, scope)
        found = nearest.InScope(mirrored.at(connection, state), allowed, scope)
        with self._lock:
            # Those of other states would keep rows in memory that nobody asks for any more.
            for other in [one for one in self._recent if one[2] != state]:
                del self._recent[other]
            self._recent[key] = found
            while len(self._recent) > RECENT:
                self._recent.popitem(last=False)
        return found

    def near(
        self, connection: sqlite3.Connection, vector: QueryVector, scope: Scope, file_roots: frozenset[str]
    ) -> Near | None:
        """What is near to a query's vector in ``scope``; None if nothing there has a vector yet."""
        found = self.in_scope(connection, vector.fingerprint, scope, file_roots)
        if found is None or not found.have:
            return None
        dimension = found.model.dimension
        if vector.values.shape != (dimension,):
            raise InvalidArgumentError(
                f"A query's vector of shape {vector.values.shape} can't be compared with those of the model, which"
                f" have {dimension} numbers",
                expected=dimension,
            )
        return Near(found, vector.values)

    def passages(
        self, connection: sqlite3.Connection, fingerprint: str, scope: Scope, file_roots: frozenset[str]
    ) -> Passages | None:
        """The passages of ``scope`` in the state that ``connection`` sees; None if nothing has a vector yet."""
        found = self.in_scope(connection, fingerprint, scope, file_roots)
        return None if found is None else found.passages

    def right_in(
        self, connection: sqlite3.Connection, fingerprint: str, scope: Scope, file_roots: frozenset[str], directory: str
    ) -> list[int] | None:
        """The passages of ``scope`` that are right in a directory (`Scope.within`); None if nothing has a vector yet."""
        found = self.in_scope(connection, fingerprint, scope, file_roots)
        if found is None:
            return None
        from openviking.store.sqlite.scan import mask  # noqa: PLC0415

        return found.right_in(*mask.directly(connection, directory))

    def coverage(
        self, connection: sqlite3.Connection, fingerprint: str, scope: Scope, file_roots: frozenset[str]
    ) -> Coverage:
        """How many passages in ``scope`` have a vector of the model."""
        found = self.in_scope(connection, fingerprint, scope, file_roots)
        # What was refused has no change number; their count tells, for none is taken back without a change or a vector.
        change, vector, all_refused = connection.execute(
            "SELECT value, (SELECT coalesce(max(id), 0) FROM vectors), (SELECT count(*) FROM models m"
            " CROSS JOIN pending q ON q.model_id = m.id AND q.error <> '' WHERE m.fingerprint = ?)"
            " FROM meta WHERE name = 'change'",
            (fingerprint,),
        ).fetchone()
        refused = 0
        if all_refused:
            key = (fingerprint, scope, (change, vector, all_refused))
            refused = self._counted(key, lambda: _refused(connection, fingerprint, scope, file_roots))
        if found is not None:
            return Coverage(found.have, found.of, refused)
        of = self._counted(("", scope, (change,)), lambda: _count(connection, scope, file_roots))
        return Coverage(0, of, refused)

    def _counted(self, key: tuple[str, Scope, tuple[int, ...]], count: Callable[[], int]) -> int:
        """What ``count`` gives, remembered for ``key``."""
        with self._lock:
            known = self._counts.get(key)
            if known is not None:
                self._counts.move_to_end(key)
                return known
        found = count()
        with self._lock:
            self._counts[key] = found
            while len(self._counts) > _REMEMBERED:
                self._counts.popitem(last=False)
        return found

    def keep(self) -> None:
        """Save mirrors of which much was changed; that one can't be saved is logged, for it can be made again."""
        with self._saving:
            with self._lock:
                mirrors = list(self._mirrors.values())
            for mirrored in mirrors:
                changed, rows = mirrored.changed()
                if changed > CHANGED_SHARE * rows + CHANGED_ROWS:
                    try:
                        self._save(mirrored)
                    except (OSError, MemoryError, OpenVikingError) as error:
                        _LOG.warning(
                            "The scan could not be kept in %s: %s", self._path(mirrored.model.fingerprint), error
                        )

    def forget(self) -> None:
        """Let go of all mirrors and remove their files: they may hold what was removed. They are made again when needed."""
        with self._saving, self._lock:
            self._mirrors.clear()
            self._recent.clear()
            for path in self._directory.glob("scan-*"):
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Save what `keep` would, and let go of all."""
        self.keep()
        with self._lock:
            self._mirrors.clear()
            self._recent.clear()

    def _path(self, fingerprint: str) -> Path:
        return self._directory / f"scan-{fingerprint}.cache"

    def _load(self, connection: sqlite3.Connection, model: Model, state: State) -> tuple[GrowingRows, State] | None:
        from openviking.store.sqlite.scan import cache_file, reading  # noqa: PLC0415

        path = self._path(model.fingerprint)
        stamp = _stamps(connection).get(model.fingerprint)
        if stamp is None:
            return None
        try:
            rows, of = cache_file.read(path, model, stamp)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, MemoryError, cache_file.UnusableFileError) as error:
            _LOG.warning("%s is not used and will be made again: %s", path, error)
            return None
        # A state from before the file reads by itself; it must not throw the file away for the others.
        return (rows, of) if of.change <= state.change and reading.reaches_back(connection, of.change) else None

    def _save(self, mirrored: Mirror) -> None:
        from openviking.store.sqlite.scan import cache_file  # noqa: PLC0415

        kept = mirrored.to_save()
        if kept is None:
            return
        fingerprint = mirrored.model.fingerprint
        stamp = secrets.token_hex(16)
        new = self._directory / f"scan-{fingerprint}.{stamp}.tmp"
        try:
            rows, state = kept
            cache_file.write(new, rows, mirrored.model, state, stamp)
            with self._connections.writing() as connection:
                used = {row[0] for row in connection.execute("SELECT fingerprint FROM models")}
                stamps = {known: other for known, other in _stamps(connection).items() if known in used}
                connection.execute(
                    "UPDATE meta SET value = ? WHERE name = 'scan'", (json.dumps({**stamps, fingerprint: stamp}),)
                )
                # Inside of the transaction, so that of two processes the file of the one that commits last stays.
                new.replace(self._path(fingerprint))
        finally:
            new.unlink(missing_ok=True)
        self._sweep(used)

    def _sweep(self, used: set[str]) -> None:
        """Remove what processes that died left, and the files of models that are forgotten."""
        for path in self._directory.glob("scan-*"):
            with contextlib.suppress(OSError):
                fingerprint = path.name.removeprefix("scan-").partition(".")[0]
                left = path.suffix == ".tmp" and time.time() - path.stat().st_mtime > LEFT_BEHIND_S
                if left or (path.suffix == ".cache" and fingerprint not in used):
                    path.unlink()


class Near:
    """The passages of a scope by how near they are to a query.

    ``without`` are those that have no vector, None if they are many.
    """

    def __init__(self, scoped: InScope, query: NDArray[np.float32]) -> None:
        self.model_id = scoped.model.id
        self.without = scoped.without
        self.passages = scoped.nearest(query)
        self._query = query

    def cosines(self, blobs: Sequence[bytes | None]) -> list[float | None]:
        """The exact cosines of passages by their stored vectors."""
        from openviking.store.sqlite.scan.exact import cosines  # noqa: PLC0415

        return cosines(blobs, self._query)


def _stamps(connection: sqlite3.Connection) -> dict[str, str]:
    """By fingerprint, the stamp of the file that was saved last; none if what is noted makes no sense."""
    (value,) = connection.execute("SELECT value FROM meta WHERE name = 'scan'").fetchone()
    try:
        noted = json.loads(value) if value else {}
    except ValueError:
        return {}
    told = noted.items() if isinstance(noted, dict) else ()
    return {fingerprint: stamp for fingerprint, stamp in told if isinstance(stamp, str)}


def _count(connection: sqlite3.Connection, scope: Scope, file_roots: frozenset[str]) -> int:
    """How many passages ``scope`` has."""
    if scope == Scope(scope.roots, scope.excluded, scope.context_types) and not file_roots:
        few = _count_others(connection, scope, OTHERS)
        if few <= OTHERS:
            (passages,) = connection.execute("SELECT value FROM meta WHERE name = 'passages'").fetchone()
            return int(passages) - few
    where, values = passage_conditions(scope, file_roots)
    (count,) = connection.execute(
        "SELECT count(*) FROM directories d CROSS JOIN nodes n ON n.directory_id = d.id"
        f" CROSS JOIN passages p ON p.node_id = n.id WHERE {where}",
        values,
    ).fetchone()
    return int(count)


def _count_others(connection: sqlite3.Connection, scope: Scope, most: int) -> int:
    """How many passages are not in a ``scope`` that is made of directories; more than ``most`` if there are more."""
    conditions, values = scope_conditions(scope, frozenset())
    within = " AND ".join(conditions) or "1"
    passages = (
        "SELECT 1 FROM directories d CROSS JOIN nodes n ON n.directory_id = d.id"
        " CROSS JOIN passages p ON p.node_id = n.id WHERE"
    )
    (count,) = connection.execute(
        f"SELECT count(*) FROM ({passages} NOT ({within}) UNION ALL {passages} {within} AND n.name >= '.' AND n.name < '/'"
        f" UNION ALL {passages} {within} AND d.dirty > 0 AND n.name = '' AND p.level <> {FILE_LEVEL} LIMIT ?)",
        (*values, *values, *values, most + 1),
    ).fetchone()
    return int(count)


def _refused(connection: sqlite3.Connection, fingerprint: str, scope: Scope, file_roots: frozenset[str]) -> int:
    where, values = passage_conditions(scope, file_roots)
    (count,) = connection.execute(
        "SELECT count(*) FROM models m CROSS JOIN pending q ON q.model_id = m.id AND q.error <> ''"
        " CROSS JOIN passages p ON p.hash = q.hash CROSS JOIN nodes n ON n.id = p.node_id"
        f" CROSS JOIN directories d ON d.id = n.directory_id WHERE m.fingerprint = ? AND {where}",
        (fingerprint, *values),
    ).fetchone()
    return int(count)

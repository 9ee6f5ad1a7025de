"""Vectors of a test set's passages and queries, made once: kept in a folder, keyed by what was read and the model.

A folder has one SQLite file per model, named by its fingerprint; a row is the SHA-256 of a text with its vectors.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from openviking.ingest.embedding import PassageTexts
from openviking.providers.embedder import Embedder, Refused, Unmade
from openviking.store.port import AccountStore
from openviking.store.vectors import MadeVector

CLAIMED: Final = 64
PATIENCE: Final = 600.0
"""Seconds that one call of the model may take: this is no service, and the machine may be busy."""


class Vectors:
    """What ``embedder`` makes of texts, kept in ``folder``; None keeps nothing."""

    def __init__(self, embedder: Embedder, folder: Path | None) -> None:
        self._embedder = embedder
        self.model = embedder.model
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        place = ":memory:" if folder is None else str(folder / f"{self.model.fingerprint}.sqlite")
        self._sql = sqlite3.connect(place)
        self._sql.execute("CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")

    def close(self) -> None:
        """Close the file."""
        self._sql.close()

    def query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query, of shape (dimension,)."""
        key = _key(f"query\n{text}")
        found = self._kept(key)
        if found is None:
            found = self._embedder.query(text, timeout=PATIENCE)[None]
            self._keep({key: found})
        vector: NDArray[np.float32] = found[0]
        return vector

    def fill(self, store: AccountStore, progress: Callable[[int], None]) -> None:
        """Give all passages of ``store`` that wait for one their vector; ``progress`` hears how many still wait."""
        texts = PassageTexts()
        fingerprint = self.model.fingerprint
        while claimed := store.vectors.claim(fingerprint, CLAIMED):
            progress(store.vectors.waiting(fingerprint))
            readable = texts.settle(store, self.model, claimed)
            made = self._passages([one.text for one in readable])
            store.vectors.put(
                fingerprint,
                [
                    MadeVector(one.passage.hash, one.passage.lease, vector)
                    for one, vector in zip(readable, made, strict=True)
                ],
            )

    def _passages(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        keys = [_key(f"passage\n{text}") for text in texts]
        known = {key: kept for key in keys if (kept := self._kept(key)) is not None}
        missing = [number for number, key in enumerate(keys) if key not in known]
        made = self._embedder.passages([texts[number] for number in missing], timeout=PATIENCE) if missing else []
        new: dict[bytes, NDArray[np.float32]] = {}
        for number, vector in zip(missing, made, strict=True):
            if isinstance(vector, Unmade):
                raise SystemExit(vector.error.message)
            if isinstance(vector, Refused):
                raise SystemExit(f"the model refused {texts[number][:80]!r}: {vector.reason}")
            new[keys[number]] = vector
        self._keep(new)
        known |= new
        return [known[key] for key in keys]

    def _kept(self, key: bytes) -> NDArray[np.float32] | None:
        row = self._sql.execute("SELECT vector FROM vectors WHERE text = ?", (key,)).fetchone()
        return None if row is None else np.frombuffer(row[0], np.float32).reshape(-1, self.model.dimension)

    def _keep(self, made: dict[bytes, NDArray[np.float32]]) -> None:
        with self._sql:
            self._sql.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
                [(key, np.ascontiguousarray(vector, np.float32).tobytes()) for key, vector in made.items()],
            )


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()

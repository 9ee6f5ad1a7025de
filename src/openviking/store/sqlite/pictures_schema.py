"""The table of what models say of pictures, by the SHA-256 of their bytes."""

from __future__ import annotations

import hashlib
import sqlite3
from typing import Final

NOTHING: Final = hashlib.sha256(b"").digest()
"""The digest of the text of a picture that nobody has described."""

_LOOK_AGAIN: Final = (
    "UPDATE nodes SET text_hash = ?, prepared = 0 WHERE kind = 'binary' AND text_hash IS NULL"
    " AND (lower(name) GLOB '*.png' OR lower(name) GLOB '*.jp*g' OR lower(name) GLOB '*.gif' OR lower(name) GLOB '*.webp'"
    " OR lower(name) GLOB '*.bmp' OR lower(name) GLOB '*.tif*')"
)
_TIDY: Final = (
    "DELETE FROM contents WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM nodes WHERE text_hash = contents.hash)"
    " AND NOT EXISTS (SELECT 1 FROM nodes n WHERE n.hash = contents.hash)"
)
_STATEMENTS: Final = (
    """CREATE TABLE pictures (
        hash BLOB PRIMARY KEY,
        description TEXT,
        model TEXT NOT NULL DEFAULT '',
        due INTEGER NOT NULL DEFAULT 0,
        lease TEXT,
        attempts INTEGER NOT NULL DEFAULT 0,
        error TEXT NOT NULL DEFAULT ''
    ) WITHOUT ROWID""",
    # What is said of a picture may tell as much as the picture.
    "CREATE TRIGGER pictures_gone AFTER DELETE ON contents BEGIN DELETE FROM pictures WHERE hash = old.hash; END",
    "CREATE INDEX nodes_pictures ON nodes (text_hash, id DESC) WHERE kind = 'image'",
    "INSERT OR IGNORE INTO contents (hash, size, data) VALUES (?, 0, x'')",
    # Files that were stored before pictures were known are looked at again.
    _LOOK_AGAIN,
    _TIDY,
)
# pictures.description: NULL until there is one. pictures.due: from when on it may be claimed; while ``lease`` is set, when
# its holder loses it. pictures.error: why there is none; such a picture waits no more.


def pictures_table(connection: sqlite3.Connection) -> None:
    """The migration that makes the table, and has pictures recognised that are there already."""
    for statement in _STATEMENTS:
        connection.execute(statement, (NOTHING,) if "?" in statement else ())

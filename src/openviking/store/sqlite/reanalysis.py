"""Making terms anew that another version of the analyser made."""

from __future__ import annotations

import sqlite3
from typing import Final

from openviking.store.port import Analyser
from openviking.store.sqlite.words import drop_passages, put_name

_SIDECAR_LEVELS: Final = (0, 1)


def analyse_again(connection: sqlite3.Connection, analyser: Analyser) -> bool:
    """Make all terms anew that are not made with a file's content; whether there are sidecars to be made."""
    rows = connection.execute(
        "SELECT n.id, n.directory_id, CASE WHEN n.name = '' THEN d.name ELSE n.name END, n.name = ''"
        " FROM nodes n JOIN directories d ON d.id = n.directory_id WHERE NOT (n.directory_id = 1 AND n.name = '')"
    ).fetchall()
    for node_id, directory, name, is_dir in rows:
        put_name(connection, analyser, node_id, name)
        if is_dir:
            for level in _SIDECAR_LEVELS:
                drop_passages(connection, node_id, level)
            connection.execute("UPDATE directories SET dirty = max(dirty, 1) WHERE id = ?", (directory,))
    connection.execute("UPDATE meta SET value = ? WHERE name = 'analyser'", (analyser.version,))
    if rows:
        connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'change'")
    return bool(rows)

"""Which errors say that the store itself can't work now: the disk is full, the file locked or out of reach."""

from __future__ import annotations

import errno
import sqlite3
from typing import Final

from openviking.errors import OpenVikingError, ResourceExhaustedError, UnavailableError

_PRIMARY: Final = 0xFF
_SQLITE: Final = frozenset(
    (
        sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PROTOCOL,
    )
)  # fmt: skip
_SYSTEM: Final = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
)


def is_outage(error: OpenVikingError) -> bool:
    """Whether work that met ``error`` may well be done later, whatever it is; not so for damaged or missing contents."""
    of_store = (isinstance(error, UnavailableError) and error.details.get("service") == "store") or (
        isinstance(error, ResourceExhaustedError) and error.details.get("resource") == "store"
    )
    cause = error.__cause__
    if not of_store:
        return False
    if isinstance(cause, sqlite3.Error):
        return (getattr(cause, "sqlite_errorcode", None) or 0) & _PRIMARY in _SQLITE
    return isinstance(cause, OSError) and cause.errno in _SYSTEM

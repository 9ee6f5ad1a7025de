"""Files that clients send ahead of the call that uses them: kept for a while, for their owner alone (contract/core.md §3.4).

Each lies in the directory of its account as ``<key>.part`` while it grows, then as ``<key>`` with ``<key>.json``, and as
``<key>.<task>`` once an import took it. A sweep, queued durably before the first byte, clears away what is left over,
also of killed processes.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO, Any, Final

from openviking.clock import now_ms
from openviking.config.settings import UploadSettings
from openviking.errors import (
    InvalidArgumentError,
    OpenVikingError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
)
from openviking.ingest.background import Step, Turn
from openviking.model.identity import Identity
from openviking.service.accounts import Accounts
from openviking.service.places import ACCOUNTS, UPLOADS
from openviking.store.jobs import LATER, NewJob
from openviking.store.port import AccountStore

RESERVE_BYTES: Final = 256 * 1024 * 1024
"""So much of the disk is left to everything else."""

KIND: Final = "uploads"
"""The kind of the job that sweeps."""

_ID: Final = re.compile(r"(?:upload_|shared_[0-9]{13}-)([0-9a-f]{32})(\.[A-Za-z0-9]{1,16})?")
_EXTENSION: Final = re.compile(r"\.[A-Za-z0-9]{1,16}")
_SEPARATORS: Final = re.compile(r"[/\\]")
_NAME_CHARS: Final = 1000
_UNNAMED: Final = "upload"


@dataclass(frozen=True, slots=True)
class Upload:
    """A complete upload: its id, the name that the client gave the file, its size in bytes."""

    id: str
    name: str
    size: int


class Incoming:
    """An upload that is being received: `write` pieces, then `finish`; `abandon` leaves nothing."""

    def __init__(
        self,
        directory: Path,
        identity: Identity,
        filename: str | None,
        clock: Callable[[], int],
        settings: UploadSettings,
    ) -> None:
        self._settings = settings
        self._directory = directory
        self._identity = identity
        self._clock = clock
        self._name = plain_name(filename)
        self._key = secrets.token_hex(16)
        self._size = 0
        self._part = directory / f"{self._key}.part"
        self._file: IO[bytes] = _new_file(self._part)

    def write(self, piece: bytes) -> None:
        """Add bytes. Raises `InvalidArgumentError` for more than are taken, `ResourceExhaustedError` on a full disk."""
        self._size += len(piece)
        if self._size > self._settings.max_bytes:
            raise too_large(self._settings)
        with _translated():
            if shutil.disk_usage(self._directory).free < RESERVE_BYTES + len(piece):
                raise ResourceExhaustedError("The disk has no room for uploads", resource="uploads")
            self._file.write(piece)

    def finish(self, mode: str | None = None) -> Upload:
        """The complete upload, safely on disk; ``mode`` ``shared`` only spells its id in another way."""
        mode = mode or self._settings.default_mode
        extension = _EXTENSION.fullmatch(PurePath(self._name).suffix)
        prefix = f"shared_{self._clock():013d}-" if mode == "shared" else "upload_"
        upload = Upload(f"{prefix}{self._key}{extension[0] if extension else ''}", self._name, self._size)
        who = self._identity
        told = {
            "id": upload.id, "name": upload.name, "user": who.user, "registration": who.registration,
            "at": self._clock(),
        }  # fmt: skip
        with _translated():
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            with _new_file(self._directory / f"{self._key}.json") as file:
                file.write(json.dumps(told).encode())
            self._part.replace(self._directory / self._key)
        return upload

    def abandon(self) -> None:
        """Forget it."""
        with contextlib.suppress(OSError):
            self._file.close()
        for path in (self._part, self._directory / f"{self._key}.json"):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


class Uploads:
    """Receives uploads, gives each to its owner once, and sweeps away what nobody used."""

    def __init__(
        self, accounts: Accounts, clock: Callable[[], int] = now_ms, *, settings: UploadSettings | None = None
    ) -> None:
        self.settings = settings or UploadSettings()
        self._accounts = accounts
        self._clock = clock

    def steps(self) -> dict[str, Step]:
        """The kind of job for a worker."""
        return {KIND: self._sweep}

    def begin(self, identity: Identity, filename: str | None) -> Incoming:
        """Begin to receive a file that the client calls ``filename``.

        Raises `ResourceExhaustedError` for a caller of whom too many wait already.
        """
        store = self._accounts.store(identity)
        place = self._accounts.place(identity)
        directory = self._directory(place)
        with _translated():
            directory.mkdir(mode=0o700, exist_ok=True)
            self._check_waiting(identity, directory)
        # Before the first byte: whatever becomes of this process, somebody clears up.
        store.jobs.enqueue(self._sweep_job(place))
        return Incoming(directory, identity, filename, self._clock, self.settings)

    def find(self, identity: Identity, temp_file_id: object) -> Upload:
        """An upload of the caller that waits to be used.

        Raises `PermissionDeniedError` for one that is malformed, unknown, another's, used or expired: which of these
        is nobody's business.
        """
        key, told = self._told(identity, temp_file_id)
        try:
            size = (self._directory(self._accounts.place(identity)) / key).stat().st_size
        except OSError as error:
            raise _denied() from error
        return Upload(told["id"], told["name"], size)

    def look(self, identity: Identity, temp_file_id: object) -> Path:
        """The file of an upload that stays where it is, to be read at once; raises as `find` does."""
        key, _ = self._told(identity, temp_file_id)
        path = self._directory(self._accounts.place(identity)) / key
        if not path.is_file():
            raise _denied()
        return path

    def take(self, identity: Identity, temp_file_id: object, task_id: str) -> Path:
        """The file of an upload, which is that task's from now on and nobody else's; raises as `find` does.

        It is used up with `settle`, or given back.
        """
        key, _ = self._told(identity, temp_file_id)
        directory = self._directory(self._accounts.place(identity))
        taken = directory / f"{key}.{task_id}"
        try:
            (directory / key).rename(taken)
        except OSError as error:
            raise _denied() from error
        return taken

    def settle(self, taken: Path) -> None:
        """Forget whose upload a file was that `take` gave."""
        with contextlib.suppress(OSError):
            taken.with_name(f"{taken.name.partition('.')[0]}.json").unlink(missing_ok=True)

    def give_back(self, taken: Path) -> None:
        """Let a file that `take` gave be taken again."""
        with contextlib.suppress(OSError):
            taken.rename(taken.with_name(taken.name.partition(".")[0]))

    def remove(self, taken: Path) -> None:
        """Remove a file that `take` gave."""
        with contextlib.suppress(OSError):
            taken.unlink(missing_ok=True)

    def forget(self, account: str, user: str) -> int:
        """Remove what a user sent and nobody used; how many files."""
        directory = self._directory(self._accounts.place_of(account))
        gone = 0
        for path in directory.glob("*.json") if directory.is_dir() else ():
            told = _read(path)
            if told is not None and told.get("user") == user:
                for file in (path.with_suffix(""), path):
                    with contextlib.suppress(OSError):
                        file.unlink(missing_ok=True)
                gone += 1
        return gone

    def _told(self, identity: Identity, temp_file_id: object) -> tuple[str, dict[str, Any]]:
        """The key and the record of an upload of the caller."""
        found = _ID.fullmatch(temp_file_id) if isinstance(temp_file_id, str) else None
        if found is None:
            raise _denied()
        self._accounts.store(identity)
        told = _read(self._directory(self._accounts.place(identity)) / f"{found[1]}.json")
        owner = None if told is None else (told.get("id"), told.get("user"), told.get("registration"))
        if told is None or owner != (temp_file_id, identity.user, identity.registration):
            raise _denied()
        if told.get("at", 0) < self._oldest():
            raise _denied()
        return found[1], told

    def _check_waiting(self, identity: Identity, directory: Path) -> None:
        """Raises `ResourceExhaustedError` if the caller may send no more for now."""
        settings, oldest = self.settings, self._oldest()
        waiting: dict[str, int] = {}
        with os.scandir(directory) as entries:
            for entry in entries:
                if "." not in entry.name:
                    with contextlib.suppress(FileNotFoundError):
                        found = entry.stat()
                        if found.st_mtime * 1000 >= oldest:
                            waiting[entry.name] = found.st_size

        def fits() -> bool:
            return len(waiting) < settings.max_waiting and sum(waiting.values()) < settings.max_waiting_bytes

        if fits():
            return
        # Whose they are is looked up only where all together are too many.
        for key in list(waiting):
            told = _read(directory / f"{key}.json") or {}
            if (told.get("user"), told.get("registration")) != (identity.user, identity.registration):
                del waiting[key]
        if not fits():
            raise ResourceExhaustedError(
                f"{len(waiting):,} uploads of yours with {sum(waiting.values()):,} bytes wait to be used, at most"
                f" {settings.max_waiting:,} with {settings.max_waiting_bytes:,} may: use them, or wait until they expire",
                resource="uploads",
                limit=settings.max_waiting,
            )

    def _oldest(self) -> int:
        """When what is over by now came, in milliseconds."""
        return self._clock() - 1000 * self.settings.ttl_seconds

    def _sweep_job(self, place: str) -> NewJob:
        return NewJob(KIND, LATER, {"place": place}, delay=1000 * self.settings.ttl_seconds + 60_000)

    def _directory(self, place: str) -> Path:
        return self._accounts.path / ACCOUNTS / place / UPLOADS

    def _sweep(self, store: AccountStore, turn: Turn) -> bool:
        place = str(turn.payload["place"])
        if self.sweep(store, place):
            store.jobs.enqueue(self._sweep_job(place))
        return False

    def sweep(self, store: AccountStore, place: str) -> int:
        """Remove what is over in the account at ``place``; how many files are left for a later sweep."""
        left = 0
        oldest = self._oldest()
        try:
            files = list(self._directory(place).iterdir())
        except OSError:
            return 0
        for path in files:
            with contextlib.suppress(OSError):
                _, _, mark = path.name.partition(".")
                task = None if mark in {"", "part", "json"} else store.tasks.get(mark, None)
                if path.stat().st_mtime * 1000 >= oldest or (task is not None and not task.over):
                    left += 1
                else:
                    path.unlink()
        return left


def plain_name(filename: object) -> str:
    """The last part of a path that a client gave as a file's name, "upload" for none."""
    text = filename if isinstance(filename, str) else ""
    last = _SEPARATORS.split(text.replace("\0", ""))[-1].strip()
    return last[:_NAME_CHARS].encode("utf-8", "replace").decode() if last.strip(".") else _UNNAMED


def too_large(settings: UploadSettings) -> InvalidArgumentError:
    """What a file over the limit is answered with."""
    return InvalidArgumentError(
        f"The file has more than {settings.max_bytes:,} bytes, which is the most that is taken", field="file"
    )


def _read(path: Path) -> dict[str, Any] | None:
    try:
        told = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return told if isinstance(told, dict) else None


def _new_file(path: Path) -> IO[bytes]:
    with _translated():
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _outage(error) from error


def _outage(error: OSError) -> OpenVikingError:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return ResourceExhaustedError(f"The disk is full: {error.strerror}", resource="uploads")
    return UnavailableError(
        f"The upload can't be stored: {error.strerror}", service="uploads", reason=str(error.strerror)
    )


def _denied() -> PermissionDeniedError:
    return PermissionDeniedError(
        "The temp_file_id is not one of yours that can be used: send the file again", field="temp_file_id"
    )

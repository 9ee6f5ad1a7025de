"""Running git on what strangers wrote: no configuration but ours, no hooks, no prompts, no protocol but http(s)."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Final

from openviking.errors import FailedPreconditionError
from openviking.ingest.fetch.failures import FetchCancelled, FetchFailedError, FetchTimeoutError
from openviking.ingest.fetch.workspace import Workspace

OLDEST: Final = (2, 37)
"""Older ones can't be told which address to connect to."""

_LOOK_S: Final = 0.1
_MAX_ALLOCATION: Final = 512 * 1024 * 1024
"""What git may take in one piece: trees and commits are unpacked in memory, and a packed megabyte can be a gigabyte."""
_TOLD: Final = 400
_PASSED_ON: Final = (
    "PATH",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "LD_LIBRARY_PATH",
)
_HARDENED: Final = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.askPass=", "credential.helper=", "core.sshCommand=false",
    "protocol.allow=never", "http.followRedirects=false", "http.proxy=", "http.extraHeader=", "http.cookieFile=",
    "http.emptyAuth=false", "submodule.recurse=false", "fetch.recurseSubmodules=false", "fetch.unpackLimit=1",
    "transfer.unpackLimit=1", "gc.auto=0", "maintenance.auto=false", "core.bigFileThreshold=16m", "pack.threads=1",
    "core.deltaBaseCacheLimit=32m", "advice.detachedHead=false", "uploadpack.packObjectsHook=", "transfer.bundleURI=false",
)  # fmt: skip


class Git:
    """A git binary; raises `FailedPreconditionError` if there is none that can be used.

    Everything it does happens in ``space``; ``deadline`` is one of `time.monotonic`, and ``limit`` seconds are what it
    stands for. ``max_bytes`` are what it may write.
    """

    def __init__(
        self,
        space: Workspace,
        *,
        deadline: float,
        limit: float,
        max_bytes: int,
        cancelled: Callable[[], bool],
        progress: Callable[[int], None],
    ) -> None:
        self._space = space
        self._deadline = deadline
        self._limit = limit
        self._max_bytes = max_bytes
        self._cancelled = cancelled
        self._progress = progress
        self._program = _program()

    def run(
        self, arguments: Sequence[str], settings: Sequence[str] = (), *, shown: str, max_printed: int | None = None
    ) -> Path:
        """Run a command; the file with what it printed, of at most ``max_printed`` bytes.

        Raises `FetchFailedError` with what it said of ``shown``, `FetchTimeoutError`, `FetchCancelled`.
        """
        out, told = self._space.path / "out", self._space.path / "told"
        with out.open("wb") as output, told.open("wb") as errors:
            process = self._started(arguments, settings, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
            try:
                self._watch(process, shown, out, max_printed)
            finally:
                end(process)
        if process.returncode != 0:
            raise FetchFailedError(f"git can't fetch {shown}: {_last_words(told)}", url=shown)
        return out

    def pipe(self, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        """A command that answers what is written to it; whoever asked for it ends it with `end`."""
        return self._started(arguments, (), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def _started(
        self,
        arguments: Sequence[str],
        settings: Sequence[str],
        *,
        stdin: int,
        stdout: int | IO[bytes],
        stderr: int | IO[bytes],
    ) -> subprocess.Popen[bytes]:
        options = [part for one in (*_HARDENED, *settings) for part in ("-c", one)]
        home = str(self._space.path)
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        environment |= {
            "HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS": "", "GIT_ALLOW_PROTOCOL": "http:https",
            "GIT_PROTOCOL_FROM_USER": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C",
            "GIT_ALLOC_LIMIT": str(_MAX_ALLOCATION),
        }  # fmt: skip
        try:
            return subprocess.Popen(  # noqa: S603
                [self._program, *options, *arguments], stdin=stdin, stdout=stdout, stderr=stderr, cwd=home,
                env=environment, start_new_session=True, pass_fds=(self._space.lock,),
            )  # fmt: skip
        except OSError as error:
            raise FetchFailedError(f"git can't be started: {error.strerror}") from error

    def _watch(self, process: subprocess.Popen[bytes], shown: str, out: Path, max_printed: int | None) -> None:
        over = False
        while not over:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_S)
                # Looked at once more: much can come in a moment.
                over = True
            if self._cancelled():
                raise FetchCancelled
            if not over and time.monotonic() >= self._deadline:
                raise FetchTimeoutError(
                    f"{shown} was not complete after {self._limit:g} s", url=shown, timeout=self._limit
                )
            size = _size(self._space.path)
            self._progress(size)
            if size > self._max_bytes:
                raise FetchFailedError(
                    f"{shown} has more than {self._max_bytes:,} bytes, which is the most that is fetched", url=shown
                )
            if max_printed is not None and out.stat().st_size > max_printed:
                raise FetchFailedError(f"{shown} has a list of files of more than {max_printed:,} bytes", url=shown)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a git with its children, whatever they do, and close its pipes."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    process.wait()


def _program() -> str:
    found = shutil.which("git")
    if found is None:
        raise FailedPreconditionError("Repositories are fetched with git, which is not installed here: install it")
    try:
        said = subprocess.run([found, "version"], capture_output=True, check=False, timeout=10).stdout  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FailedPreconditionError(
            f"Repositories are fetched with git, and {found} does not run: {error}"
        ) from error
    version = re.search(rb"(\d+)\.(\d+)", said)
    if version is None or (int(version[1]), int(version[2])) < OLDEST:
        raise FailedPreconditionError(
            f"Repositories are fetched with git {'.'.join(map(str, OLDEST))} or later, and"
            f" {said.decode('utf-8', 'replace').strip()[:80] or 'none'} is here: install a newer one"
        )
    return found


def _size(directory: Path) -> int:
    total = 0
    for above, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(f"{above}/{name}").st_size
    return total


def _last_words(told: Path) -> str:
    """What git said last, in one line."""
    text = told.read_bytes()[-4_000:].decode("utf-8", "replace")
    lines = [line.strip() for line in text.replace("\r", "\n").splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return " ".join((fatal or lines or ["it says nothing"])[-2:])[:_TOLD]

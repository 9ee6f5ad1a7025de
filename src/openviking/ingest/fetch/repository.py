"""The files of a repository in one state, read out of git's own store: nothing is ever checked out.

So no attribute, filter, hook, symbolic link or name of a stranger's tree does anything on this machine.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from openviking.config.settings import FetchSettings
from openviking.errors import InvalidArgumentError, ProcessingError
from openviking.ingest.delivery import LINK, Cancelled, Scan, UnreadableError, too_large, with_ignore_file
from openviking.ingest.fetch.failures import FetchFailedError
from openviking.ingest.fetch.git_process import Git, end
from openviking.ingest.ignore import IGNORE_FILE, IgnoreChain, SkipRules, Verdict
from openviking.uri import MAX_DEPTH

if TYPE_CHECKING:
    from pathlib import Path

    from openviking.ingest.fetch.refs import Wanted
    from openviking.ingest.fetch.resolver import Gate
    from openviking.ingest.fetch.workspace import Workspace

MAX_FILES: Final = 1_000_000
MAX_TOTAL_BYTES: Final = 2 * 1024 * 1024 * 1024
MAX_LIST_BYTES: Final = 256 * 1024 * 1024
_PIECE: Final = 1024 * 1024
_REF: Final = "refs/fetched/state"
_SUBMODULE: Final = Verdict("another repository")
_ODD: Final = Verdict("its name leads out of the repository")
_TOO_DEEP: Final = Verdict(f"it lies more than {MAX_DEPTH} levels deep")

_State = tuple[str, IgnoreChain | None]
"""The skipped directory that a directory is in ("" for none), and the ``.gitignore`` files that hold there."""


def fetched(
    wanted: Wanted,
    space: Workspace,
    gate: Gate,
    settings: FetchSettings,
    cancelled: Callable[[], bool],
    progress: Callable[[int], None],
) -> RepositoryDelivery:
    """The repository in the wanted state, without its history where the server can leave that out.

    Its host is resolved and checked once more, and git connects to the checked addresses alone. Raises
    `FetchFailedError`, `FetchTimeoutError`, `InvalidArgumentError` for a commit or directory that is not there,
    `RefusedAddressError`, `FailedPreconditionError` without git, `FetchCancelled`.
    """
    address = wanted.address
    shown = str(address)
    deadline = time.monotonic() + settings.git_timeout
    git = Git(
        space, deadline=deadline, limit=settings.git_timeout, max_bytes=settings.max_repository_bytes,
        cancelled=cancelled, progress=progress,
    )  # fmt: skip
    addresses = gate.open(address.host, address.port, time.monotonic() + settings.connect_timeout, cancelled)
    rules = [
        f"protocol.{address.scheme}.allow=always", f"http.userAgent=git/2.40 ({settings.user_agent})",
        "http.lowSpeedLimit=1", f"http.lowSpeedTime={max(1, round(settings.idle_timeout))}",
    ]  # fmt: skip
    if address.literal is None:
        spelled = ",".join(f"[{one}]" if ":" in one else one for one in addresses)
        rules.append(f"http.curloptResolve={address.host}:{address.port}:{spelled}")
    git.run(["init", "--quiet", "--bare", "--template=", "repository"], shown=shown)
    inside = ["--git-dir=repository"]
    depth = ["--depth=1"] if wanted.smart else []
    name = wanted.name if wanted.smart or wanted.name.startswith("refs/") else "refs/heads/*"
    target = _REF if "*" not in name else "refs/heads/*"
    try:
        git.run(
            [*inside, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", *depth, "--",
             shown, f"+{name}:{target}"],
            rules, shown=shown,
        )  # fmt: skip
    except FetchFailedError as error:
        if any(sign in error.message for sign in ("not our ref", "couldn't find remote ref", "unadvertised object")):
            raise InvalidArgumentError(f"{shown} has no commit or branch {wanted.name}", **error.details) from error
        raise
    commit = wanted.commit if target != _REF else _REF
    tree = f"{commit}^{{commit}}:{wanted.below}"
    try:
        listed = git.run(
            [*inside, "ls-tree", "-r", "-z", "-l", "--full-tree", tree], shown=shown, max_printed=MAX_LIST_BYTES
        )
    except FetchFailedError as error:
        if wanted.below:
            raise InvalidArgumentError(f"{shown} has no directory {wanted.below}", **error.details) from error
        raise
    return RepositoryDelivery(git, inside, listed, shown)


class RepositoryDelivery:
    """The regular files of one state; links and other repositories in it are left out."""

    def __init__(self, git: Git, inside: list[str], listed: Path, shown: str) -> None:
        self._git = git
        self._inside = inside
        self._shown = shown
        self._left_out: list[tuple[str, Verdict]] = []
        self._blobs: dict[str, tuple[str, int]] = {}
        self._reader: subprocess.Popen[bytes] | None = None
        self._read_list(listed)

    def scan(self, rules: SkipRules, cancelled: Cancelled) -> Scan:
        """Its files under the rules that hold for folders."""
        scan = Scan()
        for name, verdict in self._left_out:
            scan.skip(name, verdict)
        states: dict[str, _State] = {"": ("", self._chain("", scan, None))}
        for name in sorted(self._blobs, key=lambda one: one.replace("/", "\0")):
            if cancelled():
                break
            outside, chain = self._state(name.rpartition("/")[0], rules, scan, states)
            if outside:
                continue
            refused = rules.file(name, chain)
            if refused is None:
                scan.files.append(name)
            else:
                scan.skip(name, refused)
        return scan

    def read(self, name: str, limit: int) -> bytes:
        """The bytes of a file."""
        blob, size = self._blobs[name]
        if size > limit:
            raise UnreadableError(too_large(size, limit))
        if self._reader is None:
            self._reader = self._git.pipe([*self._inside, "cat-file", "--batch"])
        asked, answer = self._reader.stdin, self._reader.stdout
        if asked is None or answer is None:
            raise UnreadableError("git gives nothing")
        try:
            asked.write(f"{blob}\n".encode())
            asked.flush()
            head = answer.readline(256).split()
            if len(head) != 3 or head[1] != b"blob" or int(head[2]) != size:
                raise UnreadableError("the repository does not have it")
            data = answer.read(size + 1)
        except OSError as error:
            raise UnreadableError(f"git gives nothing: {error.strerror}") from error
        if len(data) != size + 1:
            raise UnreadableError("the repository is damaged")
        return data[:-1]

    def close(self) -> None:
        """End git; the workspace is its owner's."""
        if self._reader is not None:
            end(self._reader)
            self._reader = None

    def _read_list(self, listed: Path) -> None:
        total = 0
        for record in _records(listed):
            about, _, path = record.partition(b"\t")
            mode, kind, blob, size = about.split()
            name = os.fsdecode(path)
            parts = name.split("/")
            if mode == b"120000":
                self._left_out.append((name, LINK))
            elif kind != b"blob":
                self._left_out.append((name, _SUBMODULE))
            elif any(part in {"", ".", ".."} for part in parts):
                self._left_out.append((name, _ODD))
            elif len(parts) > MAX_DEPTH:
                self._left_out.append((name, _TOO_DEEP))
            else:
                total += int(size)
                self._blobs[name] = (blob.decode("ascii"), int(size))
            # At once: one tree that is in itself many times over makes a list without end out of a kilobyte.
            if len(self._blobs) + len(self._left_out) > MAX_FILES or total > MAX_TOTAL_BYTES:
                raise ProcessingError(
                    f"{self._shown} has more than {MAX_FILES:,} files or {MAX_TOTAL_BYTES:,} bytes, which are the most"
                    " that are taken",
                    resource=self._shown,
                )

    def _state(self, directory: str, rules: SkipRules, scan: Scan, states: dict[str, _State]) -> _State:
        """What holds in a directory; each is entered once, from its nearest known ancestor."""
        missing: list[str] = []
        at = directory
        while at not in states:
            missing.append(at)
            at = at.rpartition("/")[0]
        state = states[at]
        for one in reversed(missing):
            outside, chain = state
            if not outside:
                verdict = rules.directory(one, chain)
                if verdict is None:
                    chain = self._chain(one, scan, chain)
                else:
                    outside = one
                    scan.skip(one, verdict, directory=True)
            state = states[one] = (outside, chain)
        return state

    def _chain(self, directory: str, scan: Scan, outer: IgnoreChain | None) -> IgnoreChain | None:
        name = f"{directory}/{IGNORE_FILE}" if directory else IGNORE_FILE
        return with_ignore_file(self, directory, scan, outer) if name in self._blobs else outer


def _records(listed: Path) -> Iterator[bytes]:
    """The entries of a list that NULs end."""
    with listed.open("rb") as source:
        rest = b""
        while piece := source.read(_PIECE):
            *whole, rest = (rest + piece).split(b"\0")
            yield from whole

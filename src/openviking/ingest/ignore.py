"""Which files and directories of a source are left out, and why."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from openviking.ingest.globs import glob_regex
from openviking.model.imports import ImportOptions

IGNORE_FILE: Final = ".gitignore"
MAX_IGNORE_BYTES: Final = 1024 * 1024
_MAX_LINES: Final = 10_000
_MAX_LINE_CHARS: Final = 1_000
_MAX_JOINED: Final = 50

IGNORED_DIRECTORIES: Final = frozenset(
    (
        ".git", ".svn", ".hg", ".idea", ".vscode", "__pycache__", "node_modules", "venv", ".venv", "env", ".env", "dist", "build",
        "target", "bin", "obj", ".DS_Store",
    )
)  # fmt: skip
"""Names of directories that are skipped at any depth unless an include names them (contract/core.md §3.4)."""

_VERSION_CONTROL: Final = frozenset((".git", ".svn", ".hg"))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why something is left out; ``chosen`` if the options of an import decide it, not what the source says.

    ``lifted_by`` is an include that takes such a directory all the same, "" if none is worth a mention.
    """

    reason: str
    chosen: bool = False
    lifted_by: str = ""


_OUTSIDE: Final = Verdict("beside a directory that is included", chosen=True)


class IgnoreLines:
    """The lines of one ``.gitignore``."""

    def __init__(self, text: str) -> None:
        self._runs: list[tuple[bool, re.Pattern[str]]] = []
        pending: list[str] = []
        ignores = True
        for line in text.split("\n")[:_MAX_LINES]:
            parsed = _parsed(line)
            if parsed is None:
                continue
            if parsed[0] != ignores or len(pending) == _MAX_JOINED:
                self._close(ignores, pending)
                ignores = parsed[0]
            pending.append(parsed[1])
        self._close(ignores, pending)

    def _close(self, ignores: bool, pending: list[str]) -> None:
        if pending:
            self._runs.append((ignores, re.compile("|".join(f"(?:{regex})" for regex in pending), re.DOTALL)))
            pending.clear()

    def verdict(self, path: str) -> bool | None:
        """Whether ``path`` (relative, with a final ``/`` for a directory) is ignored; None if no line speaks of it."""
        for ignores, pattern in reversed(self._runs):
            if pattern.match(path):
                return ignores
        return None


def _parsed(line: str) -> tuple[bool, str] | None:
    """Whether a line ignores (or takes back) and its regular expression; None if it says nothing."""
    line = line.rstrip("\r\n")
    kept = line.rstrip(" ")
    if kept != line and (len(kept) - len(kept.rstrip("\\"))) % 2:
        kept += " "
    if not kept or kept.startswith("#") or len(kept) > _MAX_LINE_CHARS:
        return None
    ignores = not kept.startswith("!")
    glob = kept if ignores else kept[1:]
    directories_only = glob.endswith("/")
    regex = glob_regex(glob.rstrip("/") if directories_only else glob, directories_only=directories_only)
    return None if regex is None else (ignores, regex)


@dataclass(frozen=True, slots=True)
class IgnoreChain:
    """The ``.gitignore`` files that hold for a directory: its own one (of the directory ``base``) and those above."""

    base: str
    lines: IgnoreLines
    outer: IgnoreChain | None

    def ignores(self, path: str) -> bool:
        """Whether ``path``, relative to the source's root, is ignored; the innermost file that speaks of it decides."""
        chain: IgnoreChain | None = self
        while chain is not None:
            said = chain.lines.verdict(path[len(chain.base) + 1 :] if chain.base else path)
            if said is not None:
                return said
            chain = chain.outer
        return False


class SkipRules:
    """The rules of one import, apart from what the source's own ``.gitignore`` files say."""

    def __init__(self, options: ImportOptions) -> None:
        self._include = _filter(tuple(glob for glob in options.include if not glob.endswith("/")))
        self._taken = _directories(glob for glob in options.include if glob.endswith("/"))
        self._passed = frozenset(path for taken in self._taken for path in self._passed_through(taken))
        self._exclude = _filter(tuple(glob for glob in options.exclude if not glob.endswith("/")))
        self._prefixes = tuple(_relative(glob) for glob in options.exclude if glob.endswith("/"))
        self._directories = _directories(options.ignore_dirs)

    def _passed_through(self, taken: str) -> Iterator[str]:
        """Directories above one that is taken of which nothing else is, since the rule leaves them out."""
        out = False
        for end in (place for place, char in enumerate(taken) if char == "/"):
            path = taken[:end]
            out = (out or _by_name(path) is not None) and not self._is_taken(path)
            if out:
                yield path

    def _is_taken(self, path: str) -> bool:
        return path in self._taken or path.rpartition("/")[2] in self._taken

    def _by_rule(self, path: str) -> Verdict | None:
        """What the rule about names says of a directory that no include names, and of what is passed through."""
        if path in self._passed or self._is_taken(path):
            return None
        return _by_name(path) or (_OUTSIDE if path.rpartition("/")[0] in self._passed else None)

    def directory(self, path: str, chain: IgnoreChain | None) -> Verdict | None:
        """Why the directory at ``path`` is skipped, None if it is not."""
        name = path.rpartition("/")[2]
        if (verdict := self._by_rule(path)) is not None:
            return verdict
        if chain is not None and chain.ignores(path + "/"):
            return Verdict("ignored by .gitignore")
        if name in self._directories or path in self._directories:
            return Verdict("in ignore_dirs", chosen=True)
        if (path + "/").startswith(self._prefixes):
            return Verdict("excluded", chosen=True)
        return None

    def file(self, path: str, chain: IgnoreChain | None) -> Verdict | None:
        """Why the file at ``path`` is skipped, None if it is not."""
        if path.rpartition("/")[2].startswith("."):
            return Verdict("hidden")
        if path.rpartition("/")[0] in self._passed:
            return _OUTSIDE
        if chain is not None and chain.ignores(path):
            return Verdict("ignored by .gitignore")
        if path.startswith(self._prefixes) or (self._exclude is not None and self._exclude.match(path)):
            return Verdict("excluded", chosen=True)
        if self._include is not None and not self._include.match(path):
            return Verdict("not included", chosen=True)
        return None


def _filter(globs: tuple[str, ...]) -> re.Pattern[str] | None:
    if not globs:
        return None
    regexes = [regex for glob in globs if (regex := glob_regex(glob.removeprefix("./"))) is not None]
    return re.compile("|".join(f"(?:{regex})" for regex in regexes) or r"(?!)", re.DOTALL)


def _by_name(path: str) -> Verdict | None:
    """Why a directory is left out because of its name."""
    name = path.rpartition("/")[2]
    lifted_by = "" if name in _VERSION_CONTROL else f"{name}/"
    if name in IGNORED_DIRECTORIES:
        return Verdict("a directory of tools or build results", chosen=True, lifted_by=lifted_by)
    return Verdict("hidden", chosen=True, lifted_by=lifted_by) if name.startswith(".") else None


def _directories(names: Iterable[str]) -> frozenset[str]:
    return frozenset(_relative(name).rstrip("/") for name in names) - {""}


def _relative(path: str) -> str:
    return path.removeprefix("./").lstrip("/")

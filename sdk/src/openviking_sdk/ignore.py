"""What of a local folder is not worth sending: the same rules by which the server would leave it out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from openviking_sdk.globs import glob_regex

IGNORE_FILE: Final = ".gitignore"
MAX_IGNORE_BYTES: Final = 1024 * 1024
_MAX_LINES: Final = 10_000
_MAX_CHARS: Final = 1_000

IGNORED_DIRECTORIES: Final = frozenset(
    (
        ".git", ".svn", ".hg", ".idea", ".vscode", "__pycache__", "node_modules", "venv", ".venv", "env", ".env", "dist", "build",
        "target", "bin", "obj", ".DS_Store",
    )
)  # fmt: skip
"""Names of directories that are not sent unless an include such as ``build/`` names them (contract/core.md §3.4)."""


def names(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """Names or patterns given as a comma-separated string or a sequence, without blanks and empty ones."""
    parts = value.split(",") if isinstance(value, str) else value or ()
    return tuple(part.strip() for part in parts if part.strip())


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """One ``.gitignore`` in the directory ``base`` (``""`` or ``a/b``), and those of the directories above."""

    base: str
    lines: tuple[tuple[bool, re.Pattern[str]], ...]
    outer: IgnoreFile | None

    @classmethod
    def of(cls, base: str, text: str, outer: IgnoreFile | None) -> IgnoreFile:
        """The rules of its text; lines that can't match anything are passed over."""
        parsed = (_line(line) for line in text.split("\n")[:_MAX_LINES])
        return cls(base, tuple(one for one in parsed if one is not None)[::-1], outer)

    def ignores(self, path: str) -> bool:
        """Whether ``path``, relative to the top and with a final ``/`` for a directory, is ignored."""
        file: IgnoreFile | None = self
        while file is not None:
            within = path[len(file.base) + 1 :] if file.base else path
            for ignored, pattern in file.lines:
                if pattern.match(within):
                    return ignored
            file = file.outer
        return False


class SendRules:
    """Which directories and files of a folder are sent; paths are relative to it, with ``/``."""

    def __init__(
        self, ignore_dirs: Iterable[str] = (), include: Iterable[str] = (), exclude: Iterable[str] = ()
    ) -> None:
        include, exclude = tuple(map(_relative, include)), tuple(map(_relative, exclude))
        self._skipped = {name.rstrip("/") for name in map(_relative, ignore_dirs)}
        self._taken = {name.rstrip("/") for name in include if name.endswith("/")}
        self._include = _patterns(name for name in include if not name.endswith("/"))
        self._exclude = _patterns(name for name in exclude if not name.endswith("/"))
        self._prefixes = tuple(name for name in exclude if name.endswith("/"))

    def sends_directory(self, path: str, ignore: IgnoreFile | None) -> bool:
        """Whether what is in the directory may be sent."""
        name = path.rpartition("/")[2]
        taken = name in self._taken or path in self._taken
        # On the way to one that is taken by its path.
        passed = any(one.startswith(f"{path}/") for one in self._taken)
        if (name in IGNORED_DIRECTORIES or name.startswith(".")) and not taken and not passed:
            return False
        if ignore is not None and ignore.ignores(f"{path}/"):
            return False
        return not (name in self._skipped or path in self._skipped or f"{path}/".startswith(self._prefixes))

    def sends_file(self, path: str, ignore: IgnoreFile | None) -> bool:
        """Whether the file is sent."""
        if path.rpartition("/")[2].startswith(".") or (ignore is not None and ignore.ignores(path)):
            return False
        if path.startswith(self._prefixes) or any(pattern.match(path) for pattern in self._exclude):
            return False
        return not self._include or any(pattern.match(path) for pattern in self._include)


def _relative(name: str) -> str:
    return name.removeprefix("./").lstrip("/")


def _patterns(globs: Iterable[str]) -> list[re.Pattern[str]]:
    # An include that can't be read matches nothing, rather than letting everything through.
    return [_pattern(glob, directories_only=False) or re.compile(r"(?!)") for glob in globs]


def _line(line: str) -> tuple[bool, re.Pattern[str]] | None:
    """Whether a line ignores (or takes back), and what; None if it says nothing."""
    line = line.rstrip("\r\n")
    kept = line.rstrip(" ")
    if kept != line and (len(kept) - len(kept.rstrip("\\"))) % 2:
        kept += " "
    if not kept or kept.startswith("#") or len(kept) > _MAX_CHARS:
        return None
    ignores = not kept.startswith("!")
    glob = kept if ignores else kept[1:]
    pattern = _pattern(glob.rstrip("/") if glob.endswith("/") else glob, directories_only=glob.endswith("/"))
    return None if pattern is None else (ignores, pattern)


def _pattern(glob: str, *, directories_only: bool) -> re.Pattern[str] | None:
    regex = glob_regex(glob, directories_only=directories_only)
    return None if regex is None else re.compile(regex, re.DOTALL)

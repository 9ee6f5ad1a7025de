"""What is asked of an import and what it reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Literal

Stage = Literal["fetching", "scanning", "importing", "removing", "done", "working", "embedding"]

MAX_FILE_BYTES: Final = 512 * 1024 * 1024
LISTED: Final = 200
"""How many entries of one list `ImportReport.to_dict` gives; its total stands beside it."""


def name_list(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """Names or patterns given as a comma-separated string or a sequence, without blanks and empty ones."""
    parts = value.split(",") if isinstance(value, str) else value or ()
    return tuple(part.strip() for part in parts if part.strip())


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Which files of a source are taken.

    ``include`` and ``exclude`` are globs over file names (over relative paths where they hold a ``/``). An include
    that ends in ``/`` (``build/``, ``doc/build/``, ``.github/``) is the name or relative path of a directory that is
    taken although those of its name are left out as results of tools or as hidden; with only such includes all files
    are taken. An exclude that ends in ``/`` is a path prefix; ``ignore_dirs`` are names or relative paths of
    directories. With ``strict`` a binary file refuses the whole import. A file of more than ``max_file_bytes`` fails
    alone.
    """

    strict: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    ignore_dirs: tuple[str, ...] = ()
    max_file_bytes: int = MAX_FILE_BYTES

    @classmethod
    def of(
        cls,
        *,
        strict: bool = False,
        include: str | Sequence[str] | None = None,
        exclude: str | Sequence[str] | None = None,
        ignore_dirs: str | Sequence[str] | None = None,
    ) -> ImportOptions:
        """Options from what callers give: each list a sequence or separated by commas."""
        return cls(strict, name_list(include), name_list(exclude), name_list(ignore_dirs))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, which `from_dict` takes back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ImportOptions:
        """The options that `to_dict` gave; what is missing has its default."""
        return cls(
            strict=bool(values.get("strict", False)),
            include=name_list(values.get("include")),
            exclude=name_list(values.get("exclude")),
            ignore_dirs=name_list(values.get("ignore_dirs")),
            max_file_bytes=int(values.get("max_file_bytes", MAX_FILE_BYTES)),
        )


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an import is: ``done`` of ``total`` files (0 while unknown), ``bytes`` read, ``name`` of the last file.

    Where what follows is waited for, ``working`` counts jobs and ``embedding`` passages whose vectors are made; ``name``
    then says what keeps the model from answering.
    """

    stage: Stage
    done: int
    total: int
    bytes: int
    name: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or directory of the source that was left out on purpose; a directory's name ends in ``/``."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A file or directory (``""`` is the source itself) that could not be taken."""

    name: str
    error: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A file of the store that the import left alone although the source has another version of it, or none."""

    name: str
    uri: str
    reason: str


@dataclass(frozen=True, slots=True)
class Renamed:
    """A file that is stored at ``uri``, whose name is not that of the source."""

    name: str
    uri: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did.

    ``created``, ``updated``, ``unchanged`` and ``removed`` count files, ``passages`` those written, ``bytes`` all
    that was read; ``binary`` names the files that are stored and listed but not indexed. After a ``cancelled``
    import everything reported is stored, and adding the source again continues. ``updated_root`` says that the source
    had filled the root before. ``vectors_waiting`` passages at and below the root are found by their words alone until
    their vectors are made.
    """

    root_uri: str
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    kept: tuple[Kept, ...] = ()
    binary: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    failed: tuple[Failed, ...] = ()
    renamed: tuple[Renamed, ...] = ()
    passages: int = 0
    bytes: int = 0
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    cancelled: bool = False
    updated_root: bool = False
    vectors_waiting: int = 0

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ImportReport:
        """The report that `to_dict` gave; of lists what it listed."""
        plain = {one.name: values[one.name] for one in fields(cls) if one.name in values}
        lists = {"kept": Kept, "skipped": Skipped, "failed": Failed, "renamed": Renamed}
        plain.update({name: tuple(kind(**one) for one in values[name]) for name, kind in lists.items()})
        plain.update({name: tuple(values[name]) for name in ("binary", "warnings")})
        return cls(**plain)

    @property
    def files(self) -> int:
        """How many files of the source are in the store now as the source has them."""
        return self.created + self.updated + self.unchanged

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; lists have at most `LISTED` entries, their full lengths are in ``totals``."""
        return {
            "status": "cancelled" if self.cancelled else "success",
            "root_uri": self.root_uri,
            "created": self.created,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "removed": self.removed,
            "kept": [{"name": kept.name, "uri": kept.uri, "reason": kept.reason} for kept in self.kept[:LISTED]],
            "binary": list(self.binary[:LISTED]),
            "skipped": [{"name": skipped.name, "reason": skipped.reason} for skipped in self.skipped[:LISTED]],
            "failed": [{"name": failed.name, "error": failed.error} for failed in self.failed[:LISTED]],
            "renamed": [{"name": renamed.name, "uri": renamed.uri} for renamed in self.renamed[:LISTED]],
            "totals": {
                "kept": len(self.kept),
                "binary": len(self.binary),
                "skipped": len(self.skipped),
                "failed": len(self.failed),
                "renamed": len(self.renamed),
            },
            "passages": self.passages,
            "bytes": self.bytes,
            "seconds": round(self.seconds, 3),
            "warnings": list(self.warnings[:LISTED]),
            "cancelled": self.cancelled,
            "updated_root": self.updated_root,
            "vectors_waiting": self.vectors_waiting,
        }

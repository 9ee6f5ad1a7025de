"""What an import does with one file, decided from what the source delivers and what the store has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from openviking.ingest.delivery import storable
from openviking.names import fit_name, kept_name
from openviking.store.port import SourceFile, View
from openviking.uri import MAX_DEPTH, MAX_URI_CHARS, RESERVED_NAMES, from_path

EDITED: Final = (
    "it was edited here and changed in the source too: the text here was kept; remove it and add the source again to take"
    " the source's version"
)
EDITED_AND_GONE: Final = (
    "it was edited here and the source no longer has it: it was kept; remove it if it is not wanted"
)
FOREIGN: Final = (
    "a file that this source did not make is there: it was kept; move or remove it and add the source again to take the"
    " source's file"
)

Action = Literal["create", "update", "adopt", "nothing", "keep", "fail"]


@dataclass(frozen=True, slots=True)
class Step:
    """An action on ``path``; ``base`` is the hash of the bytes that an update replaces, ``why`` says why not."""

    action: Action
    path: str
    base: bytes | None = None
    why: str = ""


def settled(known: SourceFile | None, digest: bytes) -> bool:
    """Whether the source delivers what it delivered before, so that nothing is to be done whatever happened here."""
    return known is not None and known.source_hash == digest


def decide(view: View, known: SourceFile | None, source_id: int, target: str, digest: bytes) -> Step:
    """What to do with a file whose bytes have the SHA-256 ``digest``.

    ``known`` is the file that the source made of it before, wherever it is now; ``target`` the path for a new one.
    """
    if known is not None:
        if known.source_hash == digest:
            return Step("nothing", known.path)
        if known.hash == digest:
            return Step("adopt", known.path)
        if known.hash == known.source_hash:
            return Step("update", known.path, base=known.hash)
        return Step("keep", known.path, why=EDITED)
    present = view.get(target)
    if present is None:
        return Step("create", target)
    if present.is_dir:
        return Step("fail", target, why=f"{from_path(target)} is a directory")
    if present.hash != digest:
        return Step("keep", target, why=FOREIGN)
    # What another source made stays that source's: otherwise two sources would take it from each other for ever.
    return Step("adopt" if present.source_id in {None, source_id} else "nothing", target)


def targets(root: str, names: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Store paths of a source's files, and the reasons why some have none.

    Names are kept wherever they can be; where two would fall together, the one that needed changing gets a suffix.
    """
    paths: dict[str, str] = {}
    refused: dict[str, str] = {}
    taken: set[str] = set()
    changed: list[tuple[str, str]] = []
    for name in names:
        kept = "/".join(kept_name(part) for part in name.split("/"))
        path = f"{root}/{kept}"
        why = _unaddressable(path)
        if why:
            refused[name] = why
        elif kept == name:
            paths[name] = path
            taken.add(path)
        else:
            changed.append((name, path))
    for name, path in changed:
        free = path
        number = 0
        while free in taken:
            number += 1
            free = _numbered(path, number)
        paths[name] = free
        taken.add(free)
    return paths, refused


def keys(names: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Names under which the store remembers a source's files, and those that fall together with an earlier one."""
    found: dict[str, str] = {}
    seen: set[str] = set()
    doubles: list[str] = []
    for name in names:
        key = storable(name)
        if key in seen:
            doubles.append(name)
        else:
            seen.add(key)
            found[name] = key
    return found, doubles


def _unaddressable(path: str) -> str:
    uri = str(from_path(path))
    if len(uri) > MAX_URI_CHARS:
        return f"its URI would have {len(uri):,} characters, at most {MAX_URI_CHARS:,} are allowed"
    if path.count("/") >= MAX_DEPTH:
        return f"it lies {path.count('/'):,} levels deep, at most {MAX_DEPTH} are allowed"
    name = path.rpartition("/")[2]
    return f"the name {name!r} is reserved" if name in RESERVED_NAMES else ""


def _numbered(path: str, number: int) -> str:
    parent, _, name = path.rpartition("/")
    stem, dot, extension = name.rpartition(".")
    return f"{parent}/" + fit_name(f"{stem}_{number}{dot}{extension}" if stem else f"{name}_{number}")

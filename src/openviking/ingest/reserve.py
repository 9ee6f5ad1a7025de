"""Which directory of the store a source fills."""

from __future__ import annotations

import mimetypes
from typing import Final

from openviking.errors import ConflictError, InvalidArgumentError
from openviking.names import root_name
from openviking.parse.languages import language_of
from openviking.store.batch import MakeDirectory, NoteSource
from openviking.store.port import AccountStore, Source, View
from openviking.uri import from_path

MAX_SUFFIX: Final = 100
_ATTEMPTS: Final = 50
_ARCHIVES: Final = (".tar.gz", ".tar.bz2", ".tar.xz")
_TEXT: Final = (".txt", ".text", ".log", ".rst", ".org")


def document_stem(name: str) -> str:
    """``name`` without its extension, if that is a known one: ``2601.00014`` keeps its dot (contract/core.md §3.4)."""
    for ending in _ARCHIVES:
        if name.lower().endswith(ending) and len(name) > len(ending):
            return name[: -len(ending)]
    stem, dot, extension = name.rpartition(".")
    if not dot or not stem.strip(".") or not extension:
        return name
    ending = f".{extension.lower()}"
    known = ending in _TEXT or mimetypes.guess_type(f"x{ending}")[0] is not None or language_of(f"x{ending}", "") != ""
    return stem if known else name


def known_source(view: View, location: str, root: str | None) -> Source | None:
    """The source that fills ``root`` (None: any root) from ``location`` and whose root is still there."""
    for key in (location, _second_key(location, root)):
        found = view.source(key)
        if found is not None and found.root is not None and (root is None or found.root == root):
            return found
    return None


def reserve(store: AccountStore, location: str, root: str | None, parent: str, stem: str) -> Source:
    """The source for ``location`` with its root directory, both made where they are missing.

    ``root`` is the exact target; without it a free name made from ``stem`` is taken below ``parent``. A location
    that is imported to several targets is one source for each. Raises `ConflictError` if the target is a file, or
    no name is free.
    """
    refused: ConflictError | None = None
    for _ in range(_ATTEMPTS):
        with store.read() as view:
            known = known_source(view, location, root)
            if known is not None:
                return known
            first = view.source(location)
            key = location if first is None or first.root is None else _second_key(location, root)
            target = root if root is not None else _free(view, parent, stem)
            present = view.get(target)
        if present is not None and not present.is_dir:
            uri = str(from_path(target))
            raise InvalidArgumentError(
                f"{uri} is a file, not a directory", resource=uri, expected="directory", actual="file"
            )
        try:
            # One transaction: whoever adds the same source at once finds this root, or is found by it.
            store.apply([MakeDirectory(target, exist_ok=root is not None), NoteSource(key, target)])
        except ConflictError as error:
            refused = error
            continue
        with store.read() as view:
            noted = view.source(key)
        if noted is not None and noted.root is not None:
            return noted
    raise refused or ConflictError(
        f"No name for {stem!r} could be reserved in {from_path(parent)}", resource=str(from_path(parent))
    )


def _second_key(location: str, root: str | None) -> str:
    return location if root is None else f"{location}\n{root}"


def _free(view: View, parent: str, stem: str) -> str:
    name = root_name(stem)
    for suffix in ("", *(f"_{number}" for number in range(1, MAX_SUFFIX + 1))):
        path = f"{parent}/{name}{suffix}".lstrip("/")
        if view.get(path) is None:
            return path
    uri = str(from_path(f"{parent}/{name}".lstrip("/")))
    raise ConflictError(f"{uri} and its {MAX_SUFFIX} numbered names are taken; give another target", resource=uri)

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

DEFAULT_PARENT: Final = "resources"
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


def known_source(view: View, location: str, root: str | None, parent: str | None) -> Source | None:
    """The source that fills ``root`` from ``location``, or a directory right in ``parent``; without both the first one.

    None if there is none whose root is still there. One that was moved counts where it is now.
    """
    there = [source for source in view.sources(location) if source.root is not None]
    if root is not None:
        return next((source for source in there if source.root == root), None)
    if parent is not None:
        return next((source for source in there if source.root and source.root.rpartition("/")[0] == parent), None)
    return next((source for source in there if source.location == location), None)


def reserve(store: AccountStore, location: str, root: str | None, parent: str | None, stem: str) -> tuple[Source, bool]:
    """The source for ``location`` with its root directory, both made where they are missing; whether they were there.

    ``root`` is the exact target; without it a directory of this source right in ``parent`` is used again, or a free
    name made from ``stem`` is taken there; without both the first root, or one in `DEFAULT_PARENT`. A location that
    is imported to several places is one source for each. Raises `InvalidArgumentError` if the target is a file,
    `ConflictError` if no name is free.
    """
    refused: ConflictError | None = None
    home = DEFAULT_PARENT if parent is None else parent
    for _ in range(_ATTEMPTS):
        with store.read() as view:
            known = known_source(view, location, root, parent)
            if known is not None:
                return known, True
            target = root if root is not None else _free(view, home, stem)
            key = _free_key(view, location, target)
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
            return noted, False
    raise refused or ConflictError(
        f"No name for {stem!r} could be reserved in {from_path(home)}", resource=str(from_path(home))
    )


def _free_key(view: View, location: str, target: str) -> str:
    """What a new source of ``location`` is known by: the first by it alone, each other with a line of its own."""
    taken = {source.location for source in view.sources(location) if source.root is not None}
    key, number = location, 0
    while key in taken:
        number += 1
        key = f"{location}\n{target}" if number == 1 else f"{location}\n{target}\n{number}"
    return key


def _free(view: View, parent: str, stem: str) -> str:
    name = root_name(stem)
    for suffix in ("", *(f"_{number}" for number in range(1, MAX_SUFFIX + 1))):
        path = f"{parent}/{name}{suffix}".lstrip("/")
        if view.get(path) is None:
            return path
    uri = str(from_path(f"{parent}/{name}".lstrip("/")))
    raise ConflictError(f"{uri} and its {MAX_SUFFIX} numbered names are taken; give another target", resource=uri)

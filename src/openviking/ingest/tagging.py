"""Tags on what an import makes, written with it."""

from __future__ import annotations

from collections.abc import Sequence

from openviking.errors import ConflictError, InvalidArgumentError, NotFoundError
from openviking.store.batch import Operation, Outcome, PutFile, SetTags, TagMode
from openviking.store.port import AccountStore


class Tagging:
    """Puts ``tags`` on the nodes that one import creates or updates, and on no others.

    With ``mode`` ``replace`` they take the place of those that the nodes had.
    """

    def __init__(self, store: AccountStore, tags: tuple[str, ...], mode: TagMode = "append") -> None:
        self._store = store
        self._tags = tags
        self._mode = mode
        self._there: set[str] = set()

    def root(self, path: str) -> None:
        """Tag the import's root directory, unless it has the tags."""
        if not self._tags:
            return
        with self._store.read() as view:
            node = view.get(path)
            there = () if node is None else view.tags([node.id]).get(node.id, ())
            as_wanted = set(self._tags) <= set(there) if self._mode == "append" else set(self._tags) == set(there)
            missing = node is not None and not as_wanted
        if missing:
            self._store.apply([SetTags(path, self._tags, self._mode)])

    def apply(self, operations: Sequence[Operation], root: str) -> tuple[Outcome, ...]:
        """Carry out ``operations`` tolerantly, with the tags of the files and of the directories made for them."""
        if not self._tags:
            return self._store.apply(operations, tolerant=True).outcomes
        paths = [operation.path for operation in operations if isinstance(operation, PutFile)]
        made = self._new_directories(paths, root)
        try:
            # In one transaction: after a kill an untagged file would count as unchanged.
            tags = [SetTags(path, self._tags, self._mode) for path in (*made, *paths)]
            return self._store.apply([*operations, *tags]).outcomes[: len(operations)]
        except (ConflictError, InvalidArgumentError, NotFoundError):
            # Another writer was faster with one of them: its node must not get the tags.
            outcomes = self._store.apply(operations, tolerant=True).outcomes
        paths = [
            operation.path
            for operation, outcome in zip(operations, outcomes, strict=True)
            if isinstance(operation, PutFile) and outcome.kind in {"created", "updated"}
        ]
        self._store.apply([SetTags(path, self._tags, self._mode) for path in (*made, *paths)], tolerant=True)
        return outcomes

    def _new_directories(self, paths: list[str], root: str) -> list[str]:
        """Directories below ``root`` that are made with the files at ``paths``, the outer ones first."""
        made: list[str] = []
        with self._store.read() as view:
            for path in paths:
                above: list[str] = []
                directory = path.rpartition("/")[0]
                while directory.startswith(f"{root}/") and directory not in self._there:
                    self._there.add(directory)
                    if view.get(directory) is not None:
                        break
                    above.append(directory)
                    directory = directory.rpartition("/")[0]
                made += reversed(above)
        return made

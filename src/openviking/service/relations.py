"""Links between directories and what belongs to them (contract/retrieval.md §8.8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from openviking.clock import iso, now_ms
from openviking.errors import (
    ConflictError,
    InvalidArgumentError,
    NotFoundError,
    OpenVikingError,
    ResourceExhaustedError,
)
from openviking.index.relations import (
    MAX_BYTES,
    MAX_REASON_CHARS,
    MAX_URIS,
    NAME,
    Link,
    count,
    to_bytes,
    with_link,
    without,
)
from openviking.ingest.prepare import prepare
from openviking.model.identity import Identity
from openviking.retrieve.hierarchical.related import links_of, targets
from openviking.service.access import check_changeable, resolve
from openviking.service.accounts import Accounts
from openviking.service.targets import may_tell
from openviking.store.batch import Operation, PutFile, Remove
from openviking.store.port import View
from openviking.text import quoted
from openviking.uri import SIDECAR_NAMES, URI

ATTEMPTS: Final = 100
"""Times that a change starts over because another writer was faster."""


class Relations:
    """The links of directories; each is in a file ``.relations.json`` of its directory, and moves and goes with it."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    def relations(self, identity: Identity, uri: str) -> list[dict[str, str]]:
        """What ``uri`` is linked to: ``uri`` and ``reason`` each, in the order in which it was linked; of a file nothing.

        What was moved since is told by where it is now; what is gone, or not the caller's to see, is left out. Raises
        `NotFoundError`, `InvalidURIError`, `PermissionDeniedError`.
        """
        directory = _directory(resolve(identity, uri))
        with self._accounts.store(identity).read() as view:
            node = view.get(directory.path)
            if node is None:
                raise NotFoundError(str(directory), "directory")
            links = links_of(view, directory.path)[0] if node.is_dir else []
            found = [(str(target.uri), link.reason) for link, _, target in targets(view, links, readable(identity))]
        return [{"uri": to, "reason": reason} for to, reason in dict.fromkeys(found)]

    def link(self, identity: Identity, from_uri: str, to_uris: str | Sequence[str], reason: str = "") -> dict[str, Any]:
        """Link a directory to what is at ``to_uris``; what it is linked to already gets the new ``reason``.

        ``from`` and ``to`` as they are spelled in full. Raises `NotFoundError` where nothing is there,
        `InvalidArgumentError` for a file as ``from_uri``, `ResourceExhaustedError` beyond 1,000 links.
        """
        given = [to_uris] if isinstance(to_uris, str) else to_uris
        if not isinstance(given, list | tuple) or not given or not all(isinstance(one, str) for one in given):
            raise InvalidArgumentError(
                f"to_uris must be a URI or a list of URIs, not {quoted(to_uris)}", field="to_uris"
            )
        if len(given) > MAX_URIS:
            raise InvalidArgumentError(f"to_uris names {len(given)} places, at most {MAX_URIS} fit", field="to_uris")
        wanted = dict.fromkeys(_directory(resolve(identity, one)) for one in given)

        def changed(view: View, links: list[Link]) -> list[Link]:
            nodes: dict[str, int] = {}
            for uri in wanted:
                node = view.get(uri.path)
                if node is None or not uri.parts:
                    raise NotFoundError(str(uri), "file")
                nodes[str(uri)] = node.id
            paths = {uri.path for uri in wanted}
            known = [text for _, text, node in targets(view, links, readable(identity)) if node.path in paths]
            return with_link(without(links, [*nodes, *known]), nodes, _reason(reason), iso(now_ms()))

        directory = self._change(identity, from_uri, changed)
        return {"from": str(directory), "to": [str(uri) for uri in wanted]}

    def unlink(self, identity: Identity, from_uri: str, to_uri: str) -> dict[str, str]:
        """Undo the link of a directory to ``to_uri``; one that is not there is no error.

        Raises `NotFoundError` for a missing directory, `InvalidArgumentError` for a file.
        """
        target = _directory(resolve(identity, to_uri))

        def changed(view: View, links: list[Link]) -> list[Link]:
            spelled = [text for _, text, node in targets(view, links, readable(identity)) if node.path == target.path]
            return without(links, [str(target), *spelled])

        directory = self._change(identity, from_uri, changed)
        return {"from": str(directory), "to": str(target)}

    def _change(self, identity: Identity, uri: str, changed: Callable[[View, list[Link]], list[Link]]) -> URI:
        """Give a directory other links, whoever else writes them meanwhile."""
        directory = _directory(resolve(identity, uri))
        check_changeable(identity, directory)
        store = self._accounts.store(identity)
        for _ in range(ATTEMPTS):
            with store.read() as view:
                node = view.get(directory.path)
                if node is None:
                    raise NotFoundError(str(directory), "directory")
                if not node.is_dir:
                    raise InvalidArgumentError(
                        f"{directory} is a file, only directories have relations",
                        resource=str(directory), expected="directory", actual="file",
                    )  # fmt: skip
                links, file = links_of(view, directory.path)
                left = changed(view, links)
            if left == links:
                return directory
            try:
                store.apply([_writing(directory, left, None if file is None else file.hash)])
            except ConflictError:
                continue
            return directory
        raise ConflictError(f"{directory} is linked by others all the time", resource=str(directory), retryable=True)


def readable(identity: Identity) -> Callable[[str], URI | None]:
    """A function that gives the URI of a text if that names something that ``identity`` may read, else None."""

    def place(text: str) -> URI | None:
        try:
            return _directory(resolve(identity, text))
        except OpenVikingError:
            return None

    return place


def tells(identity: Identity) -> Callable[[URI], bool]:
    """A function that says of a directory whether its sidecars are for ``identity`` to read."""
    return lambda directory: may_tell(identity, directory)


def _directory(uri: URI) -> URI:
    """``uri``, or of a sidecar its directory."""
    return uri.parent if uri.name in SIDECAR_NAMES else uri


def _reason(reason: object) -> str:
    if not isinstance(reason, str) or len(reason) > MAX_REASON_CHARS:
        raise InvalidArgumentError(f"reason must be a text of at most {MAX_REASON_CHARS:,} characters", field="reason")
    if any("\ud800" <= character <= "\udfff" for character in reason):
        raise InvalidArgumentError("reason has half of a surrogate pair, which is no text", field="reason")
    return reason


def _writing(directory: URI, links: list[Link], base: bytes | None) -> Operation:
    path = directory.child(NAME).path
    if not links:
        return Remove(path, base=base)
    data = to_bytes(links)
    if count(links) > MAX_URIS or len(data) > MAX_BYTES:
        raise ResourceExhaustedError(
            f"{directory} has more than {MAX_URIS:,} links: unlink some", resource=str(directory), limit=MAX_URIS
        )
    # Nobody searches it, so that it has no passages.
    content = replace(prepare(NAME, data), passages=())
    return PutFile(path, content, mode="create" if base is None else "replace", base=base, below=directory.path)

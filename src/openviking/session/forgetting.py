"""Which memories come from a session, or from a message of it, alone, so that they may go together with it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from openviking.errors import NotFoundError
from openviking.session.archives import HISTORY, archived_messages
from openviking.session.memories.changes import EVENTS
from openviking.session.memories.fields import MAX_SOURCES, Fields, parted
from openviking.session.memories.merging import Page
from openviking.session.memories.places import emptied, memory_path
from openviking.store.batch import Operation, Remove
from openviking.store.port import AccountStore, View
from openviking.uri import SCHEME, URI, from_path


@dataclass(frozen=True, slots=True)
class Origins:
    """Where a memory may come from: messages of a ``session`` by their ids.

    ``events`` is what events were made of: the session, or one archive of it, "" for none. Who gives messages ids of their
    own may use one in several sessions.
    """

    session: str
    messages: frozenset[str]
    events: str

    def wrote(self, fields: Fields) -> bool:
        """Whether the memory with these fields was last changed by the session."""
        return _within(fields.archive_uri, self.session)

    def are_all_of(self, fields: Fields) -> bool:
        """Whether it comes from here alone, as far as its fields tell: of a memory told often they name the newest."""
        if fields.memory_type == EVENTS:
            return bool(self.events) and _within(fields.archive_uri, self.events)
        # Each statement has a message of its own, or two sessions gave theirs the same id.
        told = len(fields.history) < len(fields.sources) < MAX_SOURCES
        return told and self.wrote(fields) and self.messages.issuperset(fields.sources)


def _within(archive: str, place: str) -> bool:
    return archive == place or archive.startswith(f"{place}/{HISTORY}/")


def origins_of(store: AccountStore, session: URI) -> Origins:
    """Those of a whole session."""
    ids = {one.message.id for one in store.sessions.live(session.path)}
    for archive in store.sessions.archives(session.path):
        try:
            ids.update(one.id for one in archived_messages(store, session, archive.number))
        except (NotFoundError, ValueError, KeyError, TypeError):
            # Its owner removed or replaced the file.
            continue
    return Origins(str(session), frozenset(ids), str(session))


class Shares:
    """Tells of memories that another session changed last whether they have a message of ``origins`` among their sources."""

    def __init__(self, store: AccountStore, user: str, origins: Origins) -> None:
        self._store = store
        self._user = user
        self._origins = origins
        self._others: dict[str, frozenset[str]] = {}

    def has(self, fields: Fields) -> bool:
        """Whether the memory with these fields is one; not so if all its messages may be that other session's."""
        if self._origins.messages.isdisjoint(fields.sources):
            return False
        return not self._messages(fields.archive_uri).issuperset(fields.sources)

    def _messages(self, archive: str) -> frozenset[str]:
        session = archive.removeprefix(SCHEME).split("/")[:4]
        if session[:3] != ["user", self._user, "sessions"] or len(session) < 4 or not session[3]:
            # Anybody may have written it.
            return frozenset()
        path = "/".join(session)
        if path not in self._others:
            self._others[path] = origins_of(self._store, from_path(path)).messages
        return self._others[path]


def forgetting(
    view: View, user: str, named: Collection[str], origins: Origins
) -> tuple[list[Operation], tuple[str, ...]]:
    """What removes those of the ``named`` memories that come from ``origins`` alone, and their URIs.

    One with words of somebody's own, or edited, stays.
    """
    removes: list[Remove] = []
    gone: list[str] = []
    for uri in named:
        path = memory_path(user, uri)
        node = None if path is None else view.get(path)
        text = None if node is None or node.is_dir else view.text(node)
        if path is None or node is None or text is None:
            continue
        page = Page(*parted(text))
        if page.fields is not None and not page.own and origins.are_all_of(page.fields):
            removes.append(Remove(path, base=node.hash))
            gone.append(uri)
    return [*removes, *emptied([one.path for one in removes])], tuple(gone)

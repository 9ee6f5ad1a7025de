"""Where skills lie: those of the caller, and those that the account shares."""

from __future__ import annotations

from typing import Final

from openviking.errors import InvalidArgumentError, NotFoundError
from openviking.model.identity import Identity
from openviking.model.skill import FILE, name_findings
from openviking.service.access import resolve
from openviking.service.accounts import Accounts
from openviking.service.search import Search
from openviking.service.worker import Worker
from openviking.store.port import View
from openviking.uri import URI

SHARED: Final = URI(("agent", "skills"))
"""The skills of the whole account."""

SOURCE: Final = ".source.json"
"""Where a package keeps what is said of its source; hidden, and no part of what is found."""


class SkillDesk:
    """What all that is done with skills needs."""

    def __init__(self, accounts: Accounts, worker: Worker, search: Search) -> None:
        self._accounts = accounts
        self._worker = worker
        self._search = search

    def _root(self, identity: Identity, target_uri: str | None) -> URI | None:
        """The root that ``target_uri`` names; raises `InvalidArgumentError` unless it is one for skills."""
        if not target_uri:
            return None
        target = resolve(identity, target_uri)
        if target not in (own_skills(identity), SHARED):
            raise InvalidArgumentError(
                f"target_uri must be {own_skills(identity)} or {SHARED}, not {target}", field="target_uri"
            )
        return target

    def _roots(self, identity: Identity, target_uri: str | None) -> list[URI]:
        root = self._root(identity, target_uri)
        return [own_skills(identity), SHARED] if root is None else [root]

    def _found(self, view: View, identity: Identity, name: str, target_uri: str | None) -> URI:
        """The directory of a skill; raises `NotFoundError`."""
        for root in self._roots(identity, target_uri):
            if name and not name_findings(name):
                node = view.get(root.child(name, FILE).path)
                if node is not None and not node.is_dir:
                    return root.child(name)
        raise NotFoundError(name, "skill")


def own_skills(identity: Identity) -> URI:
    """The root of the caller's own skills."""
    return URI(("user", identity.user, "skills"))

"""Which memories a commit makes: those that the strongest policy that says something wants (contract/core.md §3.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openviking.model.memory import Draft
from openviking.model.session import MEMORY_TYPES


@dataclass(frozen=True, slots=True)
class Policy:
    """``types`` that are made, for the user (``own``) and for the partners of conversations (``peer``).

    Without ``working_memory`` an archive has no overview, so that the next turn's context does not begin with one.
    """

    types: tuple[str, ...] = MEMORY_TYPES
    own: bool = True
    peer: bool = True
    working_memory: bool = True

    @property
    def wants_any(self) -> bool:
        """Whether there may be a memory at all."""
        return bool(self.types) and (self.own or self.peer)

    def allows(self, draft: Draft) -> bool:
        """Whether ``draft`` is to become a memory."""
        return draft.type in self.types and (self.peer if draft.peer else self.own)


def effective(policies: Sequence[Mapping[str, Any] | None]) -> Policy:
    """The policy of ``policies``, the strongest first; of each part the first that says something of it counts.

    They are checked ones (`openviking.model.session.memory_policy`): a session's before its user's before the
    server's. What none of them says is on, with all types but ``tools`` and ``skills``.
    """
    types, flags = MEMORY_TYPES, {"self": True, "peer": True, "working_memory": True}
    for told in reversed([one for one in policies if one]):
        types = tuple(told.get("memory_types", types))
        flags |= {name: told[name]["enabled"] for name in flags if "enabled" in told.get(name, {})}
    return Policy(types, flags["self"], flags["peer"], flags["working_memory"])

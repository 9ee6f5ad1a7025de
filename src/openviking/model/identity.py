"""Who is calling: the first argument of every service method, never defaulted below the doors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["root", "admin", "user"]


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller inside one account; ``actor_peer`` narrows the view of the caller's peers to one of them.

    ``registration`` is the number of the user whose key it was (`openviking.model.account.User.number`): a later user
    of the same id is somebody else. None where nobody is registered.
    """

    account: str
    user: str
    role: Role
    actor_peer: str | None = None
    registration: int | None = None

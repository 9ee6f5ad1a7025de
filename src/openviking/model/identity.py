"""Who is calling: the first argument of every service method, never defaulted below the doors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["root", "admin", "user"]


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller inside one account; ``actor_peer`` narrows the view of the caller's peers to one of them."""

    account: str
    user: str
    role: Role
    actor_peer: str | None = None

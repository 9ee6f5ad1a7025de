"""What the rooms above ask of a chat model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

ROUTE: Final = "/chat/completions"
"""What requests are posted to, below the address."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The text of an answer, with the tokens that the service counted (0 if it did not say)."""

    text: str
    input_tokens: int = 0
    output_tokens: int = 0


class Chat(Protocol):
    """Answers messages. Safe to use from several threads at once."""

    def complete(self, messages: Sequence[Mapping[str, Any]], *, timeout: float, repeat: bool = True) -> Completion:
        """The model's answer to ``messages`` (``role`` and ``content`` each).

        A call that fails is repeated while that may help and ``timeout`` allows it, unless ``repeat`` is False. Raises `UnavailableError` when there is no answer, `DeadlineExceededError` after ``timeout`` seconds.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """What people may know of it: provider, model, address; never a key."""
        ...

    def close(self) -> None:
        """Release everything; calls under way come to an end."""
        ...

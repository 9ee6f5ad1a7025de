"""One tool: its name, what a model is told of it, its arguments, and what it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from openviking.mcp.arguments import Arguments
from openviking.mcp.desk import Desk

A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """A tool, which is called in a thread and answers with a text.

    ``waits`` says whether a call may wait for background work, ``asks`` whether it may ask a model or another host.
    ``changes`` says that it may change something, ``destroys`` that what it changes may be lost; ``remote`` that it is
    there only where a server runs.
    """

    name: str
    title: str
    description: str
    arguments: type[A]
    answer: Callable[[Desk, A], str]
    waits: Callable[[A], bool] = field(default=lambda _: False)
    asks: bool = False
    changes: bool = False
    destroys: bool = False
    reaches_out: bool = False
    remote: bool = False

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        return self.arguments.schema_()

"""A request as a value: what is sent, and how its answer is read. Nothing here does I/O.

The functions of `openviking_sdk.calls` make these values; the two clients carry them out. What needs more than one
request is a generator of them (`Steps`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from openviking_sdk.errors import InternalError, InvalidArgumentError
from openviking_sdk.files import Download, Upload

T = TypeVar("T")

Query: TypeAlias = Mapping[str, str | int | float | bool | list[str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful answer: the JSON object, or the bytes of an answer that is none."""

    envelope: Mapping[str, Any]
    content: bytes = b""

    @property
    def result(self) -> Any:
        """What the envelope carries; with ``telemetry`` in it if that was asked for and the result is an object."""
        result = self.envelope.get("result")
        telemetry = self.envelope.get("telemetry")
        if telemetry is not None and isinstance(result, dict) and "telemetry" not in result:
            return {**result, "telemetry": telemetry}
        return result


@dataclass(frozen=True, slots=True)
class Default(Generic[T]):
    """What a call gives instead of `NotFoundError`."""

    value: T


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """One request.

    ``form`` is what the answer is: an ``envelope``, a ``bare`` JSON object, or ``bytes``, which go to ``download`` if
    there is one. ``repeatable``: doing it twice is as good as once, so it may be sent again when a connection breaks.
    ``seconds`` is the time that the server itself may need, beyond which the usual timeout begins. ``accepted``
    statuses are answers although they are no success.
    """

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    read: Callable[[Answer], T]
    query: Query = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    upload: Upload | None = None
    download: Download | None = None
    form: Literal["envelope", "bare", "bytes"] = "envelope"
    repeatable: bool = False
    seconds: float = 0.0
    absent: Default[T] | None = None
    accepted: tuple[int, ...] = ()


Steps: TypeAlias = Generator[Call[Any] | None, Any, T]
"""Several calls, each of which gets the answer of the one before, until one fails.

None is a place where it may be given up.
"""


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """The end of `Steps` and what they give."""

    value: T


def advance(steps: Steps[T], answer: Any = None) -> Call[Any] | Done[T] | None:
    """The next step after an answer, or the end."""
    try:
        return steps.send(answer)
    except StopIteration as end:
        return Done(end.value)


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def with_options(fields: dict[str, Any], options: Mapping[str, Any] | None) -> dict[str, Any]:
    """The fields and ``options``, which are more of them by their name on the wire; None among these says nothing.

    ``options["extra"]`` may hold some of them too. Raises `InvalidArgumentError` if one is given twice with different values.
    """
    if options is not None and not isinstance(options, Mapping):
        raise InvalidArgumentError(f"options is a mapping of fields, not {options!r}")
    more = dict(options or {})
    if isinstance(extra := more.get("extra"), Mapping):
        more = {**extra, **{name: value for name, value in more.items() if name != "extra"}}
    for name, value in more.items():
        if name in fields and fields[name] != value:
            raise InvalidArgumentError(
                f"{name} is given twice: {fields[name]!r} as an argument and {value!r} in options",
                details={"field": name},
            )
        if value is not None:
            fields[name] = value
    return fields


def an_object(answer: Answer) -> dict[str, Any]:
    """The result, which must be an object."""
    return _checked(answer.result, dict)


def a_list(answer: Answer) -> list[Any]:
    """The result, which must be a list."""
    return _checked(answer.result, list)


def a_text(answer: Answer) -> str:
    """The result, which must be a string."""
    return _checked(answer.result, str)


def nothing(answer: Answer) -> None:
    """None: the call is over, and that is all."""
    del answer


def a_page(answer: Answer) -> dict[str, Any]:
    """A part of a listing: ``result``, the entries; ``has_more``; and ``total`` if the server says it."""
    entries = a_list(answer)
    page = {"result": entries, "has_more": bool(answer.envelope.get("has_more", False))}
    return page if answer.envelope.get("total") is None else {**page, "total": answer.envelope["total"]}


def the_envelope(answer: Answer) -> dict[str, Any]:
    """The whole JSON object."""
    return dict(answer.envelope)


def the_bytes(answer: Answer) -> bytes:
    """The bytes."""
    return answer.content


def _checked(value: Any, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise InternalError(f"The server's result is {type(value).__name__} where {kind.__name__} is right")
    return value

"""What the arguments of a tool may be, and the schema that a client is told.

Models send ``"5"`` for 5 and one text where a list is wanted; both are understood. A name that the tool does not have is
refused, because an option that is quietly ignored gives an answer to another question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from openviking.errors import InvalidArgumentError, UnimplementedError
from openviking.text import quoted, shorten

MAX_ITEMS: Final = 200
"""In a list of URIs, patterns or names."""

MAX_SHOWN: Final = 10
_GENERAL: Final = ("array", "object", "string", "number", "integer", "boolean")
_DROPPED: Final = frozenset({"title", "$defs"})

T = TypeVar("T", bound="Arguments")


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str | int | float) and not isinstance(value, bool) else value


Texts = Annotated[list[str], BeforeValidator(_as_list), Field(max_length=MAX_ITEMS)]
"""One text or several."""

Levels = Annotated[list[Annotated[int, Field(ge=0, le=2)]], BeforeValidator(_as_list), Field(max_length=3)]
"""One level of detail or several."""

Cursor = Annotated[
    str,
    BeforeValidator(lambda value: str(value) if isinstance(value, int) and not isinstance(value, bool) else value),
    Field(default="", max_length=100, description="From the last line of a cut answer; everything else as before."),
]
"""Where an answer goes on that was too long for one."""


class Entry(BaseModel):
    """Who may do what with a node."""

    model_config = ConfigDict(extra="forbid")

    principal: str
    level: str


class Access(BaseModel):
    """An access list; this version has none and refuses it."""

    model_config = ConfigDict(extra="forbid")

    entries: list[Entry] | None = None
    acl_mode: str | None = None


class Arguments(BaseModel):
    """What a tool is called with."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    @classmethod
    def of(cls, tool: str, given: Mapping[str, Any] | None) -> Self:
        """The checked arguments. Raises `InvalidArgumentError` that says what is wrong and what there is."""
        try:
            return cls.model_validate(dict(given or {}))
        except ValidationError as error:
            raise _invalid(tool, error.errors(include_url=False), list(cls.model_fields)) from error
        except RecursionError as error:
            raise InvalidArgumentError(f"The arguments of {tool} are nested too deeply", field="arguments") from error

    @classmethod
    def schema_(cls) -> dict[str, Any]:
        """The JSON schema, in which every node has one plain ``type``."""
        schema = cls.model_json_schema()
        flat: dict[str, Any] = _flat(schema, schema.get("$defs", {}))
        flat.pop("description", None)
        return flat


def refuse_access(acl: Access | None) -> None:
    """Raises `UnimplementedError` for an access list: one that was ignored would leave open what was to be closed."""
    if acl is not None:
        raise UnimplementedError("Access lists are not part of this version: leave acl out", field="acl")


def _invalid(tool: str, errors: Sequence[Any], names: list[str]) -> InvalidArgumentError:
    told = []
    for one in errors[:MAX_SHOWN]:
        where = shorten(".".join(map(str, one["loc"])), 200)
        if one["type"] == "missing":
            told.append(f"{where} is missing")
        elif one["type"] == "extra_forbidden":
            told.append(f"{quoted(where)} is not known")
        else:
            told.append(f"{where}: {one['msg']}, not {quoted(one.get('input'))}")
    left = len(errors) - MAX_SHOWN
    more = f"; and {left} more" if left > 0 else ""
    known = f"; {tool} takes {', '.join(names)}" if names else f"; {tool} takes no arguments"
    return InvalidArgumentError(f"Arguments of {tool}: {'; '.join(told)}{more}{known}", field="arguments")


def _flat(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_flat(one, definitions) for one in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return _flat({**definitions[name], **beside}, definitions)
    if "anyOf" in node:
        branches = [_flat(one, definitions) for one in node["anyOf"]]
        branches = [one for one in branches if one.get("type") != "null"]
        chosen = min(branches, key=lambda one: _GENERAL.index(one["type"]))
        beside = {key: value for key, value in node.items() if key != "anyOf"}
        return {**chosen, **_flat(beside, definitions)}
    out: dict[str, Any] = {}
    for key, value in node.items():
        if key == "properties":
            out[key] = {name: _flat(one, definitions) for name, one in value.items()}
        elif key not in _DROPPED and not (key == "default" and value is None):
            out[key] = _flat(value, definitions)
    return out

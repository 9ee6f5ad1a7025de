"""A skill: instructions for an agent with a name and a description, and the rules for both (contract/core.md §3.5)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from openviking.errors import InvalidArgumentError
from openviking.text import quoted, split_lines

FILE: Final = "SKILL.md"
MAX_NAME_CHARS: Final = 64
MAX_DESCRIPTION_CHARS: Final = 1024
MAX_BODY_LINES: Final = 500
MAX_FRONT_CHARS: Final = 65_536

_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_FRONT: Final = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_LISTED: Final = re.compile(r"(?:\([^()]*\)|[^,\s])+")
"""An element of a list in a text; what is in brackets belongs together: ``Bash(git add:*), Read``."""

_ENDS: Final = (".", "!", "?", "。", "！", "？")


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a skill breaks, and the field that does; "" for its text as a whole."""

    rule: str
    message: str
    field: str = ""

    def to_dict(self) -> dict[str, str]:
        """The finding as answers show it."""
        told = {"rule": self.rule, "message": self.message}
        return told | {"field": self.field} if self.field else told


@dataclass(frozen=True, slots=True)
class Skill:
    """What a SKILL.md says: ``text`` is all of it, ``body`` what follows its front matter. ``fault``: why that is no YAML."""

    text: str
    name: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    body: str = ""
    fault: str = ""
    front: Mapping[str, Any] = field(default_factory=dict)

    @property
    def abstract(self) -> str:
        """The L0 of its directory."""
        told = f"{self.name}: {self.description}" if self.description else self.name
        for label, values in (("Tags", self.tags), ("Tools", self.allowed_tools)):
            if values:
                told += f"{'' if told.endswith(_ENDS) else '.'} {label}: {', '.join(values)}."
        return told

    @property
    def body_lines(self) -> int:
        """The lines of its body, without blank ones before and after."""
        return len(split_lines(self.body.strip()))


def skill_of_text(text: str) -> Skill:
    """The skill of a SKILL.md; never raises, whatever the text is."""
    found = _FRONT.match(text)
    if found is None:
        return Skill(text, body=text, fault="it does not begin with YAML front matter between two lines of ---")
    front, fault = _front_matter(found[1])
    return _skill(text, front, text[found.end() :], fault)


def skill_of_data(data: Mapping[str, Any]) -> Skill:
    """The skill of an object with ``name``, ``description`` and ``content``, or of a tool as MCP describes it.

    ``content`` is the body; front matter that it begins with holds for what the object does not say. Raises
    `InvalidArgumentError` for values that can't be written down.
    """
    if "inputSchema" in data or "input_schema" in data:
        data = _of_tool(data)
    content = data.get("content", data.get("body", ""))
    if not isinstance(content, str):
        raise InvalidArgumentError(f"content must be a text, not {quoted(content)}", field="data.content")
    inner = skill_of_text(content)
    front = dict(inner.front) if not inner.fault else {}
    body = content if inner.fault else inner.body
    for name, keys in (
        ("name", ("name",)), ("description", ("description",)), ("allowed-tools", ("allowed-tools", "allowed_tools")),
        ("tags", ("tags",)), ("metadata", ("metadata",)),
    ):  # fmt: skip
        given = next((data[key] for key in keys if data.get(key) is not None), None)
        if name in {"name", "description"} and not isinstance(given, str | None):
            raise InvalidArgumentError(f"{name} must be a text, not {quoted(given)}", field=f"data.{name}")
        if given is not None:
            front[name] = list(given) if isinstance(given, tuple) else given
    return skill_of_parts(front, body)


def skill_of_parts(front: Mapping[str, Any], body: str) -> Skill:
    """The skill whose front matter has these fields, with ``body`` behind it.

    Raises `InvalidArgumentError` for values that can't be written down.
    """
    import yaml  # noqa: PLC0415

    try:
        written = yaml.safe_dump(dict(front), sort_keys=False, allow_unicode=True, width=1 << 20)
    except (yaml.YAMLError, RecursionError) as error:
        raise InvalidArgumentError(f"data can't be written as YAML: {quoted(str(error))}", field="data") from error
    gap = "" if body.startswith("\n") or not body else "\n"
    return skill_of_text(f"---\n{written}---\n{gap}{body}")


def findings(skill: Skill, *, strict: bool, directory: str = "") -> tuple[list[Finding], list[Finding]]:
    """The errors and the warnings of a skill; ``strict`` makes errors of most warnings. ``directory`` is the name of its own."""
    errors: list[Finding] = []
    softer: list[Finding] = []
    if skill.fault:
        errors.append(Finding("yaml_format", f"{FILE}: {skill.fault}"))
    if not skill.name:
        errors.append(Finding("name_required", "The skill has no name", "name"))
    if not skill.description:
        errors.append(Finding("description_required", "The skill has no description", "description"))
    if directory and skill.name and directory != skill.name:
        message = f"The name {quoted(skill.name)} is not that of the directory, {quoted(directory)}"
        softer.append(Finding("name_matches_directory", message, "name"))
    softer += name_findings(skill.name)
    if len(skill.description) > MAX_DESCRIPTION_CHARS:
        message = f"The description has {len(skill.description)} characters, at most {MAX_DESCRIPTION_CHARS} are good"
        softer.append(Finding("description_max_length", message, "description"))
    warnings: list[Finding] = []
    if skill.body_lines > MAX_BODY_LINES:
        message = (
            f"The body has {skill.body_lines} lines, at most {MAX_BODY_LINES} are good: move details to files beside it"
        )
        warnings.append(Finding("body_max_lines", message))
    return ([*errors, *softer], warnings) if strict else (errors, [*softer, *warnings])


def name_findings(name: str) -> list[Finding]:
    """What is wrong with a name as that of a directory."""
    found = []
    if len(name) > MAX_NAME_CHARS:
        message = f"The name has {len(name)} characters, at most {MAX_NAME_CHARS} are allowed"
        found.append(Finding("name_max_length", message, "name"))
    if name and not _NAME.fullmatch(name):
        message = f"The name {quoted(name)} may have letters A-Z and a-z, digits, _ and - only"
        found.append(Finding("name_allowed_characters", message, "name"))
    return found


def _front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The fields of front matter with all scalars as texts, and why it could not be read."""
    import yaml  # noqa: PLC0415

    if len(text) > MAX_FRONT_CHARS:
        return {}, f"its front matter has {len(text)} characters, at most {MAX_FRONT_CHARS} are read"
    try:
        front = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - the base loader makes texts, lists and mappings only
    except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        return {}, f"its front matter is no YAML: {quoted(str(error).replace(chr(10), ' '), 200)}"
    if front is None or front == "":
        return {}, ""
    if not isinstance(front, dict):
        return {}, "its front matter is no list of fields"
    return {str(key): value for key, value in front.items()}, ""


def _skill(text: str, front: dict[str, Any], body: str, fault: str) -> Skill:
    name, description = front.get("name", ""), front.get("description", "")
    for key, value in (("name", name), ("description", description)):
        if not fault and not isinstance(value, str):
            fault = f"{key} in its front matter is no text"
    tools = front.get("allowed-tools", front.get("allowed_tools", ""))
    return Skill(
        text,
        name.strip() if isinstance(name, str) else "",
        description.strip() if isinstance(description, str) else "",
        _texts(front.get("tags", "")),
        _texts(tools),
        body,
        fault,
        front,
    )


def _texts(given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        return tuple(_LISTED.findall(given))
    if isinstance(given, Sequence):
        return tuple(one.strip() for one in given if isinstance(one, str) and one.strip())
    return ()


def _of_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """An MCP tool as a skill: its parameters are the body."""
    name = tool.get("name")
    schema = tool.get("inputSchema", tool.get("input_schema"))
    schema = schema if isinstance(schema, dict) else {}
    described = tool.get("description")
    fields = schema.get("properties")
    required = schema.get("required")
    required = required if isinstance(required, list) else []
    lines = [f"# {name}", ""]
    lines += [described, ""] if isinstance(described, str) and described else []
    lines += ["## Parameters", ""]
    for key, about in fields.items() if isinstance(fields, dict) else ():
        about = about if isinstance(about, dict) else {}
        need = "required" if key in required else "optional"
        what = f": {about['description']}" if about.get("description") else ""
        lines.append(f"- **{key}** ({about.get('type', 'any')}, {need}){what}")
    if not fields:
        lines.append("None.")
    changed = name.replace("_", "-") if isinstance(name, str) else name
    return {"name": changed, "description": described, "content": "\n".join(lines) + "\n", "tags": tool.get("tags")}

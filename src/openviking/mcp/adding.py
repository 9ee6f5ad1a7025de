"""The tools add_resource and add_skill: documents, code and skills from elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field

from openviking.errors import DeadlineExceededError, InvalidArgumentError, UnimplementedError
from openviking.mcp.arguments import Access, Arguments, Texts, refuse_access
from openviking.mcp.desk import Desk
from openviking.mcp.tool import Tool
from openviking.model.imports import ImportOptions, ImportReport, Progress
from openviking.service.imports import Addition
from openviking.service.resources import remote_address
from openviking.text import quoted

WAIT_S: Final = 30.0
"""So long an answer waits for an import; then it goes on by itself."""

LISTED: Final = 20


class AddResource(Arguments):
    """What is to be added, and where it goes."""

    path: str = Field(default="", max_length=4096, description="A URL (page, file, repository), or a path on the disk.")
    temp_file_id: str = Field(default="", description="What an upload answered; instead of path.")
    add_type: str = Field(default="", description="Not part of this version.")
    description: str = Field(default="", description="Why it is added.")
    watch_interval: float = Field(default=0, description="Minutes between looks for a new version of a URL; 0: never.")
    processing_mode: Literal["semantic_and_vectors", "vectors_only"] = "semantic_and_vectors"
    to: str = Field(default="", description="The exact URI it gets; again with the same brings it up to date.")
    parent: str = Field(default="", description="An existing directory to put it in; instead of to.")
    tags: Texts | None = Field(default=None, description="key=value.")
    tag_mode: str = "replace"
    args: dict[str, Any] | None = Field(default=None, description="Such as branch, for a repository.")
    acl: Access | None = Field(default=None, description="Not part of this version.")


def _add_resource(desk: Desk, given: AddResource) -> str:
    refuse_access(given.acl)
    path, upload = given.path.strip(), given.temp_file_id.strip()
    if not path and not upload:
        raise InvalidArgumentError("Give path: a URL or a path on the disk; or temp_file_id, an upload", field="path")
    if upload or "://" in path or remote_address(path):
        return _added(desk, _addition(given, path=None if upload else path, temp_file_id=upload or None))
    if desk.links is None:
        return _imported(desk, given, path)
    return _sending(desk, given, path)


def _addition(given: AddResource, *, path: str | None = None, temp_file_id: str | None = None) -> Addition:
    return Addition(
        path=path, temp_file_id=temp_file_id, to=given.to or None, parent=given.parent or None,
        reason=given.description, tags=given.tags, tag_mode=given.tag_mode, args=given.args or {},
        add_type=given.add_type or None,
        watch_interval=given.watch_interval if "watch_interval" in given.model_fields_set else None,
    )  # fmt: skip


def _added(desk: Desk, addition: Addition) -> str:
    try:
        done = desk.services.imports.add(desk.caller, addition, wait=True, timeout=WAIT_S)
    except DeadlineExceededError as error:
        if "task_id" not in error.details:
            raise
        return (
            f"Adding goes on (task {error.details['task_id']}): {error.details['root_uri']}\nWhat is in by now can be"
            " found already; list shows it."
        )
    text = [f"Resource added: {done['root_uri']}"]
    text += [f"Warning: {one}" for one in done.get("warnings", [])[:LISTED]]
    return "\n".join(text)


def _sending(desk: Desk, given: AddResource, path: str) -> str:
    """How the caller's shell sends a file that the server can't see."""
    links = desk.links
    assert links is not None  # noqa: S101 - `_add_resource` looked
    if given.watch_interval > 0:
        raise InvalidArgumentError("What is sent can't be watched: it does not change", field="watch_interval")
    name = path.replace("\\", "/").rstrip("/").rpartition("/")[2] or "file"
    url = links.upload(desk.caller, _addition(given))
    part = _in_shell(f'file=@"{_in_form(path)}"')
    return (
        f"The server can't read {quoted(path)} on your disk. Send it once, within {links.tickets.seconds:g} s, with your"
        " shell; it needs no key, and what it sends is added by that:\n\n"
        f"curl -fsS -F '{part}' '{url}'\n\n"
        f"Of a folder, make a zip first, and send that: (cd '{_in_shell(path)}' && zip -qr - .) > /tmp/{_plain(name)}.zip"
    )


def _in_form(path: str) -> str:
    """As curl reads it in quotation marks, where a comma or semicolon ends no name."""
    return path.replace("\\", "\\\\").replace('"', '\\"')


def _in_shell(path: str) -> str:
    return path.replace("'", "'\\''")


def _plain(name: str) -> str:
    return "".join(one for one in name if one.isalnum() or one in "._-") or "folder"


def _imported(desk: Desk, given: AddResource, path: str) -> str:
    if given.add_type:
        raise UnimplementedError("Connectors (add_type) are not part of this version", field="add_type")
    if given.watch_interval > 0:
        raise InvalidArgumentError(
            "Only URLs can be watched; add a folder again to bring it up to date", field="watch_interval"
        )

    def progress(one: Progress) -> None:
        desk.report(one.done, one.total or None, f"{one.stage} {one.name}".strip())

    report = desk.services.resources.add_resource(
        desk.caller, Path(path).expanduser(), given.to or None, given.parent or None, options=ImportOptions.of(),
        tags=given.tags, progress=progress,
    )  # fmt: skip
    return _reported(report)


def _reported(report: ImportReport) -> str:
    files = (
        f"{report.created:,} files new, {report.updated:,} changed, {report.unchanged:,} as before, {report.removed:,}"
        f" removed; {len(report.binary):,} binary, {len(report.skipped):,} left out, {len(report.failed):,} failed."
    )
    text = [f"Resource added: {report.root_uri}", files]
    text += [f"Failed: {one.name}: {one.error}" for one in report.failed[:LISTED]]
    if len(report.failed) > LISTED:
        text.append(f"… and {len(report.failed) - LISTED:,} more failed.")
    text += [f"Warning: {one}" for one in report.warnings[:LISTED]]
    if report.vectors_waiting:
        text.append(f"Found by words now; {report.vectors_waiting:,} vectors follow in the background.")
    return "\n".join(text)


class AddSkill(Arguments):
    """A skill, or where skills are."""

    data: str = Field(
        default="", description="The text of a SKILL.md: front matter with name and description, then what to do."
    )
    path: str = Field(
        default="", description="A SKILL.md, zip or folder of this machine; only where no server is between."
    )
    skills: Texts | None = Field(default=None, description="Of several, only these names.")
    target_uri: str = Field(default="", description="viking://agent/skills shares it; default: your own skills.")
    list_only: bool = Field(default=False, description="Only say what path holds.")


def _add_skill(desk: Desk, given: AddSkill) -> str:
    if bool(given.data) == bool(given.path):
        raise InvalidArgumentError("Give either data, the text of a SKILL.md, or path", field="data")
    if given.path and desk.links is not None:
        raise UnimplementedError("The server can't read your disk: give the text of the SKILL.md as data", field="path")
    source: Any = Path(given.path).expanduser() if given.path else _skill_of(given.data)
    done = desk.services.skills.add(
        desk.caller, source, skills=given.skills, list_only=given.list_only, target_uri=given.target_uri or None
    )
    found = done.get("skills", [done])
    names = [f"- {one['name']}" + (f"  {one['uri']}" if "uri" in one else "") for one in found]
    text = [f"{'There are' if given.list_only else 'Stored'} {len(names):,} skill(s):", *names[:LISTED]]
    if len(names) > LISTED:
        text.append(f"… and {len(names) - LISTED:,} more.")
    text += [f"Refused: {one}" for one in done.get("refused", [])[:LISTED]]
    text += [f"Warning: {one}" for one in done.get("warnings", [])[:LISTED]]
    return "\n".join(text)


def _skill_of(data: str) -> Any:
    """A text that is a JSON object is that object: a tool's description, or a skill in parts."""
    if not data.lstrip().startswith("{"):
        return data
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(
            "data begins as a JSON object and is none: give the text of a SKILL.md", field="data"
        ) from error


ADD_RESOURCE: Final = Tool(
    "add_resource", "Add documents or code",
    "Add a web page, file, folder or repository, so that find, grep and read work on it. A path on a disk that the server"
    " cannot see is answered with a command for your shell that sends it. For a text that you have at hand, use write.",
    AddResource, _add_resource, waits=lambda _: True, changes=True, reaches_out=True,
)  # fmt: skip

ADD_SKILL: Final = Tool(
    "add_skill", "Add a skill",
    "Store a skill: a SKILL.md that says how something is done, to be found by find with context_type skill. One of the"
    " same name is replaced.",
    AddSkill, _add_skill, changes=True, destroys=True,
)  # fmt: skip

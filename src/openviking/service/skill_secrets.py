"""Secrets in skills: each is replaced by a placeholder before anything is stored, and the caller is told where.

The values themselves are kept nowhere: a skill is read by models and may be shared with the whole account, and this
version has no private configurations that could hold them (contract/core.md §3.5).
"""

from __future__ import annotations

from typing import Final

from openviking.errors import InvalidArgumentError
from openviking.ingest.decode import decode
from openviking.model.skill import FILE, Skill, skill_of_parts, skill_of_text
from openviking.service.skill_packages import Masked, Package, check
from openviking.session.extraction.masking import masked
from openviking.session.scrubbing import scrubbed_value

_PLACEHOLDER: Final = "[masked: "


def without_secrets(package: Package) -> Package:
    """The package with placeholders for secrets; ``masked`` says where they are.

    Front matter stays YAML. Files that are no text stay as they are; a text that holds a secret is in UTF-8 afterwards.
    Raises `InvalidArgumentError` if the name or the path of a file is one.
    """
    if any(masked(one)[1] for one in (package.skill.name, *package.files)):
        raise InvalidArgumentError("The name of a skill, or of a file in it, holds a secret", field="data")
    told = []
    skill, count = _definition(package.skill)
    if count:
        check(skill, need_description=False)
        told.append(_masked(FILE, package.skill.text, skill.text, count))
    files = dict(package.files)
    for path, data in package.files.items():
        decoded = decode(data)
        if decoded is None:
            continue
        text_of, count = masked(decoded[0])
        if count:
            files[path] = text_of.encode()
            told.append(_masked(path, decoded[0], text_of, count))
    return Package(skill, files, tuple(told))


def _definition(skill: Skill) -> tuple[Skill, int]:
    """A SKILL.md; what holds no secret keeps every byte."""
    front, in_front = scrubbed_value(dict(skill.front))
    body, in_body = masked(skill.body)
    if in_front:
        return skill_of_parts(front, body), in_front + in_body
    if in_body:
        return skill_of_text(skill.text.removesuffix(skill.body) + body), in_body
    return skill, 0


def _masked(path: str, before: str, after: str, count: int) -> Masked:
    there = set(before.split("\n"))
    lines = (number for number, line in enumerate(after.split("\n"), 1) if _PLACEHOLDER in line and line not in there)
    return Masked(path, count, tuple(lines))

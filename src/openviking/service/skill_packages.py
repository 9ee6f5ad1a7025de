"""What a caller sends as skills, taken apart into packages: a name, its SKILL.md and the files beside it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from openviking.errors import InvalidArgumentError, OpenVikingError, PermissionDeniedError, ProcessingError
from openviking.model.imports import ImportOptions
from openviking.model.skill import FILE, Skill, name_findings, skill_of_data, skill_of_text
from openviking.names import kept_name
from openviking.text import quoted

if TYPE_CHECKING:
    from openviking.ingest.delivery import Delivery

MAX_FILES: Final = 2_000
MAX_BYTES: Final = 64 * 1024 * 1024
MAX_TEXT_BYTES: Final = 4 * 1024 * 1024
"""The bytes of one SKILL.md at most."""

MAX_LINES_TOLD: Final = 20

_TAKEN: Final = ("bin/", "build/", "dist/", "target/", "obj/", "env/", ".env/", "venv/")
"""Directories that imports of resources leave out; a skill may well have its scripts there."""

_PATH: Final = re.compile(r"[/~.\\]|[A-Za-z]:[\\/]|[^\s:]+[/\\]\S*\Z|\S+\.(?:md|zip)\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Masked:
    """``count`` secrets of a file were replaced, in these of its ``lines``, which are numbered from 1."""

    path: str
    count: int
    lines: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """The replacement as answers show it."""
        return {"path": self.path, "count": self.count, "lines": list(self.lines)}

    @property
    def told(self) -> str:
        """A sentence for whoever added the skill."""
        shown = ", ".join(map(str, self.lines[:MAX_LINES_TOLD])) + (", …" if len(self.lines) > MAX_LINES_TOLD else "")
        where = f" ({'line' if len(self.lines) == 1 else 'lines'} {shown})" if shown else ""
        what = "a secret was" if self.count == 1 else f"{self.count} secrets were"
        return f"{self.path}{where}: {what} replaced by a placeholder, and the value is kept nowhere"


@dataclass(frozen=True, slots=True)
class Package:
    """One skill to be stored; ``files`` are the others of its directory by their relative paths.

    ``masked`` says where secrets were taken out of it.
    """

    skill: Skill
    files: dict[str, bytes] = field(default_factory=dict)
    masked: tuple[Masked, ...] = ()


@dataclass(frozen=True, slots=True)
class Sending:
    """What was sent: good packages, what was refused and why, and files that belong to none or were left out."""

    packages: tuple[Package, ...]
    refused: tuple[dict[str, str], ...] = ()
    left_out: tuple[str, ...] = ()


def is_path(data: str) -> bool:
    """Whether a text is rather the path of a skill than a skill."""
    text = data.strip()
    return bool(text) and "\n" not in text and not text.startswith("---") and _PATH.match(text) is not None


def skill_of(data: Any) -> Skill:
    """The skill of a SKILL.md text, an object or an MCP tool, whatever its faults.

    Raises `PermissionDeniedError` for a text that names a path, `InvalidArgumentError` for what is neither.
    """
    if isinstance(data, Mapping):
        return skill_of_data(data)
    if not isinstance(data, str):
        raise InvalidArgumentError(f"data must be a text or an object, not {quoted(data)}", field="data")
    if is_path(data):
        raise PermissionDeniedError(
            "A path of the server's disk can't be added: upload the content with temp_upload", field="data"
        )
    return skill_of_text(data)


def package_of_data(data: Any) -> Package:
    """The package that ``data`` alone makes. Raises as `skill_of`, and `InvalidArgumentError` for a skill with faults."""
    if data in ({}, ""):
        raise InvalidArgumentError("data is empty", field="data")
    skill = skill_of(data)
    check(skill, need_description=isinstance(data, str))
    return Package(skill)


def packages_of_file(path: Path, name: str) -> Sending:
    """The packages in an upload called ``name``: a SKILL.md, or a zip with one in any of its directories.

    Raises `InvalidArgumentError` if there is no good one.
    """
    # Archives and walks are nothing that a find should have to load.
    from openviking.ingest.archive import ZipDelivery  # noqa: PLC0415
    from openviking.ingest.opening import archive_stem, is_archive  # noqa: PLC0415

    if not is_archive(name):
        if path.stat().st_size > MAX_TEXT_BYTES:
            raise InvalidArgumentError(f"{name} has more than {MAX_TEXT_BYTES} bytes", field="temp_file_id")
        return Sending((_package({FILE: path.read_bytes()}),))
    try:
        delivery: Delivery = ZipDelivery(path, archive_stem(name), name=name)
    except ProcessingError as error:
        raise InvalidArgumentError(error.message, field="temp_file_id") from error
    return _delivered(delivery, name)


def packages_of_path(path: Path) -> Sending:
    """The packages at a path of this machine: a SKILL.md, a zip, or a folder with one in any of its directories.

    Raises `InvalidArgumentError` if there is no good one.
    """
    if path.is_dir():
        from openviking.ingest.walk import FolderDelivery  # noqa: PLC0415

        return _delivered(FolderDelivery(path), path.name or "the folder")
    if not path.is_file():
        raise InvalidArgumentError(f"{path} is neither a file nor a folder", field="data")
    return packages_of_file(path, path.name)


def _delivered(delivery: Delivery, name: str) -> Sending:
    from openviking.ingest.delivery import UnreadableError  # noqa: PLC0415
    from openviking.ingest.ignore import SkipRules  # noqa: PLC0415

    try:
        scan = delivery.scan(SkipRules(ImportOptions(include=_TAKEN)), lambda: False)
        left_out = [f"{one.name}: {one.reason}" for one in scan.skipped]
        left_out += [f"{one.name}: {one.error}" for one in scan.failed]
        if len(scan.files) > MAX_FILES:
            raise InvalidArgumentError(
                f"{name} has {len(scan.files)} files, at most {MAX_FILES} are taken", field="temp_file_id"
            )
        files: dict[str, bytes] = {}
        left = MAX_BYTES
        for one in scan.files:
            try:
                files[one] = delivery.read(one, left)
            except UnreadableError as error:
                raise InvalidArgumentError(f"{one} in {name} can't be read: {error}", field="temp_file_id") from error
            left -= len(files[one])
    finally:
        delivery.close()
    return _taken_apart(name, files, left_out)


def check(skill: Skill, *, need_description: bool) -> None:
    """Raises `InvalidArgumentError` for a skill that can't be stored."""
    faults = [skill.fault] if skill.fault else []
    faults += ["it has no name"] if not skill.name else [one.message for one in name_findings(skill.name)]
    if need_description and not skill.description:
        faults.append("it has no description")
    if faults:
        raise InvalidArgumentError(f"The skill can't be stored: {'; '.join(faults)}", field="data")
    check_text(skill)


def check_text(skill: Skill) -> None:
    """Raises `InvalidArgumentError` for a skill whose text is none, or is too long."""
    try:
        size = len(skill.text.encode())
        skill.abstract.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError("The skill has a lone surrogate, which is no text", field="data") from error
    if size > MAX_TEXT_BYTES:
        raise InvalidArgumentError(f"{FILE} has {size} bytes, at most {MAX_TEXT_BYTES} are allowed", field="data")


def _taken_apart(name: str, files: dict[str, bytes], left_out: list[str]) -> Sending:
    roots = {posixpath.dirname(one) for one in files if posixpath.basename(one) == FILE}
    # What lies in a package belongs to it, also another SKILL.md.
    roots = {root for root in roots if not any(above in roots for above in _above(root))}
    if not roots:
        raise InvalidArgumentError(f"{name} has no {FILE}", field="temp_file_id")
    parts: dict[str, dict[str, bytes]] = {root: {} for root in sorted(roots)}
    for path, data in files.items():
        root = next((one for one in (posixpath.dirname(path), *_above(posixpath.dirname(path))) if one in roots), None)
        if root is None:
            left_out.append(f"{path}: it belongs to no skill")
        else:
            parts[root][path.removeprefix(f"{root}/") if root else path] = data
    good: dict[str, Package] = {}
    refused: list[dict[str, str]] = []
    last: OpenVikingError | None = None
    for root, content in parts.items():
        try:
            package = _package(content, tuple(good))
        except InvalidArgumentError as error:
            last = error
            refused.append({"path": f"{root}/{FILE}" if root else FILE, "error": error.message})
        else:
            good[package.skill.name] = package
    if not good and last is not None:
        raise last
    return Sending(tuple(good.values()), tuple(refused), tuple(left_out))


def _package(files: dict[str, bytes], taken: tuple[str, ...] = ()) -> Package:
    try:
        text = files[FILE].decode()
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(f"{FILE} is not in UTF-8", field="temp_file_id") from error
    skill = skill_of_text(text)
    check(skill, need_description=True)
    if skill.name in taken:
        raise InvalidArgumentError(f"two skills are called {skill.name}", field="temp_file_id")
    rest: dict[str, bytes] = {}
    for path, data in files.items():
        if path != FILE:
            rest["/".join(kept_name(part) for part in path.split("/"))] = data
    return Package(skill, rest)


def _above(directory: str) -> list[str]:
    """The directories above one, "" last; none above that."""
    parts = directory.split("/") if directory else []
    return ["/".join(parts[:count]) for count in range(len(parts) - 1, -1, -1)]

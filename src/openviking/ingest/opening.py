"""Opening what lies at a local path as a source."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from openviking.errors import InvalidArgumentError, NotFoundError
from openviking.ingest.archive import ZipDelivery
from openviking.ingest.delivery import Delivery, FileDelivery
from openviking.ingest.reserve import document_stem
from openviking.ingest.walk import FolderDelivery

ARCHIVE: Final = ".zip"


def located(location: Path) -> Path:
    """The real absolute path; raises `NotFoundError` if nothing is there."""
    try:
        return location.resolve(strict=True)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError(str(location), "path") from error
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidArgumentError(f"The path {location} can't be followed: {error}", path=str(location)) from error


def opened(path: Path, limit: int, excluded: Path | None = None, name: str = "") -> tuple[Delivery, str]:
    """The open source, and what its root is named after; a single document may have ``limit`` bytes.

    ``name`` is what a file at ``path`` is called, where that is not the name it lies under.

    ``excluded`` is the store's own data directory, which a folder does not deliver. Raises `ProcessingError` for what
    can't be read at all, `InvalidArgumentError` for a device, pipe or socket.
    """
    if path.is_dir():
        return FolderDelivery(path, excluded), path.name or "root"
    if not path.is_file():
        raise InvalidArgumentError(f"{path} is neither a file nor a folder", path=str(path))
    name = name or path.name
    if is_archive(name):
        return ZipDelivery(path, archive_stem(name), name=name), archive_stem(name)
    return FileDelivery(path, limit, name), document_stem(name)


def is_archive(name: str) -> bool:
    """Whether a file of this name is unpacked rather than kept as it is."""
    return name.lower().endswith(ARCHIVE)


def archive_stem(name: str) -> str:
    """What the root of an archive is named after."""
    return name[: -len(ARCHIVE)] or name

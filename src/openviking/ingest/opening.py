"""Opening what lies at a local path as a source."""

from __future__ import annotations

from pathlib import Path

from openviking.errors import InvalidArgumentError, NotFoundError
from openviking.ingest.archive import ZipDelivery
from openviking.ingest.delivery import Delivery, FileDelivery
from openviking.ingest.reserve import document_stem
from openviking.ingest.walk import FolderDelivery


def located(location: Path) -> Path:
    """The real absolute path; raises `NotFoundError` if nothing is there."""
    try:
        return location.resolve(strict=True)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError(str(location), "path") from error
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidArgumentError(f"The path {location} can't be followed: {error}", path=str(location)) from error


def opened(path: Path, limit: int, excluded: Path | None = None) -> tuple[Delivery, str]:
    """The open source, and what its root is named after; a single document may have ``limit`` bytes.

    ``excluded`` is the store's own data directory, which a folder does not deliver. Raises `ProcessingError` for what
    can't be read at all, `InvalidArgumentError` for a device, pipe or socket.
    """
    if path.is_dir():
        return FolderDelivery(path, excluded), path.name or "root"
    if not path.is_file():
        raise InvalidArgumentError(f"{path} is neither a file nor a folder", path=str(path))
    if path.suffix.lower() == ".zip":
        return ZipDelivery(path, path.stem), path.stem
    return FileDelivery(path, limit), document_stem(path.name)

"""A file or directory as the store knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from openviking.uri import URI, from_path

PICTURE: Final = "image"
"""The kind of a file that is a picture; its text is what is said of it, "" until somebody says something."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node of the tree.

    ``path`` is the store's spelling (no scheme). ``size`` counts the original bytes, 0 for a directory. ``hash``
    is the SHA-256 of the original bytes and ``text_hash`` of their UTF-8 form, None for directories, the latter
    also for binary files. ``kind`` is what a file was read as (``markdown``, ``text``, ``html``, ``data``, ``code``,
    ``image`` or ``binary``), "" for a directory. ``abstract`` is the file's own L0; a directory's sidecars are read separately.
    Times are milliseconds. ``source_hash`` is what the source delivered when it last wrote this file.
    """

    id: int
    path: str
    is_dir: bool
    size: int
    hash: bytes | None
    text_hash: bytes | None
    encoding: str
    kind: str
    abstract: str
    created_at: int
    updated_at: int
    source_id: int | None
    source_name: str
    source_hash: bytes | None

    @property
    def uri(self) -> URI:
        """The node's URI."""
        return from_path(self.path)

    @property
    def record_id(self) -> str:
        """Its id as answers tell it: 32 hexadecimal digits, which can be given in place of its URI."""
        return f"{self.id:032x}"

    @property
    def name(self) -> str:
        """The last path segment."""
        return self.path.rpartition("/")[2]

    @property
    def is_text(self) -> bool:
        """Whether it is a file whose text is indexed."""
        return self.text_hash is not None

    @property
    def is_picture(self) -> bool:
        """Whether it is a file with a picture, whose text is not that of its bytes."""
        return self.kind == PICTURE


@dataclass(frozen=True, slots=True)
class Sidecars:
    """The L0 and L1 texts of a directory; ``origin`` is ``extractive``, ``description`` or ``model``."""

    abstract: str
    overview: str
    origin: str
    stale: bool

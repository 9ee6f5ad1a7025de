"""What is in files, and the summaries of directories."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from openviking_sdk.call import Call, a_text, an_object, given, the_bytes, with_options
from openviking_sdk.calls.system import waiting, waiting_for
from openviking_sdk.files import Download
from openviking_sdk.uri import full_uri


def read(uri: str, offset: int = 0, limit: int = -1, *, raw: bool = False) -> Call[str]:
    """The text of a file: ``limit`` lines (-1: all) from line ``offset``, counted from 0.

    ``uri`` may be a record's id. ``raw`` shows what is usually hidden, such as the fields of a memory. Raises
    `NotFoundError`, and `InvalidArgumentError` for a directory.
    """
    return Call(
        method="GET",
        path="/api/v1/content/read",
        query=given(uri=full_uri(uri), offset=offset, limit=limit, raw=raw or None),
        read=a_text,
        repeatable=True,
    )


def read_raw(uri: str, offset: int = 0, limit: int = -1) -> Call[str]:
    """`read` with ``raw=True``."""
    return read(uri, offset, limit, raw=True)


def abstract(uri: str) -> Call[str]:
    """The abstract (L0) of a directory; of a file, that of the directory it is in. Raises `NotFoundError`."""
    return Call(
        method="GET", path="/api/v1/content/abstract", query={"uri": full_uri(uri)}, read=a_text, repeatable=True
    )


def overview(uri: str) -> Call[str]:
    """The overview (L1) of a directory; of a file, that of the directory it is in. Raises `NotFoundError`."""
    return Call(
        method="GET", path="/api/v1/content/overview", query={"uri": full_uri(uri)}, read=a_text, repeatable=True
    )


def download_bytes(uri: str) -> Call[bytes]:
    """The bytes of a file as they were put in, at most 512 MiB; `download` takes larger ones.

    Raises `NotFoundError`, `InvalidArgumentError` for a directory, `ResourceExhaustedError`.
    """
    return Call(
        method="GET",
        path="/api/v1/content/download",
        query={"uri": full_uri(uri)},
        form="bytes",
        read=the_bytes,
        repeatable=True,
    )


def download(uri: str, path: str | os.PathLike[str], *, overwrite: bool = False) -> Call[Path]:
    """Write the bytes of a file to ``path`` on this machine and give that path; nothing is left of a broken transfer.

    Raises `AlreadyExistsError` if there is something and not ``overwrite``, `NotFoundError`, `InvalidArgumentError` for
    a directory, and `OSError` of the disk.
    """
    target = Path(path)
    place = Download(target, overwrite)
    place.check()
    return Call(
        method="GET",
        path="/api/v1/content/download",
        query={"uri": full_uri(uri)},
        form="bytes",
        download=place,
        read=lambda _: target,
        repeatable=True,
    )


def write(
    uri: str,
    content: str,
    mode: Literal["replace", "append", "create"] = "replace",
    wait: bool = False,
    options: Mapping[str, Any] | None = None,
    *,
    timeout: float | None = None,
    processing_mode: Literal["semantic_and_vectors", "vectors_only"] | None = None,
    tags: Sequence[str] | None = None,
    tag_mode: Literal["replace", "append"] | None = None,
    telemetry: bool | dict[str, Any] = False,
) -> Call[dict[str, Any]]:
    """Write a text file: ``uri``, ``written_bytes``, ``content_updated``, ``semantic_status``, ``vector_status`` and more.

    ``replace`` and ``append`` need the file, ``create`` must not find it. ``wait`` until it is indexed, for at most
    ``timeout`` seconds. ``options`` are further fields of the request. Raises `NotFoundError`, `AlreadyExistsError`,
    `DeadlineExceededError`.
    """
    body = with_options(
        given(
            uri=full_uri(uri),
            content=content,
            mode=mode,
            wait=wait or None,
            timeout=timeout,
            processing_mode=processing_mode,
            tags=None if tags is None else list(tags),
            tag_mode=tag_mode,
            telemetry=telemetry or None,
        ),
        options,
    )
    return Call(method="POST", path="/api/v1/content/write", body=body, read=an_object, seconds=waiting_for(body))


def batch_write(
    root_uri: str,
    operations: Sequence[Mapping[str, Any]],
    wait: bool = True,
    options: Mapping[str, Any] | None = None,
    *,
    timeout: float | None = None,
    processing_mode: Literal["semantic_and_vectors", "vectors_only"] | None = None,
    telemetry: bool | dict[str, Any] = False,
) -> Call[dict[str, Any]]:
    """Write several files below a directory at once: ``created``, ``updated``, ``unchanged``, each a list of addresses.

    An operation has ``uri``, ``content`` or ``content_base64``, and ``mode`` (``replace``, ``append``, ``create``,
    ``upsert``). At most 256 of them, 8 MiB each, 16 MiB together, else `ResourceExhaustedError`.
    Raises `RefreshFailedError` if it is written but not indexed.
    """
    body = with_options(
        given(
            root_uri=full_uri(root_uri),
            operations=[_operation(one) for one in operations],
            wait=wait,
            timeout=timeout,
            processing_mode=processing_mode,
            telemetry=telemetry or None,
        ),
        options,
    )
    return Call(method="POST", path="/api/v1/content/batch-write", body=body, read=an_object, seconds=waiting_for(body))


def reindex(
    uri: str,
    mode: Literal["vectors_only", "semantic_and_vectors", "prune_orphans"] = "vectors_only",
    wait: bool = True,
    recursive: bool | None = None,
    *,
    dry_run: bool = False,
    force: bool = False,
    tags: Sequence[str] | None = None,
    tag_mode: Literal["replace", "append"] | None = None,
) -> Call[dict[str, Any]]:
    """Make the index below ``uri`` anew: ``status`` and counts such as ``scanned_records``, ``failed_records``.

    Without ``wait`` a ``task_id``. ``dry_run`` goes with ``prune_orphans`` and only counts. Raises `ConflictError` if
    it runs already.
    """
    return Call(
        method="POST",
        path="/api/v1/content/reindex",
        body=given(
            uri=full_uri(uri),
            mode=mode,
            wait=wait,
            dry_run=dry_run or None,
            recursive=recursive,
            force=force or None,
            tags=None if tags is None else list(tags),
            tag_mode=tag_mode,
        ),
        read=an_object,
        seconds=waiting(wait, None),
    )


def _operation(operation: Mapping[str, Any]) -> dict[str, Any]:
    fields = dict(operation)
    if isinstance(fields.get("uri"), str):
        fields["uri"] = full_uri(fields["uri"])
    return fields

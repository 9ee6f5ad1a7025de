"""Taking in files, folders and pages."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from openviking_sdk.call import Call, Steps, an_object, given, with_options
from openviking_sdk.calls.system import waiting_for
from openviking_sdk.errors import InvalidArgumentError
from openviking_sdk.ignore import SendRules, names
from openviking_sdk.settings import UploadDefaults
from openviking_sdk.sources import local_path
from openviking_sdk.uploading import uploaded
from openviking_sdk.uri import full_uri


def add_resource(
    defaults: UploadDefaults,
    path: str | os.PathLike[str],
    to: str | None = None,
    parent: str | None = None,
    wait: bool = False,
    options: Mapping[str, Any] | None = None,
    *,
    reason: str = "",
    instruction: str = "",
    timeout: float | None = None,
    create_parent: bool = False,
    source_name: str | None = None,
    strict: bool = False,
    ignore_dirs: str | Sequence[str] | None = None,
    include: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    directly_upload_media: bool | None = None,
    preserve_structure: bool | None = None,
    watch_interval: float | None = None,
    processing_mode: Literal["semantic_and_vectors", "vectors_only"] | None = None,
    tags: Sequence[str] | None = None,
    tag_mode: Literal["replace", "append"] | None = None,
    args: Mapping[str, Any] | None = None,
    telemetry: bool | dict[str, Any] = False,
) -> Steps[dict[str, Any]]:
    """Add a file or folder of this machine, or an address: ``status`` and ``root_uri``; ``task_id`` or, with ``wait``, all.

    A file is sent as it is, a folder as an archive, without hidden files, links, what ``.gitignore`` ignores, directories
    of tools and build results, ``ignore_dirs`` and ``exclude``, and only ``include`` (lists, or separated by commas; joined
    with those of ``ovcli.conf``). It gets the address ``to`` (given again, it is brought up to date), or one of its own in
    ``parent``, or in ``viking://resources``. What is neither there nor an address is sent as it stands; the server refuses
    a path of its own disk. ``options`` are further fields of the request. Raises `InvalidArgumentError`,
    `PermissionDeniedError`, and with ``wait`` `ProcessingError` and `DeadlineExceededError`.
    """
    lists = {
        "ignore_dirs": [*names(defaults.ignore_dirs), *names(ignore_dirs)],
        "include": [*names(defaults.include), *names(include)],
        "exclude": [*names(defaults.exclude), *names(exclude)],
    }
    fields = with_options(
        given(
            to=None if to is None else full_uri(to),
            parent=None if parent is None else full_uri(parent),
            wait=wait or None,
            reason=reason or None,
            instruction=instruction or None,
            timeout=timeout,
            create_parent=create_parent or None,
            source_name=source_name,
            strict=strict or None,
            **{name: ",".join(values) or None for name, values in lists.items()},
            directly_upload_media=directly_upload_media,
            preserve_structure=preserve_structure,
            watch_interval=watch_interval,
            processing_mode=processing_mode,
            tags=None if tags is None else list(tags),
            tag_mode=tag_mode,
            args=None if args is None else dict(args),
            telemetry=telemetry or None,
        ),
        options,
    )
    if fields.get("to") and fields.get("parent"):
        raise InvalidArgumentError("to and parent exclude each other: to is the very address, parent where it gets one")
    local = local_path(path)
    if local is None:
        fields["path"] = os.fspath(path)
    else:
        rules = SendRules(*(names(fields.get(name)) for name in lists))
        fields["temp_file_id"] = yield from uploaded(local, rules, defaults.mode)
        fields.setdefault("source_name", local.name or "folder")
    result: dict[str, Any] = yield Call(
        method="POST",
        path="/api/v1/resources",
        body=fields,
        read=an_object,
        seconds=waiting_for(fields),
    )
    return result

"""Directories and entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from openviking_sdk.call import Call, a_list, a_page, an_object, given, nothing
from openviking_sdk.calls.system import waiting
from openviking_sdk.uri import full_uri


def ls(
    uri: str = "viking://",
    simple: bool = False,
    recursive: bool = False,
    output: Literal["original", "agent"] = "original",
    abs_limit: int = 256,
    *,
    show_all_hidden: bool = False,
    node_limit: int | None = None,
    limit: int | None = None,
    offset: int | None = None,
    sort_by: Literal["name", "mtime"] | None = None,
    sort_order: Literal["asc", "desc"] | None = None,
    include_abstract: bool | None = None,
    include_overview: bool | None = None,
    overview_limit: int | None = None,
    extra_fields: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    include_tags: bool = False,
) -> Call[list[Any]]:
    """The entries of a directory, each an object with ``uri``, ``name``, ``size``, ``isDir``, ``modTime``.

    ``simple`` gives bare addresses instead; ``output="agent"`` leaves ``name`` out and gives the ``abstract`` of each
    directory, cut to ``abs_limit`` characters. ``recursive`` goes three levels deep. At most ``node_limit`` entries
    (1,000), or ``limit``, which goes before it; `ls_page` says whether there are more. ``tags`` leaves only what has
    all of them (``key=value``). Raises `NotFoundError`, and `FailedPreconditionError` for a file.
    """
    return Call(
        method="GET",
        path="/api/v1/fs/ls",
        query=given(
            uri=full_uri(uri),
            output=output,
            abs_limit=abs_limit,
            simple=simple or None,
            recursive=recursive or None,
            show_all_hidden=show_all_hidden or None,
            node_limit=node_limit,
            limit=limit,
            offset=offset,
            sort_by=sort_by,
            sort_order=sort_order,
            include_abstract=include_abstract,
            include_overview=include_overview,
            overview_limit=overview_limit,
            extra_fields=None if extra_fields is None else list(extra_fields),
            tags=None if tags is None else list(tags),
            include_tags=include_tags or None,
        ),
        read=a_list,
        repeatable=True,
    )


def ls_page(
    uri: str = "viking://",
    simple: bool = False,
    recursive: bool = False,
    output: Literal["original", "agent"] = "original",
    abs_limit: int = 256,
    *,
    limit: int | None = None,
    offset: int | None = None,
    show_all_hidden: bool = False,
    sort_by: Literal["name", "mtime"] | None = None,
    sort_order: Literal["asc", "desc"] | None = None,
    extra_fields: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    include_tags: bool = False,
) -> Call[dict[str, Any]]:
    """A part of a directory: ``result``, its entries as `ls` gives them, ``has_more``, and ``total`` if it is known."""
    whole = ls(
        uri,
        simple=simple,
        recursive=recursive,
        output=output,
        abs_limit=abs_limit,
        show_all_hidden=show_all_hidden,
        limit=limit,
        offset=offset,
        sort_by=sort_by,
        sort_order=sort_order,
        extra_fields=extra_fields,
        tags=tags,
        include_tags=include_tags,
    )
    return Call(method=whole.method, path=whole.path, query=whole.query, read=a_page, repeatable=True)


def tree(
    uri: str = "viking://",
    output: Literal["original", "agent"] = "original",
    abs_limit: int = 128,
    *,
    show_all_hidden: bool = False,
    node_limit: int | None = None,
    limit: int | None = None,
    offset: int | None = None,
    level_limit: int | None = None,
    directories_only: bool = False,
    include_abstract: bool | None = None,
    include_overview: bool | None = None,
    overview_limit: int | None = None,
    extra_fields: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    include_tags: bool = False,
) -> Call[list[Any]]:
    """Everything below a directory in one list, parents first; entries as `ls`, with ``rel_path``.

    ``level_limit`` levels deep (3), at most ``node_limit`` entries (1,000) or ``limit``. Raises `NotFoundError`.
    """
    return Call(
        method="GET",
        path="/api/v1/fs/tree",
        query=given(
            uri=full_uri(uri),
            output=output,
            abs_limit=abs_limit,
            show_all_hidden=show_all_hidden or None,
            node_limit=node_limit,
            limit=limit,
            offset=offset,
            level_limit=level_limit,
            directories_only=directories_only or None,
            include_abstract=include_abstract,
            include_overview=include_overview,
            overview_limit=overview_limit,
            extra_fields=None if extra_fields is None else list(extra_fields),
            tags=None if tags is None else list(tags),
            include_tags=include_tags or None,
        ),
        read=a_list,
        repeatable=True,
    )


def tree_page(
    uri: str = "viking://",
    output: Literal["original", "agent"] = "original",
    abs_limit: int = 128,
    *,
    limit: int | None = None,
    offset: int | None = None,
    show_all_hidden: bool = False,
    level_limit: int | None = None,
    directories_only: bool = False,
    extra_fields: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    include_tags: bool = False,
) -> Call[dict[str, Any]]:
    """A part of a tree: ``result``, its entries as `tree` gives them, ``has_more``, and ``total`` if it is known."""
    whole = tree(
        uri,
        output=output,
        abs_limit=abs_limit,
        show_all_hidden=show_all_hidden,
        limit=limit,
        offset=offset,
        level_limit=level_limit,
        directories_only=directories_only,
        extra_fields=extra_fields,
        tags=tags,
        include_tags=include_tags,
    )
    return Call(method=whole.method, path=whole.path, query=whole.query, read=a_page, repeatable=True)


def stat(uri: str) -> Call[dict[str, Any]]:
    """What is known of an entry: ``name``, ``size``, ``mode``, ``modTime``, ``isDir``, ``uri``; of a directory ``count``.

    ``count`` is the number of index records in it. Raises `NotFoundError`.
    """
    return Call(method="GET", path="/api/v1/fs/stat", query={"uri": full_uri(uri)}, read=an_object, repeatable=True)


def attrs(uri: str) -> Call[dict[str, Any]]:
    """``uri``, ``context_type``, and ``attrs`` with the entry's ``tags``. Raises `NotFoundError`."""
    return Call(method="GET", path="/api/v1/fs/attrs", query={"uri": full_uri(uri)}, read=an_object, repeatable=True)


def set_tags(
    uri: str,
    tags: Sequence[str] | None = None,
    mode: Literal["replace", "append", "clear"] = "replace",
    recursive: bool = False,
    *,
    telemetry: bool | dict[str, Any] = False,
) -> Call[dict[str, Any]]:
    """Give an entry tags (``key=value``): ``tags``, ``success_count``, and ``skipped_count`` for what is no tag.

    ``recursive`` gives them to everything below too. Raises `NotFoundError`.
    """
    return Call(
        method="POST",
        path="/api/v1/fs/attrs/set_tags",
        body=given(
            uri=full_uri(uri),
            tags=None if tags is None else list(tags),
            mode=mode,
            recursive=recursive or None,
            telemetry=telemetry or None,
        ),
        read=an_object,
    )


def mkdir(uri: str, description: str | None = None) -> Call[None]:
    """Make a directory and those above it; ``description`` becomes its abstract.

    Raises `ConflictError` if it is there, and `PermissionDeniedError` where nothing can be made.
    """
    return Call(
        method="POST",
        path="/api/v1/fs/mkdir",
        body=given(uri=full_uri(uri), description=description),
        read=nothing,
    )


def rm(uri: str, recursive: bool = False, wait: bool = False, *, timeout: float | None = None) -> Call[None]:
    """Remove a file, or with ``recursive`` a directory and all in it; what is not there is no error.

    ``wait`` until the summaries above are right again. Raises `FailedPreconditionError` for a directory without
    ``recursive``, and `PermissionDeniedError` for what can't be removed.
    """
    return Call(
        method="DELETE",
        path="/api/v1/fs",
        query=given(uri=full_uri(uri), recursive=recursive or None, wait=wait or None, timeout=timeout),
        read=nothing,
        seconds=waiting(wait, timeout),
    )


def mv(from_uri: str, to_uri: str) -> Call[None]:
    """Move or rename a file or directory. Raises `NotFoundError`, and `ConflictError` if the new name is taken."""
    return Call(
        method="POST",
        path="/api/v1/fs/mv",
        body={"from_uri": full_uri(from_uri), "to_uri": full_uri(to_uri)},
        read=nothing,
    )


def cp(from_uri: str, to_uri: str, recursive: bool = False) -> Call[None]:
    """Copy a file, or with ``recursive`` a directory. Raises `NotFoundError`, and `ConflictError` if the name is taken."""
    return Call(
        method="POST",
        path="/api/v1/fs/cp",
        body=given(from_uri=full_uri(from_uri), to_uri=full_uri(to_uri), recursive=recursive or None),
        read=nothing,
    )

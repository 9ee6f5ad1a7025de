"""The tree over HTTP (contract/core.md §3.2)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from openviking.model.listing import Listing
from openviking.server.bodies import Lenient, Strict, Telemetry, refuse_acl
from openviking.server.edge import Caller
from openviking.server.envelope import Json, success
from openviking.service.listed import Details

router = APIRouter(prefix="/api/v1/fs", tags=["fs"])


Names = Annotated[list[str] | None, Query()]
"""Names as repeated parameters, or separated by commas."""


def _details(
    abstract: bool | None,
    overview: bool,
    overview_limit: int,
    extra_fields: list[str] | None,
    tags: list[str] | None,
    include_tags: bool,
) -> Details:
    return Details(abstract, overview, overview_limit, _names(extra_fields), _names(tags), include_tags)


def _names(given: list[str] | None) -> tuple[str, ...]:
    return tuple(name.strip() for text in given or () for name in text.split(",") if name.strip())


def _listed(found: Listing) -> Json:
    return success(list(found), beside={"has_more": found.has_more, "total": found.total})


@router.get("/ls")
async def ls(
    edge: Caller,
    uri: str,
    simple: bool = False,
    recursive: bool = False,
    output: Literal["agent", "original"] = "agent",
    abs_limit: int = 256,
    show_all_hidden: bool = False,
    node_limit: int = 1000,
    limit: int | None = None,
    offset: int = 0,
    sort_by: Literal["name", "mtime"] | None = None,
    sort_order: Literal["asc", "desc"] = "asc",
    include_abstract: bool | None = None,
    include_overview: bool = False,
    overview_limit: int = 4000,
    extra_fields: Names = None,
    tags: Names = None,
    include_tags: bool = False,
) -> Json:
    """The children of a directory; ``recursive`` gives a tree of depth 3. ``limit`` is another name of ``node_limit``."""
    details = _details(include_abstract, include_overview, overview_limit, extra_fields, tags, include_tags)
    call = lambda: edge.services.fs.ls(  # noqa: E731
        edge.caller, uri, simple=simple, recursive=recursive, output=output, abs_limit=abs_limit,
        show_all_hidden=show_all_hidden, node_limit=node_limit if limit is None else limit, offset=offset,
        sort_by=sort_by, sort_order=sort_order, details=details,
    )  # fmt: skip
    return _listed(await edge.call(call))


@router.get("/tree")
async def tree(
    edge: Caller,
    uri: str,
    simple: bool = False,
    output: Literal["agent", "original"] = "agent",
    abs_limit: int = 256,
    show_all_hidden: bool = False,
    node_limit: int = 1000,
    limit: int | None = None,
    offset: int = 0,
    level_limit: int = 3,
    directories_only: bool = False,
    include_abstract: bool | None = None,
    include_overview: bool = False,
    overview_limit: int = 4000,
    extra_fields: Names = None,
    tags: Names = None,
    include_tags: bool = False,
) -> Json:
    """Everything below a directory, flat and in pre-order, with ``rel_path``."""
    details = _details(include_abstract, include_overview, overview_limit, extra_fields, tags, include_tags)
    call = lambda: edge.services.fs.tree(  # noqa: E731
        edge.caller, uri, simple=simple, output=output, abs_limit=abs_limit, show_all_hidden=show_all_hidden,
        node_limit=node_limit if limit is None else limit, offset=offset, level_limit=level_limit,
        directories_only=directories_only, details=details,
    )  # fmt: skip
    return _listed(await edge.call(call))


@router.get("/stat")
async def stat(edge: Caller, uri: str) -> Json:
    """Name, size, times and kind of a node; ``count`` is the number of records below a directory."""
    return await edge.answer(lambda: edge.services.fs.stat(edge.caller, uri))


@router.get("/attrs")
async def attrs(edge: Caller, uri: str) -> Json:
    """Context type and tags of a node."""
    return await edge.answer(lambda: edge.services.fs.attrs(edge.caller, uri))


class SetTags(Strict):
    """Which tags a node gets."""

    uri: str
    tags: list[str] | None = None
    mode: str = "replace"
    recursive: bool = False
    telemetry: Telemetry = False


@router.post("/attrs/set_tags")
async def set_tags(edge: Caller, body: SetTags) -> Json:
    """Change the tags of a node, or of all below it; a tag that is not ``key=value`` is skipped and counted."""
    return await edge.answer(
        lambda: edge.services.fs.set_tags(
            edge.caller, body.uri, body.tags or [], mode=body.mode, recursive=body.recursive
        ),
        lean=True,
        operation="content.set_tags",
        telemetry=body.telemetry,
    )


class Mkdir(Lenient):
    """A directory to make."""

    uri: str
    description: str | None = None
    acl: Any = None


@router.post("/mkdir")
async def mkdir(edge: Caller, body: Mkdir) -> Json:
    """Make a directory with its parents."""

    def call() -> dict[str, Any]:
        refuse_acl(body.acl)
        return edge.services.fs.mkdir(edge.caller, body.uri, body.description)

    return await edge.answer(call)


@router.delete("")
async def rm(edge: Caller, uri: str, recursive: bool = False, wait: bool = False, timeout: float | None = None) -> Json:
    """Remove a node; a directory needs ``recursive``, a missing one is no error."""
    call = lambda: edge.services.fs.rm(edge.caller, uri, recursive=recursive, wait=wait, timeout=timeout)  # noqa: E731
    return await edge.answer(call, wait=wait)


class Mv(Lenient):
    """A node to move."""

    from_uri: str
    to_uri: str


@router.post("/mv")
async def mv(edge: Caller, body: Mv) -> Json:
    """Give a node another URI."""
    return await edge.answer(lambda: edge.services.fs.mv(edge.caller, body.from_uri, body.to_uri))


class Cp(Lenient):
    """A node to copy."""

    from_uri: str
    to_uri: str
    recursive: bool = False


@router.post("/cp")
async def cp(edge: Caller, body: Cp) -> Json:
    """Make another node of a file, or with ``recursive`` of a directory; bytes and vectors are shared."""
    return await edge.answer(
        lambda: edge.services.fs.cp(edge.caller, body.from_uri, body.to_uri, recursive=body.recursive)
    )

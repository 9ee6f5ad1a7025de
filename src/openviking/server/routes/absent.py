"""The documented routes that this version does not have: each says so, and none pretends (contract/routes.md)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from fastapi import APIRouter

from openviking.errors import UnimplementedError
from openviking.server.envelope import Json

_TABLE: Final = """
# acl: Access lists are
GET /api/v1/acl ? uri*
PUT /api/v1/acl = entries acl_mode uri*
DELETE /api/v1/acl ? uri*
POST /api/v1/acl/grant = uri* principal* level*
POST /api/v1/acl/revoke = uri* principal*
# admin: Groups, templates, migration and configuration by call are
GET /api/v1/admin/accounts/{account_id}/configuration
PATCH /api/v1/admin/accounts/{account_id}/configuration = settings revision content
POST /api/v1/admin/accounts/{account_id}/groups = group_id*
GET /api/v1/admin/accounts/{account_id}/groups
DELETE /api/v1/admin/accounts/{account_id}/groups/{group_id}
GET /api/v1/admin/accounts/{account_id}/groups/{group_id}/members
PUT /api/v1/admin/accounts/{account_id}/groups/{group_id}/members/{user_id}
DELETE /api/v1/admin/accounts/{account_id}/groups/{group_id}/members/{user_id}
GET /api/v1/admin/accounts/{account_id}/memory-templates
GET /api/v1/admin/accounts/{account_id}/memory-templates/{memory_type}
PUT /api/v1/admin/accounts/{account_id}/memory-templates/{memory_type}
DELETE /api/v1/admin/accounts/{account_id}/memory-templates/{memory_type}
GET /api/v1/admin/configuration ? source account_id
PATCH /api/v1/admin/configuration ? source dry_run = settings revision content
POST /api/v1/admin/migrate = action
POST /api/v1/admin/restart = revision*
# agent evolution: Agent evolution is
GET /api/v1/agent-evolution/experiences/outcomes ? experience_uri* start_date end_date
GET /api/v1/agent-evolution/experiences/trajectories ? experience_uri* limit offset start_date end_date
# compile: Compiling is
POST /api/v1/compile = from to* skill* instruction args
GET /api/v1/compile/capabilities
GET /api/v1/compile/config ? to*
POST /api/v1/compile/config/update = to* from* skill* instruction auto_update* update_schedule
GET /api/v1/compile/configs ? limit cursor
POST /api/v1/compile/embeddings = target_uri* texts expected_model
GET /api/v1/compile/operations ? to* limit cursor
GET /api/v1/compile/operations/{operation_id}/outputs ? to* limit cursor
GET /api/v1/compile/submissions/{key}
# console: The console is
GET /api/v1/console/audit ? page page_size request_id status api_type
GET /api/v1/console/context-commits ? start_date* end_date* bucket timezone
GET /api/v1/console/dashboard/summary ? timezone
GET /api/v1/console/tokens ? start_date* end_date* bucket timezone
# debug: Scrolling through vectors is
GET /api/v1/debug/vector/scroll ? limit cursor uri
# assets: Assets are
POST /api/v1/openviking-assets/preflight = name* connector* repo_url* branch commit auth_config
POST /api/v1/openviking-assets/resolve = manifest_yaml* catalog_yaml manifest_label catalog_label
# pack: Packs are
POST /api/v1/pack/backup = include_vectors
POST /api/v1/pack/export = uri* include_vectors
POST /api/v1/pack/import = temp_file_id* parent* on_conflict vector_mode
POST /api/v1/pack/restore = temp_file_id* on_conflict vector_mode
# privacy: Privacy configurations are
GET /api/v1/privacy-configs
POST /api/v1/privacy-configs/resolve = selector*
POST /api/v1/privacy-configs/scan = uri* fix node_limit
DELETE /api/v1/privacy-configs/selector = selector*
GET /api/v1/privacy-configs/tree ? category
GET /api/v1/privacy-configs/{category}
GET /api/v1/privacy-configs/{category}/{target_key}
POST /api/v1/privacy-configs/{category}/{target_key} = values* change_reason labels
PATCH /api/v1/privacy-configs/{category}/{target_key} = values* change_reason labels
DELETE /api/v1/privacy-configs/{category}/{target_key}
POST /api/v1/privacy-configs/{category}/{target_key}/activate = version*
GET /api/v1/privacy-configs/{category}/{target_key}/field ? field* reveal
DELETE /api/v1/privacy-configs/{category}/{target_key}/field ? field*
GET /api/v1/privacy-configs/{category}/{target_key}/fields
GET /api/v1/privacy-configs/{category}/{target_key}/versions
GET /api/v1/privacy-configs/{category}/{target_key}/versions/{version}
# snapshot: Snapshots are
POST /api/v1/snapshot/commit = message* paths branch author_name author_email
GET /api/v1/snapshot/diff ? path* from to* raw
GET /api/v1/snapshot/diff-paths ? paths* from to* offset limit
GET /api/v1/snapshot/ignore
PUT /api/v1/snapshot/ignore = content*
DELETE /api/v1/snapshot/ignore
GET /api/v1/snapshot/log ? branch limit paths
POST /api/v1/snapshot/restore = project_dir source_commit path restore_version current_version branch dry_run message author_name author_email
GET /api/v1/snapshot/show ? target_ref* path raw
GET /api/v1/snapshot/versions ? uri* limit before_version
# user settings: Default locations are
GET /api/v1/user-settings/add-locations
PATCH /api/v1/user-settings/add-locations = resource_uri skill_uri
DELETE /api/v1/user-settings/add-locations
# bot: The bot is
POST /bot/v1/chat
POST /bot/v1/chat/stream
POST /bot/v1/compile
GET /bot/v1/compile/{task_id}
POST /bot/v1/compile/{task_id}/cancel
POST /bot/v1/feedback
GET /bot/v1/health
POST /bot/v1/sessions/{session_id}/interrupt
POST /bot/v1/sessions/{session_id}/steer
# webdav: WebDAV is
OPTIONS /webdav/resources ? resource_path
PROPFIND /webdav/resources ? resource_path
HEAD /webdav/resources ? resource_path
GET /webdav/resources ? resource_path
PUT /webdav/resources ? resource_path
DELETE /webdav/resources ? resource_path
MKCOL /webdav/resources ? resource_path
MOVE /webdav/resources ? resource_path
OPTIONS /webdav/resources/{resource_path}
PROPFIND /webdav/resources/{resource_path}
HEAD /webdav/resources/{resource_path}
GET /webdav/resources/{resource_path}
PUT /webdav/resources/{resource_path}
DELETE /webdav/resources/{resource_path}
MKCOL /webdav/resources/{resource_path}
MOVE /webdav/resources/{resource_path}
"""
"""``METHOD path ? query parameters = fields of the body``, ``*`` behind what is required; a line with ``#`` opens a group."""


@dataclass(frozen=True, slots=True)
class Absent:
    """One route, and what its callers are told."""

    method: str
    path: str
    group: str
    told: str
    query: tuple[str, ...]
    body: tuple[str, ...]


def absent() -> Iterator[Absent]:
    """Every route of the table."""
    group = told = ""
    for line in _TABLE.strip().splitlines():
        if line.startswith("# "):
            group, _, told = line[2:].partition(": ")
            continue
        address, _, body = line.partition(" = ")
        address, _, query = address.partition(" ? ")
        method, path = address.split()
        yield Absent(method, path, group, f"{told} not part of this version", tuple(query.split()), tuple(body.split()))


def _router() -> APIRouter:
    made = APIRouter()
    for one in absent():
        made.add_api_route(
            one.path,
            _refusing(one),
            methods=[one.method],
            tags=[one.group],
            summary=f"{one.told}: 501",
            operation_id=f"absent {one.method} {one.path}",
            status_code=501,
            openapi_extra={"x-absent": True, **_described(one)},
        )
    return made


def _refusing(one: Absent) -> Callable[[], Awaitable[Json]]:
    async def refuse() -> Json:
        raise UnimplementedError(one.told, resource=one.path)

    return refuse


def _described(one: Absent) -> dict[str, Any]:
    names = [part[1:-1] for part in one.path.split("/") if part.startswith("{")]
    parameters = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]
    parameters += [
        {"name": name.rstrip("*"), "in": "query", "required": name.endswith("*"), "schema": {}} for name in one.query
    ]
    if not one.body:
        return {"parameters": parameters}
    schema = {
        "type": "object",
        "properties": {name.rstrip("*"): {} for name in one.body},
        "required": [name.rstrip("*") for name in one.body if name.endswith("*")],
    }
    return {"parameters": parameters, "requestBody": {"content": {"application/json": {"schema": schema}}}}


router = _router()

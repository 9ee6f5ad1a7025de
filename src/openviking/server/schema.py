"""The OpenAPI document: what the routes declare, with the envelopes around it (contract/core.md §1)."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

_SUCCESS: Final[dict[str, Any]] = {
    "type": "object",
    "description": "The answer is in ``result``; routes that leave out what is null leave out ``result`` too.",
    "required": ["status"],
    "properties": {
        "status": {"const": "ok"},
        "result": {},
        "error": {"type": "null"},
        "telemetry": {"type": ["object", "null"]},
        "profile": {"type": ["array", "null"]},
        "has_more": {"type": "boolean"},
        "total": {"type": "integer"},
        "next_cursor": {"type": ["string", "null"]},
    },
}
_ERROR: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["status", "error"],
    "properties": {
        "status": {"const": "error"},
        "error": {
            "type": "object",
            "required": ["code", "message", "details"],
            "properties": {
                "code": {"type": "string", "examples": ["INVALID_ARGUMENT", "NOT_FOUND", "PERMISSION_DENIED"]},
                "message": {"type": "string"},
                "details": {"type": ["object", "null"]},
            },
        },
    },
}
_OPEN: Final = frozenset({"/health", "/ready", "/metrics"})
"""Routes without an envelope, and without a key."""


def install(app: FastAPI) -> None:
    """Make ``app`` describe itself truly; the document is made once, when it is first asked for."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


def _document(app: FastAPI) -> dict[str, Any]:
    made = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    components = made.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas |= {"Success": _SUCCESS, "Error": _ERROR}
    components["securitySchemes"] = {
        "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        "bearer": {"type": "http", "scheme": "bearer"},
    }
    for path, operations in made["paths"].items():
        for operation in operations.values():
            _complete(path, operation)
    return made


def _complete(path: str, operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    responses.pop("422", None)
    if path in _OPEN:
        if path == "/metrics":
            responses["404"] = responses.pop("200")
        elif path == "/ready":
            responses["503"] = {**responses["200"], "description": "Not ready"}
        operation["security"] = []
        return
    operation["security"] = [{"key": []}, {"bearer": []}, {}]
    for status, response in responses.items():
        content = response.get("content", {})
        if status.startswith("2") and content.get("application/json") == {"schema": {}}:
            response["content"] = {"application/json": {"schema": {"$ref": "#/components/schemas/Success"}}}
        elif status.startswith("2") and not content:
            response["content"] = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    failure = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    if operation.get("x-absent"):
        responses.clear()
        responses["501"] = {"description": "Not part of this version", "content": failure}
    responses["4XX"] = {"description": "What is wrong with the call", "content": failure}
    responses["5XX"] = {"description": "What is wrong with the server", "content": failure}

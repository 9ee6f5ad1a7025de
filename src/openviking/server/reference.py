"""The reference of the HTTP API at ``/docs``: one page of HTML made from the OpenAPI document, which asks nobody for anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any, Final

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, Response

PATHS: Final = ("/docs", "/redoc")
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; frame-ancestors 'none'"
_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color:#1b1b1b}"
    "code,pre{font:14px/1.5 ui-monospace,monospace}pre{white-space:pre-wrap}h2{margin-top:2.5rem}"
    "details{border:1px solid #ccc;border-radius:4px;margin:.4rem 0;padding:.3rem .7rem}summary{cursor:pointer}"
    "summary b{display:inline-block;min-width:4.5rem}table{border-collapse:collapse;margin:.5rem 0}"
    "td,th{border:1px solid #ddd;padding:.2rem .6rem;text-align:left;vertical-align:top}nav a{margin-right:1rem}"
    ".absent{color:#777}@media(prefers-color-scheme:dark){body{background:#161616;color:#e4e4e4}a{color:#8ab4f8}}"
)


def install(app: FastAPI) -> None:
    """Serve the page; it is made once, when it is first asked for."""
    made: list[str] = []

    async def answer(_request: Request) -> Response:
        if not made:
            made.append(page(app.openapi()))
        return HTMLResponse(made[0], headers={"Content-Security-Policy": _POLICY})

    for path in PATHS:
        app.add_route(path, answer, include_in_schema=False)


def page(document: Mapping[str, Any]) -> str:
    """The OpenAPI ``document`` as a page to be read: every route with its parameters, body and answers."""
    groups: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            group = operation.get("tags", ["other"])[0]
            groups.setdefault(group, []).append(_operation(method, path, operation, document))
    info = document["info"]
    title = escape(f"{info['title']} {info['version']}")
    links = "".join(f'<a href="#{escape(name)}">{escape(name)}</a>' for name in groups)
    body = "".join(f'<h2 id="{escape(name)}">{escape(name)}</h2>{"".join(made)}' for name, made in groups.items())
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><meta name="viewport"'
        f' content="width=device-width"><style>{_STYLE}</style></head><body><h1>{title}</h1><p>For programs: <a'
        ' href="/openapi.json">openapi.json</a>. A key goes in <code>X-API-Key</code> or <code>Authorization: Bearer'
        f"</code>.</p><nav>{links}</nav>{body}</body></html>\n"
    )


def _operation(method: str, path: str, operation: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    absent = ' class="absent"' if operation.get("x-absent") else ""
    said = operation.get("description") or operation.get("summary", "")
    rows = [
        (one["name"], one["in"], _kind(one.get("schema", {})), one.get("required", False), one.get("description", ""))
        for one in operation.get("parameters", ())
    ]
    parts = [f"<p>{escape(said)}</p>", _table("Parameters", rows)]
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        schema = _resolved(content.get("schema", {}), document)
        fields = schema.get("properties")
        if fields:
            needed = schema.get("required", ())
            rows = [(name, "", _kind(one), name in needed, _told(one)) for name, one in fields.items()]
            parts.append(_table(f"Body ({media})", rows))
        else:
            parts.append(f"<p>Body ({escape(media)}): <code>{escape(_kind(schema))}</code></p>")
    answers = "".join(
        f"<li><code>{escape(status)}</code> {escape(one.get('description', ''))}</li>"
        for status, one in operation["responses"].items()
    )
    return (
        f"<details{absent}><summary><b>{escape(method.upper())}</b> <code>{escape(path)}</code>"
        f" {escape(operation.get('summary', ''))}</summary>{''.join(parts)}<ul>{answers}</ul></details>"
    )


def _table(title: str, rows: list[tuple[str, str, str, bool, str]]) -> str:
    if not rows:
        return ""
    lines = "".join(
        f"<tr><td><code>{escape(name)}</code>{' (required)' if needed else ''}</td><td>{escape(where)}</td>"
        f"<td><code>{escape(kind)}</code></td><td>{escape(told)}</td></tr>"
        for name, where, kind, needed, told in rows
    )
    return f"<p>{escape(title)}</p><table><tr><th>name</th><th>in</th><th>type</th><th></th></tr>{lines}</table>"


def _resolved(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return document["components"]["schemas"].get(name, schema) if name else schema


def _kind(schema: Mapping[str, Any]) -> str:
    """A type in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " | ".join(dict.fromkeys(_kind(one) for one in schema[several]))
    if "const" in schema or "enum" in schema:
        return " | ".join(json.dumps(one) for one in schema.get("enum", [schema.get("const")]))
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return " | ".join(kind) if isinstance(kind, list) else str(kind)


def _told(schema: Mapping[str, Any]) -> str:
    default = f"default {json.dumps(schema['default'], ensure_ascii=False)}" if "default" in schema else ""
    return "; ".join(part for part in (str(schema.get("description", "")), default) if part)

#!/usr/bin/env python3
"""Print our routes and their parameters beside those of a list of routes: have, 501, missing.

usage: compare_routes.py ROUTES.md

The list is a Markdown table with the columns method, path, query, body; names are separated by commas, ``*`` behind one
means that it is required, ``-`` that there is none. The status is 1 if anything is missing.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from openviking.config.settings import EmbeddingSettings, Settings
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.services import Services

_ROW = re.compile(r"\| ([A-Z]+) \| (/\S*) \| (.*?) \| (.*?) \|")
_NAME = re.compile(r"\{[^}]*\}")


@dataclass(frozen=True, slots=True)
class Route:
    """A documented route."""

    method: str
    path: str
    query: frozenset[str]
    body: frozenset[str]


def documented(text: str) -> list[Route]:
    """The routes of a list."""
    return [
        Route(found[1], found[2], _names(found[3]), _names(found[4]))
        for found in (_ROW.match(line) for line in text.splitlines())
        if found
    ]


def _names(cell: str) -> frozenset[str]:
    bare = re.sub(r"\([^)]*\)", "", cell)
    return frozenset(name for name in re.findall(r"[A-Za-z_]\w*", bare))


def document() -> dict[str, Any]:
    """Our own OpenAPI document."""
    with tempfile.TemporaryDirectory() as place:
        settings = Settings(path=Path(place), workers=0, embedding=EmbeddingSettings(provider="none"))
        services = Services(settings, Rules.of(None, None, "127.0.0.1"))
        try:
            return create_app(services).openapi()
        finally:
            services.close()


def compared(wanted: list[Route], ours: dict[str, Any]) -> list[tuple[str, Route, list[str]]]:
    """Each route with ``have``, ``501`` or ``missing``, and the names that ours does not take."""
    paths = {_NAME.sub("{}", path): operations for path, operations in ours["paths"].items()}
    rows: list[tuple[str, Route, list[str]]] = []
    for route in wanted:
        operation = paths.get(_NAME.sub("{}", route.path), {}).get(route.method.lower())
        if operation is None:
            rows.append(("missing", route, []))
            continue
        query = {one["name"] for one in operation.get("parameters", []) if one["in"] == "query"}
        lacking = sorted(route.query - query) + sorted(route.body - fields(operation, ours))
        rows.append(("501" if operation.get("x-absent") else "have", route, lacking))
    return rows


def fields(operation: dict[str, Any], ours: dict[str, Any]) -> set[str]:
    """The names that a body may have."""
    schemas = ours["components"]["schemas"]

    def names(schema: dict[str, Any]) -> set[str]:
        if "$ref" in schema:
            schema = schemas[schema["$ref"].rpartition("/")[2]]
        inner = [one for kind in ("anyOf", "allOf", "oneOf") for one in schema.get(kind, [])]
        return set(schema.get("properties", {})).union(*(names(one) for one in inner))

    content = operation.get("requestBody", {}).get("content", {})
    return set().union(*(names(one.get("schema", {})) for one in content.values()))


def main(arguments: list[str]) -> int:
    """Print the comparison."""
    if len(arguments) != 1:
        print(__doc__)
        return 2
    rows = compared(documented(Path(arguments[0]).read_text(encoding="utf-8")), document())
    for state, route, lacking in rows:
        print(f"{state:8}{route.method:9}{route.path}{'   without ' + ', '.join(lacking) if lacking else ''}")
    counts = Counter(state for state, _, _ in rows)
    poorer = sum(bool(names) for _, _, names in rows)
    print(f"\n{counts['have']} have, {counts['501']} answer 501, {counts['missing']} missing; {poorer} lack parameters")
    return 1 if counts["missing"] or poorer else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

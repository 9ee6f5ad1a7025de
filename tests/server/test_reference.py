"""The page at /docs: all of the API, readable without any other host."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from openviking.server.reference import page


@pytest.mark.parametrize("path", ["/docs", "/redoc"])
def test_every_route_and_field_is_on_it_and_nothing_is_loaded(api: Any, path: str) -> None:
    answer = api.client.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?(?:https?:|//)|<script|<link|@import|url\(", answer.text)
    shown = unescape(answer.text)
    document = api.client.get("/openapi.json").json()
    for route, operations in document["paths"].items():
        for method, operation in operations.items():
            assert f"<b>{method.upper()}</b> <code>{route}</code>" in shown
            for one in operation.get("parameters", ()):
                assert f"<code>{one['name']}</code>" in shown
    assert "<code>score_threshold</code>" in shown


def test_a_document_is_shown_and_never_run() -> None:
    hostile = "<script>alert(1)</script>"
    operation = {"summary": hostile, "tags": [hostile], "responses": {hostile: {"description": hostile}}}
    document = {
        "info": {"title": hostile, "version": "1"},
        "paths": {hostile: {"get": operation}},
        "components": {"schemas": {}},
    }
    assert "<script" not in page(document)

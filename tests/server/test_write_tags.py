"""A write tells of the tags that are none, as setting tags does."""

from __future__ import annotations

from typing import Any

A = "viking://resources/a.md"


def test_a_write_counts_the_tags_that_are_none(api: Any) -> None:
    told = api.write(A, "two", tags=["project", "team=x"])
    assert (told["skipped_count"], told["warnings"]) == (1, ["1 tag left out: a tag must be key=value"])
    assert api.write(A, "three", "replace", tags=["team=x"])["skipped_count"] == 0
    assert "skipped_count" not in api.write(A, "four", "append")
    assert api.get("fs/attrs", uri=A)["attrs"]["tags"] == ["team=x"]

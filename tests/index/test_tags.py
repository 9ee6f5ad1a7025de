"""Retrieval tags (contract/retrieval.md §3.6, contract/core.md §3.3)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openviking.errors import InvalidArgumentError
from openviking.index.tags import MAX_TAGS, accepted_tags, merged_tags, required_tags, visible_tags

BAD = [
    "",
    "default",
    "team-search",
    "a=b=c",
    "=x",
    "x=",
    " = ",
    "==",
    "x" * 5000,
    "k=" + "v" * 511,
    "a=\ud800",
    "a=b\nc=d",
    "a\0=b",
    5,
    None,
    ["a=b"],
]


@pytest.mark.parametrize(
    ("given_tags", "tags"),
    [
        (None, ()),
        ([], ()),
        (["Env=Prod", " env=prod ", "team=Search"], ("env=prod", "team=search")),
        (["team=a", "env=x", "team=b"], ("team=b", "env=x")),
        (["env = prod"], ("env=prod",)),
        (("Größe=ÄÖ",), ("größe=äö",)),
        (["项目=北极星"], ("项目=北极星",)),
        (["k=" + "v" * 510], ("k=" + "v" * 510,)),
    ],
)
def test_tags_are_trimmed_lowered_and_one_per_key(given_tags: object, tags: tuple[str, ...]) -> None:
    assert required_tags(given_tags) == tags
    assert accepted_tags(given_tags) == (tags, 0)


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_tag_is_an_error_in_a_filter_and_skipped_elsewhere(bad: object) -> None:
    with pytest.raises(InvalidArgumentError, match="key=value") as caught:
        required_tags(["team=search", bad])
    assert len(caught.value.message) < 300
    json.dumps(caught.value.to_dict(), ensure_ascii=False).encode()
    assert accepted_tags(["team=search", bad, "env=prod"]) == (("team=search", "env=prod"), 1)


@pytest.mark.parametrize("values", ["env=prod", {"env": "prod"}, 5, True])
def test_what_is_no_list_is_refused(values: object) -> None:
    for check in (required_tags, accepted_tags):
        with pytest.raises(InvalidArgumentError, match="must be a list"):
            check(values)


def test_more_tags_than_anybody_needs_are_refused() -> None:
    many = [f"k{number}=v" for number in range(MAX_TAGS + 1)]
    for check in (required_tags, accepted_tags):
        with pytest.raises(InvalidArgumentError, match="at most 100"):
            check(many)
    with pytest.raises(InvalidArgumentError, match="at most 100"):
        merged_tags(many[:60], many[60:])
    assert len(required_tags(many[:MAX_TAGS])) == MAX_TAGS


def test_what_is_stored_and_no_tag_stays_hidden() -> None:
    assert visible_tags(["default", "team=infra", "bad=", "project=viking"]) == ("team=infra", "project=viking")


def test_appended_tags_win_key_by_key() -> None:
    assert merged_tags(["team=a", "default", "env=x"], ["team=b", "new=1"]) == ("team=b", "env=x", "new=1")
    assert merged_tags(["team=a"], []) == ("team=a",)


@given(st.lists(st.text(st.characters(codec=None), max_size=8) | st.text("aA=İΣ ", max_size=6), max_size=6))
def test_what_is_accepted_is_accepted_again(values: list[str]) -> None:
    tags, skipped = accepted_tags(values)
    assert required_tags(list(tags)) == tags == visible_tags(tags)
    assert len(tags) + skipped <= len(values)
    assert len({tag.partition("=")[0] for tag in tags}) == len(tags)
    "".join(tags).encode()

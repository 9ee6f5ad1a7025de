"""Every rule, alias, rejected spelling and error of ``viking://`` URIs (contract/core.md §2)."""

from __future__ import annotations

import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openviking.errors import InvalidArgumentError, InvalidURIError, OpenVikingError, PermissionDeniedError
from openviking.uri import (
    MAX_DEPTH,
    URI,
    check_new_name,
    context_type,
    from_path,
    is_identifier,
    owner,
    parse,
    parse_new,
    split_citation,
)

TODAY = date(2026, 1, 1)
FORBIDDEN = "PERMISSION_DENIED"
INVALID = "INVALID_URI"
ARGUMENT = "INVALID_ARGUMENT"

ANY_TEXT = st.text(st.characters(codec=None), max_size=40)
URI_TEXT = st.builds(
    lambda start, parts: start + "/".join(parts),
    st.sampled_from(["viking://", "viking://resources/", "viking://user/", "viking://~/peers/", "viking://agent/", ""]),
    st.lists(
        st.sampled_from(
            ["a", "b.md", "", "..", ".", "{calendar:ym}", "{{calendar:year}:x}", "%2e", "%252E%2e", "?", "#"]
        )
        | st.sampled_from(["．．", "‥", "a:b", "C:", "peers", "p!", "\\", "\0", "\ud800", "memories", "alice", "temp"])
        | ANY_TEXT,
        max_size=5,
    ),
)


def read(text: object, user: str = "alice") -> str:
    return str(parse(text, user=user, today=TODAY))


def failure(text: object, user: str = "alice") -> OpenVikingError:
    with pytest.raises(OpenVikingError) as caught:
        parse(text, user=user, today=TODAY)
    return caught.value


@pytest.mark.parametrize(
    ("given_text", "canonical"),
    [
        ("viking://", "viking://"),
        ("viking:///", "viking://"),
        ("viking://resources", "viking://resources"),
        ("viking://resources/", "viking://resources"),
        ("viking://resources//a///b.md", "viking://resources/a/b.md"),
        ("viking://resources/a?x=1/../y", "viking://resources/a"),
        ("viking://resources/a?{no:variable}", "viking://resources/a"),
        ("viking://resources/Ä b%20c/ＦＷ.md", "viking://resources/Ä b%20c/ＦＷ.md"),
        ("viking://resources/RESOURCES", "viking://resources/RESOURCES"),
        ("viking://resources/100%", "viking://resources/100%"),
        ("viking://resources/A%2FB", "viking://resources/A%2FB"),
        ("viking://resources/A／B…", "viking://resources/A／B…"),
        ("viking://resources/{id}/[id]", "viking://resources/{id}/[id]"),
        ("viking://~", "viking://user/alice"),
        ("viking://~/memories/x.md", "viking://user/alice/memories/x.md"),
        ("viking://session", "viking://user/alice/sessions"),
        ("viking://session/s1/messages", "viking://user/alice/sessions/s1/messages"),
        ("viking://user", "viking://user"),
        ("viking://user/bob/resources", "viking://user/bob/resources"),
        ("viking://user/a.b@c-d_e", "viking://user/a.b@c-d_e"),
        ("viking://user/bob/peers/p.1@x/memories", "viking://user/bob/peers/p.1@x/memories"),
        ("viking://agent", "viking://agent"),
        ("viking://agent/skills/pdf", "viking://agent/skills/pdf"),
        ("viking://agent/legacy/memories", "viking://agent/legacy/memories"),
        ("viking://resources/{calendar:today}/n.md", "viking://resources/2026/01/01/n.md"),
        ("viking://resources/{calendar:yesterday}", "viking://resources/2025/12/31"),
        ("viking://resources/{calendar:tomorrow}", "viking://resources/2026/01/02"),
        ("viking://resources/{calendar:year}-{calendar:month}-{calendar:day}", "viking://resources/2026-01-01"),
        ("viking://resources/{calendar:ym}/{calendar:quarter}", "viking://resources/2026/01/Q1"),
        ("viking://resources/{calendar:yq}", "viking://resources/2026/Q1"),
        ("viking://resources/{calendar:week}/{calendar:yw}", "viking://resources/W01/2026/W01"),
    ],
)
def test_a_spelling_becomes_its_canonical_form(given_text: str, canonical: str) -> None:
    assert read(given_text) == canonical
    assert read(canonical) == canonical


def test_calendar_week_belongs_to_the_year_of_its_thursday() -> None:
    assert str(parse("viking://resources/{calendar:yw}", user="u", today=date(2027, 1, 1))) == (
        "viking://resources/2026/W53"
    )


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("", INVALID, "must not be empty"),
        (" \t", INVALID, "must not be empty"),
        (None, INVALID, "must be a string"),
        (5, INVALID, "must be a string"),
        ("http://example.com", INVALID, "must start with viking://"),
        ("file:///etc/passwd", INVALID, "must start with viking://"),
        ("/resources", INVALID, "must start with viking://"),
        ("resources", INVALID, "must start with viking://"),
        ("VIKING://resources", INVALID, "must start with viking://"),
        (" viking://resources", INVALID, "must start with viking://"),
        ("viking:/resources", INVALID, "must start with viking://"),
        ("viking://foo", INVALID, "agent, resources, session, user"),
        ("viking://sessions/s1", INVALID, "viking://~/sessions/s1"),
        ("viking://skills/", INVALID, "viking://~/skills"),
        ("viking://Resources/a", INVALID, "agent, resources, session, user"),
        ("viking://temp/x", INVALID, "agent, resources, session, user"),
        ("viking://queue/x", INVALID, "agent, resources, session, user"),
        ("viking://upload", INVALID, "agent, resources, session, user"),
        ("viking://_system/users.json", INVALID, "not a scope"),
        ("viking://user/memories", INVALID, "viking://~/memories"),
        ("viking://user/resources/a", INVALID, "viking://~/resources/a"),
        ("viking://user/skills", INVALID, "viking://~/skills"),
        ("viking://user/peers", INVALID, "viking://~/peers"),
        ("viking://user/privacy", INVALID, "viking://~/privacy"),
        ("viking://user/sessions", INVALID, "viking://~/sessions"),
        ("viking://agent/memories", INVALID, "viking://~/memories"),
        ("viking://agent/resources/a", INVALID, "viking://~/resources/a"),
        ("viking://user/a b", INVALID, "not a user id"),
        ("viking://user/a@b@c", INVALID, "not a user id"),
        ("viking://user/bob/peers/a b/memories", INVALID, "not a peer id"),
        ("viking://~/peers/a@b@c", INVALID, "not a peer id"),
        ("viking://~/peers/%70", INVALID, "not a peer id"),
        ("viking://resources/..", FORBIDDEN, "Access denied"),
        ("viking://resources/../user/other", FORBIDDEN, "Access denied"),
        ("viking://resources/../../_system/users.json", FORBIDDEN, "Access denied"),
        ("viking://resources/./x", FORBIDDEN, "Access denied"),
        ("viking://../x", FORBIDDEN, "Access denied"),
        ("viking://~/../bob", FORBIDDEN, "Access denied"),
        ("viking://resources/..\\x", FORBIDDEN, "Access denied"),
        ("viking://resources/a\\b", FORBIDDEN, "Access denied"),
        ("viking://resources/C:/x", FORBIDDEN, "Access denied"),
        ("viking://C:x", FORBIDDEN, "Access denied"),
        ("viking://resources/．．/x", FORBIDDEN, "Access denied"),
        ("viking://resources/．/x", FORBIDDEN, "Access denied"),
        ("viking://resources/‥/x", FORBIDDEN, "Access denied"),
        ("viking://resources/．．／x", FORBIDDEN, "Access denied"),
        ("viking://resources/%2e%2e/x", INVALID, "percent-encoded"),
        ("viking://resources/%2E./x", INVALID, "percent-encoded"),
        ("viking://resources/%252e", INVALID, "percent-encoded"),
        ("viking://resources/%25%32%65", INVALID, "percent-encoded"),
        ("viking://resources/..%2f..%2fx", INVALID, "percent-encoded"),
        ("viking://resources/..%5cx", INVALID, "percent-encoded"),
        ("viking://resources/%ef%bc%8e", INVALID, "percent-encoded"),
        ("viking://resources/x%00y", INVALID, "percent-encoded"),
        ("viking://resources/%" + "25" * 1000 + "41", INVALID, "percent-encoded"),
        ("viking://resources/a\0b", INVALID, "control character"),
        ("viking://resources/a\nb", INVALID, "control character"),
        ("viking://resources/\ud800", INVALID, "lone surrogate"),
        ("\ud800", INVALID, "must start with"),
        ("viking://resources/" + "a" * 10_000, INVALID, "at most 4096"),
        ("viking://resources/{calendar:now}", ARGUMENT, "{calendar:today}"),
        ("viking://resources/{env:HOME}", ARGUMENT, "{calendar:today}"),
        ("viking://resources/{:}", ARGUMENT, "{calendar:today}"),
        ("viking://resources/{a:b:c}", ARGUMENT, "{calendar:today}"),
        ("viking://resources/{{calendar:year}:x}", ARGUMENT, "{calendar:today}"),
    ],
)
def test_a_rejected_spelling_says_why(text: str, code: str, said: str) -> None:
    error = failure(text)
    assert error.code == code
    assert said in error.message
    assert len(error.message) < 900
    json.dumps(error.to_dict(), ensure_ascii=False).encode()


def test_an_invalid_uri_carries_what_the_sdk_rebuilds_it_from() -> None:
    error = failure("x")
    assert isinstance(error, InvalidURIError)
    assert error.message == f"Invalid URI: {error.details['uri']} ({error.details['reason']})"
    assert error.status == 400


def test_traversal_is_forbidden_with_its_status_and_resource() -> None:
    error = failure("viking://resources/../x")
    assert isinstance(error, PermissionDeniedError)
    assert (error.status, error.details["resource"]) == (403, "viking://resources/../x")


def test_a_caller_named_like_an_area_reaches_the_own_tree_only() -> None:
    assert read("viking://user/memories", user="memories") == "viking://user/memories"
    assert read("viking://user/memories/memories/a", user="memories") == "viking://user/memories/memories/a"
    assert failure("viking://user/skills", user="memories").code == INVALID


def test_an_alias_may_not_grow_beyond_the_longest_uri() -> None:
    text = "viking://~/" + "a" * 4085
    assert len(text) == 4096
    assert "canonical" in failure(text).message


@pytest.mark.parametrize(
    "text",
    [
        "viking://resources/a#b.md",
        "viking://resources/a?b.md",
        "viking://resources/dir#1/b.md",
        "viking://resources/b.md?",
        "viking://resources/%2e%2e/x",
        "viking://resources/a/..%2fx",
        "viking://resources/.abstract.md",
        "viking://resources/a/.overview.md",
        "viking://resources/.relations.json",
        "viking://resources/.abstract.md/x",
        "viking://resources/.watch_tasks.json",
        "viking://resources/a/.path.ovlock",
        "viking://resources/a/.exact.ovlock.9",
        "viking://resources/" + "é" * 128,
    ],
)
def test_a_new_thing_may_not_be_named_so(text: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        parse_new(text, user="alice", today=TODAY)
    assert caught.value.code == ARGUMENT


@pytest.mark.parametrize(
    "text",
    [
        "viking://resources/a b/c@d.md",
        "viking://~/memories/.gitignore",
        "viking://resources/x/.watch_tasks.json",
        "viking://resources/" + "é" * 127,
        "viking://resources/A%2FB%20c.html",
        "viking://resources/{calendar:today}.md",
    ],
)
def test_a_new_thing_may_be_named_so(text: str) -> None:
    assert read(str(parse_new(text, user="alice", today=TODAY))) == str(parse_new(text, user="alice", today=TODAY))


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "a\\b", "C:x", "a\nb", "\ud800", "{a:b}", "．．", "%2e", "x" * 256]
)
def test_a_name_that_no_uri_could_address_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgumentError):
        check_new_name(URI(("resources", name)))


def test_a_uri_too_long_to_be_typed_again_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="at most 4096"):
        check_new_name(URI(("resources", *["d" * 200] * 21)))


def test_new_and_existing_reject_the_same_addresses() -> None:
    with pytest.raises(PermissionDeniedError):
        parse_new("viking://resources/../x", user="alice", today=TODAY)
    with pytest.raises(InvalidURIError):
        parse_new("viking://temp/x", user="alice", today=TODAY)
    with pytest.raises(InvalidURIError):
        parse_new("no scheme?#", user="alice", today=TODAY)


@pytest.mark.parametrize(
    ("text", "base", "lines"),
    [
        ("viking://resources/a.md", "viking://resources/a.md", None),
        ("viking://resources/a.md#L3", "viking://resources/a.md", (3, 3)),
        ("viking://resources/a.md#L3-L9", "viking://resources/a.md", (3, 9)),
        ("viking://resources/a.md#L3-9", "viking://resources/a.md", (3, 9)),
    ],
)
def test_a_citation_is_split_off(text: str, base: str, lines: tuple[int, int] | None) -> None:
    assert split_citation(text) == (base, lines)


@pytest.mark.parametrize("fragment", ["", "L", "L0", "L9-L3", "l3", "L3-", "L٣", "L1-L2-L3", "top", "L1234567890"])
def test_any_other_fragment_is_refused(fragment: str) -> None:
    with pytest.raises(InvalidURIError):
        split_citation(f"viking://resources/a.md#{fragment}")


@pytest.mark.parametrize(
    ("path", "kind", "user"),
    [
        ("user/u/memories/a.md", "memory", "u"),
        ("user/u/memories", "memory", "u"),
        ("user/u/resources/memories/a.md", "resource", "u"),
        ("user/u/skills/s/SKILL.md", "skill", "u"),
        ("user/u/peers/p/memories/a.md", "memory", "u"),
        ("user/u/peers/p/resources/a.md", "resource", "u"),
        ("user/u/peers/p/skills/a.md", "resource", "u"),
        ("user/u/peers/memories", "resource", "u"),
        ("user/u/sessions/s", "resource", "u"),
        ("user/u", "resource", "u"),
        ("user", "resource", ""),
        ("agent/skills/s/SKILL.md", "skill", ""),
        ("agent/x/memories/a.md", "memory", ""),
        ("agent/x/skills/a.md", "skill", ""),
        ("agent/x/resources/a.md", "resource", ""),
        ("agent/tools/memories/a.md", "resource", ""),
        ("resources/memories/a.md", "resource", ""),
        ("", "resource", ""),
    ],
)
def test_the_place_says_context_type_and_owner(path: str, kind: str, user: str) -> None:
    assert (context_type(path), owner(path)) == (kind, user)


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("a", True),
        ("A.b-c_d@e", True),
        ("", False),
        (".", False),
        ("..", False),
        ("a@b@c", False),
        ("é", False),
        ("a\n", False),
    ],
)
def test_identifiers(text: str, good: bool) -> None:
    assert is_identifier(text) is good


def test_parts_of_a_uri() -> None:
    uri = from_path("resources/docs/.a.md")
    assert (uri.path, uri.name, uri.scope, str(uri.parent)) == (
        "resources/docs/.a.md",
        ".a.md",
        "resources",
        "viking://resources/docs",
    )
    assert uri.below(from_path("resources")) == "docs/.a.md"
    assert from_path("") == URI() == URI().parent
    assert (URI().name, URI().scope, URI().path) == ("", "", "")
    assert from_path("resources").child("a", "b") == from_path("resources/a/b")
    assert sorted([from_path("a.b/x"), from_path("a/x"), from_path("a")]) == [
        from_path("a"),
        from_path("a/x"),
        from_path("a.b/x"),
    ]


def test_containment_is_by_whole_segments() -> None:
    base = from_path("resources/cache")
    assert base.is_within(base)
    assert from_path("resources/cache/x").is_within(base)
    assert not from_path("resources/cache2").is_within(base)
    assert not from_path("resources").is_within(base)
    assert base.is_within(URI())


@given(
    st.lists(st.text("ab.", min_size=1, max_size=2), max_size=4),
    st.lists(st.text("ab.", min_size=1, max_size=2), max_size=4),
)
def test_containment_is_a_prefix_of_the_path_with_its_slash(first: list[str], second: list[str]) -> None:
    inner, outer = URI(tuple(first)), URI(tuple(second))
    assert inner.is_within(outer) == (not second or f"{inner.path}/".startswith(f"{outer.path}/"))


@given(URI_TEXT, st.sampled_from(["alice", "memories"]))
def test_parsing_gives_a_fixed_point_or_a_clean_error(text: str, user: str) -> None:
    try:
        uri = parse(text, user=user, today=TODAY)
    except OpenVikingError as error:
        json.dumps(error.to_dict(), ensure_ascii=False).encode()
        return
    assert parse(str(uri), user=user, today=TODAY) == uri
    assert from_path(uri.path) == uri
    assert not {".", "..", ""} & set(uri.parts)
    str(uri).encode()


@given(URI_TEXT | ANY_TEXT)
def test_what_may_be_made_can_be_addressed(text: str) -> None:
    try:
        uri = parse_new(text, user="alice", today=TODAY)
    except OpenVikingError as error:
        json.dumps(error.to_dict(), ensure_ascii=False).encode()
        return
    assert parse(str(uri), user="alice", today=TODAY) == uri


@given(ANY_TEXT)
def test_a_name_is_refused_or_its_uri_parses_to_itself(name: str) -> None:
    uri = URI(("resources", name))
    try:
        check_new_name(uri)
    except OpenVikingError as error:
        json.dumps(error.to_dict(), ensure_ascii=False).encode()
        return
    assert parse(str(uri), user="alice", today=TODAY) == uri


@given(ANY_TEXT)
def test_no_text_breaks_citations(text: str) -> None:
    try:
        base, _ = split_citation(text)
    except OpenVikingError as error:
        json.dumps(error.to_dict(), ensure_ascii=False).encode()
        return
    assert "#" not in base


@pytest.mark.parametrize("text", ["{" * 4000, "{:" * 2000, "%25" * 1300, "/" * 4000, "{" + ":" * 4000, "．" * 4000])
def test_hostile_repetition_ends_at_once(text: str) -> None:
    with pytest.raises(OpenVikingError):
        parse_new("viking://resources/" + text + "/..", user="alice", today=TODAY)


def test_a_new_node_is_not_too_deep() -> None:
    check_new_name(from_path("/".join(["resources", *"a" * (MAX_DEPTH - 1)])))
    with pytest.raises(InvalidArgumentError, match="129 segments, at most 128"):
        check_new_name(from_path("/".join(["resources", *"a" * MAX_DEPTH])))

"""A memory file: its place, its hidden fields, and what becomes of it when something is told anew."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import islice, permutations

import pytest

from openviking.index.hidden_fields import FIELDS, visible
from openviking.model.memory import Draft
from openviking.session.memories.fields import MAX_TEXT, Fields, joined, parted
from openviking.session.memories.merging import (
    MAX_BEFORE,
    MAX_BODY_BYTES,
    Origin,
    Page,
    fresh,
    is_about,
    merged,
    repeated,
    rewritten,
    says,
)
from openviking.session.memories.places import is_memory, peer_of, places, type_of
from openviking.uri import check_new_name, from_path

MONDAY = Origin(
    "viking://user/a/sessions/s/history/archive_001", "2026-03-02T10:00:00.000Z", {"m1": "2026-03-02T09:00:00Z"}
)
TUESDAY = Origin(
    "viking://user/a/sessions/s/history/archive_002", "2026-03-03T10:00:00.000Z", {"m1": "2026-03-03T09:00:00Z"}
)
SUNDAY = Origin(
    "viking://user/a/sessions/s/history/archive_003", "2026-03-04T10:00:00.000Z", {"m1": "2026-03-01T09:00:00Z"}
)


def draft(body: str, **others: str) -> Draft:
    given = {"type": "preferences", "name": "drinks", "topic": "drinks", "day": "2026-03-02", **others}
    return Draft(body=body, sources=("m1",), **given)


# --- places --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "path"),
    [
        (draft("x"), "user/a/memories/preferences/drinks.md"),
        (draft("x", peer="ann"), "user/a/peers/ann/memories/preferences/drinks.md"),
        (draft("x", type="profile", name=""), "user/a/memories/profile.md"),
        (draft("x", type="entities", category="people", name="ann"), "user/a/memories/entities/people/ann.md"),
        (draft("x", type="entities", category=" ", name="ann"), "user/a/memories/entities/general/ann.md"),
        (draft("x", type="events", name="a-walk"), "user/a/memories/events/2026/03/02/a-walk.md"),
        (draft("x", type="events", name="a-walk", day="yesterday"), "user/a/memories/events/a-walk.md"),
        (draft("x", name="two words"), "user/a/memories/preferences/two-words.md"),
        (draft("x", name="", topic="Tea & coffee"), "user/a/memories/preferences/Tea_coffee.md"),
        (draft("I like tea", name="", topic=""), "user/a/memories/preferences/I_like_tea.md"),
        (draft("x", name="../../../bob/memories/x"), "user/a/memories/preferences/bob_memories_x.md"),
        (draft("x", name=".abstract"), "user/a/memories/preferences/abstract.md"),
        (draft("x", type="entities", category="../..", name="..%2f.."), "user/a/memories/entities/general/2f.md"),
        (draft("x", name="a\x00b\nc#d?e"), "user/a/memories/preferences/a_b-c_d_e.md"),
    ],
)  # fmt: skip
def test_where_a_memory_lies(given: Draft, path: str) -> None:
    first = next(places("a", given))
    assert first == path
    check_new_name(from_path(first))
    assert is_memory("a", first)
    assert type_of(first) == given.type
    assert peer_of(first) == given.peer


def test_a_name_that_is_taken_gets_a_number() -> None:
    assert list(islice(places("a", draft("x")), 3))[1:] == [
        "user/a/memories/preferences/drinks-2.md", "user/a/memories/preferences/drinks-3.md",
    ]  # fmt: skip
    assert len(list(places("a", draft("x")))) == 100
    assert len(list(places("a", draft("x", type="soul")))) == 1


@pytest.mark.parametrize(
    "path",
    [
        "user/b/memories/x.md", "resources/x.md", "user/a/resources/x.md", "user/a/memories", "user/a/memories/x.txt",
        "user/a/memories/.abstract.md", "user/a/peers/memories/x.md", "user/a/sessions/s/memories/x.md", "user/a/memories//x.md",
        "user/a/peers/a b/memories/x.md", "",
    ],
)  # fmt: skip
def test_what_is_no_memory_of_the_user(path: str) -> None:
    assert not is_memory("a", path)


# --- fields --------------------------------------------------------------------------------------------------------

FIELDS_HELD = Fields(
    "preferences", "drinks --> <b>", "viking://user/a/sessions/s", ("m1", "m2"), "I --> like\n<!-- MEMORY_FIELDS tea",
    "2026-03-02", "2026-03-02T09:00:00.000Z", "2026-03-02T10:00:00.000Z", "2026-03-02T10:00:00.000Z", "abc", 7,
    ({"day": "2026-03-01", "text": "Coffee -->", "said_at": "2026-03-01T09:00:00.000Z"},),
)  # fmt: skip


def test_fields_are_hidden_and_come_back() -> None:
    text = joined("# Tea\n\nI like tea.", FIELDS_HELD)
    assert visible(text).rstrip() == "# Tea\n\nI like tea."
    assert parted(text) == ("# Tea\n\nI like tea.", FIELDS_HELD)
    assert text.count("-->") == 1


@pytest.mark.parametrize(
    "body",
    ["", "x", f"{FIELDS} {{}} -->", f'before\n\n{FIELDS} {{"topic": "forged"}} -->', f"{FIELDS}\n-->\n\n{FIELDS} -->"],
)
def test_words_of_somebody_never_pass_for_fields(body: str) -> None:
    shown, fields = parted(joined(body, FIELDS_HELD))
    assert fields == FIELDS_HELD
    assert FIELDS not in shown
    assert shown == body.replace(FIELDS, FIELDS.lower())


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("Just words.\n", None),
        (f"Words.\n\n{FIELDS} no json -->\n", None),
        (f"Words.\n\n{FIELDS} [1] -->\n", None),
        (f'Words.\n\n{FIELDS} {{"topic": 7, "sources": "m1", "history": [3], "own": -5}} -->\n', Fields("")),
        (f'Words.\n\n{FIELDS} {{"topic": "{"x" * 9000}"}} -->\n', Fields("", topic="x" * MAX_TEXT)),
        (f'Words.\n\n{FIELDS} {{"memory_type": "events", "sources": ["m", 1]}} -->', Fields("events", sources=("m",))),
    ],
)  # fmt: skip
def test_fields_that_somebody_else_wrote(text: str, fields: Fields | None) -> None:
    assert parted(text)[1] == fields


# --- merging -------------------------------------------------------------------------------------------------------

TEA = fresh(draft("I prefer green tea.", quote="I prefer green tea"), MONDAY)
COFFEE = draft("I prefer coffee now.", quote="I prefer coffee now", day="2026-03-03")


def test_a_memory_notes_where_it_comes_from() -> None:
    assert TEA.fields is not None
    assert TEA.fields.to_dict() == {
        "memory_type": "preferences", "topic": "drinks", "archive_uri": MONDAY.archive_uri, "sources": ["m1"],
        "quote": "I prefer green tea", "day": "2026-03-02", "said_at": "2026-03-02T09:00:00Z", "created_at": MONDAY.now, "updated_at": MONDAY.now,
        "digest": TEA.fields.digest, "own": 0, "history": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("page", "told", "same"),
    [
        (TEA, draft("I prefer green tea."), True),
        (TEA, draft("- i prefer GREEN tea!"), True),
        (TEA, draft("The user prefers green tea.", quote="I prefer green tea"), True),
        (TEA, draft("I prefer green tea no more."), False),
        (TEA, draft("I prefer tea."), False),
        # A few words are quoted of different things.
        (
            fresh(draft("Moved to Rome.", quote="I moved"), MONDAY),
            replace(draft("Moved to Oslo.", quote="I moved"), sources=("m2",)),
            False,
        ),
        (fresh(draft("Moved to Rome.", quote="I moved"), MONDAY), draft("Moved there.", quote="I moved"), True),
        (
            fresh(draft('Prefers tea. "I do prefer tea" (user, 2026-03-01)'), MONDAY),
            draft('Prefers tea. "I prefer tea" (user, 2026-03-02)'),
            True,
        ),
        (
            fresh(draft('Prefers tea. "I do prefer tea" (user, 2026-03-01)'), MONDAY),
            draft('Prefers milk. "I prefer milk" (user, 2026-03-02)'),
            False,
        ),
        (Page("Mine.\n\nI prefer green tea.", None), draft("I prefer green tea."), True),
        (Page("Mine, and I prefer green tea.", None), draft("I prefer green tea."), False),
        (Page("Name: Ann\nHome: Rome", None), draft("Home: Rome", type="profile"), True),
        (Page("Name: Ann\nHome: Rome", None), draft("Home: Rome\nWork: baker", type="profile"), False),
    ],
)
def test_what_is_said_already(page: Page, told: Draft, same: bool) -> None:
    assert says(page, told) is same


def test_the_newest_statement_comes_first_and_the_older_one_stays_as_a_line() -> None:
    page = merged(TEA, COFFEE, TUESDAY)
    assert page is not None
    assert page.body == "I prefer coffee now.\n\nBefore (2026-03-02): I prefer green tea."
    assert page.statement == "I prefer coffee now."
    assert page.fields is not None
    was = {"day": "2026-03-02", "text": "I prefer green tea.", "said_at": "2026-03-02T09:00:00Z"}
    assert page.fields.history == (was,)
    assert (page.fields.created_at, page.fields.updated_at) == (MONDAY.now, TUESDAY.now)
    # Who changes back says something new.
    assert not says(page, draft("I prefer green tea."))


def test_what_was_said_earlier_and_comes_later_takes_no_newer_ones_place() -> None:
    page = merged(TEA, COFFEE, TUESDAY)
    assert page is not None
    older = merged(page, draft("I prefer cocoa.", day="2026-03-01"), SUNDAY)
    assert older is not None
    lines = "Before (2026-03-02): I prefer green tea.\nBefore (2026-03-01): I prefer cocoa."
    assert older.body == f"I prefer coffee now.\n\n{lines}"
    assert (older.edited, older.statement) == (False, "I prefer coffee now.")
    assert merged(older, draft("I prefer cocoa.", day="2026-03-01"), SUNDAY) == older
    edited = replace(page, body="Mine alone.")
    assert merged(edited, draft("I prefer cocoa.", day="2026-03-01"), SUNDAY) == edited


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_of_one_day_the_order_is_that_of_the_messages_whichever_commit_ends_first(order: tuple[int, ...]) -> None:
    told = [(f"m{n}", f"I prefer {what}.") for n, what in enumerate(("tea", "cocoa", "tea", "juice"))]
    sent = {name: f"2026-03-02T{9 + n:02}:00:00Z" for n, (name, _) in enumerate(told)}

    def tell(page: Page | None, number: int) -> Page | None:
        origin = replace(MONDAY, now="2026-03-02T20:00:00.000Z", sent=sent)
        wish = replace(draft(told[number][1]), sources=(told[number][0],))
        if page is None:
            return fresh(wish, origin)
        return repeated(page, wish, origin) if says(page, wish) else merged(page, wish, origin)

    page = reduce(tell, order, None)
    assert page is not None
    assert page.body == ("I prefer juice.\n\nBefore (2026-03-02): I prefer tea.\nBefore (2026-03-02): I prefer cocoa.")
    # What is said again is as new as it was said last.
    again = reduce(tell, [one for one in order if one < 3], None)
    assert again is not None
    assert again.body.partition("\n")[0] == "I prefer tea."


def test_nobody_says_anything_after_now() -> None:
    late = replace(MONDAY, sent={"m1": "9999-01-01T00:00:00Z"})
    page = fresh(draft("I prefer green tea."), late)
    assert page.fields is not None
    assert page.fields.said_at == MONDAY.now
    forged = replace(page, fields=replace(page.fields, said_at="9999-01-01T00:00:00Z"))
    told = merged(forged, COFFEE, replace(TUESDAY, sent={"m1": TUESDAY.now}))
    assert told is not None
    assert told.statement == "I prefer coffee now."


def test_older_statements_are_bounded() -> None:
    page = TEA
    for number in range(2 * MAX_BEFORE):
        following = merged(page, draft(f"I prefer brand {number}. " + "Very much so. " * 100), TUESDAY)
        assert following is not None
        page = following
    assert page.body.count("Before (") == MAX_BEFORE
    assert len(page.body) < 1600 + MAX_BEFORE * 280
    assert page.fields is not None
    assert len(page.fields.to_dict()["history"]) == MAX_BEFORE


def test_every_word_of_somebodys_edit_is_kept() -> None:
    edited = replace(TEA, body=f"{TEA.body}\nBut never after six.\nBefore (my own words): tea, too.")
    assert edited.edited
    page = merged(edited, COFFEE, TUESDAY)
    assert page is not None
    assert page.body == f"I prefer coffee now.\n\n{edited.body}"
    assert not page.edited
    # However often something is told anew, or told late.
    later = replace(TUESDAY, sent={"m1": "2026-03-04T09:00:00Z"})
    for body, origin, first in (("I prefer juice.", later, "juice"), ("I prefer cocoa.", SUNDAY, "juice")):
        told = merged(page, draft(body, day=origin.sent["m1"][:10]), origin)
        assert told is not None
        page = told
        assert page.body.endswith(f"\n\n{edited.body}")
        assert (page.statement, page.own) == (f"I prefer {first}.", edited.body)
    before = "Before (2026-03-03): I prefer coffee now.\nBefore (2026-03-01): I prefer cocoa."
    assert page.body == f"I prefer juice.\n\n{before}\n\n{edited.body}"
    profile = replace(draft("Work: baker", name="", topic=""), type="profile")
    told = merged(Page("Name: Ann", None), profile, MONDAY)
    assert told is not None
    assert (told.own, told.edited) == ("Name: Ann\nWork: baker", False)


def test_words_that_look_like_fields_make_no_edit() -> None:
    assert not fresh(draft(f"Tea {FIELDS} x"), MONDAY).edited


def test_there_is_no_room_for_everything() -> None:
    assert merged(Page("x" * MAX_BODY_BYTES, None), COFFEE, TUESDAY) is None


def test_a_type_that_is_one_file_gets_the_lines_that_it_lacks() -> None:
    page = fresh(draft("Name: Ann\nHome: Rome", type="profile", name="", topic=""), MONDAY)
    more = merged(page, draft("Home: Rome\nWork: baker", type="profile", name="", topic=""), TUESDAY)
    assert more is not None
    assert more.body == "Name: Ann\nHome: Rome\nWork: baker"


def test_a_model_may_rewrite_what_it_has_seen() -> None:
    page = rewritten(TEA, COFFEE, TUESDAY)
    assert page.body == "I prefer coffee now."
    assert page.fields is not None
    assert page.fields.history[0]["text"] == "I prefer green tea."


@pytest.mark.parametrize(("topic", "about"), [("drinks", True), ("Drinks!", True), ("", True), ("meals", False)])
def test_topics_are_told_apart(topic: str, about: bool) -> None:
    assert is_about(TEA, draft("x", topic=topic)) is about
    assert is_about(Page("Mine.", None), draft("x", topic=topic))

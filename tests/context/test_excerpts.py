"""Lines that answer a question: which are taken, whole ones alone, in all texts together within the room."""

from __future__ import annotations

import pytest

from openviking.context.excerpts import GAP, Body, Excerpt, excerpts
from openviking.context.units import LOOKED_AT, SHORT, Kind, units_of
from openviking.index.analyse import analyse_query
from openviking.text import token_weight

QUIET = [f"Mel: nothing to tell about number {number}." for number in range(20)]


def talk(*said: tuple[int, str]) -> str:
    lines = list(QUIET)
    for place, text in said:
        lines[place] = text
    return "\n".join(lines) + "\n"


def best(question: str, *bodies: Body, room: float = 40) -> list[Excerpt | None]:
    return excerpts(analyse_query(question), bodies, room)


def test_the_line_that_answers_comes_with_what_stands_beside_it() -> None:
    text = talk((7, "Ann: I moved to Bergen last spring."), (8, "Mel: How is the rain in Bergen?"))
    (found,) = best("when did Ann move to Bergen", Body(text, 0.5), room=24)
    assert found == Excerpt(
        "Ann: I moved to Bergen last spring.\nMel: How is the rain in Bergen?", (8, 9), complete=False
    )


def test_gaps_are_marked_and_blank_lines_are_none() -> None:
    text = talk(
        (2, "Ann: The walrus is called Boris."), (3, ""), (4, "Ann: Boris the walrus sings."), (17, "Mel: A walrus?")
    )
    (found,) = best("walrus Boris", Body(text, 0.5), room=25)
    assert found is not None
    assert found.text == f"Ann: The walrus is called Boris.\nAnn: Boris the walrus sings.\n{GAP}\nMel: A walrus?"
    assert found.lines == (3, 18)


def test_the_room_goes_where_most_is_said() -> None:
    full = Body(
        talk((1, "Ann: Our dog Rex barks."), (9, "Ann: Rex is a good dog."), (15, "Ann: The dog Rex sleeps.")), 0.6
    )
    other = Body(talk((4, "Ann: I met a dog.")), 0.5)
    one, two = best("what does the dog Rex do", full, other, room=45)
    assert one is not None
    assert two is not None
    assert [line for line in ("barks", "good dog", "sleeps") if line in one.text] == ["barks", "good dog", "sleeps"]
    assert "I met a dog" in two.text


def test_what_was_found_badly_gets_nothing_where_the_room_is_needed() -> None:
    good = Body(talk(*((place, f"Ann: the ferry leaves at {place}.") for place in range(0, 20, 2))), 0.6)
    assert best("when does the ferry leave", good, Body(talk(), 0.05), room=60)[1] is None


@pytest.mark.parametrize("room", [0, 3, 10, 33.25, 100, 10_000])
def test_the_room_is_kept_and_lines_are_whole(room: float) -> None:
    bodies = [Body(talk((number, "Ann: a ferry, 渡轮, and a 🚀.")), 0.5) for number in range(5)]
    shown = [one.text.split("\n") for one in best("ferry 渡轮", *bodies, room=room) if one is not None]
    assert sum(token_weight("\n".join(lines)) for lines in shown) <= room
    assert {line for lines in shown for line in lines} <= {GAP, *QUIET, "Ann: a ferry, 渡轮, and a 🚀."}


def test_a_line_longer_than_the_room_is_not_cut() -> None:
    assert best("ferry", Body("ferry " * 200, 0.9), room=100) == [None]
    (found,) = best("ferry", Body("ferry " * 200 + "\nshort", 0.9), room=100)
    assert found == Excerpt("short", (2, 2), complete=False)


def test_what_two_texts_say_is_told_once() -> None:
    found = best("walrus", Body("A walrus.\n", 0.5), Body("A walrus.\n", 0.5), room=100)
    assert [one and one.text for one in found] == ["A walrus.", None]


def test_all_of_a_text_is_complete() -> None:
    assert best("walrus", Body("A walrus.\n\nAnd a seal.\n", 0.5), room=100) == [
        Excerpt("A walrus.\nAnd a seal.", (1, 3), complete=True)
    ]
    assert best("walrus", Body("", 0.5), Body("\n\n", 0.5)) == [None, None]
    assert excerpts((), [Body("A walrus.", 0.5)], 100)[0] is not None


def test_a_row_of_a_table_comes_with_the_first_one() -> None:
    rows = "route,from,price\n" + "".join(f"{number},Skarholm,{number}00\n" for number in range(9)) + "9,Skerries,450\n"
    (found,) = best("price to the Skerries", Body(rows, 0.5, kind="table"), room=13)
    assert found is not None
    assert found.text.startswith(f"route,from,price\n{GAP}\n")
    assert found.text.endswith("9,Skerries,450")


CODE = """import os


@cached
def first(path):
    \"\"\"Read a file.\"\"\"
    text = open(path)

    return text


class Reader:
    limit = 3

    def second(self):
        return self.limit
"""


@pytest.mark.parametrize(
    ("text", "kind", "spans"),
    [
        ("# Title\n\nOne.\nTwo\n\n## Next\n\n- a\n- b\n", "prose", [(1, 3), (4, 4), (6, 8), (9, 9)]),
        ("A sentence that was wrapped by its editor goes\non in the next line. And so on\n", "prose", [(1, 2)]),
        ("Ann: This line is long enough but another one speaks\nMel: here.\n", "prose", [(1, 1), (2, 2)]),
        ("# Only a heading\n\n", "prose", [(1, 1)]),
        ("a,b\n# 1,2\n\n3,4\n", "table", [(1, 1), (2, 2), (4, 4)]),
        (CODE, "code", [(1, 1), (4, 9), (12, 16)]),
        ("x = [\n" + "    1,\n" * 200 + "]\n", "code", [(line, line) for line in range(1, 203)]),
    ],
)
def test_units(text: str, kind: Kind, spans: list[tuple[int, int]]) -> None:
    assert [(unit.first, unit.last) for unit in units_of(text, kind)] == spans


def test_of_a_long_text_the_lines_around_the_passage_are_looked_at() -> None:
    text = "".join(f"line {number}\n" for number in range(1, 50_001))
    looked = units_of(text, around=(25_000, 25_010))
    assert looked[0].first < 25_000
    assert looked[-1].last > 25_010
    assert sum(len(unit.text) + 1 for unit in looked) <= LOOKED_AT + 20
    assert [unit.first for unit in units_of("x" * 10**6, around=(9, 9))] == [1]
    assert len(units_of("y\n" * 100_000)) == LOOKED_AT // SHORT
    assert units_of("y\n" * 3, around=(900, 901))[-1].last == 3

"""What people look for by its very words: names, versions, codes, other scripts, the end of a long file."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from openviking import OpenViking

ROOT = "viking://resources/notes"
TOPICS = "release rollback deployment staging cluster review schedule budget customer support contract region".split()
EXACT = {
    "PRJ-4471": "The budget of PRJ-4471 was approved in spring.",
    "v2.13.7-rc2": "The cluster in staging runs v2.13.7-rc2 since the review.",
    "ERR_TLS_0x8F": "Support saw ERR_TLS_0x8F twice after the deployment.",
    "getUserByEmailOrNull": "The review asks to call getUserByEmailOrNull before the rollback.",
    "snake_case_name_q7": "The schedule is read from snake_case_name_q7 at start.",
    "10.42.7.9": "The region answers on 10.42.7.9 only.",
    "ACME": "The contract with ACME ends in autumn.",
    "C++": "The support tool was written in C++ long ago.",
    "项目北极星": "客户合同的审查由项目北极星负责。",
}
MORE = {
    "don't.panic@example.org": "Write to don't.panic@example.org about the budget.",
    "0xDEADBEEF": "The cluster stopped at 0xDEADBEEF again.",
    "ISO-8601": "Dates in the contract follow ISO-8601.",
    "F#": "A customer asked for F# support.",
    "node.js": "The staging page needs node.js to be built.",
    "O'Reilly": "The schedule quotes O'Reilly on reviews.",
    "--dry-run": "Start the rollback with --dry-run first.",
    "naïveté": "The review spoke of naïveté about the region.",
    "Straße": "Das Büro in der langen Straße bleibt.",
}
SCRIPTS = {
    "नदी": "वह नदी के किनारे बैठा था।",
    "маяк": "Старый маяк стоит на скале.",
    "مكتبة": "ذهبت إلى مكتبة المدينة القديمة.",
    "도서관": "우리는 도서관에서 만나기로 했다.",
    "図書館": "昨日は図書館で勉強した。",
    "ห้องสมุด": "เขาไปห้องสมุดทุกวัน",
    "βιβλιοθήκη": "Η βιβλιοθήκη ανοίγει νωρίς.",
    "ספרייה": "הלכנו אל ספרייה קטנה.",
}
QUOTES = {
    '"to be or not to be"': "Somebody wrote on the wall: to be or not to be.",
    "who is it": "Who is it?",
}


def paragraph(chance: random.Random) -> str:
    drawn = [chance.choice(TOPICS) for _ in range(40)]
    return " and the ".join(f"{one} of the {two}" for one, two in zip(drawn[::2], drawn[1::2], strict=True)) + "."


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenViking]:
    """300 similar paragraphs, one file each; every special text is at the end of one of them."""
    chance = random.Random(4)
    texts = [paragraph(chance) for _ in range(300)]
    special = {**EXACT, **MORE, **SCRIPTS, **QUOTES}
    for number, sentence in zip(chance.sample(range(300), len(special)), special.values(), strict=True):
        texts[number] += f"\n\n{sentence}\n"
    folder = tmp_path_factory.mktemp("notes") / "notes"
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / f"n{number:03}.md").write_text(text, "utf-8")
    with OpenViking(path=tmp_path_factory.mktemp("data"), workers=0) as ov:
        ov.add_resource(folder, to=ROOT)
        ov.wait_processed()
        yield ov


def rank(ov: OpenViking, query: str, sentence: str, target: str = ROOT) -> int | None:
    """The place, from 1, of the hit that holds ``sentence``; its lines must cite it."""
    for place, hit in enumerate(ov.find(query, target, limit=10), 1):
        if hit.level == 2 and sentence in ov.read(hit.uri):
            assert hit.lines is not None
            first, last = hit.lines
            assert sentence in ov.read(f"{hit.uri}#L{first}-L{last}")
            return place
    return None


@pytest.mark.parametrize(("token", "sentence"), [*EXACT.items(), *MORE.items()])
def test_exact_token_is_first_alone_and_among_three_in_a_sentence(notes: OpenViking, token: str, sentence: str) -> None:
    assert rank(notes, token, sentence) == 1
    assert rank(notes, f"what did we decide about {token}?", sentence) in {1, 2, 3}


@pytest.mark.parametrize(
    ("query", "token"),
    [
        ("get user by email", "getUserByEmailOrNull"),
        ("snake case name", "snake_case_name_q7"),
        ("err tls", "ERR_TLS_0x8F"),
        ("acme", "ACME"),
        ("2.13.7", "v2.13.7-rc2"),
        ("naivete", "naïveté"),
        ("oreilly", "O'Reilly"),
        ("O’Reilly’s", "O'Reilly"),
    ],
)
def test_parts_and_other_spellings_find_it_too(notes: OpenViking, query: str, token: str) -> None:
    place = rank(notes, query, {**EXACT, **MORE}[token])
    assert place is not None
    assert place <= 5


@pytest.mark.parametrize(("word", "sentence"), SCRIPTS.items())
def test_words_of_every_script(notes: OpenViking, word: str, sentence: str) -> None:
    assert rank(notes, word, sentence) == 1


@pytest.mark.parametrize("character", ["项", "极", "审", "図"])
def test_single_characters_are_found(notes: OpenViking, character: str) -> None:
    hits = notes.find(character, ROOT, level=2)
    assert len(hits) >= 1
    assert all(character in notes.read(hit.uri) for hit in hits)


@pytest.mark.parametrize(("query", "sentence"), QUOTES.items())
def test_a_query_of_stop_words_finds_what_has_them_all(notes: OpenViking, query: str, sentence: str) -> None:
    assert rank(notes, query, sentence) == 1


def test_code_is_found_by_the_name_of_its_language(tmp_path: Path) -> None:
    """People name the language in their questions; the code itself does not."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "wait.py").write_text("def wait(seconds):\n    pass\n", "utf-8")
    (folder / "wait.rb").write_text("def wait(seconds)\nend\n", "utf-8")
    (folder / "wait.txt").write_text("wait some seconds\n", "utf-8")
    with OpenViking(path=tmp_path / "data", workers=0) as ov:
        ov.add_resource(folder, to="viking://resources/code")
        for language, name in (("python", "wait.py"), ("ruby", "wait.rb")):
            hits = list(ov.find(f"how to wait in {language}", level=2))
            assert hits[0].uri.rpartition("/")[2] == name
            assert [hit.uri.rpartition("/")[2] for hit in ov.find(language, level=2)] == [name]


def test_a_query_without_any_word_says_so(notes: OpenViking) -> None:
    found = notes.find("?! …", ROOT)
    assert len(found) == 0
    assert [one.stage for one in found.degraded] == ["words"]


def test_a_written_file_is_found_by_its_own_words_at_once(tmp_path: Path) -> None:
    text = "Release checklist.\n\nThe rollback password phrase is zorblax7.\n"
    with OpenViking(path=tmp_path, workers=0) as ov:
        ov.write("viking://resources/t/a.md", text, mode="create")
        for number in range(20):
            ov.write(
                f"viking://resources/t/other{number}.md", f"{TOPICS[number % 12]} of other things {number}", "create"
            )
        root = "viking://resources/t"
        for found in (ov.find("zorblax7", root), ov.find("zorblax7", root, level="2"), ov.find("zorblax7")):
            hits = list(found)
            assert hits[0].uri == f"{root}/a.md"
            assert hits[0].level == 2
            assert hits[0].lines == (1, 3)
            assert "zorblax7" in hits[0].snippet
        assert f"{root}/a.md" in [hit.uri for hit in ov.find("release rollback checklist", root, limit=3)]
        ov.wait_processed()
        everything = {node_of(hit.uri) for hit in ov.find("other things", root, limit=50)}
        assert len(everything) > 20
        for level in (0, 1, 2):
            some = {node_of(hit.uri) for hit in ov.find("other things", root, limit=50, level=level)}
            assert some
            assert some <= everything


def node_of(uri: str) -> str:
    """The file, or the directory that a hit shows in one of its two levels."""
    return uri.removesuffix("/.abstract.md").removesuffix("/.overview.md")


LONG = {
    "middle": "The spare key hangs behind the zirconium painting.",
    "tail": "The harbour pilot is called Quintessa Vold.",
}


@pytest.fixture(scope="module")
def long_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenViking]:
    """A Markdown file of 300 KB with a fact in its middle and one in its last section, and a single line of 300 KB."""
    chance = random.Random(8)
    sections = []
    for number in range(40):
        body = "\n\n".join(paragraph(chance) for _ in range(14))
        facts = {20: LONG["middle"], 39: LONG["tail"]}
        sections.append(f"## Section {number}\n\n{body[:7500]}\n\n{facts.get(number, '')}\n")
    line = " ".join(paragraph(chance) for _ in range(600))[:300_000]
    folder = tmp_path_factory.mktemp("long")
    (folder / "book.md").write_text("# A long book\n\n" + "\n".join(sections), "utf-8")
    (folder / "line.txt").write_text(f"{line} The last word of the line is vermilliard.", "utf-8")
    assert (folder / "book.md").stat().st_size > 290_000
    with OpenViking(path=tmp_path_factory.mktemp("data"), workers=0) as ov:
        ov.add_resource(folder, to="viking://resources/long")
        ov.wait_processed()
        yield ov


@pytest.mark.parametrize(
    ("query", "fact", "name"),
    [
        ("where is the spare key", LONG["middle"], "book.md"),
        ("who is the harbour pilot", LONG["tail"], "book.md"),
        ("vermilliard", "The last word of the line is vermilliard.", "line.txt"),
    ],
)
def test_facts_deep_inside_of_long_files(long_files: OpenViking, query: str, fact: str, name: str) -> None:
    hits = [hit for hit in long_files.find(query, limit=3, level=2) if hit.uri.endswith(name)]
    assert hits
    assert hits[0].lines is not None
    assert fact in long_files.read("{}#L{}-L{}".format(hits[0].uri, *hits[0].lines))
    assert fact in hits[0].snippet


def test_the_tail_is_found_after_an_append(tmp_path: Path) -> None:
    uri = "viking://resources/log.md"
    chance = random.Random(2)
    with OpenViking(path=tmp_path, workers=0) as ov:
        ov.write(uri, "\n\n".join(paragraph(chance) for _ in range(60)), mode="create")
        ov.write(uri, "\n\nAt last: plimsoll9.\n", mode="append")
        hit = next(iter(ov.find("plimsoll9")))
        assert hit.uri == uri
        assert "plimsoll9" in hit.snippet


def test_limit_holds_and_copies_do_not_fill_the_list(tmp_path: Path) -> None:
    """30 files on one topic, five of them the same: the copies come last and say whose copies they are."""
    folder = tmp_path / "topic"
    folder.mkdir()
    for number in range(25):
        (folder / f"n{number:02}.md").write_text(
            f"Ferries to the island, part {number}. {TOPICS[number % 12]}\n", "utf-8"
        )
    for number in range(5):
        (folder / f"copy{number}.md").write_text("Ferries to the island: the ferries sail at noon.\n", "utf-8")
    with OpenViking(path=tmp_path / "data", workers=0) as ov:
        ov.add_resource(folder, to="viking://resources/topic")
        ov.wait_processed()
        five = list(ov.find("ferries island", limit=5, level=2))
        assert len(five) == 5
        assert [hit.duplicate_of for hit in five] == [None] * 5
        everything = list(ov.find("ferries island", limit=100, level=2))
        assert len(everything) == 30
        assert len({hit.uri for hit in everything}) == 30
        distinct = [hit for hit in everything if hit.duplicate_of is None]
        assert len(distinct) == 26
        assert everything[:26] == distinct
        assert {hit.duplicate_of for hit in everything[26:]} == {"viking://resources/topic/copy0.md"}
        scores = [hit.score for hit in distinct]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score < 1 for score in scores)

"""Nothing crowds out the rest: not a large file, not copies, not namesakes elsewhere or removed, not a common word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from openviking.ingest.prepare import PathAnalyser, prepare
from openviking.model.hit import FindResult
from openviking.model.scope import Scope
from openviking.retrieve.find import FindRequest, find
from openviking.store.batch import PutFile, Remove, SetTags
from openviking.store.sqlite.account import SqliteStore

LARGE_PASSAGES = 20_000


def put(path: str, content: str) -> PutFile:
    return PutFile(path, prepare(path.rpartition("/")[2], content.encode()))


def search(
    store: SqliteStore, query: str, root: str = "", limit: int = 10, levels: tuple[int, ...] = (2,)
) -> FindResult:
    with store.read() as view:
        return find(view, FindRequest(query, Scope((root,) if root else None, levels=levels), limit))


def found(store: SqliteStore, query: str, root: str = "", limit: int = 10) -> list[str]:
    return [hit.uri.removeprefix("viking://resources/") for hit in search(store, query, root, limit)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path, PathAnalyser())
    yield store
    store.close()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """A log of 20,000 passages that all have the same words, and six small files: three older than it, three newer."""
    store = SqliteStore(tmp_path_factory.mktemp("log"), PathAnalyser())
    store.apply([put(f"resources/small/n{number}.md", f"A gateway timeout, error {number}.") for number in range(3)])
    store.apply(
        [put("resources/app.log", "gateway timeout error from upstream 10.0.0.7, retrying request\n" * 330_000)]
    )
    store.apply([put(f"resources/small/n{number}.md", f"A gateway timeout, error {number}.") for number in range(3, 6)])
    with store.read() as view:
        assert view.stats(0).passages > LARGE_PASSAGES
    yield store
    store.close()


@pytest.mark.cpu_budget(1)
@pytest.mark.parametrize("query", ["gateway timeout error", "gateway", "what about upstream gateway errors 3"])
@pytest.mark.parametrize("root", ["", "resources"])
def test_a_large_file_does_not_crowd_out_small_ones(log: SqliteStore, query: str, root: str) -> None:
    """All passages of the log have the words; it is one record, and the others are found beside it, in little time."""
    assert sorted(found(log, query, root)) == ["app.log", *(f"small/n{number}.md" for number in range(6))]


@pytest.mark.cpu_budget(1)
def test_a_large_file_is_found_where_it_is_searched(log: SqliteStore) -> None:
    assert found(log, "gateway timeout", "resources/app.log") == ["app.log"]
    assert len(found(log, "gateway timeout", "resources/small")) == 6


def test_namesakes_elsewhere_do_not_crowd_out_those_of_the_scope(store: SqliteStore) -> None:
    store.apply([put(f"resources/a/{number}/alphaword.txt", f"plain {number}") for number in range(90)])
    store.apply([put("resources/b/alphaword.txt", "other")])
    assert found(store, "alphaword", "resources/b") == ["b/alphaword.txt"]
    assert len(found(store, "alphaword", limit=200)) == 91


def test_removed_namesakes_do_not_crowd_out_those_that_are_there(store: SqliteStore) -> None:
    """Not even while a purge has yet to clear them away."""
    paths = [f"resources/a/{number}/alphaword.txt" for number in range(600)]
    store.apply([put(path, f"plain {number}") for number, path in enumerate(paths)])
    store.apply([put("resources/b/alphaword.txt", "other")])
    store.apply([Remove("resources/a", recursive=True)])
    with store.read() as view:
        assert view.stats(0).passages > 600, "nothing waits to be purged"
    assert found(store, "alphaword") == ["b/alphaword.txt"]


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """1,205 files named alike, as many in a tree below one name, 300 tagged alike, 300 byte-identical ones."""
    store = SqliteStore(tmp_path_factory.mktemp("alike"), PathAnalyser())
    store.apply([put(f"resources/named/{number}/report.txt", f"plain {number}") for number in range(1205)])
    store.apply([put(f"resources/harbour/{n % 30}/{n % 7}/{n}.txt", f"other {n}") for n in range(1205)])
    store.apply([put(f"resources/tags/{number}.txt", f"thing {number}") for number in range(300)])
    store.apply([SetTags(f"resources/tags/{number}.txt", ("topic=lighthouse",)) for number in range(300)])
    store.apply([put(f"resources/copies/{number}.txt", "the very same words") for number in range(300)])
    store.apply([put("resources/last.txt", "words that are not quite the same, and some more of them")])
    yield store
    store.close()


@pytest.mark.cpu_budget(2)
@pytest.mark.parametrize(
    ("query", "root", "count"),
    [
        ("report", "", 1205),
        ("report", "resources/named", 1205),
        ("report txt", "resources/named", 1205),
        ("harbour", "", 1205),
        ("harbour", "resources/harbour/3", 41),
        ("lighthouse", "", 300),
        ("same words", "", 301),
        ("txt", "", 3011),
    ],
)
def test_every_namesake_can_be_found(alike: SqliteStore, query: str, root: str, count: int) -> None:
    hits = found(alike, query, root, 4000)
    assert len(hits) == len(set(hits))
    wanted = [hit for hit in hits if "txt" not in query or not root or hit.startswith(root.removeprefix("resources/"))]
    assert len(wanted) == count
    assert len(found(alike, query, root, 10)) == 10


def test_copies_do_not_eat_the_limit(alike: SqliteStore) -> None:
    """Of 300 equal files one counts; the others come behind what is different, if there is room."""
    two = search(alike, "same words", limit=2)
    assert [hit.uri.rpartition("/")[2] for hit in two] == ["0.txt", "last.txt"]
    assert [hit.duplicate_of for hit in two] == [None, None]
    many = list(search(alike, "same words", limit=20))
    assert len(many) == 20
    assert [hit.duplicate_of for hit in many[2:]] == ["viking://resources/copies/0.txt"] * 18


def test_a_rare_word_leaves_room_for_a_frequent_one(store: SqliteStore) -> None:
    """A word in thousands of passages selects only beside others, but fills up what they leave."""
    store.apply([put(f"resources/{number}.txt", f"amber {number}") for number in range(3100)])
    store.apply([put("resources/two.txt", "amber zorblax"), put("resources/one.txt", "zorblax")])
    hits = found(store, "zorblax amber")
    assert hits[:2] == ["two.txt", "one.txt"]
    assert len(hits) == 10


def test_a_query_of_too_many_terms_says_so(store: SqliteStore) -> None:
    store.apply([put("resources/a.txt", "zorblax")])
    words = [f"w{chr(97 + number % 26)}{chr(97 + number // 26)}q" for number in range(70)]
    assert search(store, " ".join(words[:60])).degraded == ()
    assert search(store, " ".join(["zorblax"] * 100)).degraded == ()
    (one,) = search(store, " ".join(["zorblax", *words])).degraded
    assert one.stage == "query"
    assert "7 others" in one.reason


def test_markup_is_known_by_what_a_file_was_read_as(store: SqliteStore) -> None:
    page = "<html><head><title>Tides</title></head><body><p>The <b>zorblax</b> tide</p></body></html>"
    store.apply([put("resources/page.html", page), put("resources/page.xml.txt", page)])
    snippets = {hit.uri.rpartition("/")[2]: hit.snippet for hit in search(store, "zorblax")}
    assert "<b>" not in snippets["page.html"]
    assert "<b>zorblax</b>" in snippets["page.xml.txt"]

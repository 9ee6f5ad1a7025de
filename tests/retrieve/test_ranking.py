"""find against BM25 spelled out in a few lines of Python, over stores that were written, moved, tagged and removed."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from openviking.index.analyse import analyse_query, name_terms
from openviking.ingest.prepare import PathAnalyser, prepare
from openviking.model.scope import Scope
from openviking.retrieve.find import FindRequest, find
from openviking.store.batch import MakeDirectory, Move, PutFile, Remove, SetTags
from openviking.store.bm25 import K1, PIVOT, SHORTEST, B
from openviking.store.sqlite.account import SqliteStore

WORDS = "amber basalt cedar delta ember fjord garnet heron iris jasper kelp lotus".split()
NAMES = "north south harbour".split()


class Model:
    """What a store holds, as a dictionary from path to text and tags."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.tags: dict[str, tuple[str, ...]] = {}
        self.directories: set[str] = set()

    def put(self, path: str, content: str) -> None:
        """A file with its directories, which stay when it goes."""
        self.texts[path] = content
        self.directories |= {path.rsplit("/", up)[0] for up in range(1, path.count("/") + 1)}

    def ranked(self, query: str, root: str = "") -> list[tuple[float, str]]:
        """All records below ``root`` with a score, best first, equal ones by path; the formula of docs/evals.md."""
        passages = [
            (
                path,
                [passage.title_terms.split(), passage.heading_terms.split(), passage.body_terms.split()],
                passage.length,
            )
            for path, text in self.texts.items()
            for passage in prepare(path.rpartition("/")[2], text.encode()).passages
        ]
        named = [
            {*name_terms(path.rpartition("/")[2]), *(t for tag in self.tags.get(path, ()) for t in name_terms(tag))}
            for path in {*self.texts, *self.directories}
        ]
        asked = analyse_query(query)
        weight: dict[str, float] = {}
        for term in dict.fromkeys(asked):
            found = sum(1 for _, fields, _ in passages if any(term in field for field in fields))
            found = min(found + sum(1 for names in named if term in names), len(passages))
            weight[term] = asked.count(term) * math.log(1 + (len(passages) - found + 0.5) / (found + 0.5))
        best: dict[str, float] = {}
        for path, (title, heading, body), length in passages:
            path_terms = {term for name in path.split("/")[1:] for term in name_terms(name)}
            tag_terms = {term for tag in self.tags.get(path, ()) for term in name_terms(tag)}
            score = 0.0
            for term, worth in weight.items():
                frequency = (
                    1.5 * title.count(term) + 1.5 * heading.count(term) + body.count(term) + (term in path_terms)
                )
                frequency = frequency or 0.5 * (term in tag_terms)
                score += worth * frequency / (frequency + K1 * (1 - B + B * max(length, SHORTEST) / PIVOT))
            if score and f"{path}/".startswith(f"{root}/" if root else ""):
                best[path] = max(best.get(path, 0.0), score / sum(weight.values()))
        return sorted(((score, path) for path, score in best.items()), key=lambda pair: (-round(pair[0], 9), pair[1]))


def text(chance: random.Random) -> str:
    heading = f"# {' '.join(chance.choices(WORDS, k=2))}\n\n" if chance.random() < 0.5 else ""
    return heading + " ".join(chance.choices(WORDS[: chance.choice((4, 12))], k=chance.choice((1, 3, 8, 40))))


def put(path: str, content: str) -> PutFile:
    return PutFile(path, prepare(path.rpartition("/")[2], content.encode()))


def ask(store: SqliteStore, query: str, scope: Scope, limit: int = 10) -> list[tuple[float, str]]:
    with store.read() as view:
        return [
            (hit.score, hit.uri.removeprefix("viking://"))
            for hit in find(view, FindRequest(query, scope, limit)).hits
            if hit.duplicate_of is None
        ]


def assert_same(got: list[tuple[float, str]], wanted: Sequence[tuple[float, str]]) -> None:
    assert [path for _, path in got] == [path for _, path in wanted]
    assert [score for score, _ in got] == pytest.approx([score for score, _ in wanted])
    assert all(0 < score < 1 for score, _ in got)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path, PathAnalyser())
    yield store
    store.close()


@pytest.mark.cpu_budget(10)
@pytest.mark.parametrize("seed", range(4))
def test_find_is_bm25_after_any_history(store: SqliteStore, seed: int) -> None:
    """Words, headings, names of files and directories, tags, scopes: the same records, order and scores."""
    chance = random.Random(seed)
    model = Model()
    for number in range(90):
        model.put(f"resources/{chance.choice(NAMES)}/{chance.choice('abc')}/f{number}.md", f"{text(chance)} u{number}x")
    store.apply([put(path, content) for path, content in model.texts.items()])
    for path in chance.sample(sorted(model.texts), 20):
        model.put(path, f"{text(chance)} {model.texts[path].split()[-1]}")
        store.apply([put(path, model.texts[path])])
    for path in chance.sample(sorted(model.texts), 20):
        del model.texts[path]
        store.apply([Remove(path)])
    for path in chance.sample(sorted(model.texts), 15):
        target = f"resources/{chance.choice(NAMES)}/moved{len(model.directories)}-{path.rpartition('/')[2]}"
        model.put(target, model.texts.pop(path))
        store.apply([MakeDirectory(target.rpartition("/")[0], exist_ok=True), Move(path, target)])
    for path in chance.sample(sorted(model.texts), 10):
        model.tags[path] = (f"about={chance.choice(WORDS)}",)
        store.apply([SetTags(path, model.tags[path])])
    while store.purge(100):
        pass
    for _ in range(12):
        query = " ".join([chance.choice(WORDS), *chance.choices(WORDS + NAMES, k=chance.randrange(4))])
        root = chance.choice(("resources", f"resources/{chance.choice(NAMES)}"))
        # That a record's path alone has one of the words may or may not select it; once selected it scores all the same.
        in_text = {path for path, content in model.texts.items() if set(query.split()) & set(content.lower().split())}
        wanted = [pair for pair in model.ranked(query, root) if pair[1] in in_text]
        got = ask(store, query, Scope((root,), levels=(2,)), 200)
        assert_same([pair for pair in got if pair[1] in in_text], wanted)
        scores = {path: score for score, path in model.ranked(query, root)}
        assert [score for score, _ in got] == pytest.approx([scores[path] for _, path in got])


def test_names_and_tags_select_by_themselves(store: SqliteStore) -> None:
    paths = ["resources/north/plain.md", "resources/other/harbour-plan.md", "resources/other/tagged.md"]
    store.apply([put(path, f"nothing of it {number}") for number, path in enumerate(paths)])
    store.apply([SetTags(paths[2], ("topic=lighthouse",))])
    for query, path in zip(("north", "harbour", "lighthouse"), paths, strict=True):
        assert [found for _, found in ask(store, query, Scope(levels=(2,)))] == [path]
    store.apply([Move("resources/north", "resources/west")])
    assert ask(store, "north", Scope(levels=(2,))) == []
    assert [found for _, found in ask(store, "west", Scope(levels=(2,)))] == ["resources/west/plain.md"]


def test_scope_and_area_are_no_names(store: SqliteStore) -> None:
    """All memories are below ``user/…/memories``: that says nothing about one of them."""
    store.apply([put("user/default/memories/a.md", "likes tea"), put("user/default/memories/b.md", "likes memories")])
    assert [path for _, path in ask(store, "default memories user", Scope(levels=(2,)))] == [
        "user/default/memories/b.md"
    ]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SqliteStore, Model]]:
    """1,300 files: ``amber`` is in all, other words in 25 to 300; many score the same; written in no order."""
    chance = random.Random(11)
    model = Model()
    for number in range(1300):
        drawn = [
            word for place, word in enumerate(WORDS[1:]) if chance.random() < (0.23, 0.15, 0.08, 0.04, 0.02)[place % 5]
        ]
        model.put(f"resources/{NAMES[number % 3]}/f{number:04}.md", " ".join(["amber", *drawn, f"u{number}x"]))
    model.put("resources/north/title.md", "# Amber\n\nu-title")
    store = SqliteStore(tmp_path_factory.mktemp("large"), PathAnalyser())
    paths = chance.sample(sorted(model.texts), len(model.texts))
    store.apply([put(path, model.texts[path]) for path in paths])
    yield store, model
    store.close()


@pytest.mark.cpu_budget(10)
def test_the_best_are_the_best_of_all(large: tuple[SqliteStore, Model]) -> None:
    """Hundreds of equal scores, more matches than candidates: the list is that of a full scan, in URI order."""
    store, model = large
    for query in ("basalt", "cedar fjord", "garnet lotus heron", "kelp", "jasper basalt delta"):
        wanted = model.ranked(query)
        assert len(wanted) > 100 or query == "kelp"
        for limit in (3, 10, 40):
            assert_same(ask(store, query, Scope(levels=(2,)), limit), wanted[:limit])
        inside = model.ranked(query, "resources/south")
        assert_same(ask(store, query, Scope(("resources/south",), levels=(2,))), inside[:10])


def test_same_store_same_list(large: tuple[SqliteStore, Model]) -> None:
    """Invariant 5: the same question gives the same list, however often and in whichever connection."""
    store, _ = large
    first = ask(store, "basalt cedar amber", Scope(levels=(2,)), 50)
    for _ in range(3):
        assert ask(store, "basalt cedar amber", Scope(levels=(2,)), 50) == first


def test_common_word_scores_without_selecting(large: tuple[SqliteStore, Model]) -> None:
    store, model = large
    got = ask(store, "amber kelp", Scope(levels=(2,)), 10)
    assert_same(got, model.ranked("amber kelp")[:10])


def test_common_word_alone_is_found_headings_first(large: tuple[SqliteStore, Model]) -> None:
    store, model = large
    got = ask(store, "amber", Scope(levels=(2,)), 10)
    assert len(got) == 10
    assert got[0][1] == "resources/north/title.md"
    scores = {path: score for score, path in model.ranked("amber")}
    assert [score for score, _ in got] == pytest.approx([scores[path] for _, path in got])


def test_common_words_fill_up_what_rare_ones_leave(large: tuple[SqliteStore, Model]) -> None:
    store, _ = large
    got = ask(store, "u77x amber", Scope(levels=(2,)), 10)
    assert len(got) == 10
    assert got[0][1].endswith("f0077.md")


def test_common_word_in_a_narrow_scope_is_exact(large: tuple[SqliteStore, Model]) -> None:
    store, model = large
    got = ask(store, "amber", Scope(("resources/harbour",), levels=(2,)), 10)
    assert_same(got, model.ranked("amber", "resources/harbour")[:10])


def test_contributions_add_up(large: tuple[SqliteStore, Model]) -> None:
    """Invariant 10: the listed contributions of a hit are its score."""
    store, _ = large
    with store.read() as view:
        hits = find(view, FindRequest("basalt cedar north title", Scope(), 20, explain=True)).hits
    assert hits
    for hit in hits:
        assert hit.explain
        assert sum(value for _, value in hit.explain) == pytest.approx(hit.score)

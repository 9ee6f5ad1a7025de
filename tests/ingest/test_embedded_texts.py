"""What a model reads of a passage is rebuilt from what is stored, and is the very text that its hash covers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.stubs.embedders import DIMENSION, HashEmbedder, Vector

from openviking.errors import UnavailableError
from openviking.ingest import embedding as embedding_module
from openviking.ingest.embedding import LATER_MS, MOST_LOOKS, PassageTexts, can_read, made_vectors
from openviking.ingest.prepare import content_hash, embedded_text, embedded_texts, prepare
from openviking.ingest.sidecars import render_all
from openviking.model.embedding import Coverage
from openviking.providers.embedder import Refused
from openviking.store.batch import PutFile
from openviking.store.sqlite.account import SqliteStore
from openviking.store.vectors import LOST, PendingPassage

MODEL = HashEmbedder().model
PAGE = (
    "<html><head><title>Penguins</title></head><body>"
    + "".join(f"<h2>Part {n}</h2><p>{'krill &amp; fish &ndash; ' * 60}</p>" for n in range(9))
    + "</body></html>"
)
FILES: dict[str, bytes] = {
    "guide.md": ("---\ntitle: A guide\ntags: [ice, snow]\n---\n# Ice\n\n" + "Cold text. " * 400).encode(),
    "code.py": b'"""Counts birds."""\n\n\ndef count(birds):\n    """How many."""\n    return len(birds)\n'
    + b"x = 1\n" * 500,
    "page.html": PAGE.encode(),
    "data.json": b'{"birds": {"penguin": 1, "gull": 2}}',
    "table.csv": b"bird,count\n" + b"penguin,1\n" * 500,
    "latin.txt": "Grüße aus der Küche\n".encode("latin-1") * 300,
    "crlf.md": b"# One\r\n\r\ntext\r\n" * 200,
    "wide.md": ("# 企鹅\n\n" + "企鹅住在南极。" * 300).encode(),
    "line.txt": b"word " * 3000,
}


@pytest.fixture
def used(store: SqliteStore) -> SqliteStore:
    store.vectors.use(MODEL)
    return store


def put(store: SqliteStore, name: str, data: bytes) -> None:
    store.apply([PutFile(f"resources/d/{name}", prepare(name, data))])


def claim(store: SqliteStore) -> list[PendingPassage]:
    return store.vectors.claim(MODEL.fingerprint, 10_000)


@pytest.mark.parametrize("name", sorted(FILES))
def test_every_passage_is_read_as_it_was_indexed(used: SqliteStore, name: str) -> None:
    put(used, name, FILES[name])
    claimed = claim(used)
    texts = PassageTexts().of(used, claimed)
    with used.read() as view:
        node = view.get(f"resources/d/{name}")
        assert node is not None
        expected = embedded_texts(name, view.text(node) or "")
    assert {one.hash: text for one, text in zip(claimed, texts, strict=True)} == expected
    assert len(expected) >= 1


def test_a_markup_file_is_parsed_once_for_all_its_passages(used: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def counting(name: str, text: str, *, bookkeeping: bool) -> dict[bytes, str]:
        parsed.append(name)
        return embedded_texts(name, text, bookkeeping=bookkeeping)

    monkeypatch.setattr(embedding_module, "embedded_texts", counting)
    put(used, "page.html", FILES["page.html"])
    put(used, "guide.md", FILES["guide.md"])
    texts = PassageTexts()
    for _ in range(20):
        claimed = used.vectors.claim(MODEL.fingerprint, 2)
        assert None not in texts.of(used, claimed)
    assert parsed == ["page.html"]


def test_a_blank_part_is_left_out_of_what_is_read_and_not_of_the_hash() -> None:
    assert embedded_text("", "A > B", " ", "body\n") == "A > B\nbody\n"
    assert content_hash("t", "b", "s", "x") == hashlib.sha256(b"t\nb\ns\nx").digest()
    assert content_hash("", "b", "", "x") != content_hash("b", "", "", "x")


def test_sidecars_are_read_with_the_name_of_their_directory(used: SqliteStore) -> None:
    put(used, "guide.md", FILES["guide.md"])
    render_all(used)
    claimed = [one for one in claim(used) if one.level < 2 and one.node.path == "resources/d"]
    texts = PassageTexts().of(used, claimed)
    assert {one.level for one in claimed} == {0, 1}
    assert all(isinstance(text, str) and text.startswith("d\n") for text in texts)
    assert any("guide.md" in str(text) for text in texts)


def test_what_is_not_what_was_indexed_is_not_embedded(used: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that changed between the claim and the look, and one that this version of the parser would cut otherwise."""
    put(used, "guide.md", b"# One\n\nbefore\n")
    [before] = claim(used)
    put(used, "guide.md", b"# One\n\nbehind\n")
    texts = PassageTexts()
    assert texts.settle(used, MODEL, [before]) == []
    monkeypatch.setattr(embedding_module, "embedded_texts", lambda *_, **__: {})
    put(used, "page.html", FILES["page.html"])
    claimed = [one for one in claim(used) if one.node.name == "page.html"]
    assert texts.settle(used, MODEL, claimed) == []
    due = used.vectors.next_due(MODEL.fingerprint)
    assert due is not None
    assert used.vectors.claim(MODEL.fingerprint, 10_000, below="resources/d/page.html") == []


def test_a_text_that_stays_lost_is_refused(used: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_module, "embedded_texts", lambda *_, **__: {})
    monkeypatch.setattr(embedding_module, "LATER_MS", -LATER_MS)
    put(used, "page.html", b"<p>krill</p>")
    texts = PassageTexts()
    for _ in range(MOST_LOOKS):
        assert used.vectors.refused(MODEL.fingerprint, 10) == []
        assert texts.settle(used, MODEL, claim(used)) == []
    assert [(one.path, one.error) for one in used.vectors.refused(MODEL.fingerprint, 10)] == [
        ("resources/d/page.html", LOST)
    ]
    assert used.vectors.waiting(MODEL.fingerprint) == 0


def test_blank_passages_are_settled_without_the_model(used: SqliteStore) -> None:
    put(used, "blank.md", b" \n\t\n" * 100)
    assert PassageTexts().settle(used, MODEL, claim(used)) == []
    assert used.vectors.refused(MODEL.fingerprint, 10) == []
    assert used.vectors.waiting(MODEL.fingerprint) == 0
    assert used.vectors.coverage(MODEL.fingerprint) == Coverage(0, 0)


def test_a_model_of_english_reads_no_chinese(used: SqliteStore) -> None:
    english = replace(MODEL, multilingual=False)
    put(used, "guide.md", b"# Leave\n\nA month before the birth.\n")
    put(used, "mixed.md", "See the file `入职指南.md` for newcomers, they are welcome.".encode())
    put(used, "中文.md", "# 入职指南\n\n第一天请带上身份证和 laptop。".encode())
    texts = PassageTexts()
    claimed = claim(used)
    read = [one.passage.node.name for one in texts.settle(used, english, claimed)]
    assert sorted(read) == ["guide.md", "mixed.md"]
    assert used.vectors.waiting(MODEL.fingerprint) == used.vectors.coverage(MODEL.fingerprint).of == 2
    assert all(can_read(MODEL, text) for text in texts.of(used, claimed) if isinstance(text, str))


def test_a_model_that_gives_something_else_than_it_says_is_an_error(used: SqliteStore) -> None:
    class Shorter(HashEmbedder):
        def passages(self, texts: Sequence[str], *, timeout: float) -> list[Vector | Refused]:
            made = super().passages(texts, timeout=timeout)
            return [one[:, :-1] for one in made if not isinstance(one, Refused)]

    class Fewer(HashEmbedder):
        def passages(self, texts: Sequence[str], *, timeout: float) -> list[Vector | Refused]:
            return super().passages(texts, timeout=timeout)[1:]

    put(used, "guide.md", FILES["guide.md"])
    readable = PassageTexts().settle(used, MODEL, claim(used))
    for odd, said in ((Shorter(), f"not (windows, {DIMENSION})"), (Fewer(), "vectors for")):
        with pytest.raises(UnavailableError) as caught:
            made_vectors(used, odd, MODEL, readable, 5.0)
        assert said in caught.value.message
        assert caught.value.details["permanent"] is True
    made, failed = made_vectors(used, HashEmbedder(), MODEL, readable, 5.0)
    assert failed is None
    assert all(one.vectors is not None for one in made)

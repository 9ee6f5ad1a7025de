"""Reranked searches through the services (contract/retrieval.md §4.6, §9.3)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.stubs.scripted import Script, Scripted

from openviking.config.settings import EmbeddingSettings, RerankSettings, Settings
from openviking.model.identity import Identity
from openviking.service.authentication import Rules
from openviking.service.breaker import Breaker
from openviking.service.services import Services

ROOT = Identity(account="default", user="default", role="root")
FILES = 30


@pytest.fixture(scope="module")
def world(running: Scripted, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Thirty files about ferries, and another with much text and a memory."""
    place: Path = tmp_path_factory.mktemp("reranked")
    settings = Settings(
        path=place, workers=0, embedding=EmbeddingSettings(provider="none"),
        rerank=RerankSettings(api_base=running.rerank_url, api_key="k", timeout=0.5),
    )  # fmt: skip
    services = Services(settings, Rules.of(None, None, "127.0.0.1"))
    for number in range(FILES):
        text = f"# Ferry {number}\n\nThe ferry number {number} sails" + " to the island" * (number + 1) + ".\n"
        services.content.write(ROOT, f"viking://resources/f/{number:02}.md", text, "create")
    long = "".join(f"## Part {part}\n\n" + "ballast words of no interest. " * 30 + "\n\n" for part in range(20))
    services.content.write(ROOT, "viking://resources/long.md", f"{long}## Zebra\n\nThe zebra crossing.\n", "create")
    services.content.write(
        ROOT, "viking://~/memories/zebra.md", "He saw a zebra.\n<!-- MEMORY_FIELDS\n{}\n-->", "create"
    )
    services.tenancy.worker.drain(services.tenancy.accounts.of("default"), 30)
    yield services
    services.close()


@pytest.fixture
def services(world: Services, stub: Scripted) -> Iterator[Services]:
    stub.behave()
    world._cases.reranking.calls = Breaker(2, 10.0, 600.0)
    yield world
    stub.behave()


def uris(services: Services, query: str, **options: object) -> list[str]:
    return [hit.uri for hit in services.search.search(ROOT, query, level=2, **options)]  # type: ignore[arg-type]


def test_find_does_not_ask(services: Services, stub: Scripted) -> None:
    """Case 44; the threshold of the section counts there too."""
    found = services.search.find(ROOT, "ferry island", level=2)
    assert len(found) == 10
    assert all(hit.score > 0.1 for hit in found)
    assert not stub.calls


def test_twice_the_limit_in_one_batch(services: Services, stub: Scripted) -> None:
    """Case 45."""
    stub.behave(Script(scores=[number / 20 for number in range(20)]))
    found = services.search.search(ROOT, "ferry island", level=2, limit=10)
    (call,) = stub.calls
    assert len(call.documents) == 20
    assert len(found) == 10
    assert call.query == "ferry island"
    assert [hit.score for hit in found] == [number / 20 for number in range(19, 9, -1)]
    assert not found.degraded


def test_the_order_is_the_models(services: Services, stub: Scripted) -> None:
    stub.behave(Script(scores=[number / FILES for number in range(FILES)]))
    before = uris(services, "ferry island", limit=FILES, rerank=False)
    found = services.search.search(ROOT, "ferry island", level=2, limit=20, explain=True)
    assert len(stub.calls[0].documents) == FILES
    assert [hit.uri for hit in found] == before[: FILES - 21 : -1]
    for hit in found:
        assert sum(value for _, value in hit.explain or ()) == pytest.approx(hit.score)
        assert "rerank" in dict(hit.explain or ())


def test_limit_and_threshold_come_after(services: Services, stub: Scripted) -> None:
    """The worked example: limit 2, threshold 0.1, four candidates of which one gets no score."""
    order = uris(services, "ferry island", limit=4, rerank=False)
    stub.behave(Script(scores=[0.05, 0.99, None, 0.31]))
    found = services.search.search(ROOT, "ferry island", level=2, limit=2)
    assert [hit.uri for hit in found] == [order[1], order[2]]
    assert found.hits[0].score == 0.99
    assert 0.31 < found.hits[1].score < 0.99
    assert [note.stage for note in found.degraded] == ["rerank"]
    assert len(services.search.search(ROOT, "ferry island", level=2, limit=2, score_threshold=0.99).hits) == 0


@pytest.mark.parametrize(
    "script",
    [
        Script(mood="badly"), Script(mood="never"), Script(status=400), Script(scores=[0.9, 0.8, 0.7]),
        Script(scores=[-9 + number * 0.75 for number in range(20)]), Script(scores=[0.0] * 20),
        Script(scores=[0.5] * 20, indices=range(100, 120)),
    ],
    ids=["badly", "never", "refused", "top three", "logits", "the same", "out of range"],
)  # fmt: skip
@pytest.mark.parametrize("threshold", [None, 0.2])
def test_a_reranker_that_misbehaves_takes_nothing_away(
    services: Services, stub: Scripted, script: Script, threshold: float | None
) -> None:
    """Every time the set of results without it is still there, in time, with a sign of what happened."""
    without = uris(services, "ferry island", limit=20, score_threshold=threshold, rerank=False)
    stub.behave(script)
    found = services.search.search(ROOT, "ferry island", level=2, limit=20, score_threshold=threshold)
    assert len(found) == len(without) > 0
    if script.scores is None or len(script.scores) != 20:
        assert {hit.uri for hit in found} == set(without)
    assert all(0 <= hit.score <= 1 for hit in found)
    assert {note.stage for note in found.degraded} == {"rerank"}
    assert len(stub.calls) == 1


def test_documents_are_the_passages_that_matched(services: Services, stub: Scripted) -> None:
    services.search.search(ROOT, "zebra crossing", level=2)
    documents = stub.calls[0].documents
    (passage,) = [one for one in documents if "zebra crossing" in one]
    assert len(passage) < 2_000
    assert "Zebra" in passage
    (memory,) = [one for one in documents if "He saw a zebra" in one]
    assert "MEMORY_FIELDS" not in memory


def test_a_request_can_do_without(services: Services, stub: Scripted) -> None:
    assert uris(services, "ferry island", rerank=False)
    assert not stub.calls


def test_keywords_are_reranked_too(services: Services, stub: Scripted) -> None:
    assert uris(services, "ferry island", search_type="keywords")
    assert len(stub.calls) == 1


def test_a_directory_stays_behind_its_files(services: Services) -> None:
    found = services.search.search(ROOT, "ferry island", limit=40)
    directories = [hit for hit in found if hit.level != 2 and "/f/" in hit.uri]
    assert directories
    assert all(hit.score <= 0.9 for hit in directories)
    assert found.hits[0].level == 2

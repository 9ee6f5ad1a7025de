"""Queries with pictures (contract/retrieval.md §3.11): what may be sent, what a model gets, what is found."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.stubs.scripted import Script, Scripted
from tests.stubs.web import WebServer, answer

from openviking import OpenViking
from openviking.config.settings import ChatSettings, EmbeddingSettings, FetchSettings, RerankSettings, Settings
from openviking.errors import InvalidArgumentError, OpenVikingError, UnavailableError
from openviking.ingest.prepare import prepare
from openviking.model.hit import FindResult
from openviking.model.identity import Identity
from openviking.parse.pictures import MAX_BYTES, format_of
from openviking.providers.multimodal import FORMS
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.pictures import addresses_of
from openviking.service.services import Services
from openviking.store.batch import PutFile

ROOT = Identity(account="default", user="default", role="root")
ALICE = Identity(account="default", user="alice", role="user")
PLACE = "viking://resources/birds"
PNG = b"\x89PNG\r\n\x1a\n"


def picture(words: str) -> bytes:
    """What the scripted model takes for a picture of ``words``."""
    return PNG + words.encode()


def uri(content: bytes, kind: str = "png") -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


HERON = uri(picture("heron reeds"))


def opened(stub: Scripted, place: Path, fetch: FetchSettings | None = None, **dense: Any) -> Services:
    given = {
        "provider": "openai",
        "model": "clip",
        "api_base": stub.chat_url,
        "input": "multimodal",
        "api_key": "k",
        **dense,
    }
    settings = Settings(
        path=place, workers=0, embedding=EmbeddingSettings(**{"max_retries": 0, "cosine_range": (0.05, 1.0), **given}),
        fetch=fetch or FetchSettings(max_retries=0), vlm=ChatSettings(model="talker", api_base=stub.chat_url),
        rerank=RerankSettings(api_base=stub.rerank_url, api_key="k", threshold=0.0),
    )  # fmt: skip
    services = Services(settings, Rules.of(None, None, "127.0.0.1"))
    for name, text in {"heron": "heron reeds lake", "gull": "gull harbour", "note": "invoice"}.items():
        services.content.write(ROOT, f"{PLACE}/{name}.md", text, "create")
    services.content.write(ROOT, "viking://~/memories/seen.md", "heron reeds", "create")
    services.system.wait_processed(ROOT)
    return services


@pytest.fixture(scope="module")
def stub() -> Iterator[Scripted]:
    with Scripted() as stub:
        yield stub


@pytest.fixture(scope="module")
def world(stub: Scripted, tmp_path_factory: pytest.TempPathFactory) -> Services:
    return opened(stub, tmp_path_factory.mktemp("pictures") / "data")


@pytest.fixture(scope="module", autouse=True)
def client(world: Services) -> Iterator[Any]:
    """The world over HTTP; closes it."""
    with TestClient(create_app(world)) as client:
        yield client


@pytest.fixture
def services(world: Services, stub: Scripted) -> Services:
    stub.behave()
    return world


def names(result: FindResult) -> list[str]:
    return [hit.uri.rpartition("/")[2] for hit in result]


def test_files_of_resources_are_searched_by_the_vector_alone(services: Services, stub: Scripted) -> None:
    found = services.search.find(ROOT, image_url=HERON)
    assert names(found) == ["heron.md"]
    assert all(hit.level == 2 for hit in found)
    (call,) = stub.calls
    assert call.body["messages"] == [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": HERON}}]}]
    assert names(services.search.find(ROOT, image_url=[HERON], context_type="memory")) == ["seen.md"]
    assert {hit.level for hit in services.search.find(ROOT, image_url=HERON, level=[0, 1])} <= {0, 1}
    assert names(services.search.find(ROOT, image_url=HERON, limit=1, score_threshold=0.999)) == []


def test_text_comes_first_and_all_pictures_in_their_order(services: Services, stub: Scripted) -> None:
    gull = uri(picture("gull"))
    found = services.search.find(ROOT, " harbour ", image_url=[gull, HERON], explain_missing=f"{PLACE}/note.md")
    content = stub.calls[0].body["messages"][0]["content"]
    assert [one.get("text") or one["image_url"]["url"] for one in content] == ["harbour", gull, HERON]
    assert set(names(found)) == {"gull.md", "heron.md"}
    assert found.missing is not None
    assert found.missing[0].reason == "no_match"
    services.search.find(ROOT, "harbour", image_url=[gull, HERON])
    assert len(stub.calls) == 1, "the vector of a query is remembered"


@pytest.mark.usefixtures("services")
def test_no_plan_and_no_reranking(client: Any, stub: Scripted) -> None:
    """Case 68."""
    said = {"role": "user", "content": "show me birds"}
    assert client.post("/api/v1/sessions", json={"session_id": "birds"}).status_code == 200
    assert client.post("/api/v1/sessions/birds/messages", json=said).status_code == 200
    asked = {"image_url": uri(picture("gull harbour")), "session_id": "birds"}
    result = client.post("/api/v1/search/search", json=asked).json()["result"]
    assert [hit["uri"] for hit in result["resources"]] == [f"{PLACE}/gull.md"]
    assert "query_plan" not in result
    assert [call.path for call in stub.calls] == ["/v1/embeddings"]


def test_a_picture_of_the_web_is_fetched_here(stub: Scripted, tmp_path: Path) -> None:
    """The service that embeds gets the bytes, and no address that only this machine can reach."""
    stub.behave()
    with WebServer() as web:
        web.pages["/gull.png"] = answer(picture("gull"), content_type="image/png")
        web.pages["/page.png"] = answer(b"<html>", content_type="image/png")
        services = opened(stub, tmp_path / "data", fetch=FetchSettings(max_retries=0, allow_private=True))
        try:
            stub.behave()
            assert names(services.search.find(ROOT, image_url=web.url("/gull.png?size=1"))) == ["gull.md"]
            assert stub.calls[0].body["messages"][0]["content"][0]["image_url"]["url"] == uri(picture("gull"))
            for address, code in {"/page.png": "INVALID_ARGUMENT", "/none.png": "PROCESSING_ERROR"}.items():
                with pytest.raises(OpenVikingError) as error:
                    services.search.find(ROOT, image_url=web.url(address))
                assert error.value.code == code
        finally:
            services.close()


def test_a_picture_of_the_store_is_read_with_the_callers_rights(services: Services, stub: Scripted) -> None:
    content = picture("gull")
    put = PutFile("resources/pictures/g.png", prepare("g.png", content))
    services.tenancy.accounts.store(ROOT).apply([put])
    assert names(services.search.find(ALICE, image_url="viking://resources/pictures/g.png")) == ["gull.md"]
    assert stub.calls[0].body["messages"][0]["content"][0]["image_url"]["url"] == uri(content)
    stub.behave()
    for address, code in {
        "viking://resources/none.png": "NOT_FOUND",
        "viking://user/bob/resources/x.png": "PERMISSION_DENIED",
        PLACE: "INVALID_ARGUMENT",
        f"{PLACE}/gull.md": "INVALID_ARGUMENT",
    }.items():
        with pytest.raises(OpenVikingError) as error:
            services.search.find(ALICE, image_url=address)
        assert error.value.code == code
    assert not stub.calls


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("ftp://host/a.png", "must start with"), ([HERON, "cat.png"], "must start with"), ([7], "list of URLs"),
        ([HERON] * 9, "at most 8"), ("data:image/png;base64,§§", "not base64"), ("data:image/png,raw", "base64,…"),
        (uri(b"<svg/>", "svg+xml"), "no picture"), (uri(b"hello"), "no picture"),
        (uri(PNG + bytes(MAX_BYTES)), "10,485,760"), ([uri(PNG + bytes(MAX_BYTES - 8))] * 3, "20,971,520"),
    ],
    ids=lambda one: str(one)[:30],
)  # fmt: skip
def test_what_is_no_picture(services: Services, stub: Scripted, given: Any, told: str) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        services.search.find(ROOT, image_url=given)
    assert told in error.value.message
    assert error.value.details["field"] == "image_url"
    assert not stub.calls


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1/a.png",
        "http://localhost/a.png",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/a.png",
    ],
)
def test_addresses_inside_are_not_asked(services: Services, stub: Scripted, address: str) -> None:
    with pytest.raises(OpenVikingError) as error:
        services.search.find(ROOT, image_url=address)
    assert error.value.code == "PERMISSION_DENIED"
    assert not stub.calls


@pytest.mark.parametrize("provider", [None, *FORMS])
def test_the_forms_of_services(stub: Scripted, tmp_path: Path, provider: str | None) -> None:
    stub.behave()
    services = opened(stub, tmp_path / "data", provider=provider or "vllm")
    try:
        assert names(services.search.find(ROOT, "reeds", image_url=uri(picture("heron")))) == ["heron.md"]
        assert names(services.search.find(ROOT, "gull harbour", level=2)) == ["gull.md"]
    finally:
        services.close()


def test_a_model_that_does_not_answer(stub: Scripted, tmp_path: Path) -> None:
    services = opened(stub, tmp_path / "data")
    try:
        stub.behave(Script(status=400, message="image too small"))
        with pytest.raises(InvalidArgumentError, match="image too small"):
            services.search.find(ROOT, image_url=HERON)
        stub.behave(Script(status=503))
        with pytest.raises(UnavailableError):
            services.search.find(ROOT, "words do not stand in", image_url=HERON)
    finally:
        services.close()


@pytest.mark.usefixtures("services")
def test_over_http_and_embedded(client: Any, tmp_path: Path) -> None:
    answered = client.post("/api/v1/search/find", json={"image_url": HERON})
    assert [hit["uri"] for hit in answered.json()["result"]["resources"]] == [f"{PLACE}/heron.md"]
    words = {"image_url": HERON, "search_type": "keywords"}
    assert client.post("/api/v1/search/search", json=words).status_code == 400
    with OpenViking(tmp_path / "data", workers=0) as ov, pytest.raises(InvalidArgumentError, match="texts, no images"):
        ov.find(image=picture("heron"))


def test_pictures_of_this_machine(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    file.write_bytes(picture("gull"))
    assert addresses_of(None) is None
    assert addresses_of([picture("gull"), file, str(file)]) == [uri(picture("gull"))] * 3
    assert addresses_of("https://x/y.png") == "https://x/y.png"
    for wrong in (tmp_path / "none.png", b"text", "\0"):
        with pytest.raises(InvalidArgumentError):
            addresses_of(wrong)
    assert [format_of(one) for one in (b"\xff\xd8\xff\xe0", b"GIF89a", b"RIFF....WEBPVP8", b"RIFF....WAVE")] == [
        "jpeg", "gif", "webp", None
    ]  # fmt: skip

"""Adding a URL from one's own process: what is stored, and that what has not changed costs one request."""

from __future__ import annotations

import io
import socket
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.stubs.embedders import HashEmbedder
from tests.stubs.web import Asked, WebServer, answer, redirect

from openviking import OpenViking
from openviking.errors import InvalidArgumentError, PermissionDeniedError, ProcessingError
from openviking.ingest.fetch import remote
from openviking.ingest.fetch.page import EXTRACTOR

CONF = (
    '{"fetch": {"allow_private": true, "max_retries": 0, "timeout": 5}, "embedding": {"dense": {"provider": "none"}}}'
)


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "ov.conf"
    path.write_text(CONF)
    return path


@pytest.fixture
def ov(tmp_path: Path, conf: Path) -> Iterator[OpenViking]:
    with OpenViking(tmp_path / "data", config=conf, workers=0) as door:
        yield door
        assert door.check() == []


def page(text: str) -> bytes:
    body = f"<title>Guide</title><main><h1>Guide</h1><p>{text} {'and more ' * 40}</p></main>"
    return answer(body.encode(), content_type="text/html")


class Tagged:
    """A page with an ETag, which it compares."""

    def __init__(self, body: bytes, tag: str, content_type: str = "text/html") -> None:
        self.body, self.tag, self.content_type = body, tag, content_type
        self.bodies = 0

    def __call__(self, connected: socket.socket, asked: Asked) -> None:
        if asked.headers.get("if-none-match") == self.tag:
            connected.sendall(answer(status="304 Not Modified"))
        else:
            self.bodies += 1
            connected.sendall(answer(self.body, content_type=self.content_type, etag=self.tag))


def names(ov: OpenViking, uri: str = "viking://resources") -> list[str]:
    return [str(one).removeprefix(f"{uri}/") for one in ov.tree(uri, simple=True)]


def test_a_page_is_markdown_beside_its_html_and_only_the_markdown_is_found(ov: OpenViking, web: WebServer) -> None:
    web.pages |= {"/go": redirect("/docs/guide.html"), "/docs/guide.html": page("zorblax krill")}
    report = ov.add_resource(web.url("/docs/guide.html"), tags=["team=bird"])
    assert (report.root_uri, report.created, report.binary, report.warnings) == ("viking://resources/guide", 2, (), ())
    assert names(ov) == ["guide", "guide/guide.html", "guide/guide.md"]
    assert b"<title>" in ov.download("viking://resources/guide/guide.html")
    assert ov.read("viking://resources/guide/guide.md").startswith("# Guide\n\nzorblax krill")
    assert [one.uri for one in ov.find("zorblax", level=2)] == ["viking://resources/guide/guide.md"]
    assert ov.grep("viking://resources", "zorblax").count == 1
    assert ov.attrs("viking://resources/guide")["attrs"]["tags"] == ["team=bird"]
    assert ov.add_resource(web.url("/docs/guide.html"), strict=True).unchanged == 2


def test_unchanged_content_costs_one_request_and_nothing_else(tmp_path: Path, conf: Path, web: WebServer) -> None:
    source = web.pages["/guide.html"] = Tagged(page("one").partition(b"\r\n\r\n")[2], '"v1"')
    embedder = HashEmbedder()
    with OpenViking(tmp_path / "data", config=conf, workers=0, embedder=embedder) as ov:
        url = web.url("/guide.html")
        root = ov.add_resource(url, wait=True, timeout=30).root_uri
        store = ov._accounts.store(ov._identity)

        def changes() -> int:
            with store.read() as view:
                return view.change

        texts, change = len(embedder.texts), changes()
        again = ov.add_resource(url + "#part", wait=True, timeout=30)
        assert (again.root_uri, again.unchanged, again.updated_root, source.bodies) == (root, 2, True, 1)
        assert (len(embedder.texts), changes()) == (texts, change)

        # An answer without 304, but the same bytes: fetched, compared, and nothing written.
        source.tag = '"v2"'
        again = ov.add_resource(url, wait=True, timeout=30)
        assert (again.unchanged, again.updated, source.bodies, len(embedder.texts)) == (2, 0, 2, texts)

        source.body, source.tag = source.body.replace(b"one", b"two"), '"v3"'
        again = ov.add_resource(url, wait=True, timeout=30)
        assert (again.updated, again.unchanged, source.bodies) == (2, 0, 3)
        assert "two" in ov.read(f"{root}/guide.md")


def test_what_is_missing_here_is_fetched_whole_again(ov: OpenViking, web: WebServer) -> None:
    source = web.pages["/guide.html"] = Tagged(page("one").partition(b"\r\n\r\n")[2], '"v1"')
    root = ov.add_resource(web.url("/guide.html")).root_uri
    ov.rm(f"{root}/guide.md")
    assert ov.add_resource(web.url("/guide.html")).created == 1
    assert (source.bodies, names(ov, root)) == (2, ["guide.html", "guide.md"])
    ov.rm(root, recursive=True)
    assert ov.add_resource(web.url("/guide.html")).created == 2
    assert source.bodies == 3
    ov.mv(root, "viking://resources/moved")
    assert ov.add_resource(web.url("/guide.html")).root_uri == "viking://resources/moved"
    assert ov.add_resource(web.url("/guide.html"), to="viking://resources/other").created == 2
    assert source.bodies == 4


def test_what_is_asked_for_or_made_otherwise_is_fetched_whole_again(
    ov: OpenViking, web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = web.pages["/guide.html"] = Tagged(page("one").partition(b"\r\n\r\n")[2], '"v1"')
    url = web.url("/guide.html")
    for bodies, left_out in ((1, None), (1, None), (2, "*.pdf"), (2, "*.pdf")):
        ov.add_resource(url, exclude=left_out)
        assert source.bodies == bodies, left_out
    monkeypatch.setattr(remote, "EXTRACTOR", EXTRACTOR + 1)
    for _ in range(2):
        ov.add_resource(url, exclude="*.pdf")
        assert source.bodies == 3


def test_what_the_user_edited_stays(ov: OpenViking, web: WebServer) -> None:
    source = web.pages["/notes.md"] = Tagged(b"# Notes\n", '"1"', "text/markdown")
    root = ov.add_resource(web.url("/notes.md")).root_uri
    ov.write(f"{root}/notes.md", "# Mine\n")
    assert ov.add_resource(web.url("/notes.md")).unchanged == 1
    source.body, source.tag = b"# Theirs\n", '"2"'
    report = ov.add_resource(web.url("/notes.md"))
    assert [one.uri for one in report.kept] == [f"{root}/notes.md"]
    assert ov.read(f"{root}/notes.md") == "# Mine\n"


def test_other_files_stay_as_they_are_and_archives_are_unpacked(ov: OpenViking, web: WebServer) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("site/a.md", "# Alpha krill")
        archive.writestr("site/node_modules/x.js", "x")
    web.pages |= {
        "/data.json": answer(b'{"a": 1}\r\n', content_type="application/json"),
        "/paper": answer(b"%PDF-1.7 \xff\0", content_type="application/pdf"),
        "/site.zip": answer(packed.getvalue(), content_type="application/zip"),
    }
    assert ov.download(ov.add_resource(web.url("/data.json")).root_uri + "/data.json") == b'{"a": 1}\r\n'
    report = ov.add_resource(web.url("/paper"))
    assert (report.root_uri, report.binary) == ("viking://resources/paper", ("paper.pdf",))
    report = ov.add_resource(web.url("/site.zip"))
    assert names(ov, report.root_uri) == ["a.md"]
    web.pages["/no.zip"] = answer(b"sorry, zorblax is gone", content_type="application/zip")
    assert names(ov, ov.add_resource(web.url("/no.zip")).root_uri) == ["no.zip"]
    assert list((Path(ov._accounts.path) / "fetch").iterdir()) == []


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("http://10.0.0.1/", PermissionDeniedError),
        ("http://localhost:8000/", PermissionDeniedError),
        ("http://[::1]/", PermissionDeniedError),
        ("https://user:pw@example.org/", InvalidArgumentError),
        ("https://0x7f.1/", InvalidArgumentError),
        ("ssh://host:2222/repo", InvalidArgumentError),
        ("ftp://example.org/x", InvalidArgumentError),
    ],
)
def test_what_is_refused_at_once(tmp_path: Path, path: str, error: type[Exception]) -> None:
    with OpenViking(tmp_path / "data", workers=0) as ov:
        with pytest.raises(error):
            ov.add_resource(path)
        assert ov.ls("viking://resources", simple=True) == []
        assert not (tmp_path / "data" / "fetch").exists()


def test_a_fetch_that_fails_leaves_nothing(ov: OpenViking, web: WebServer) -> None:
    web.pages["/half"] = answer(b"# Half", content_length="400", content_type="text/markdown")
    for path in ("/none", "/half"):
        with pytest.raises(ProcessingError):
            ov.add_resource(web.url(path))
    assert ov.ls("viking://resources", simple=True) == []


def test_a_failed_refresh_keeps_what_is_there(ov: OpenViking, web: WebServer) -> None:
    web.pages["/a.md"] = answer(b"# A krill", content_type="text/markdown")
    root = ov.add_resource(web.url("/a.md")).root_uri
    for reply in (answer(status="404 Gone"), answer(b"#", content_length="99"), answer(status="500 Oops")):
        web.pages["/a.md"] = reply
        with pytest.raises(ProcessingError):
            ov.add_resource(web.url("/a.md"))
        assert ov.read(f"{root}/a.md") == "# A krill"


def test_closing_ends_a_fetch_and_the_next_process_carries_it_on(tmp_path: Path, conf: Path, web: WebServer) -> None:
    begun, body = threading.Event(), answer(b"# Late krill", content_type="text/markdown")

    def slow(connected: socket.socket, asked: Asked) -> None:
        del asked
        connected.sendall(body[:40])
        begun.set()
        if len(web.asked) == 1:
            web.over.wait()
        connected.sendall(body[40:])

    web.pages["/late.md"] = slow
    ov = OpenViking(tmp_path / "data", config=conf, workers=0)
    reports = []
    adding = threading.Thread(target=lambda: reports.append(ov.add_resource(web.url("/late.md"))))
    adding.start()
    begun.wait()
    ov._worker.stop()
    adding.join()
    ov.close()
    assert reports[0].cancelled
    with OpenViking(tmp_path / "data", config=conf, workers=0) as next_one:
        next_one.wait_processed(30)
        assert next_one.read("viking://resources/late/late.md") == "# Late krill"

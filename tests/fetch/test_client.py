"""What a server can do to who fetches from it: each ends with a clear error, in time, with nothing half."""

from __future__ import annotations

import gzip
import socket
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from tests.stubs.web import Asked, SilentResolver, ToldResolver, WebServer, answer, redirect

from openviking.ingest.fetch.client import Client, validators_of
from openviking.ingest.fetch.failures import (
    FetchCancelled,
    FetchFailedError,
    FetchTimeoutError,
    RefusedAddressError,
)
from openviking.ingest.fetch.web_address import web_address

Made = Callable[..., Client]


def get(client: Client, url: str, **options: Any) -> Any:
    told = {"headers": {}, "cancelled": lambda: False, "progress": lambda _: None, **options}
    return client.get(web_address(url), **told)


def test_an_answer_and_what_is_sent(web: WebServer, client: Made) -> None:
    web.pages["/a"] = answer(b"krill", content_type="text/plain", etag='"1"')
    sizes: list[int] = []
    found = get(client(), web.url("/a?q=1"), progress=sizes.append)
    assert (found.status, found.body, found.headers["etag"], sizes[-1]) == (200, b"krill", '"1"', 5)
    asked = web.asked[0]
    assert asked.target == "/a?q=1"
    assert asked.headers["host"] == f"127.0.0.1:{web.port}"
    assert "cookie" not in asked.headers
    assert "authorization" not in asked.headers


def test_redirects_are_followed_with_their_places_and_counted(web: WebServer, client: Made) -> None:
    web.pages |= {"/a": redirect("b/c?x=1"), "/b/c": redirect(web.url("/d"), "308 Permanent"), "/d": answer(b"end")}
    found = get(client(), web.url("/a"))
    assert (found.body, str(found.where)) == (b"end", web.url("/d"))
    web.pages["/loop"] = redirect("/loop")
    with pytest.raises(FetchFailedError, match="redirects more than 5 times"):
        get(client(), web.url("/loop"))
    for to in ("file:///etc/passwd", "ftp://x/y", "javascript:x", "http://user:secret@x/", "http://[::1"):
        web.pages["/away"] = redirect(to)
        with pytest.raises(FetchFailedError, match="redirects where nothing") as caught:
            get(client(), web.url("/away"))
        assert "secret" not in str(caught.value)


def test_places_that_are_not_percent_encoded(web: WebServer, client: Made) -> None:
    web.pages |= {"/a": redirect("/pingüin".encode().decode("latin-1")), "/b": redirect("/pingüin")}
    web.pages["/ping%C3%BCin"] = answer(b"krill")
    assert get(client(), web.url("/a")).body == get(client(), web.url("/b")).body == b"krill"


def test_validators_are_sent_where_they_come_from(web: WebServer, client: Made) -> None:
    dated, tagged = {"last_modified": "Mon, 30 Nov 2026 08:00:00 GMT"}, {"etag": '"1"'}
    web.pages |= {"/v1": answer(b"one", **dated), "/v2": answer(b"two", **tagged), "/latest": redirect("/v1?sign=a")}
    asking = client()
    first = validators_of(get(asking, web.url("/latest")))
    for to, name, sent in (
        ("/v1?sign=a", "if-modified-since", 1),
        ("/v1?sign=b", "if-modified-since", 0),
        ("/v2", "if-modified-since", 0),
    ):
        web.pages["/latest"] = redirect(to)
        found = get(asking, web.url("/latest"), validators=first)
        assert [name in one.headers for one in web.asked[-2:]] == [False, bool(sent)], to
    second = validators_of(found)
    web.pages["/latest"] = redirect("/v2?sign=c")
    assert get(asking, web.url("/latest"), validators=second).body == b"two"
    assert [one.headers.get("if-none-match") for one in web.asked[-2:]] == [None, '"1"']
    web.pages |= {"/latest": redirect("/v1"), "/v1": answer(status="304 Not Modified")}
    with pytest.raises(FetchFailedError, match="HTTP 304"):
        get(asking, web.url("/latest"), validators=second)


@pytest.mark.parametrize(
    "to",
    ["http://127.0.0.1:1234/", "http://10.0.0.1/", "http://169.254.169.254/latest/meta-data/", "http://[::1]/", "http://localhost/",
     "http://[::ffff:127.0.0.1]/", "http://0.0.0.0/", "http://inside.example/"],
)  # fmt: skip
def test_a_redirect_into_the_private_net_is_refused(web: WebServer, client: Made, to: str) -> None:
    """The first hop is an allowed host; the allowance is for that one alone."""
    resolver = ToldResolver({"open.example": [["127.0.0.1"]], "inside.example": [["192.168.0.9"]]})
    web.pages["/a"] = redirect(to)
    with pytest.raises(RefusedAddressError):
        get(client(resolver, allow_private=False, allowed_hosts=("open.example",)), web.url("/a", "open.example"))
    assert web.paths() == ["/a"]


def test_a_name_with_one_bad_address_is_refused(web: WebServer, client: Made) -> None:
    resolver = ToldResolver({"mixed.example": [["1.1.1.1", "127.0.0.1"]]})
    with pytest.raises(RefusedAddressError, match="loopback"):
        get(client(resolver, allow_private=False), web.url("/", "mixed.example"))
    assert web.asked == []


def test_the_connection_goes_to_the_address_that_was_checked(web: WebServer, client: Made) -> None:
    """The name service changes its answer at once: each connection uses the answer that was judged, asked for once."""
    resolver = ToldResolver({"moving.example": [["127.0.0.1"], ["127.0.0.2"]]})
    web.pages |= {"/a": answer(b"first"), "/r": redirect("/a")}
    fetching = client(resolver, allow_private=False, allowed_hosts=("127.0.0.1",))
    assert get(fetching, web.url("/a", "moving.example")).body == b"first"
    assert resolver.asked == ["moving.example"]
    assert web.asked[0].headers["host"] == f"moving.example:{web.port}"
    with pytest.raises(RefusedAddressError):
        get(fetching, web.url("/a", "moving.example"))
    assert len(web.asked) == 1


def test_each_hop_is_resolved_and_judged_anew(web: WebServer, client: Made) -> None:
    resolver = ToldResolver({"moving.example": [["127.0.0.1"], ["127.0.0.2"]]})
    web.pages |= {"/r": redirect("/a"), "/a": answer(b"never")}
    with pytest.raises(RefusedAddressError):
        get(client(resolver, allow_private=False, allowed_hosts=("127.0.0.1",)), web.url("/r", "moving.example"))
    assert web.paths() == ["/r"]


def test_proxies_of_the_environment_are_not_asked(
    web: WebServer, client: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    web.pages["/a"] = answer(b"direct")
    assert get(client(), web.url("/a")).body == b"direct"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (answer(b"half", content_length="400"), "breaks off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf", "breaks off"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", "broken"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabcdef", "broken"),
        (b"garbage\r\n\r\n", "broken"),
        (b"", "broken|breaks off|disconnected"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 200_000 + b"\r\n\r\n", "broken"),
        (answer(gzip.compress(bytes(range(256)))[:-30], content_encoding="gzip"), "breaks off"),
        (answer(b"no gzip", content_encoding="gzip"), "can't be unpacked"),
        (answer(b"x", content_encoding="br"), "not asked for"),
        (answer(b"x", content_encoding="gzip, gzip"), "not asked for"),
        (answer(b"x" * 2_000), "more than 1,000 bytes"),
        (answer(b"x" * 2_000, content_length=""), "more than 1,000 bytes"),
        (answer(gzip.compress(b"0" * 50_000_000), content_encoding="gzip"), "more than 1,000 bytes|more than 100,000"),
        (answer(zlib.compress(b"0" * 50_000), content_encoding="deflate"), "more than 1,000 bytes"),
        (answer(status="404 Not Found"), "there is no such page"),
        (answer(status="401 Unauthorized"), "credentials"),
        (answer(status="204 No Content", content_length=""), "HTTP 204"),
        (answer(b"part", "206 Partial Content"), "HTTP 206"),
        (answer(status="304 Not Modified"), "HTTP 304"),
        (answer(status="302 Found"), "without saying where"),
        (answer(status="503 Busy"), "HTTP 503"),
    ],
)  # fmt: skip
def test_bad_answers(web: WebServer, client: Made, reply: bytes, said: str) -> None:
    web.pages["/a"] = reply
    limit = 100_000 if len(reply) > 10_000 else 1_000
    with pytest.raises(FetchFailedError, match=said) as caught:
        get(client(max_bytes=limit), web.url("/a"))
    assert caught.value.code == "PROCESSING_ERROR"
    assert caught.value.details["url"].startswith(web.url("/a"))


def test_packed_answers(web: WebServer, client: Made) -> None:
    text = b"krill " * 50_000
    raw = zlib.compressobj(wbits=-15)
    for packed, encoding in (
        (gzip.compress(text), "gzip"), (gzip.compress(text[:9]) + gzip.compress(text[9:]), "x-gzip"),
        (gzip.compress(text) + b"\0\0tail", "gzip"), (zlib.compress(text), "deflate"),
        (raw.compress(text) + raw.flush(), "Deflate"), (text, "identity"),
    ):  # fmt: skip
        web.pages["/a"] = answer(packed, content_encoding=encoding)
        assert get(client(), web.url("/a")).body == text, encoding


def drip(connected: socket.socket, asked: Asked) -> None:
    """A byte now and then, for ever."""
    del asked
    connected.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    pause = threading.Event()
    for _ in range(10_000):
        pause.wait(0.02)
        connected.sendall(b".")


def test_slow_and_endless_servers_end_in_time(web: WebServer, client: Made) -> None:
    def silent(connected: socket.socket, asked: Asked) -> None:
        del connected, asked
        web.over.wait()

    def endless(connected: socket.socket, asked: Asked) -> None:
        del asked
        connected.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while not web.over.is_set():
            connected.sendall(b"x" * 65_536)

    def endless_head(connected: socket.socket, asked: Asked) -> None:
        del asked
        while not web.over.is_set():
            connected.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")

    web.pages |= {"/drip": drip, "/silent": silent, "/endless": endless, "/head": endless_head}
    start = time.monotonic()
    for path, settings in (
        ("/drip", {"timeout": 0.4}),
        ("/silent", {"idle_timeout": 0.3}),
        ("/head", {"timeout": 0.4}),
    ):
        with pytest.raises(FetchFailedError) as caught:
            get(client(**settings), web.url(path))
        assert caught.value.status == (504 if path != "/head" else caught.value.status), path
        assert "idle_timeout" not in settings or "nothing came for" in caught.value.message
    with pytest.raises(FetchFailedError, match="more than 1,000,000"):
        get(client(max_bytes=1_000_000), web.url("/endless"))
    assert time.monotonic() - start < 10


def test_a_fetch_can_be_cancelled_wherever_it_waits(web: WebServer, client: Made) -> None:
    web.pages["/drip"] = drip
    stop = threading.Event()
    with pytest.raises(FetchCancelled):
        get(client(timeout=60.0), web.url("/drip"), cancelled=stop.is_set, progress=lambda _: stop.set())
    resolver = SilentResolver()
    with pytest.raises(FetchCancelled):
        get(client(resolver, timeout=60.0), web.url("/", "slow.example"), cancelled=lambda: True)
    with pytest.raises(FetchFailedError, match="not resolved in time"):
        get(client(resolver, connect_timeout=0.2), web.url("/", "slow.example"))
    resolver.released.set()


def test_names_and_ports_where_nobody_is(web: WebServer, client: Made) -> None:
    with pytest.raises(FetchFailedError, match=r"There is no host nowhere\.example"):
        get(client(ToldResolver({})), "http://nowhere.example/")
    with pytest.raises(FetchFailedError, match="no address of"):
        get(client(ToldResolver({"empty.example": [[]]})), "http://empty.example/")
    free = socket.create_server(("127.0.0.1", 0))
    port = free.getsockname()[1]
    free.close()
    with pytest.raises(FetchFailedError, match="no connection"):
        get(client(), f"http://127.0.0.1:{port}/")
    with pytest.raises(FetchTimeoutError):
        get(client(connect_timeout=0.2), f"https://127.0.0.1:{web.port}/")


def test_a_second_address_is_tried(web: WebServer, client: Made) -> None:
    web.pages["/a"] = answer(b"krill")
    resolver = ToldResolver({"two.example": [["127.0.0.3", "127.0.0.1"]]})
    with pytest.MonkeyPatch.context() as patch:
        # Of loopback addresses only the first may be reached by a test.
        connect = socket.create_connection

        def only_one(where: tuple[str, int], **options: Any) -> socket.socket:
            if where[0] != "127.0.0.1":
                raise ConnectionRefusedError(111, "Connection refused")
            return connect(where, **options)

        patch.setattr(socket, "create_connection", only_one)
        assert get(client(resolver), web.url("/a", "two.example")).body == b"krill"


def test_what_may_pass_is_tried_again_and_what_lasts_is_not(web: WebServer, client: Made) -> None:
    replies = [answer(status="503 Busy", retry_after="1"), answer(b"half", content_length="9"), answer(b"whole")]

    def next_one(connected: socket.socket, asked: Asked) -> None:
        del asked
        connected.sendall(replies.pop(0))

    web.pages["/a"] = next_one
    began = time.monotonic()
    assert get(client(max_retries=2, timeout=20.0), web.url("/a")).body == b"whole"
    assert time.monotonic() - began >= 1
    web.pages |= {"/gone": answer(status="404 Gone"), "/later": answer(status="503 Busy", retry_after="3600")}
    for path in ("/gone", "/later"):
        before = len(web.asked)
        with pytest.raises(FetchFailedError) as caught:
            get(client(max_retries=5, timeout=20.0), web.url(path))
        assert len(web.asked) - before == 1, "an hour is longer than a fetch may take"
        assert caught.value.details["http_status"] in {404, 503}


def test_timeouts_are_504(web: WebServer, client: Made) -> None:
    web.pages["/drip"] = drip
    with pytest.raises(FetchTimeoutError) as caught:
        get(client(timeout=0.3), web.url("/drip"))
    assert (caught.value.code, caught.value.status) == ("DEADLINE_EXCEEDED", 504)
    assert caught.value.details["operation"] == "fetch"


def test_messages_keep_the_secrets_of_a_query(web: WebServer, client: Made) -> None:
    web.pages |= {"/a": redirect("/b?token=hidden2"), "/slow": drip}
    for path in ("/a?token=hidden", "/none?token=hidden", "/slow?token=hidden"):
        with pytest.raises(FetchFailedError) as caught:
            get(client(timeout=0.3), web.url(path))
        assert "hidden" not in str(caught.value) + str(caught.value.details)
        assert "?…" in caught.value.message

"""The example calls of the public documents on find, search (list), grep, glob and reading, against a real server.

What each must give is in the tables. ``DIFFERS`` names those that are answered otherwise than the documents say; each has its
reason in docs/compatibility.md.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

import openviking_sdk as sdk
from openviking import OpenViking
from openviking.cli.main import main
from openviking.errors import InvalidURIError
from openviking_sdk import errors

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests" / "server" / "served.py"
NO_IMAGES = (400, "embeds texts, no images")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)

MARK = "TO" + "DO"

FILES = {
    "docs/auth.md": "# Overview\n\n## Authentication\n\nUser authentication is handled by OAuth 2.0 login.\nConfigure an API key first.\n",
    "docs/auth/oauth.md": "# OAuth\n\nHow to implement the OAuth 2.0 authorization code flow: how to authenticate users.\n",
    "docs/hnsw.md": "# Index\n\nhnsw is a graph of near neighbours; SearchByKeywords is not.\n",
    "docs/guide.py": "def authenticate(user):\n    return user  # " + MARK + "\n",
    "docs/best.md": "# Best practices\n\nBest practices of a login page. A watch is not scheduled. Recent decisions.\n",
    "email/may.md": "An invoice for May, to be followed up.\n",
    "my-project/api.md": "# API endpoints\n\nerror handling of the endpoints\n",
    "backend/errors.md": "# Errors\n\nerror handling of the backend\n",
    "runbook.md": "# Rollback\n\nThe rollback runbook: roll back with authentication.\n",
    "images/note.md": "A red poster style of a cat.\n",
}
OWN = {
    "memories/preferences/style.md": "Preferences: best practices first, short answers to authentication questions.\n",
    "memories/events/decided.md": "Recent decisions: we took OAuth.\n",
    "resources/private.md": "private docs of mine\n",
    "peers/web-visitor-alice/memories/mail.md": "Alice asked for an invoice follow-up.\n",
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server in a process of its own with a few documents."""
    place = tmp_path_factory.mktemp("served")
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), str(place / "data")],
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(ROOT / "src"), "HOME": str(place)},
    )
    try:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        with sdk.SyncHTTPClient(url=url, api_key="your-key") as client:
            for path, text in FILES.items():
                client.write(f"viking://resources/{path}", text, mode="create")
            for path, text in OWN.items():
                client.write(f"viking://~/{path}", text, mode="create")
            tags = {"runbook.md": ["env=prod", "team=search"], "docs/auth.md": ["team=search", "env=prod"]}
            for path, given in tags.items():
                client.set_tags(f"viking://resources/{path}", given)
            client.add_skill(
                {"name": "web-search", "description": "Searches the web", "content": "# web search\n\nBest practices."}
            )
            client.wait_processed(timeout=60)
        yield url
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def wire(url: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=url, headers={"X-API-Key": "your-key"}, timeout=30) as client:
        yield client


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[sdk.SyncHTTPClient]:
    with sdk.SyncHTTPClient(url=url, api_key="your-key") as client:
        yield client


def found(result: dict[str, Any]) -> list[str]:
    return [
        hit["uri"].removeprefix("viking://") for name in ("memories", "resources", "skills") for hit in result[name]
    ]


# --- bodies: curl, and what the TypeScript and Go clients send -----------------------------------------------------

AUTH = "resources/docs/auth.md"
OAUTH = "resources/docs/auth/oauth.md"
FIND, SEARCH, GREP, GLOB = "find", "search", "grep", "glob"
TAGGED = ["team=search", "env=prod"]

BODIES: dict[str, tuple[str, dict[str, Any], str | tuple[int, str]]] = {
    "curl find": (FIND, {"query": "how to authenticate users", "limit": 10}, OAUTH),
    "curl target and time": (FIND, {"query": "authentication", "target_uri": "viking://resources", "since": "7d", "time_field": "created_at"}, AUTH),
    "curl types": (FIND, {"query": "authentication", "context_type": ["memory", "resource"]}, AUTH),
    "curl image": (FIND, {"image_url": "viking://resources/images/cat.png", "limit": 10}, NO_IMAGES),
    "curl tags": (FIND, {"query": "rollback runbook", "tags": ["env=prod", "team=search"]}, "resources/runbook.md"),
    "curl step 1": (FIND, {"query": "authentication"}, AUTH),
    "curl older find": (FIND, {"query": "OAuth authentication", "target_uri": "viking://resources/", "limit": 5, "score_threshold": 0.6}, ""),
    "curl session": (
        SEARCH,
        {"query": "best practices", "session_id": "abc123", "context_type": "memory", "since": "2h", "time_field": "updated_at", "events_time_decay_protection": "1d", "limit": 10},
        "user/default/memories/preferences/style.md",
    ),
    "curl no session": (SEARCH, {"query": "how to implement OAuth 2.0 authorization code flow"}, OAUTH),
    "curl keywords": (SEARCH, {"query": "hnsw", "search_type": "keywords", "target_uri": "viking://resources/docs", "limit": 10}, "resources/docs/hnsw.md"),
    "curl similar image": (SEARCH, {"query": "similar poster", "image_url": "data:image/png;base64,AAAA", "limit": 10}, NO_IMAGES),
    "typescript find": (FIND, {"query": "authentication", "target_uri": "viking://resources/docs/"}, AUTH),
    "typescript search": (SEARCH, {"query": "authentication", "target_uri": "viking://resources/docs/"}, AUTH),
    "go find": (FIND, {"query": "how to authenticate users", "target_uri": "viking://resources/docs", "limit": 10, "context_type": ["resource"]}, OAUTH),
    "go search": (SEARCH, {"query": "best practices", "session_id": "abc123", "context_type": "resource", "limit": 10}, "resources/docs/best.md"),
}  # fmt: skip


@pytest.mark.parametrize(("route", "body", "wanted"), BODIES.values(), ids=BODIES)
def test_bodies_of_find_and_search(
    wire: httpx2.Client, route: str, body: dict[str, Any], wanted: str | tuple[int, str]
) -> None:
    answer = wire.post(f"/api/v1/search/{route}", json=body)
    if isinstance(wanted, tuple):
        assert answer.status_code == wanted[0]
        assert wanted[1] in answer.json()["error"]["message"]
        return
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert set(told) == {"status", "result"}
    assert told["result"]["total"] == len(found(told["result"]))
    for hit in told["result"]["resources"]:
        assert {"context_type", "uri", "level", "score", "category", "match_reason", "abstract", "overview"} <= set(hit)
    if wanted:
        assert wanted in found(told["result"])


MATCHES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "curl grep": (
        GREP,
        {"uri": "viking://resources", "pattern": "authentication", "case_insensitive": True, "before_context": 1, "after_context": 1, "tags": TAGGED},
        [AUTH, AUTH, "resources/runbook.md"],
    ),
    "typescript grep": (GREP, {"uri": "viking://resources/docs/", "pattern": "authentication", "tags": TAGGED}, [AUTH]),
    "go grep": (GREP, {"uri": "viking://resources", "pattern": "authentication", "case_insensitive": True, "node_limit": 1024, "tags": TAGGED}, [AUTH, AUTH, "resources/runbook.md"]),
    "curl glob": (GLOB, {"pattern": "**/*.md", "uri": "viking://resources", "tags": TAGGED, "include_tags": True}, [AUTH, "resources/runbook.md"]),
    "typescript glob": (GLOB, {"pattern": "**/*.md", "uri": "viking://resources/docs/", "tags": TAGGED}, [AUTH]),
    "go glob": (GLOB, {"pattern": "**/*.md", "uri": "viking://resources", "node_limit": 1024, "tags": TAGGED}, [AUTH, "resources/runbook.md"]),
}  # fmt: skip


@pytest.mark.parametrize(("route", "body", "wanted"), MATCHES.values(), ids=MATCHES)
def test_bodies_of_grep_and_glob(wire: httpx2.Client, route: str, body: dict[str, Any], wanted: list[str]) -> None:
    answer = wire.post(f"/api/v1/search/{route}", json=body)
    assert answer.status_code == 200, answer.text
    result = answer.json()["result"]
    assert [match["uri"].removeprefix("viking://") for match in result["matches"]] == wanted
    assert result["count"] == len(wanted)
    assert all(match["tags"] == sorted(TAGGED) for match in result["matches"])
    if "before_context" in body:
        second = result["matches"][1]
        assert (second["line"], second["before_context"]) == (5, [{"line": 4, "content": ""}])
        assert second["after_context"] == [{"line": 6, "content": "Configure an API key first."}]


def test_reading_on(wire: httpx2.Client) -> None:
    """From hits to overviews and files, as the last section has it."""
    for path in ("overview?uri=viking://resources/docs/auth", "read?uri=viking://resources/docs/auth.md"):
        answer = wire.get(f"/api/v1/content/{path}")
        assert answer.status_code == 200
        assert "OAuth" in answer.json()["result"]


# --- Python ----------------------------------------------------------------------------------------------------------


def test_python_find(client: sdk.SyncHTTPClient, url: str, tmp_path: Path) -> None:
    client.initialize()
    assert OAUTH in found(client.find(query="how to authenticate users"))
    recent = client.find(
        query="invoice", target_uri="viking://resources/email", options={"since": "7d", "time_field": "created_at"}
    )
    assert "resources/email/may.md" in found(recent)
    typed = client.find(query="authentication", options={"context_type": ["memory", "resource"]})
    assert AUTH in found(typed)
    tagged = client.find(query="rollback runbook", options={"tags": ["env=prod", "team=search"]})
    assert found(tagged)[0] == "resources/runbook.md"
    wanted = {
        ("authentication", "viking://resources"): AUTH,
        ("preferences", "viking://~/memories"): "user/default/memories/preferences/style.md",
        ("private docs", "viking://~/resources"): "user/default/resources/private.md",
        ("web search", "viking://~/skills"): "user/default/skills/web-search/SKILL.md",
        ("API endpoints", "viking://resources/my-project"): "resources/my-project/api.md",
        ("error handling", "viking://resources/my-project"): "resources/my-project/api.md",
        ("OAuth authentication", "viking://resources/"): OAUTH,
        ("OAuth 认证", "viking://resources/"): OAUTH,
    }
    for (query, target), path in wanted.items():
        assert path in found(client.find(query=query, target_uri=target)), query
    assert OAUTH in found(client.find(query="OAuth 2.0 authorization code flow implementation"))
    assert client.find(query="auth")["total"] >= 0
    with sdk.SyncHTTPClient(url=url, api_key="your-key", actor_peer_id="web-visitor-alice") as peer:
        assert "user/default/peers/web-visitor-alice/memories/mail.md" in found(peer.find(query="invoice follow-up"))
    photo = tmp_path / "photo.png"
    photo.write_bytes(PNG)
    with pytest.raises(errors.InvalidArgumentError, match="no images"):
        client.find(query="", image=str(photo))
    with pytest.raises(errors.InvalidArgumentError, match="no images"):
        client.search(query="similar poster", image=str(photo))


def test_python_search(client: sdk.SyncHTTPClient) -> None:
    made = client.create_session()
    session = client.session(session_id=made["session_id"])
    session.add_message(role="user", parts=[sdk.TextPart(text="I'm building a login page with OAuth")])
    session.add_message(role="assistant", parts=[sdk.TextPart(text="I can help you with OAuth implementation.")])
    asked = client.search(
        query="best practices", session_id=session.session_id, options={"context_type": "resource", "since": "2h"}
    )
    assert "resources/docs/best.md" in found(asked)
    client.add_message(session_id=made["session_id"], role="user", content="We are designing the OAuth login flow.")
    for query in ("Help me create an RFC document", "帮我创建一个 RFC 文档", "best practices"):
        assert client.search(query=query, session_id=made["session_id"])["total"] >= 0
    assert OAUTH in found(client.search(query="how to implement OAuth 2.0 authorization code flow"))


def test_python_grep_glob_and_reading(client: sdk.SyncHTTPClient) -> None:
    lines = client.grep(
        uri="viking://resources", pattern="authentication", case_insensitive=True, node_limit=1024, tags=TAGGED
    )
    assert lines["count"] == 3
    assert {"uri", "line", "content"} <= set(lines["matches"][0])
    files = client.glob(pattern="**/*.md", uri="viking://resources")
    assert files["count"] == 9
    assert f"viking://{AUTH}" in files["matches"]
    tagged = client.glob(pattern="**/*.md", uri="viking://resources", tags=TAGGED)
    assert [entry["tags"] for entry in tagged["matches"]] == [sorted(TAGGED)] * 2
    for hit in client.find(query="authentication", limit=20)["resources"]:
        if hit["level"] < 2:
            assert client.overview(uri=hit["uri"].rsplit("/", 1)[0])
            assert client.overview(hit["uri"])
        else:
            assert client.read(uri=hit["uri"])
        assert client.abstract(hit["uri"])


def test_python_older_embedded_calls(tmp_path: Path) -> None:
    """Calls of the client in one's own process that older documents show."""
    with OpenViking(path=tmp_path / "data", embedder="none", workers=0) as client:
        client.write("viking://resources/docs/auth/oauth.md", "# OAuth\n\nauthentication by OAuth\n", "create")
        client.wait_processed()
        results = client.find("authentication")
        assert results.total == len(results.resources) > 0
        for hit in results.resources:
            assert (0 < hit.score < 1, hit.context_type) == (True, "resource")
            if hit.level == 0:
                assert client.overview(hit.uri.rstrip(".abstract.md") + "/")  # noqa: B005 - as the document has it
            elif hit.level == 2:
                assert client.read(hit.uri)[:500]
            assert hit.is_leaf is (hit.level == 2)
            assert list(hit.relations) == []
        assert client.find("OAuth authentication", target_uri="viking://resources/").resources
        assert client.find("OAuth 2.0 implementation", score_threshold=0.7, limit=5).total >= 0
        assert client.search("Help me implement OAuth").resources
        for target in ("viking://user/memories/", "viking://skills/"):
            with pytest.raises(InvalidURIError, match="viking://~/"):
                client.find("preferences", target_uri=target)


# --- the command line ------------------------------------------------------------------------------------------------

LINES: dict[str, str | tuple[int, str]] = {
    "find|how to authenticate users": OAUTH,
    "find|how to authenticate users|--uri|viking://resources": OAUTH,
    "find|authentication|--context-type|memory,resource": AUTH,
    "find|invoice|--after|7d": "resources/email/may.md",
    "find|how to authenticate users|--limit|20": OAUTH,
    "find|how to authenticate users|--level|0": ".abstract.md",
    "find|how to authenticate users|-L|1,2": OAUTH,
    "find|--image|./query.png|--uri|viking://resources/images|--limit|5": NO_IMAGES,
    "find|--image|viking://resources/images/cat.png|--uri|viking://resources/images|--limit|5": NO_IMAGES,
    "find|--image|https://example.com/images/cat.png|--uri|viking://resources/images|--limit|5": NO_IMAGES,
    "find|red poster style|--image|./poster.png|--uri|viking://resources/images": NO_IMAGES,
    "search|best practices|--session-id|abc123": "resources/docs/best.md",
    "search|best practices|--context-type|skill": "user/default/skills/web-search/SKILL.md",
    "search|watch vs scheduled|--after|2026-03-15|--before|2096-03-20": "resources/docs/best.md",
    "search|recent decisions|--context-type|memory|--level|2|--events-time-decay-protection|1d": "user/default/memories/events/decided.md",
    "search|how to implement OAuth 2.0 authorization code flow": OAUTH,
    "search|SearchByKeywords|--search-type|keywords|--uri|viking://resources/docs": "resources/docs/hnsw.md",
    "search|best practices|--level|0": ".abstract.md",
    "search|how to implement OAuth|-L|1,2": OAUTH,
    "search|similar poster|--image|./poster.png|--uri|viking://resources/images": NO_IMAGES,
    "grep|authentication|--uri|viking://resources": AUTH,
    "grep|authentication|--uri|viking://resources|--ignore-case": AUTH,
    f"grep|{MARK}|--uri|viking://resources|--level-limit|3": "resources/docs/guide.py",
    "grep|authentication|--uri|viking://resources|-b|2|-a|2": AUTH,
    "grep|authentication|--uri|viking://resources|--tags|team=search,env=prod": AUTH,
    f"grep|{MARK}|--uri|viking://resources|--fields|tags": "resources/docs/guide.py",
    "glob|**/*.md|--uri|viking://resources": AUTH,
    "glob|**/*.py": "resources/docs/guide.py",
    "glob|**/*.md|--tags|team=search,env=prod": AUTH,
    "glob|**/*.md|-f|tags": AUTH,
    "glob|**/*.py|-f|name,size,mtime,mode": "guide.py",
    "glob|**/*.py|--simple|-f|name,size": "guide.py",
}  # fmt: skip


@pytest.fixture
def ov(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    for name in ("query.png", "poster.png"):
        (tmp_path / name).write_bytes(PNG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENVIKING_URL", url)
    monkeypatch.setenv("OPENVIKING_CLI_CONFIG_FILE", str(tmp_path / "ovcli.conf"))

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(arguments)
        told = capsys.readouterr()
        return status, told.out, told.err

    return run


@pytest.mark.parametrize(("line", "wanted"), LINES.items(), ids=LINES)
def test_lines_of_the_command_line(
    ov: Callable[..., tuple[int, str, str]], line: str, wanted: str | tuple[int, str]
) -> None:
    status, out, err = ov(*line.split("|"))
    if isinstance(wanted, tuple):
        assert status != 0
        assert wanted[1] in err
        return
    assert status == 0, err
    assert wanted in out


# --- what differs ----------------------------------------------------------------------------------------------------

DIFFERS = {
    "images": "`image_url`",
    "viking://user/memories/ and viking://skills/": "`viking://user/memories`",
    "search(session_info=…) of the embedded client": "session_info",
    "`time` beside an answer": "`time`",
    "relations on hits": "`relations`",
    "keywords on a local engine": "`search_type`",
}


def test_each_difference_has_its_reason() -> None:
    page = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("|")]
    for what, spelled in DIFFERS.items():
        assert any(spelled in row for row in rows), what

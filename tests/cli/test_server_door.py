"""``ov`` on a server: the same results as on a directory, and what only a server has."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ROOT = "viking://resources/notes"
CHANGING = re.compile(
    r"\d{4}-\d\d-\d\d[T ][0-9:.]+Z|\b[0-9a-f]{32}\b|in \d+\.\d\d s|\d{8}-\d{6}-[0-9a-f]{16}|msg_[0-9a-f]+|"
    r'(?<="score":)[0-9.e-]+|(?<=  )0\.\d{3}(?=\n)'
)

pytestmark = pytest.mark.cpu_budget(20)

COMMANDS = [
    ["mkdir", ROOT, "--description", "Birds and more"],
    ["mkdir", ROOT],
    ["write", f"{ROOT}/a.md", "--content", "# Penguins\n\nThey eat krill.\n", "--mode", "create", "--wait"],
    ["write", f"{ROOT}/a.md", "--content", "x", "--mode", "create"],
    ["write", f"{ROOT}/none.md", "--content", "x"],
    ["write", f"{ROOT}/b.txt", "--from-file", "guide.md", "--mode", "create", "--wait"],
    ["write", f"{ROOT}/a.md", "--content", "And fish.\n", "--append", "--wait"],
    ["ls", ROOT],
    ["ls", ROOT, "-s"],
    ["ls", ROOT, "-n", "1", "--offset", "1"],
    ["ls", f"{ROOT}/none"],
    ["ls", "resources"],
    ["tree", "viking://resources"],
    ["stat", f"{ROOT}/a.md"],
    ["read", f"{ROOT}/a.md"],
    ["read", f"{ROOT}/a.md#L3-L3"],
    ["read", ROOT],
    ["read", f"{ROOT}/none.md"],
    ["abstract", ROOT],
    ["overview", ROOT],
    ["set-tags", f"{ROOT}/a.md", "--tags", "kind=bird,odd"],
    ["attrs", "get", f"{ROOT}/a.md"],
    ["attrs", "get", f"{ROOT}/a.md", "tags"],
    ["attrs", "get", f"{ROOT}/a.md", "none"],
    ["find", "what do penguins eat", "-u", ROOT],
    ["find", "krill", "--tags", "kind=bird", "-L", "2", "--read-content"],
    ["find", "krill", "-u", ROOT, "-L", "2", "--explain"],
    ["find", "nothingofthekind", "-t", "0.99"],
    ["search", "krill", "-u", ROOT, "--search-type", "keywords"],
    ["grep", "KRILL", "-i", "-u", ROOT, "-b", "1", "-a", "1"],
    ["grep", ".", "-u", ROOT, "-n", "1"],
    ["grep", "krill", "-u", ROOT, "-f", "tags"],
    ["grep", "(", "-u", ROOT],
    ["glob", "**/*.md", "-u", ROOT],
    ["glob", "*", "-u", ROOT, "-f", "name,size", "-s"],
    ["mv", f"{ROOT}/b.txt", f"{ROOT}/c.txt"],
    ["mv", f"{ROOT}/none", f"{ROOT}/d"],
    ["rm", ROOT],
    ["rm", f"{ROOT}/none"],
    ["session", "new", "--session-id", "talk"],
    ["session", "new", "--session-id", "talk"],
    ["session", "add-message", "talk", "--role", "user", "--content", "hello"],
    ["session", "add-messages", "talk", '[{"role": "assistant", "content": "yes"}]'],
    ["session", "config", "set", "talk", "--event-tags", "a=b"],
    ["session", "get-session-context", "talk"],
    ["session", "list"],
    ["session", "get", "none"],
    ["session", "used", "talk", "-u", f"{ROOT}/a.md"],
    ["session", "tool-results", "talk"],
    ["session", "tool-results", "talk", "none"],
    ["session", "rollback", "talk", "archive_001"],
    ["session", "redact", "talk", "none", "-y"],
    ["session", "extract", "talk"],
    ["session", "archives", "talk"],
    ["search", "what do penguins eat", "--mode", "context", "--max-tokens", "200", "--tags", "kind=bird"],
    ["search", "nothingofthekind", "--mode", "context"],
    ["search", "krill", "--mode", "context", "--quotas", "odd=1"],
    ["link", ROOT, "viking://resources", "--reason", "all of it"],
    ["relations", ROOT],
    ["unlink", ROOT, "viking://resources"],
    ["relations", f"{ROOT}/none"],
    ["session", "delete", "talk"],
    ["skills", "validate", "skill"],
    ["skills", "add", "skill", "--wait"],
    ["skills", "list"],
    ["skills", "find", "greets"],
    ["skills", "show", "skill", "-L", "2", "-f"],
    ["skills", "show", "none"],
    ["skills", "update", "-y"],
    ["skills", "remove", "skill", "-y"],
    ["task", "cancel", "none"],
    ["task", "watch", "show", "none"],
    ["rm", ROOT, "-r"],
]
"""Commands whose every output is the same by either door."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with files to send."""
    place = tmp_path / "here"
    (place / "skill").mkdir(parents=True)
    (place / "skill" / "SKILL.md").write_text(
        "---\nname: skill\ndescription: Greets people politely\n---\n\n# Greet\nsay hello\n"
    )
    (place / "guide.md").write_text("# Herons\n\nHerons stand in shallow water.\n")
    (place / "dir" / "sub").mkdir(parents=True)
    (place / "dir" / "x.md").write_text("# Xylophone\n")
    (place / "dir" / "sub" / "y.txt").write_text("yodel\n")
    (place / "dir" / "noise.log").write_text("noise\n")
    (place / "dir" / ".gitignore").write_text("*.log\n")
    monkeypatch.chdir(place)
    return place


@pytest.mark.parametrize("output", ["json", "table"])
def test_both_doors_say_the_same(
    remote: Callable[..., Any], here: Path, data: Path, running: Any, output: str, client_file: Path
) -> None:
    conf = data.parent / "ov.conf"
    conf.write_text(json.dumps({"embedding": {"dense": {"provider": "none"}}}))
    account = remote("-o", "json", "health").result["account_id"]
    local = ["--path", str(data), "--config", str(conf), "--account", account, "--user", "ann"]
    remote("mkdir", "viking://resources/first", *local)
    remote("mkdir", "viking://resources/first")
    assert here.exists()
    for command in COMMANDS:
        mine = remote(*command, *local, "-o", output)
        theirs = remote(*command, "-o", output)
        assert theirs.status == mine.status, (command, theirs, mine)
        assert plain(theirs.out) == plain(mine.out), command
        # What an error suggests names the directory.
        assert plain(theirs.err).splitlines()[:1] == plain(mine.err).splitlines()[:1], command
    assert running.ROOT_KEY in client_file.read_text()


def plain(text: str) -> str:
    """An output without what is never the same."""
    if text.startswith("{"):
        text = json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
    return CHANGING.sub("…", text)


def test_a_file_and_a_folder_are_sent_and_awaited(remote: Callable[..., Any], here: Path) -> None:
    assert here.exists()
    sent = remote(
        "-o", "json", "add-resource", "guide.md", "--to", f"{ROOT}/guide", "--wait", "--tag", "kind=bird"
    ).result
    assert (sent["status"], sent["root_uri"], sent["meta"]["created"]) == ("success", f"{ROOT}/guide", 1)
    again = remote("add-resource", "guide.md", "--to", f"{ROOT}/guide", "--wait")
    assert (again.status, again.err) == (0, f"updating the earlier import at {ROOT}/guide\n")
    assert again.out.startswith(f"{ROOT}/guide\n  created 0  updated 0  unchanged 1  removed 0  skipped 0  failed 0  ")
    watched = remote("add-resource", "dir", "-p", f"{ROOT}/more", "--wait", "--progress", "--exclude", "x.*")
    assert watched.status == 0, watched
    assert watched.out.startswith(f"{ROOT}/more/dir\n  created 1 ")
    assert watched.err.splitlines()[0].startswith("uploading (KiB)")
    assert watched.err.splitlines()[-1] == "vectors"
    listed = remote("glob", "**/*", "-u", f"{ROOT}/more").out.splitlines()
    assert listed == [f"{ROOT}/more/dir/", f"{ROOT}/more/dir/sub/", f"{ROOT}/more/dir/sub/y.txt"]
    assert remote("attrs", "get", f"{ROOT}/guide/guide.md", "tags").out == "kind=bird\n"


def test_without_wait_a_task_is_named_and_can_be_followed(remote: Callable[..., Any], here: Path) -> None:
    assert here.exists()
    gave = remote("add-resource", "dir")
    task_id = re.search(r"^task_id +(\w+)$", gave.out, re.MULTILINE)
    assert task_id
    assert re.search(r"^status +accepted, not done yet$", gave.out, re.MULTILINE)
    assert gave.err == f"a task takes it in; whether it could, and how far it is: ov task status {task_id[1]}\n"
    assert remote("-o", "json", "add-resource", "dir", "--to", f"{ROOT}/wire").result["status"] == "success"
    assert remote("wait").status == 0
    told = remote("-o", "json", "task", "status", task_id[1]).result
    assert (told["status"], told["result"]["created"]) == ("completed", 2)
    assert task_id[1] in remote("task", "list", "--task-type", "add_resource").out
    assert remote("-o", "json", "task", "cancel", task_id[1]).error["code"] == "FAILED_PRECONDITION"
    assert remote("-o", "json", "task", "status", "none").error["code"] == "NOT_FOUND"


def test_lists_of_the_file_hold_for_every_upload(remote: Callable[..., Any], here: Path, client_file: Path) -> None:
    assert here.exists()
    conf = json.loads(client_file.read_text())
    client_file.write_text(json.dumps({**conf, "upload": {"exclude": "x.*"}}))
    assert remote("-o", "json", "add-resource", "dir", "--wait").result["meta"]["created"] == 1
    assert (
        remote("-o", "json", "add-resource", "dir", "--wait", "--ignore-dirs", "sub").error["code"]
        == "INVALID_ARGUMENT"
    )


def test_what_fails_on_the_way_is_told(remote: Callable[..., Any], here: Path) -> None:
    for progress in ([], ["--progress"]):
        missing = remote("-o", "json", "add-resource", "none.md", "--wait", *progress)
        assert (missing.status, missing.error["code"]) == (1, "NOT_FOUND")
        parent = remote("-o", "json", "add-resource", "guide.md", "--parent", f"{ROOT}/none", "--wait")
        assert (parent.status, parent.error["code"]) == (1, "NOT_FOUND")
    (here / "broken.zip").write_bytes(b"PK\x03\x04 no archive")
    codes = set()
    for progress in ([], ["--progress"]):
        broken = remote("add-resource", "broken.zip", "--wait", *progress)
        assert broken.status == 1
        codes.add(broken.err.splitlines()[-1])
    assert len(codes) == 1, "what a task met and what an answer says must be one error"


def test_get_streams_and_never_overwrites(remote: Callable[..., Any], here: Path) -> None:
    (here / "binary.bin").write_bytes(bytes(range(256)) * 100)
    remote("add-resource", "binary.bin", "--to", f"{ROOT}/bin", "--wait")
    saved = remote("-o", "json", "get", f"{ROOT}/bin/binary.bin", "copy.bin").result
    assert (saved["bytes"], (here / "copy.bin").read_bytes()) == (25_600, (here / "binary.bin").read_bytes())
    assert remote("get", f"{ROOT}/bin/binary.bin", "copy.bin").status == 2
    assert remote("-o", "json", "get", f"{ROOT}/none", "new.bin").error["code"] == "NOT_FOUND"
    assert remote("get", f"{ROOT}/bin/binary.bin", "no/such/place.bin").status == 2
    assert sorted(one.name for one in here.iterdir()) == ["binary.bin", "copy.bin", "dir", "guide.md", "skill"]


def test_what_a_server_tells_of_itself(remote: Callable[..., Any], running: Any) -> None:
    assert remote("-o", "json", "health").result["status"] == "ok"
    assert remote("-o", "json", "system", "health").result["status"] == "ok"
    assert remote("-o", "json", "system", "status").result["user"] == "ann"
    assert remote("-o", "json", "system", "consistency", "viking://resources").result["ok"] is True
    assert remote("-o", "json", "status").result["components"]["queue"]["is_healthy"] is True
    assert remote("status").out.startswith(f"{running.url}  healthy\nqueue  ok\n  Queue ")
    assert remote("observer", "vikingdb").out.startswith("vikingdb  ok\n  Collection ")
    assert remote("observer", "fs").out == remote("observer", "filesystem").out
    assert "Semantic.processed" in remote("system", "wait", "--timeout", "30").out
    assert remote("-o", "json", "reindex", "viking://resources", "--wait", "true").result["status"] == "completed"


def test_the_root_key_is_used_only_where_it_may_be(remote: Callable[..., Any], running: Any, client_file: Path) -> None:
    made = remote("-o", "json", "admin", "create-account", "acme", "--admin", "bob", "--sudo").result
    assert made["user_key"]
    user = remote("admin", "register-user", "acme", "dan", "--sudo")
    key = re.search(r"^user_key +(\S+)$", user.out, re.MULTILINE)
    assert key
    users = remote("admin", "list-users", "acme", "--sudo")
    assert "dan" in users.out
    assert key[1] not in users.out, "a table masks keys"
    assert remote("admin", "set-role", "acme", "dan", "admin", "--sudo").status == 0
    assert remote("-o", "json", "admin", "list-accounts").error["code"] == "PERMISSION_DENIED"
    assert "acme" in remote("admin", "list-accounts", "--sudo").out
    assert remote("admin", "regenerate-key", "acme", "dan", "--sudo").status == 0
    assert remote("admin", "remove-user", "acme", "dan", "--sudo").status == 0
    assert remote("admin", "delete-account", "acme", "--sudo").status == 0
    client_file.write_text(json.dumps({"url": running.url}))
    none = remote("-o", "json", "admin", "list-accounts", "--sudo")
    assert (none.status, none.error["code"]) == (2, "FAILED_PRECONDITION")


@pytest.mark.parametrize(
    "command",
    [
        ["export", ROOT, "x.ovpack", "--include-vectors"],
        ["snapshot", "commit", "-m", "m"],
        ["privacy", "list", "skill"],
        ["acl", "get", ROOT],
        ["compile"],
        ["chat"],
        ["tui"],
        ["admin", "create-group", "a", "g"],
    ],
)
def test_what_this_version_does_not_have_says_so_in_one_line(remote: Callable[..., Any], command: list[str]) -> None:
    gave = remote(*command)
    assert (gave.status, gave.out) == (1, "")
    assert "not part of this version" in gave.err
    assert gave.err.count("\n") == 1


def test_memories_are_said_in_three_ways(remote: Callable[..., Any]) -> None:
    for told in (
        "The owner is Alice",
        '{"role": "user", "content": "x"}',
        '[{"role": "user", "content": "x"}]',
        '{"a": 1}',
    ):
        assert remote("-o", "json", "add-memory", told).result == "OK"
    assert len(remote("-o", "json", "session", "list").result) == 4


@pytest.mark.parametrize("key", ["wrong", "wröng"])
def test_a_wrong_key(call: Callable[..., Any], running: Any, key: str) -> None:
    gave = call("--url", running.url, "--api-key", key, "-o", "json", "ls")
    assert gave.error["code"] == ("UNAUTHENTICATED" if key.isascii() else "FAILED_PRECONDITION")
    assert gave.status == (1 if key.isascii() else 2)
    assert key not in gave.err


def test_a_server_that_does_not_answer(call: Callable[..., Any]) -> None:
    gave = call("--url", "http://127.0.0.1:9", "-o", "json", "ls")
    assert (gave.status, gave.error["code"]) == (1, "UNAVAILABLE")
    assert "http://127.0.0.1:9" in call("--url", "http://127.0.0.1:9", "ls").err


class _Other(BaseHTTPRequestHandler):
    asked: list[str]

    def do_GET(self) -> None:
        type(self).asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>Hello</html>")

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: Any) -> None:
        """Nothing: the test's output is for failures."""


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Another program at the default address, and what it was asked."""
    _Other.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Other)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setattr("openviking_sdk.settings.DEFAULT_URL", f"http://127.0.0.1:{server.server_port}")
    yield _Other.asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_nothing_is_sent_to_another_program_at_the_default_address(
    call: Callable[..., Any], other: list[str], here: Path
) -> None:
    gave = call("-o", "json", "add-resource", str(here / "guide.md"))
    assert (gave.status, gave.error["code"]) == (1, "UNAVAILABLE")
    assert other == ["/health"]


def test_with_nothing_configured_one_line_says_what_to_do(
    call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, running: Any
) -> None:
    monkeypatch.setattr("openviking_sdk.settings.DEFAULT_URL", "http://127.0.0.1:9")
    gave = call("ls")
    assert (gave.status, gave.out) == (1, "")
    assert gave.err == (
        "error: No OpenViking server answers at http://127.0.0.1:9: start openviking-server, name one with --url, or a "
        "data directory of this machine with --path DIR\n"
    )
    monkeypatch.setattr("openviking_sdk.settings.DEFAULT_URL", running.url)
    assert call("-o", "json", "health").result["status"] == "ok"


def test_what_goes_before_what(
    call: Callable[..., Any], running: Any, client_file: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client_file.parent.mkdir(exist_ok=True)
    client_file.write_text(json.dumps({"url": "http://127.0.0.1:9", "output": "json"}))
    assert call("health").error["code"] == "UNAVAILABLE"
    monkeypatch.setenv("OPENVIKING_URL", running.url)
    assert call("health").result["status"] == "ok"  # the environment goes before the file
    assert call("health", "--url", "http://127.0.0.1:9").error["code"] == "UNAVAILABLE"
    monkeypatch.setenv("OPENVIKING_PATH", str(data))
    assert call("-o", "json", "health").error["code"] == "UNIMPLEMENTED"  # a directory before a server
    assert call("-o", "json", "health", "--url", running.url).result["status"] == "ok"  # what is typed before both
    monkeypatch.delenv("OPENVIKING_PATH")
    assert call("mkdir", "viking://resources/x", "--path", str(data)).out.startswith(
        "uri"
    )  # a directory has no ovcli.conf


def test_what_only_a_server_has_says_so(ov: Callable[..., Any]) -> None:
    ov("mkdir", "viking://resources/x")
    for command in (
        ["health"],
        ["observer", "queue"],
        ["admin", "list-accounts"],
    ):
        gave = ov("-o", "json", *command)
        assert (gave.status, gave.error["code"]) == (1, "UNIMPLEMENTED")
        assert "needs a server" in gave.error["message"]
    assert (
        "--processing-mode needs a server"
        in ov(
            "write",
            "viking://resources/x/a.md",
            "--content",
            "x",
            "--mode",
            "create",
            "--processing-mode",
            "vectors_only",
        ).err
    )

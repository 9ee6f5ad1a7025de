"""Repositories over http: which state is taken, what is left out, what is refused, and that unchanged ones cost one look."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import socket
import subprocess
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.fetch.conftest import Work
from tests.stubs.web import Asked, ToldResolver, WebServer, answer, redirect

from openviking import OpenViking
from openviking.config.settings import FetchSettings
from openviking.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OpenVikingError,
    ProcessingError,
    UnimplementedError,
)
from openviking.ingest.fetch import repository
from openviking.ingest.fetch.failures import FetchCancelled, FetchFailedError, FetchTimeoutError, RefusedAddressError
from openviking.ingest.fetch.fetcher import Fetcher
from openviking.ingest.fetch.git_process import Git, end
from openviking.ingest.fetch.origin import Origin, origin_of
from openviking.ingest.fetch.workspace import Workspace
from openviking.ingest.ignore import SkipRules
from openviking.model.imports import ImportOptions
from openviking.uri import MAX_DEPTH


def loose(tmp_path: Path) -> Path:
    conf = tmp_path / "ov.conf"
    conf.write_text('{"fetch": {"allow_private": true}, "embedding": {"dense": {"provider": "none"}}}')
    return conf


@pytest.fixture
def ov(tmp_path: Path) -> Iterator[OpenViking]:
    with OpenViking(tmp_path / "data", config=loose(tmp_path), workers=0) as door:
        yield door


def fetcher(tmp_path: Path, resolver: ToldResolver | None = None, **settings: object) -> Fetcher:
    told = {"allow_private": True, "max_retries": 0, **settings}
    return Fetcher(FetchSettings(**told), tmp_path / "place", resolver)  # type: ignore[arg-type]


def files(fetching: Fetcher, origin: Origin) -> dict[str, bytes]:
    with fetching.fetched(origin, {}, lambda: False, lambda _: None) as found:
        assert found.delivery
        scan = found.delivery.scan(SkipRules(ImportOptions()), lambda: False)
        return {name: found.delivery.read(name, 1_000_000) for name in scan.files}


@pytest.mark.cpu_budget(8)
@pytest.mark.parametrize("kind", ["smart", pytest.param("dumb", marks=pytest.mark.slow)])
def test_a_tree_is_kept_updated_and_looked_at_once_when_unchanged(
    ov: OpenViking, web: WebServer, repo: Work, kind: str
) -> None:
    (repo.tree / "link").symlink_to("/etc/passwd")
    repo.commit(
        {
            "README.md": "# Krill zorblax",
            "docs/a.md": "alpha",
            "node_modules/x.js": "x",
            ".gitignore": "*.log\n",
            "b.log": "l",
        }
    )
    url = web.url(f"/{kind}/repo.git")
    report = ov.add_resource(url)
    root = f"viking://resources/{kind}/repo"
    assert (report.root_uri, report.created) == (root, 2)
    assert {one.name for one in report.skipped} == {"link", "node_modules/", ".gitignore", "b.log"}
    assert ov.read(f"{root}/README.md") == "# Krill zorblax"
    asked = len(web.asked)
    assert ov.add_resource(url).unchanged == 2
    assert len(web.asked) - asked == (1 if kind == "smart" else 2), "the list of refs, and HEAD where that is a file"
    repo.commit({"README.md": "# Whales", "docs/a.md": None, "c.md": "gamma"})
    report = ov.add_resource(url)
    assert (report.created, report.updated, report.removed) == (1, 1, 1)
    assert list((Path(ov._accounts.path) / "fetch").iterdir()) == []


@pytest.mark.slow
def test_branches_tags_commits_and_directories(tmp_path: Path, web: WebServer, repo: Work) -> None:
    first = repo.commit({"a.md": "one"})
    repo.git("tag", "-a", "v1", "-m", "v1")
    repo.push("v1")
    repo.commit({"a.md": "two", "docs/deep/b.md": "b"}, "feature/x")
    repo.commit({"a.md": "three"})
    fetching, base = fetcher(tmp_path), web.url("/smart/repo.git")
    told: dict[str, str]
    for told, wanted in (
        ({}, {"a.md": b"three", "docs/deep/b.md": b"b"}),
        ({"branch": "feature/x"}, {"a.md": b"two", "docs/deep/b.md": b"b"}),
        ({"branch": "v1"}, {"a.md": b"one"}),
        ({"commit": first}, {"a.md": b"one"}),
    ):  # fmt: skip
        assert files(fetching, origin_of(base, told)) == wanted, told
    for tail, wanted in (
        ("feature/x/docs", {"deep/b.md": b"b"}), ("main", {"a.md": b"three", "docs/deep/b.md": b"b"}), (f"{first}", {"a.md": b"one"}),
    ):  # fmt: skip
        origin = origin_of(base)
        shown = Origin("repository", base, origin.address, "x", "repo", tail=tail)
        assert files(fetching, shown) == wanted, tail
    for told in ({"branch": "nope"}, {"commit": "0" * 39 + "1"}):
        with pytest.raises(InvalidArgumentError):
            files(fetching, origin_of(base, told))
    with pytest.raises(InvalidArgumentError, match="no directory nowhere"):
        files(fetching, Origin("repository", base, origin_of(base).address, "x", "repo", tail="main/nowhere"))
    assert files(fetching, origin_of(web.url("/dumb/repo.git"), {"commit": first})) == {"a.md": b"one"}


def test_what_is_no_repository(tmp_path: Path, web: WebServer, repo: Work) -> None:
    del repo
    web.pages |= {
        "/page.git/info/refs": answer(b"<html>hello</html>", content_type="text/html"),
        "/priv.git/info/refs": answer(status="401 No"),
    }
    for path, said in (
        ("/none.git", "there is none"),
        ("/page.git", "none at all"),
        ("/priv.git", "not public"),
        ("/smart/repo.git", "empty"),
    ):
        with pytest.raises(InvalidArgumentError, match=said) as caught:
            files(fetcher(tmp_path), origin_of(web.url(path)))
        assert caught.value.status == 400


def test_the_place_of_a_repository_is_checked_on_every_hop(tmp_path: Path, web: WebServer, repo: Work) -> None:
    repo.commit({"a.md": "a"})
    web.pages["/moved.git/info/refs"] = redirect("/smart/repo.git/info/refs?service=git-upload-pack")
    resolver = ToldResolver({"open.example": [["127.0.0.1"]], "turned.example": [["127.0.0.1"], ["127.0.0.9"]]})
    fetching = fetcher(tmp_path, resolver, allow_private=False, allowed_hosts=("127.0.0.1/32",))
    assert files(fetching, origin_of(web.url("/moved.git", "open.example"))) == {"a.md": b"a"}
    hosts = {one.headers["host"] for one in web.asked}
    assert hosts == {f"open.example:{web.port}"}, "git connects to the checked address under the same name"
    with pytest.raises(RefusedAddressError):
        files(fetching, origin_of(web.url("/smart/repo.git", "turned.example")))
    web.pages["/away.git/info/refs"] = redirect("http://169.254.169.254/repo.git/info/refs?service=git-upload-pack")
    with pytest.raises(RefusedAddressError):
        files(fetching, origin_of(web.url("/away.git", "open.example")))
    web.pages["/smart/repo.git/git-upload-pack"] = redirect("http://127.0.0.1:1/")
    with pytest.raises(FetchFailedError, match="git can't fetch"):
        files(fetching, origin_of(web.url("/smart/repo.git", "open.example")))


def test_alternates_of_another_host_are_not_followed(tmp_path: Path, web: WebServer, repo: Work) -> None:
    repo.commit({"a.md": "a"})
    with WebServer() as other:
        web.pages["/dumb/repo.git/objects/info/http-alternates"] = answer(other.url("/objects").encode() + b"\n")
        for path in (repo.bare / "objects").glob("??/*"):
            path.unlink()
        with pytest.raises(FetchFailedError):
            files(fetcher(tmp_path), origin_of(web.url("/dumb/repo.git")))
        assert other.asked == []


def test_names_of_branches_are_those_of_git_and_the_default_is_the_servers(tmp_path: Path, web: WebServer) -> None:
    line = b"%s\trefs/heads/%s\n"
    odd = (b"a:b", b"a..b", b"a b", b"a*", b"a^", b"a.lock", b"a@{1}", b"/a", b"a/", b"x" * 300, b"a\x01")
    web.pages["/odd.git/info/refs"] = answer(b"".join(line % (b"a" * 40, name) for name in odd))
    with pytest.raises(InvalidArgumentError, match="an empty repository, or none"):
        fetcher(tmp_path).look(origin_of(web.url("/odd.git")), lambda: False)
    web.pages["/two.git/info/refs"] = answer(line % (b"a" * 40, b"aaa") + line % (b"b" * 40, b"trunk"))
    for head, name in ((b"ref: refs/heads/trunk\n", "trunk"), (b"ref: refs/heads/gone", "aaa"), (b"b" * 40, "aaa")):
        web.pages["/two.git/HEAD"] = answer(head)
        assert fetcher(tmp_path).look(origin_of(web.url("/two.git")), lambda: False).name == f"refs/heads/{name}"


def test_a_repository_that_is_too_large(tmp_path: Path, web: WebServer, repo: Work) -> None:
    repo.commit({"a.md": os.urandom(100_000).hex()})
    with pytest.raises(FetchFailedError, match=r"more than 60,000 bytes"):
        files(fetcher(tmp_path, max_repository_bytes=60_000), origin_of(web.url("/smart/repo.git")))
    assert list((tmp_path / "place" / "fetch").iterdir()) == []


@pytest.mark.slow
def test_limits_of_a_repository(tmp_path: Path, web: WebServer, repo: Work) -> None:
    repo.commit({"a.md": os.urandom(400_000).hex()})
    origin = origin_of(web.url("/smart/repo.git"))

    def slow(connected: socket.socket, asked: Asked) -> None:
        del connected, asked
        web.over.wait()

    web.pages["/smart/repo.git/git-upload-pack"] = slow
    with pytest.raises(FetchTimeoutError):
        files(fetcher(tmp_path, git_timeout=0.3), origin)
    told: list[int] = []
    with (
        pytest.raises(FetchCancelled),
        fetcher(tmp_path).fetched(origin, {}, lambda: bool(told), told.append),
    ):
        pytest.fail("it was cancelled")

    def endless(connected: socket.socket, asked: Asked) -> None:
        del asked
        connected.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-result\r\n\r\n0008NAK\n")
        connected.sendall(b"PACK\0\0\0\2\0\0\0\xff")
        while not web.over.is_set():
            connected.sendall(b"\xbf\xff\xff\x7f" + os.urandom(60_000))

    web.pages["/smart/repo.git/git-upload-pack"] = endless
    with pytest.raises(FetchFailedError):
        files(fetcher(tmp_path, max_repository_bytes=1_000_000, git_timeout=10.0), origin)
    assert list((tmp_path / "place" / "fetch").iterdir()) == []


def packed_commit(repo: Work, tree: bytes) -> None:
    """Serve a commit of a tree that git itself would not make."""

    def stored(kind: str, data: bytes) -> str:
        made = subprocess.run(
            ["git", "hash-object", "-w", "--literally", "-t", kind, "--stdin"], cwd=repo.bare, input=data,
            capture_output=True, check=True,
        )  # fmt: skip
        return made.stdout.decode().strip()

    about = b"A <a@example.org> 1 +0000\n"
    commit = stored(
        "commit", b"tree " + stored("tree", tree).encode() + b"\nauthor " + about + b"committer " + about + b"\nx\n"
    )
    subprocess.run(["git", "update-ref", "refs/heads/main", commit], cwd=repo.bare, check=True)


def test_hostile_names_in_a_tree(tmp_path: Path, web: WebServer, repo: Work) -> None:
    repo.commit({"a.md": "a"})
    blob = bytes.fromhex(repo.git("rev-parse", "HEAD:a.md"))
    names = (
        b"../up.md",
        b"/etc/passwd",
        b"..",
        b".",
        b".git/config",
        b"a//b",
        b"a.md",
        b"A.md",
        b"a\nb.md",
        b"\xff.md",
        b"-x.md",
        b"/".join([b"d"] * MAX_DEPTH) + b"/x.md",
    )
    packed_commit(
        repo,
        b"".join(b"100644 " + name + b"\0" + blob for name in names) + b"120000 l.md\0" + blob + b"160000 sub\0" + blob,
    )
    taken = files(fetcher(tmp_path), origin_of(web.url("/smart/repo.git")))
    assert sorted(taken) == ["-x.md", "A.md", "a\nb.md", "a.md", "\udcff.md"]
    with OpenViking(tmp_path / "data", config=loose(tmp_path), workers=0) as ov:
        report = ov.add_resource(web.url("/smart/repo.git"), strict=False)
        assert report.created == 5
        assert len({one["uri"] for one in ov.ls(report.root_uri)}) == 5


def test_a_tree_that_is_in_itself_many_times_over(
    tmp_path: Path, web: WebServer, repo: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "MAX_FILES", 5_000)
    repo.commit({f"d/{number}": "x" for number in range(10)})
    for level in range(3):
        inner = bytes.fromhex(repo.git("rev-parse", "HEAD:d"))
        tree = b"".join(b"40000 %d\0" % number + inner for number in range(10))
        made = subprocess.run(
            ["git", "hash-object", "-w", "-t", "tree", "--stdin"],
            cwd=repo.tree,
            input=tree,
            capture_output=True,
            check=True,
        )
        repo.git("read-tree", "--empty")
        repo.git("read-tree", "--prefix=d/", made.stdout.decode().strip())
        repo.git("commit", "--quiet", "-m", f"{level}")
    repo.push("HEAD:refs/heads/main")
    with pytest.raises(ProcessingError, match=r"more than 5,000 files"):
        files(fetcher(tmp_path), origin_of(web.url("/smart/repo.git")))
    monkeypatch.setattr(repository, "MAX_LIST_BYTES", 10_000)
    with pytest.raises(FetchFailedError, match=r"list of files of more than 10,000"):
        files(fetcher(tmp_path), origin_of(web.url("/smart/repo.git")))


def test_git_holds_the_lock_and_takes_no_gigabyte_for_a_packed_kilobyte(tmp_path: Path) -> None:
    with Workspace(tmp_path) as space:
        git = Git(
            space,
            deadline=time.monotonic() + 60,
            limit=60,
            max_bytes=1_000_000,
            cancelled=lambda: False,
            progress=print,
        )
        git.run(["init", "--quiet", "--bare", "repository"], shown="x")
        place = space.path / "repository" / "objects" / "ab"
        place.mkdir()
        reader = git.pipe(["--git-dir=repository", "cat-file", "--batch"])
        held = []
        try:
            for one in sorted(Path(f"/proc/{reader.pid}/fd").iterdir()):
                # Git opens and closes files of its own meanwhile.
                with contextlib.suppress(OSError):
                    held.append(one.readlink().name)
        finally:
            end(reader)
        assert f"{space.path.name}.lock" in held, "what git writes is not swept away under it"
        (place / ("c" * 38)).write_bytes(zlib.compress(b"tree 900000000\0" + bytes(100)))
        with pytest.raises(FetchFailedError, match="over limit"):
            git.run(["--git-dir=repository", "cat-file", "tree", "ab" + "c" * 38], shown="x")


def test_without_git_there_is_a_clear_error(
    tmp_path: Path, web: WebServer, repo: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit({"a.md": "a"})
    (tmp_path / "bin").mkdir()
    old = tmp_path / "bin" / "git"
    served = web.url("/dumb/repo.git")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(FailedPreconditionError, match="not installed"):
        files(fetcher(tmp_path), origin_of(served))
    old.write_text("#!/bin/sh\necho git version 2.30.1\n")
    old.chmod(0o700)
    with pytest.raises(FailedPreconditionError, match=r"2\.37 or later"):
        files(fetcher(tmp_path), origin_of(served))


def test_what_a_killed_process_left_is_cleared_away(tmp_path: Path) -> None:
    with Workspace(tmp_path) as held:
        left = tmp_path / "dead"
        left.mkdir()
        (left / "pack").write_text("x")
        (tmp_path / "dead.lock").write_text("")
        with Workspace(tmp_path) as other:
            assert held.path.is_dir()
            assert not left.exists()
            # A child of a killed process still writes: its lock is held through the descriptor that it inherited.
            child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(other.lock,))
    assert list(tmp_path.iterdir()) == []
    child.communicate()


def test_a_sweep_between_making_and_taking_a_lock_leaves_no_workspace_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, until: Callable[[Callable[[], object]], None]
) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda _: "fixed")
    lock = tmp_path / "fixed.lock"
    swept = os.open(lock, os.O_RDWR | os.O_CREAT)
    fcntl.flock(swept, fcntl.LOCK_EX)
    found: list[bool] = []

    def begin() -> None:
        with Workspace(tmp_path) as space:
            found.append(space.path.is_dir() and lock.exists())

    beginning = threading.Thread(target=begin)
    beginning.start()
    until(lambda: len([one for one in Path("/proc/self/fd").iterdir() if one.resolve() == lock]) == 2 or found)
    lock.unlink()
    os.close(swept)
    beginning.join()
    assert found == [True], "else nobody would find what a killed process leaves"


CODE = "https://github.com/org/repo"


@pytest.mark.parametrize(
    ("path", "kind", "address", "home", "tail"),
    [
        (CODE, "repository", CODE, "resources/org", ""),
        (CODE + "/", "repository", CODE, "resources/org", ""),
        (CODE + ".git", "repository", CODE + ".git", "resources/org", ""),
        (CODE + "?tab=readme", "repository", CODE, "resources/org", ""),
        (CODE + "/tree/main", "repository", CODE, "resources/org", "main"),
        (CODE + "/tree/feature/x/docs", "repository", CODE, "resources/org", "feature/x/docs"),
        (CODE + "/blob/main/a.md", "page", "https://raw.githubusercontent.com/org/repo/main/a.md", "resources", ""),
        (CODE + "/issues/3", "page", CODE + "/issues/3", "resources", ""),
        ("https://github.com/topics/python", "page", "https://github.com/topics/python", "resources", ""),
        ("https://github.com/org", "page", "https://github.com/org", "resources", ""),
        (
            "https://gitlab.com/a/b/c/-/tree/main/docs",
            "repository",
            "https://gitlab.com/a/b/c",
            "resources/b",
            "main/docs",
        ),
        ("https://gitlab.com/a/b/-/blob/main/x.py", "page", "https://gitlab.com/a/b/-/raw/main/x.py", "resources", ""),
        (
            "https://codeberg.org/a/b/src/branch/main/docs",
            "repository",
            "https://codeberg.org/a/b",
            "resources/a",
            "main/docs",
        ),
        ("git+https://git.example.org/x", "repository", "https://git.example.org/x", "resources", ""),
        ("git@github.com:org/repo.git", "repository", CODE + ".git", "resources/org", ""),
        ("git@github.com:org/repo", "repository", CODE + ".git", "resources/org", ""),
        ("ssh://git@github.com/org/repo.git", "repository", CODE + ".git", "resources/org", ""),
        ("git://github.com/org/repo.git", "repository", CODE + ".git", "resources/org", ""),
        ("https://example.org/a/b.git", "repository", "https://example.org/a/b.git", "resources/a", ""),
        ("https://example.org/a/b", "page", "https://example.org/a/b", "resources", ""),
    ],
)
def test_what_an_address_means(path: str, kind: str, address: str, home: str, tail: str) -> None:
    origin = origin_of(path)
    assert (origin.kind, str(origin.address), origin.home, origin.tail) == (kind, address, home, tail)
    assert bool(origin.warnings) == path.startswith(("git@", "ssh:", "git:"))
    assert "\n" not in origin.location


@pytest.mark.parametrize(
    ("path", "args", "error"),
    [
        ("ssh://git@host:2222/r.git", {}, InvalidArgumentError),
        ("ssh://user:token@host/r.git", {}, InvalidArgumentError),
        ("git://user:token@host/r.git", {}, InvalidArgumentError),
        ("ssh://user:token@host/a@b/r.git:", {}, InvalidArgumentError),
        (CODE + "/tree/main/a%00b", {}, InvalidArgumentError),
        (CODE + "/tree/main%0Aviking/other", {}, InvalidArgumentError),
        (CODE, {"branch": "a\ud800"}, InvalidArgumentError),
        ("git@host:-oProxyCommand=x", {}, OpenVikingError),
        ("https://user:token@github.com/org/repo", {}, InvalidArgumentError),
        (CODE, {"branch": "--upload-pack=x y"}, InvalidArgumentError),
        (CODE, {"branch": 5}, InvalidArgumentError),
        (CODE, {"commit": "abc"}, InvalidArgumentError),
        (CODE, {"auth_config": {"username": "u", "token": "t"}}, UnimplementedError),
        ("https://example.org/a", {"branch": "main"}, InvalidArgumentError),
    ],
)
def test_what_is_not_taken(path: str, args: dict[str, object], error: type[OpenVikingError]) -> None:
    if path.startswith("git@host:-o"):
        assert str(origin_of(path).address).startswith("https://host/"), "an option is but a path below https"
        return
    with pytest.raises(error) as caught:
        origin_of(path, args)
    assert "token@" not in caught.value.message

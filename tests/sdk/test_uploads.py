"""Files and folders of this machine: what is sent, as what, and that no memory holds it all."""

from __future__ import annotations

import asyncio
import io
import os
import tracemalloc
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from openviking_sdk import AsyncHTTPClient, errors
from openviking_sdk.call import Done, advance
from openviking_sdk.ignore import SendRules
from openviking_sdk.sources import packed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.sdk.conftest import Asked, Flavour, ScriptedServer

UPLOAD, RESOURCES, SKILLS = "/api/v1/resources/temp_upload", "/api/v1/resources", "/api/v1/skills"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with things that are not worth sending."""
    folder = tmp_path / "project"
    texts = {
        "readme.md": "# Read me\n", "empty.txt": "", "ünïcode 文档.md": "文\n", "src/app.py": "print()\n", "src/deep/er/x.txt": "x\n",
        "src/.gitignore": "*.tmp\n!keep.tmp\n/only-here.txt\n", "src/a.tmp": "no", "src/keep.tmp": "yes", "src/only-here.txt": "no",
        "src/deep/only-here.txt": "yes", ".gitignore": "# a comment\nlogs/\n*.log\n", "logs/today.txt": "no", "x.log": "no",
        ".env": "SECRET=1", ".hidden/x.md": "no", ".git/config": "no", "node_modules/m/index.js": "no", "build/out.md": "no",
        "docs/build/page.md": "no", "docs/guide.md": "yes", "photo.png": "\x89PNG",
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="")
    return folder


SENT = {
    "readme.md", "empty.txt", "ünïcode 文档.md", "src/app.py", "src/deep/er/x.txt", "src/keep.tmp", "src/deep/only-here.txt", "docs/guide.md",
    "photo.png",
}  # fmt: skip


def archived(asked: Asked) -> dict[str, bytes]:
    """The files of the archive that was sent."""
    name, content = asked.form["file"]
    assert name is not None
    assert name.endswith(".zip")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def sent(client: Any, server: ScriptedServer, path: Path, **options: Any) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of a folder that are sent, and the body of the request that follows."""
    server.gives({"temp_file_id": "upload_1.zip"})
    server.gives({"status": "success", "root_uri": "viking://resources/x"})
    assert client.add_resource(str(path), **options)["root_uri"] == "viking://resources/x"
    upload, add = server.take()
    assert (upload.method, upload.path, add.method, add.path) == ("POST", UPLOAD, "POST", RESOURCES)
    return archived(upload), add.json


def test_a_file_is_sent_as_it_is(client: Any, server: ScriptedServer, tmp_path: Path) -> None:
    file = tmp_path / "guide „neu“ 文.md"
    file.write_bytes(b"\x00\xff# Guide\r\n")
    server.gives({"temp_file_id": "upload_1.md"})
    server.gives({"status": "success"})
    client.add_resource(file, to="resources/guide", wait=True, options={"reason": "because"})
    upload, add = server.take()
    assert upload.form == {"file": (file.name, b"\x00\xff# Guide\r\n")}
    assert upload.headers["content-length"] == str(len(upload.body))
    assert add.json == {
        "temp_file_id": "upload_1.md", "source_name": file.name, "to": "viking://resources/guide", "wait": True, "reason": "because",
    }  # fmt: skip


def test_a_folder_is_sent_without_what_is_ignored(client: Any, server: ScriptedServer, folder: Path) -> None:
    files, body = sent(client, server, folder)
    assert set(files) == SENT
    assert files["ünïcode 文档.md"] == "文\n".encode()
    assert body == {"temp_file_id": "upload_1.zip", "source_name": "project"}


@pytest.mark.parametrize(
    ("options", "gone", "more"),
    [
        ({"ignore_dirs": "src"}, {name for name in SENT if name.startswith("src/")}, set[str]()),
        ({"ignore_dirs": ["deep", "docs"]}, {"src/deep/er/x.txt", "src/deep/only-here.txt", "docs/guide.md"}, set[str]()),
        ({"exclude": "*.md, src/deep/"},
         {name for name in SENT if name.endswith(".md")} | {"src/deep/er/x.txt", "src/deep/only-here.txt"}, set[str]()),
        ({"include": ["*.py", "x.*"]}, SENT - {"src/app.py", "src/deep/er/x.txt"}, set[str]()),
        ({"include": "build/"}, set[str](), {"build/out.md", "docs/build/page.md"}),
        ({"include": "docs/build/"}, set[str](), {"docs/build/page.md"}),
        ({"include": "[", "exclude": "["}, SENT, set[str]()),
    ],
    ids=["a directory", "directories", "exclude", "include", "a directory of a tool", "one of several", "no globs"],
)  # fmt: skip
def test_lists_say_what_is_sent(
    client: Any, server: ScriptedServer, folder: Path, options: dict[str, Any], gone: set[str], more: set[str]
) -> None:
    if gone == SENT:
        with pytest.raises(errors.InvalidArgumentError, match="no file to send"):
            client.add_resource(folder, **options)
        assert server.take() == []
        return
    files, body = sent(client, server, folder, **options)
    assert set(files) == (SENT - gone) | more
    for name, value in options.items():
        assert body[name].replace(" ", "").split(",") == (
            value if isinstance(value, list) else value.replace(" ", "").split(",")
        )


def test_lists_of_the_file_and_of_the_call_are_joined(
    make: Callable[..., Any],
    flavour: Flavour,
    server: ScriptedServer,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conf = tmp_path / "ovcli.conf"
    conf.write_text('{"upload": {"ignore_dirs": "docs", "exclude": "*.png", "mode": "shared"}}')
    monkeypatch.setenv("OPENVIKING_CLI_CONFIG_FILE", str(conf))
    client = make(flavour)
    server.gives({"temp_file_id": "shared_1"})
    client.add_resource(folder, ignore_dirs="src", exclude=["empty.txt"])
    upload, add = server.take()
    assert set(archived(upload)) == {"readme.md", "ünïcode 文档.md"}
    assert upload.form["upload_mode"] == (None, b"shared")
    assert (add.json["ignore_dirs"], add.json["exclude"]) == ("docs,src", "*.png,empty.txt")


def test_nothing_outside_of_a_folder_is_sent(client: Any, server: ScriptedServer, tmp_path: Path) -> None:
    folder, outside = tmp_path / "in", tmp_path / "out"
    for place in (folder, outside):
        place.mkdir()
        (place / "a.md").write_text(place.name)
    (folder / "file").symlink_to(outside / "a.md")
    (folder / "directory").symlink_to(outside)
    (folder / "round").symlink_to(folder)
    (folder / ".gitignore").symlink_to(outside / "a.md")
    os.mkfifo(folder / "pipe")
    assert sent(client, server, folder)[0] == {"a.md": b"in"}
    # What is named itself may be a link.
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert sent(client, server, link)[0] == {"a.md": b"in"}


@pytest.mark.parametrize("made", ["", ".hidden", "a.log/.gitignore"])
def test_a_folder_with_nothing_to_send_is_refused(
    client: Any, server: ScriptedServer, tmp_path: Path, made: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    if made:
        (folder / made).parent.mkdir(exist_ok=True)
        (folder / made).write_text("*")
    with pytest.raises(errors.InvalidArgumentError, match="no file to send"):
        client.add_resource(folder)
    assert server.take() == []


def test_what_is_no_file_is_refused_and_does_not_block(client: Any, server: ScriptedServer, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(errors.InvalidArgumentError, match="neither a file nor a folder"):
        client.add_resource(tmp_path / "pipe")
    assert server.take() == []


@pytest.mark.parametrize(
    "path", ["", "/no/such/file.md", "viking://resources/x", "x\ny", "a" * 5000, "~nobody-of-that-name/x", "nul\0"]
)
def test_what_is_not_here_is_for_the_server(client: Any, server: ScriptedServer, path: str) -> None:
    client.add_resource(path)
    (asked,) = server.take()
    assert asked.json == {"path": path}


def test_an_address_is_never_a_local_path(
    client: Any, server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "git@host:x").write_text("x")
    (tmp_path / "https:" / "x.org").mkdir(parents=True)
    for address in ("git@host:x", "https://x.org"):
        client.add_resource(address)
        assert server.take()[0].json == {"path": address}


def test_a_refused_upload_ends_the_call(client: Any, server: ScriptedServer, folder: Path) -> None:
    server.refuses(400, "INVALID_ARGUMENT", "too large")
    with pytest.raises(errors.InvalidArgumentError, match="too large"):
        client.add_resource(folder)
    assert len(server.take()) == 1


def test_an_upload_without_an_id_ends_the_call(client: Any, server: ScriptedServer, folder: Path) -> None:
    server.gives({"status": "success"})
    with pytest.raises(errors.InternalError, match="temp_file_id"):
        client.add_resource(folder / "readme.md")
    assert len(server.take()) == 1


def test_the_same_folder_is_the_same_archive(client: Any, server: ScriptedServer, folder: Path) -> None:
    archives = []
    for _ in range(2):
        server.gives({"temp_file_id": "u"})
        client.add_resource(folder)
        archives.append(server.take()[0].form["file"][1])
        os.utime(folder / "readme.md", (1, 1))
    assert archives[0] == archives[1]


def test_a_deep_folder_is_walked(client: Any, server: ScriptedServer, tmp_path: Path) -> None:
    deep = tmp_path / "top" / "/".join(["d"] * 400)
    deep.mkdir(parents=True)
    (deep / "x.md").write_text("x")
    assert set(sent(client, server, tmp_path / "top")[0]) == {"d/" * 400 + "x.md"}


@pytest.mark.cpu_budget(8)
def test_a_large_file_and_folder_pass_through_little_memory(
    make: Callable[..., Any], flavour: Flavour, tmp_path: Path
) -> None:
    """Not the scripted server, which keeps what it gets: one that counts, in a process that is not measured."""
    import subprocess
    import sys

    program = tmp_path / "counting.py"
    program.write_text(
        "import http.server, json\n"
        "class H(http.server.BaseHTTPRequestHandler):\n"
        "    protocol_version = 'HTTP/1.1'\n"
        "    def do_POST(self):\n"
        "        left = got = int(self.headers['Content-Length'])\n"
        "        while left: left -= len(self.rfile.read(min(left, 1 << 20)))\n"
        "        body = json.dumps({'status': 'ok', 'result': {'temp_file_id': 'x', 'got': got}}).encode()\n"
        "        self.send_response(200); self.send_header('Content-Length', str(len(body))); self.end_headers()\n"
        "        self.wfile.write(body)\n"
        "    def log_message(self, *_): pass\n"
        "s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H)\n"
        "print(s.server_port, flush=True); s.serve_forever()\n"
    )
    size = 48 * 2**20
    folder = tmp_path / "folder"
    folder.mkdir()
    with (folder / "large.png").open("wb") as file:
        file.truncate(size)
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            client = make(flavour, url=f"http://127.0.0.1:{process.stdout.readline().strip()}")
            client.add_resource("https://x.org")  # what is imported and opened once
            for path in (folder / "large.png", folder):
                tracemalloc.start()
                client.add_resource(path)
                peak = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
                assert peak < 6 * 2**20, path
        finally:
            process.kill()


# --- skills --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("update", [False, True])
def test_a_skill_of_this_machine_is_sent(client: Any, server: ScriptedServer, tmp_path: Path, update: bool) -> None:
    skill = tmp_path / "greet"
    (skill / "scripts").mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: greet\n---\n")
    (skill / "scripts/run.sh").write_text("echo hello\n")
    for path in (skill / "SKILL.md", skill):
        server.gives({"temp_file_id": "u1"})
        server.gives({"name": "greet"})
        given = client.update_skill("greet", str(path), wait=True) if update else client.add_skill(str(path), wait=True)
        assert given == {"name": "greet"}
        upload, add = server.take()
        assert (add.method, add.path) == (("PUT", f"{SKILLS}/greet") if update else ("POST", SKILLS))
        assert add.json == {"temp_file_id": "u1", "wait": True}
        if path.is_file():
            assert upload.form["file"] == ("SKILL.md", b"---\nname: greet\n---\n")
        else:
            assert set(archived(upload)) == {"SKILL.md", "scripts/run.sh"}


# --- giving up -----------------------------------------------------------------------------------------------------


def test_an_upload_can_be_given_up_now_and_then(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"{number}.md").write_text("x")
    with (tmp_path / "large.png").open("wb") as file:
        file.truncate(20 * 2**20)
    packing, breaths = packed(tmp_path, SendRules(), {}), 0
    while not isinstance(step := advance(packing), Done):
        breaths += step is None
    assert breaths >= 5
    with step.value as upload:
        assert upload.size > 300
    packing = packed(tmp_path, SendRules(), {})
    next(packing)
    packing.close()  # and nothing stays open


async def test_a_cancelled_upload_stops_between_files(server: ScriptedServer, tmp_path: Path) -> None:
    for number in range(1500):
        (tmp_path / f"{number}.md").write_text("x")
    async with AsyncHTTPClient(url=server.url) as client:
        adding = asyncio.create_task(client.add_resource(tmp_path))
        await asyncio.wait({adding}, timeout=0)  # let it begin
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
    assert server.take() == []

"""``ovcli.conf`` and its saved copies: made, changed, used, removed; broken ones; and that no secret is ever shown."""

from __future__ import annotations

import json
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECRET = "a-very-secret-key"

pytestmark = pytest.mark.cpu_budget(10)


def put(file: Path, conf: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(conf if isinstance(conf, str) else json.dumps(conf))


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def test_a_configuration_is_saved_used_changed_and_removed(
    call: Callable[..., Any], running: Any, client_file: Path
) -> None:
    _, key = running.new_user()
    add = ("config", "add", "custom", "--name", "work", "--url", running.url, "--api-key-stdin", "-o", "json")
    made = call(*add, stdin=f"{key}\n".encode()).result
    saved = client_file.parent / "ovcli.conf.work"
    assert (made["name"], made["activated"], made["validation"]) == ("work", False, {"status": "passed"})
    assert json.loads(saved.read_text()) == {"url": running.url, "api_key": key}
    assert (mode(saved), mode(saved.parent)) == (0o600, 0o700)
    assert call("config", "list", "-o", "json").result == [
        {"name": "work", "kind": "Custom", "url": running.url, "active": False}
    ]
    assert call("config", "switch", "work").status == 0
    assert (mode(client_file), client_file.read_text()) == (0o600, saved.read_text())
    assert call("health", "-o", "json").result["user_id"] == "ann"
    assert call("config", "list", "-o", "json").result[0]["active"] is True
    edited = call("config", "edit", "work", "--new-name", "office", "--user", "ann", "-o", "json").result
    assert (edited["name"], edited["activated"]) == ("office", True), "what is in use stays in use"
    assert not saved.exists()
    assert json.loads(client_file.read_text())["user"] == "ann"
    in_use = call("config", "delete", "office", "-o", "json")
    assert (in_use.status, in_use.error["code"]) == (1, "FAILED_PRECONDITION")
    put(client_file, {})
    assert call("config", "delete", "office", "-o", "json").result["deleted"] is True
    assert call("config", "delete", "office", "-o", "json").result["already_absent"] is True
    assert sorted(one.name for one in client_file.parent.iterdir()) == ["ovcli.conf"], "nothing is left over"


def test_what_is_wrong_is_not_saved(call: Callable[..., Any], running: Any, client_file: Path) -> None:
    add = ("config", "add", "custom", "--name", "x", "-o", "json")
    wrong = call(*add, "--url", running.url, "--api-key-stdin", stdin=SECRET.encode())
    assert (wrong.status, wrong.error["code"]) == (1, "UNAUTHENTICATED")
    off = call(*add, "--url", "http://127.0.0.1:9")
    assert (off.status, off.error["code"]) == (1, "UNAVAILABLE")
    for url in ("ftp://h", "http://user:pw@h", "nothing"):
        bad = call(*add, "--url", url)
        assert (bad.status, bad.error["code"]) == (2, "FAILED_PRECONDITION")
        assert "pw" not in bad.err
    for name in ("../x", "a/b", "", ".x", "x.tmp"):
        assert call("config", "add", "custom", "--name", name, "--url", running.url, "--no-check").status == (
            0 if not name else 2
        )
    assert call(*add, "--url", running.url, "--api-key-env", "NO_SUCH_VARIABLE").status == 2
    assert call(*add, "--url", running.url, "--api-key-stdin").status == 2
    assert [one.name for one in client_file.parent.iterdir()] == [
        "ovcli.conf.127.0.0.1-" + running.url.rpartition(":")[2]
    ]


def test_one_of_the_same_name_is_kept_unless_forced(
    call: Callable[..., Any], client_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", SECRET)
    add = ("config", "add", "custom", "--name", "x", "--no-check", "--url")
    assert call(*add, "http://one", "--api-key-env", "THE_KEY", "--activate").status == 0
    assert call(*add, "http://two").status == 2
    assert call(*add, "http://two", "--force").status == 0
    assert json.loads((client_file.parent / "ovcli.conf.x").read_text()) == {"url": "http://two"}
    assert json.loads(client_file.read_text()) == {"url": "http://one", "api_key": SECRET}
    assert call("config", "edit", "x", "--no-check", "--root-api-key-env", "THE_KEY").status == 0
    assert call("config", "edit", "x", "--no-check", "--clear-root-api-key").status == 0
    assert json.loads((client_file.parent / "ovcli.conf.x").read_text()) == {"url": "http://two"}


def test_no_secret_is_ever_shown(call: Callable[..., Any], client_file: Path, running: Any) -> None:
    conf = {
        "url": running.url, "api_key": SECRET, "root_api_key": SECRET + "2", "gateway_token": SECRET + "3",
        "extra_headers": {"X-Token": SECRET + "4"}, "account": "acme",
    }  # fmt: skip
    put(client_file, conf)
    put(client_file.parent / "ovcli.conf.a", conf)
    put(client_file.parent / "ovcli.conf.b", {**conf, "url": f"http://u:{SECRET}@h"})
    commands = [
        ["config", "show"], ["config", "list"], ["config", "validate"], ["config", "switch", "a"], ["config", "switch", "b"],
        ["config", "edit", "a", "--no-check", "--user", "u"], ["health"], ["ls"], ["ls", "-v"], ["admin", "list-accounts", "--sudo"],
        ["ls", "--api-key", SECRET], ["config", "add", "custom", "--api-key", SECRET], ["ls", "--url", f"http://{SECRET}@h"],
    ]  # fmt: skip
    for command in commands:
        for output in ("json", "table"):
            gave = call("-o", output, *command)
            assert SECRET not in gave.out + gave.err, command
    put(client_file, conf)
    shown = call("config", "show", "-o", "json").result
    assert shown["api_key"] == shown["root_api_key"] == shown["gateway_token"] == "********"
    assert (shown["extra_headers"], shown["account"]) == ({"X-Token": "********"}, "acme")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is no JSON"),
        ("[]", "must hold a JSON object"),
        ('{"urll": "http://h"}', "did you mean 'url'?"),
        ('{"url": 5}', "url must be a string"),
        ('{"url": "ftp://h"}', "must begin with http://"),
        ('{"timeout": "soon"}', "timeout must be a number"),
        ('{"upload": {"mode": "odd"}}', "upload mode"),
        ('{"actor_peer_id": "a", "agent_id": "b"}', "which mean the same"),
        ("\udcff", "can't be read"),
        ("[" * 100_000, "nested too deeply"),
        (" " * 1_000_001, "more than 1,000,000 bytes"),
        ('{"api_key": 12345678}', "must be a string, not int"),
    ],
)
def test_a_broken_configuration(call: Callable[..., Any], client_file: Path, data: Path, text: str, told: str) -> None:
    client_file.parent.mkdir()
    client_file.write_bytes(text.encode("utf-8", "surrogateescape"))
    for command in (["ls"], ["config", "validate"], ["admin", "list-accounts", "--sudo"]):
        gave = call("-o", "json", *command)
        assert (gave.status, gave.error["code"]) == (2, "FAILED_PRECONDITION")
        assert told in gave.error["message"] or "root_api_key" in gave.error["message"]
        assert call(*command).err.count("\n") == 1
    assert call("mkdir", "viking://resources/x", "--path", str(data)).status == 0, "a directory has no use for it"
    put(client_file.parent / "ovcli.conf.other", text if told != "can't be read" else "{")
    assert call("config", "list").status == 0


def test_a_configuration_that_is_right_is_told_so(call: Callable[..., Any], running: Any, client_file: Path) -> None:
    _, key = running.new_user()
    put(client_file, {"url": running.url, "api_key": key})
    told = call("config", "validate", "-o", "json").result
    assert (told["config"], told["server"], told["auth"], told["health"]) == ("valid", "reachable", "accepted", "ok")
    client_file.chmod(0o640)
    assert "others can read the secrets" in call("config", "validate").err
    client_file.chmod(0o600)
    assert call("config", "validate").err == ""
    put(client_file, {"url": running.url, "api_key": "wrong"})
    assert call("config", "validate", "-o", "json").error["code"] == "UNAUTHENTICATED"
    client_file.unlink()
    none = call("config", "show", "-o", "json")
    assert none.err == f"there is no {client_file}: defaults hold\n"
    assert json.loads(none.out)["result"] == {"url": "http://127.0.0.1:1933"}


@pytest.fixture(params=["here", "/dev/shm"])
def elsewhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A directory, of another file system if there is one."""
    if request.param == "here":
        yield tmp_path
        return
    shared = Path(request.param)
    if not shared.is_dir() or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is one file system")
    with tempfile.TemporaryDirectory(dir=shared) as made:
        yield Path(made)


def test_a_link_is_written_through(call: Callable[..., Any], client_file: Path, elsewhere: Path) -> None:
    real = elsewhere / "dotfiles" / "ovcli.conf"
    put(real, {})
    client_file.parent.mkdir()
    client_file.symlink_to(real)
    add = ("config", "add", "custom", "--name", "x", "--no-check", "--activate", "--url", "http://h")
    assert call(*add).status == 0
    assert client_file.is_symlink()
    assert json.loads(real.read_text()) == {"url": "http://h"}

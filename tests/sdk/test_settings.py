"""Arguments, environment and ``ovcli.conf``: which goes first, and what is refused."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pytest

import openviking_sdk as ov
from openviking_sdk.errors import InvalidArgumentError
from openviking_sdk.settings import Settings, UploadDefaults, resolved

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.sdk.conftest import ScriptedServer


@pytest.fixture
def conf(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """Write ``ovcli.conf``, and give the environment that names it."""

    def write(text: str = "", **values: Any) -> dict[str, str]:
        file = tmp_path / "ovcli.conf"
        file.write_text(text or json.dumps(values), encoding="utf-8")
        return {"OPENVIKING_CLI_CONFIG_FILE": str(file)}

    return write


def test_without_anything_there_are_defaults() -> None:
    assert resolved(environ={}) == Settings("http://127.0.0.1:1933", timeout=60)
    assert resolved(environ={"OPENVIKING_CLI_CONFIG_FILE": "/nonexistent/ovcli.conf"}) == Settings()


def test_the_file_is_found_in_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".openviking").mkdir()
    (tmp_path / ".openviking/ovcli.conf").write_text('{"user": "home"}')
    assert resolved(environ={}).user == "home"
    assert resolved(environ={"OPENVIKING_CLI_CONFIG_FILE": str(tmp_path / "none")}).user is None


@pytest.mark.parametrize(
    ("name", "variable", "key", "values", "seen"),
    [
        ("url", "URL", "url", ("http://a/", "http://b", "http://c"), ("http://a", "http://b", "http://c")),
        ("api_key", "API_KEY", "api_key", ("a", "b", "c"), ("a", "b", "c")),
        ("account", "ACCOUNT", "account", ("a", "b", "c"), ("a", "b", "c")),
        ("user", "USER", "user", ("a", "b", "c"), ("a", "b", "c")),
        ("actor_peer_id", "ACTOR_PEER_ID", "actor_peer_id", ("a", "b", "c"), ("a", "b", "c")),
        ("timeout", "TIMEOUT", "timeout", (1, "2.5", 3), (1.0, 2.5, 3.0)),
    ],
)
def test_arguments_go_before_the_environment_before_the_file(
    conf: Callable[..., dict[str, str]],
    name: str,
    variable: str,
    key: str,
    values: tuple[Any, ...],
    seen: tuple[Any, ...],
) -> None:
    argument, of_environment, of_file = values
    environ = conf(**{key: of_file})
    assert getattr(resolved(environ=environ), name) == seen[2]
    environ[f"OPENVIKING_{variable}"] = of_environment
    assert getattr(resolved(environ=environ), name) == seen[1]
    assert getattr(resolved(**{name: argument}, environ=environ), name) == seen[0]


def test_an_empty_argument_turns_a_value_off(conf: Callable[..., dict[str, str]]) -> None:
    environ = conf(api_key="k")
    assert resolved(api_key="", environ=environ).api_key is None
    assert resolved(environ={**environ, "OPENVIKING_API_KEY": ""}).api_key == "k"


def test_the_file_says_more(conf: Callable[..., dict[str, str]]) -> None:
    environ = conf(
        root_api_key="root", agent_id="p", extra_header={"X-A": "1", "X-B": "2"}, profile=True, output="json", echo_command=False,
        upload={"ignore_dirs": "a,b", "include": "*.md", "exclude": "x/", "mode": "shared"}, plugin={"anything": 1}, gateway_token="t",
    )  # fmt: skip
    settings = resolved(extra_headers={"X-B": "3"}, environ=environ)
    assert settings.api_key == "root"
    assert settings.actor_peer_id == "p"
    assert settings.extra_headers == {"X-A": "1", "X-B": "3"}
    assert settings.profile is True
    assert resolved(profile=False, environ=environ).profile is False
    assert settings.upload == UploadDefaults("a,b", "*.md", "x/", "shared")
    assert resolved(environ={**environ, "OPENVIKING_UPLOAD_MODE": "local"}).upload.mode == "local"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"urll": "x"}', "did you mean 'url'"),
        ('{"zzzzz": "x"}', "known are account"),
        ('{"upload": {"includes": "x"}}', "did you mean 'include'"),
        ("{", "is no JSON"),
        ("[]", "JSON object"),
        ('{"url": 5}', "url must be a string"),
        ('{"url": "ftp://x"}', "http:// or https://"),
        ('{"url": "http://"}', "name a host"),
        ('{"url": "http://x:y"}', "url"),
        ('{"url": "http://user:secret@x"}', "no user"),
        ('{"url": "x@y"}', "no user"),
        ('{"timeout": "soon"}', "timeout must be a number"),
        ('{"timeout": 0}', "above 0"),
        ('{"timeout": true}', "timeout must be a number"),
        ('{"timeout": NaN}', "timeout must be a number"),
        ('{"profile": "yes"}', "true or false"),
        ('{"actor_peer_id": "a", "agent_id": "b"}', "both"),
        ('{"extra_headers": ["a"]}', "extra_headers"),
        ('{"extra_headers": {"X-A": 1}}', "X-A"),
        ('{"extra_headers": {"X A": "1"}}', "X A"),
        ('{"extra_headers": {"content-type": "text/plain"}}', "content-type"),
        ('{"extra_headers": {"X-A": "1\\r\\nX-B: 2"}}', "HTTP header"),
        ('{"api_key": "schlüssel"}', "api_key"),
        ('{"upload": {"mode": "elsewhere"}}', "local or shared"),
        ('{"upload": []}', "upload must be an object"),
        ('{"auth_mode": "ldap"}', "api_key"),
        ('{"api_key": 12345678}', "not int$"),
        ('{"extra_headers": "secret"}', "not str$"),
        ("[" * 100_000, "nested too deeply"),
        (" " * 1_000_001, "more than 1,000,000 bytes"),
    ],
)
def test_what_can_not_be_right_is_refused(conf: Callable[..., dict[str, str]], text: str, said: str) -> None:
    environ = conf(text)
    with pytest.raises(InvalidArgumentError, match=said):
        resolved(environ=environ)


def test_a_secret_is_in_no_message_or_repr(conf: Callable[..., dict[str, str]]) -> None:
    settings = resolved(api_key="secret", extra_headers={"X-Token": "secret"}, environ={})
    assert "secret" not in repr(settings)
    assert "secret" not in repr(ov.SyncHTTPClient(api_key="secret"))
    with pytest.raises(InvalidArgumentError) as caught:
        resolved(environ=conf(url="http://user:secret@x"))
    assert "secret" not in str(caught.value)


def test_a_file_may_begin_with_the_mark_of_its_encoding(conf: Callable[..., dict[str, str]]) -> None:
    assert resolved(environ=conf('\ufeff{"url": "http://h"}')).url == "http://h"
    for url in ("http://h/", "http://h/api/v1", "http://h/api/v1/"):
        assert resolved(url=url, environ={}).url == "http://h"
    assert resolved(url="http://h/ov/api/v1", environ={}).url == "http://h/ov"


def test_a_file_that_can_not_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="can't be read"):
        resolved(environ={"OPENVIKING_CLI_CONFIG_FILE": str(tmp_path)})


def test_settings_become_headers(make: Callable[..., Any], flavour: Any, server: ScriptedServer) -> None:
    client = make(
        flavour,
        api_key="k",
        account="a",
        user="u",
        actor_peer_id="p",
        extra_headers={"X-More": "m", "X-API-Key": "other"},
    )
    client.stat("resources")
    headers = server.take()[0].headers
    assert (headers["x-api-key"], headers["x-openviking-account"], headers["x-openviking-user"]) == ("k", "a", "u")
    assert (headers["x-openviking-actor-peer"], headers["x-more"]) == ("p", "m")
    assert headers["user-agent"] == f"openviking-py-sdk/{ov.__version__}"
    make(flavour).stat("resources")
    bare = server.take()[0].headers
    assert not {name for name in bare if name.startswith("x-")}


def test_headers_are_the_same_in_any_case(make: Callable[..., Any], flavour: Any, server: ScriptedServer) -> None:
    make(flavour, api_key="k", extra_headers={"x-api-key": "other", "x-more": "m"}).stat("resources")
    assert [value for name, value in server.take()[0].raw_headers if name.lower() == "x-api-key"] == ["k"]


def test_a_block_may_act_for_another_peer(make: Callable[..., Any], flavour: Any, server: ScriptedServer) -> None:
    client = make(flavour, actor_peer_id="mine")
    with ov.use_actor_peer("x"):
        client.stat("resources")
        with ov.use_actor_peer(None):
            client.stat("resources")
        client.stat("resources")
        with ov.use_actor_peer(""):
            client.stat("resources")
    client.stat("resources")
    assert [asked.headers.get("x-openviking-actor-peer") for asked in server.take()] == ["x", None, "x", None, "mine"]
    with pytest.raises(InvalidArgumentError), ov.use_actor_peer("two\nlines"):
        pass


def test_a_profile_is_asked_for_and_logged(
    make: Callable[..., Any], flavour: Any, server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    client = make(flavour, profile_enabled=True)
    server.gives([], profile=["scan 3 ms", "rank 1 ms"])
    with caplog.at_level(logging.INFO, "openviking_sdk.profile"):
        client.ls("resources")
    assert server.take()[0].query[-1] == ("profile", "1")
    assert caplog.messages == ["GET /api/v1/fs/ls: scan 3 ms", "GET /api/v1/fs/ls: rank 1 ms"]


def test_a_path_before_the_routes_is_kept(make: Callable[..., Any], flavour: Any, server: ScriptedServer) -> None:
    make(flavour, url=f"{server.url}/behind/a/gateway/").stat("resources")
    assert server.take()[0].path == "/behind/a/gateway/api/v1/fs/stat"


def test_loopback_is_reached_directly(
    make: Callable[..., Any], flavour: Any, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    make(flavour).stat("resources")
    assert len(server.take()) == 1

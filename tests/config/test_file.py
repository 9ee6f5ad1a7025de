"""ov.conf: where it is looked for, what it may say, and errors that name the file, the key and what would be right."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openviking.config.file import MAX_BYTES, find_file, load_settings, substituted
from openviking.config.keys import KEYS, SECTIONS, UNUSED
from openviking.config.settings import BreakerSettings, EmbeddingSettings, RetrievalSettings, Settings
from openviking.errors import InvalidArgumentError

Load = Callable[..., Settings]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """``load(what the file says, environment)``: the settings of a file of that content."""

    def loading(content: Any, env: dict[str, str] | None = None) -> Settings:
        file = tmp_path / "ov.conf"
        if isinstance(content, bytes):
            file.write_bytes(content)
        else:
            file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return load_settings(file, env=env or {}, home=tmp_path / "home", system=tmp_path / "system")

    return loading


def said(load: Load, content: Any) -> str:
    with pytest.raises(InvalidArgumentError) as caught:
        load(content)
    message: str = caught.value.message
    assert re.match(r"\S+/ov\.conf ", message)
    assert caught.value.details["file"].endswith("/ov.conf")
    assert len(message) < 2000
    assert message.isprintable()
    return message


def dense(**keys: Any) -> dict[str, Any]:
    return {"embedding": {"dense": keys}}


# --- which file ----------------------------------------------------------------------------------------------------


def test_the_first_file_there_is_counts(tmp_path: Path) -> None:
    home, system = tmp_path / "home", tmp_path / "etc.conf"
    env: dict[str, str] = {}

    def model(path: str | Path | None = None) -> str:
        return load_settings(path, env=env, home=home, system=system).embedding.model

    assert load_settings(None, env=env, home=home, system=system) == Settings()
    system.write_text(json.dumps(dense(model="system")))
    assert model() == "system"
    own = home / ".openviking" / "ov.conf"
    own.parent.mkdir(parents=True)
    own.write_text(json.dumps(dense(model="home")))
    assert model() == "home"
    env["OPENVIKING_CONFIG_FILE"] = "~/env.conf"
    (home / "env.conf").write_text(json.dumps(dense(model="environment")))
    assert model() == "environment"
    named = tmp_path / "named.conf"
    named.write_text(json.dumps(dense(model="named")))
    assert model(named) == model(str(named)) == "named"
    env["OPENVIKING_CONFIG_FILE"] = ""
    assert model() == "home"


def test_a_named_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    own = tmp_path / ".openviking" / "ov.conf"
    own.parent.mkdir()
    own.write_text("{}")
    missing = tmp_path / "missing.conf"
    with pytest.raises(InvalidArgumentError, match=r"missing\.conf cannot be read: No such file"):
        load_settings(missing, env={}, home=tmp_path)
    with pytest.raises(InvalidArgumentError, match=r"missing\.conf cannot be read"):
        load_settings(None, env={"OPENVIKING_CONFIG_FILE": str(missing)}, home=tmp_path)
    with pytest.raises(InvalidArgumentError, match="cannot be read: Is a directory"):
        load_settings(tmp_path, env={}, home=tmp_path)
    assert find_file(None, env={}, home=tmp_path / "nobody", system=missing) is None


# --- what it says --------------------------------------------------------------------------------------------------


def test_every_key_has_its_place(load: Load) -> None:
    settings = load(
        {
            "storage": {"workspace": "~/ov", "vectordb": {"backend": "local", "dimension": 64, "name": "context"}},
            "embedding": {
                "max_concurrent": 2, "max_retries": 0, "max_input_tokens": 512, "text_source": "content_only",
                "circuit_breaker": {"failure_threshold": 5, "reset_timeout": 60, "max_reset_timeout": 600},
                "dense": {
                    "provider": "jina", "model": "m", "model_id": "id", "api_base": "http://localhost/v1", "api_key": "k",
                    "dimension": 64, "batch_size": 7, "timeout": 5, "query_timeout": 0.5, "query_prefix": "q: ",
                    "passage_prefix": "p: ", "query_param": "retrieval.query", "document_param": "task=x, late=y",
                    "cosine_range": [0, 0.5], "encoding_format": "base64", "extra_headers": {"X-A": "b"},
                    "extra_body": {"c": [1]}, "threads": 3, "input": "multimodal", "api_version": None,
                },
            },
            "retrieval": {"dense_weight": 0.25, "hotness_alpha": 0.1, "recall_rewrite_timeout_s": 3},
        }
    )  # fmt: skip
    assert settings.path.parts[-2:] == ("home", "ov")
    assert settings.retrieval == RetrievalSettings(dense_weight=0.25, hotness_alpha=0.1, recall_rewrite_timeout_s=3.0)
    assert settings.embedding == EmbeddingSettings(
        provider="jina", model="m", model_id="id", api_base="http://localhost/v1", api_key="k", dimension=64, batch_size=7,
        max_concurrent=2, max_retries=0, max_input_tokens=512, timeout=5.0, query_timeout=0.5, query_prefix="q: ",
        passage_prefix="p: ", query_param={"": "retrieval.query"}, document_param={"task": "x", "late": "y"},
        cosine_range=(0.0, 0.5), encoding_format="base64", extra_headers={"X-A": "b"}, extra_body={"c": [1]}, threads=3,
        input="multimodal",
        circuit_breaker=BreakerSettings(5, 60.0, 600.0),
    )  # fmt: skip


def test_every_setting_is_some_key() -> None:
    """A setting that no file can set would be one only in name."""
    settings = {key.setting for key in KEYS.values() if key.setting}
    fields = set(EmbeddingSettings.__dataclass_fields__) - {"circuit_breaker"}
    assert {f"embedding.{name}" for name in fields} <= settings
    assert {f"circuit_breaker.{name}" for name in BreakerSettings.__dataclass_fields__} <= settings
    assert {f"retrieval.{name}" for name in RetrievalSettings.__dataclass_fields__} <= settings


def test_nothing_said_is_every_default(load: Load) -> None:
    assert load("{}") == Settings()
    assert load(b"\xef\xbb\xbf{}") == Settings()
    assert load({"embedding": None, "storage": {"vectordb": None}, "retrieval": {"dense_weight": None}}) == Settings()


def test_documented_sections_of_later_versions_are_accepted(load: Load) -> None:
    settings = load({name: {"anything": [1]} for name in UNUSED})
    assert settings == Settings()
    assert set(settings.unused) == UNUSED


def test_what_has_no_effect_is_named(load: Load) -> None:
    told = {
        "rerank": None, "semantic": {"x": 1}, "storage": {"agfs": {}, "vectordb": {"name": "x", "backend": "local"}},
        "vlm": {"stream": False}, "retrieval": {"dense_weight": 0.5},
    }  # fmt: skip
    assert load(told).unused == (
        "semantic",
        "storage.agfs",
        "storage.vectordb.name",
        "vlm.stream",
    )
    assert load("{}").unused == ()


def test_encryption_that_does_not_come_is_refused(load: Load) -> None:
    for wanted in ({"enabled": True}, {"enabled": "yes", "provider": "local"}):
        assert "does not encrypt what it stores" in said(load, {"encryption": wanted})
    for harmless in (None, {"enabled": False}, {"provider": "local"}):
        load({"encryption": harmless})


@pytest.mark.parametrize(("given", "name"), [(" OpenAI ", "openai"), ("None", "none"), ("local", "builtin")])
def test_a_provider_is_named_in_one_way(load: Load, given: str, name: str) -> None:
    assert load(dense(provider=given)).embedding.provider == name


def test_secrets_are_not_in_the_representation(load: Load) -> None:
    keys = {
        "api_key": "s3cret", "api_base": "http://me:s3cret@localhost/v1", "extra_headers": {"X-Key": "s3cret"},
        "extra_body": {"token": "s3cret"},
    }  # fmt: skip
    assert "s3cret" not in repr(load(dense(**keys)))


def test_sparse_weight_is_the_rest_of_dense_weight(load: Load) -> None:
    sparse = {"vectordb": {"sparse_weight": 0.25}}
    assert load({"storage": sparse}).retrieval.dense_weight == 0.75
    assert load({"storage": sparse, "retrieval": {"dense_weight": 0.1}}).retrieval.dense_weight == 0.1
    assert load({"storage": {"vectordb": {"sparse_weight": 0}}}).retrieval.dense_weight == 1


def test_the_store_may_say_the_dimension(load: Load) -> None:
    stored = {"vectordb": {"dimension": 1024}}
    assert load({"storage": stored}).embedding.dimension == 1024
    assert load({"storage": stored, **dense(dimension=0)}).embedding.dimension == 1024
    assert "storage.vectordb.dimension must be 512, as embedding" in said(
        load, {"storage": stored, **dense(dimension=512)}
    )


def test_a_long_first_pause_is_the_longest(load: Load) -> None:
    breaker = {"reset_timeout": 900}
    assert load({"embedding": {"circuit_breaker": breaker}}).embedding.circuit_breaker.max_reset_timeout == 900
    told = said(load, {"embedding": {"circuit_breaker": {**breaker, "max_reset_timeout": 60}}})
    assert "max_reset_timeout must be at least reset_timeout, which is 900, not 60.0" in told


# --- variables -----------------------------------------------------------------------------------------------------


def test_variables_stand_for_their_values(load: Load) -> None:
    env = {"KEY": "s3cr3t", "HOST": 'a"b\\c\nd', "DIM": "64", "EMPTY": ""}
    told = '{"embedding": {"dense": {"api_key": "${KEY}", "model": "$HOST/$UNSET/${UNSET}$EMPTY", "dimension": $DIM}}}'
    embedding = load(told, env).embedding
    assert embedding.api_key == "s3cr3t"
    assert embedding.model == 'a"b\\c\nd/$UNSET/${UNSET}'
    assert embedding.dimension == 64


def test_values_are_not_read_again(load: Load) -> None:
    assert load(dense(model="$A"), {"A": "$B", "B": "c"}).embedding.model == "$B"
    assert load(dense(model="5$ $1 ${} $"), {"1": "x"}).embedding.model == "5$ $1 ${} $"


@given(st.dictionaries(st.sampled_from("AB"), st.text(), max_size=2), st.text(), st.text())
def test_a_value_cannot_leave_its_quotes(env: dict[str, str], before: str, after: str) -> None:
    before, after = before.replace("$", ""), after.replace("$", "")
    told = json.loads(substituted(json.dumps({"key": f"{before}${{A}}{after}"}), env))
    assert told == {"key": f"{before}{env.get('A', '${A}')}{after}"}


# --- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"embeding": {}}, "unknown key 'embeding'; did you mean 'embedding'?"),
        ({"zzz": {}}, "unknown key 'zzz'; known here:"),
        (dense(modell="m"), "unknown key 'embedding.dense.modell'; did you mean 'embedding.dense.model'?"),
        ({"embedding": {"model": "m"}}, "unknown key 'embedding.model'; did you mean 'embedding.dense.model'?"),
        ({"storage": {"path": "/data"}}, "unknown key 'storage.path'; did you mean 'storage.workspace'?"),
        ({"embedding": {"batch_sizes": 3}}, "did you mean 'embedding.dense.batch_size'?"),
        ({"dense_weight": 0.5}, "did you mean 'retrieval.dense_weight'?"),
        ({"auth_mode": "trusted"}, "unknown key 'auth_mode'; did you mean 'server.auth_mode'?"),
        ({"root_api_key": "x"}, "did you mean 'server.root_api_key'?"),
        ({"storage": {"zzz": "x"}}, "unknown key 'storage.zzz'; known here: agfs, skip_process_lock"),
        ({"storage": {"vectordb": {"sparse": 1}}}, "did you mean 'storage.vectordb.sparse_weight'?"),
        ({"x" * 5000: 1}, "unknown key 'xxxx"),
        ({"embedding": []}, "embedding must be an object in braces, not []"),
        (dense(dimension="512"), "embedding.dense.dimension must be a whole number from 0 to 16384, not '512'"),
        (dense(dimension=True), "not True"),
        (dense(dimension=-1), "not -1"),
        (dense(dimension=512.0), "not 512.0"),
        (dense(batch_size=0), "embedding.dense.batch_size must be a whole number from 1 to 2048, not 0"),
        (dense(timeout="soon"), "embedding.dense.timeout must be a number from 0.05 to 3600, not 'soon'"),
        (dense(query_timeout=False), "must be a number"),
        (dense(model=["a"]), "embedding.dense.model must be a text that is not blank, not ['a']"),
        (dense(provider=" "), "must be a text that is not blank, not ' '"),
        (dense(cosine_range=[0.9, 0.2]), "must be two numbers [low, high] with -1 ≤ low < high ≤ 1, not [0.9, 0.2]"),
        (dense(cosine_range=[0.1]), "two numbers"),
        (dense(cosine_range=[0, True]), "two numbers"),
        (dense(encoding_format="int8"), 'must be "float" or "base64", not \'int8\''),
        (dense(input="images"), 'must be "text" or "multimodal", not \'images\''),
        (dense(query_param=3), 'an object such as {"task": "retrieval.query"}'),
        (dense(query_param="a=b,c"), "an object such as"),
        (dense(query_param=""), "an object such as"),
        (dense(extra_body=[]), "must be an object in braces"),
        (dense(credentials=[{}]), "embedding.dense.credentials must be left out: this version does not have it"),
        (dense(api_version="1"), "left out: it belongs to a protocol"),
        ({"embedding": {"sparse": {}}}, "embedding.sparse must be left out: the words are indexed without a model"),
        ({"embedding": {"text_source": "summary_only"}}, "content_only"),
        ({"retrieval": {"dense_weight": 1.5}}, "retrieval.dense_weight must be a number from 0 to 1, not 1.5"),
        ({"retrieval": {"enable_intent": 1}}, "must be true or false, not 1"),
        ({"storage": {"vectordb": {"backend": "vikingdb"}}}, 'storage.vectordb.backend must be "local", the only one'),
        ({"storage": {"vectordb": {"url": "http://x"}}}, 'belongs to the backend "http"'),
        ({"storage": {"workspace": ""}}, "storage.workspace must be a text that is not blank, not ''"),
        ("[1]", "must hold one JSON object in braces, not [1]"),
        ("", "is not JSON: Expecting value at line 1, column 1"),
        ('{"storage": {},\n}', "is not JSON: Expecting property name enclosed in double quotes at line 2, column 1"),
        ('{"a": 1, "a": 2}', "has the key 'a' twice in one object"),
        ('{"embedding": {"dense": {"timeout": NaN}}}', "is not JSON: the number NaN"),
        ('{"embedding": {"dense": {"timeout": 1e999}}}', "is not JSON: the number 1e999"),
        ('{"embedding": {"dense": {"dimension": ' + "9" * 5000 + "}}}", "is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        (b"\xff\xfe{}", "is not UTF-8: invalid start byte at byte 0"),
        (b" " * (MAX_BYTES + 1), "exceeds 1,000,000 bytes"),
        (dense(model=5, **{"\n": 1}), "embedding.dense.model"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(load: Load, content: Any, told: str) -> None:
    assert told in said(load, content)


@pytest.mark.parametrize(
    "keys",
    [
        {"api_key": ["s3cr3t"]}, {"api_key": "s3cr3t\r\nX-Evil: 1"}, {"extra_headers": {"X": 1, "Y": "s3cr3t"}},
        {"extra_headers": {"X": "s3cr3t\n"}}, {"extra_headers": "s3cr3t"}, {"extra_body": "s3cr3t"}, {"ak": "s3cr3t"},
    ],
)  # fmt: skip
def test_secrets_are_not_shown(load: Load, keys: dict[str, Any]) -> None:
    assert "s3cr3t" not in said(load, dense(**keys))
    assert "s3cr3t" not in repr(EmbeddingSettings(api_key="s3cr3t", extra_headers={"X": "s3cr3t"}))


def test_sections_are_those_of_the_keys() -> None:
    assert set(SECTIONS) == {
        "embedding", "embedding.dense", "embedding.circuit_breaker", "retrieval", "vlm", "query_planner", "rerank", "storage", "storage.vectordb",
        "server", "server.temp_upload", "server.user_config_defaults", "fetch", "memory", "memory.session_auto_commit", "sessions",
        "server.tool_output_externalization", "encryption", "encryption.api_key_hashing",
    }  # fmt: skip
    assert not UNUSED & SECTIONS


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ov.conf")
    with pytest.raises(InvalidArgumentError, match="is no file"):
        load_settings(tmp_path / "ov.conf", env={}, home=tmp_path)


@pytest.mark.parametrize(
    ("told", "right"),
    [
        ('["Wiki.Example.org.", "10.1.2.3/16", "::1"]', ("wiki.example.org", "10.1.0.0/16", "::1/128")),
        ("[]", ()),
    ],
)
def test_hosts_that_may_be_fetched_from(tmp_path: Path, told: str, right: tuple[str, ...]) -> None:
    (tmp_path / "ov.conf").write_text(f'{{"fetch": {{"allowed_hosts": {told}}}, "allow_private_networks": true}}')
    settings = load_settings(tmp_path / "ov.conf", env={}, home=tmp_path)
    assert (settings.fetch.allowed_hosts, settings.fetch.allow_private) == (right, True)


@pytest.mark.parametrize(
    "host", ["http://x.org", "x.org:80", "x.org/a", "300.1.1.1", "10.0.0.0/99", "", " ", "a b", "*.x.org"]
)
def test_hosts_that_are_none(tmp_path: Path, host: str) -> None:
    (tmp_path / "ov.conf").write_text(f'{{"fetch": {{"allowed_hosts": ["{host}"]}}}}')
    with pytest.raises(InvalidArgumentError, match=r"fetch\.allowed_hosts"):
        load_settings(tmp_path / "ov.conf", env={}, home=tmp_path)

"""Secrets are masked before a conversation is stored, wherever they stand in it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openviking.config.settings import SessionSettings
from openviking.session.scrubbing import scrubbed_value

from .conftest import ALICE, Desk

KEY = "sk-live-" + "a1B2c3D4" * 5
AWS = "AKIA" + "ABCDEFGH12345678"
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA1234567890abcdefghij\n" * 4 + "-----END RSA PRIVATE KEY-----"
)
WORD = "correct9horse8battery"
SECRETS = (KEY, AWS, "MIIEowIBAAKCAQEA", WORD)


def everything(desk: Desk) -> bytes:
    place = desk.accounts.path
    return b"".join(file.read_bytes() for file in sorted(place.rglob("*")) if file.is_file())


SAID: list[tuple[dict[str, Any], int]] = [
    ({"content": f"Use {KEY} and {AWS}."}, 2),
    ({"content": f"Here it is:\n{PEM}\nThanks!"}, 1),
    ({"parts": [{"type": "context", "uri": "viking://resources/x", "abstract": f"password: {WORD}"}]}, 1),
    ({"parts": [{"type": "tool", "tool_input": {"password": WORD, "user": "alice"}, "tool_output": f"token {KEY}"}]}, 2),
    ({"parts": [{"type": "tool", "tool_input": {"argv": ["login", "--password", WORD]}}]}, 1),
    ({"parts": [{"type": "tool", "tool_input": [{"env": [f"API_KEY={KEY}"]}]}]}, 1),
    ({"parts": [{"type": "tool", "tool_input": PEM, "tool_output": "x " * 15_000 + KEY}]}, 2),
    ({"parts": [{"type": "tool", "tool_output": {"secret": WORD}}]}, 1),
    ({"parts": [{"type": "odd", "text": KEY}, {"type": "odd", "held": {"password": WORD}}]}, 2),
    ({"parts": [{"type": "image_url", "image_url": {"url": f"https://alice:{WORD}@example.org/a.png"}}]}, 1),
    ({"content": "The deploy key is in the vault, not here; the commit is 4f2a9c1d."}, 0),
]  # fmt: skip


def test_none_is_stored_whatever_part_it_stands_in(desk: Desk) -> None:
    for number, (message, count) in enumerate(SAID):
        assert desk.sessions.add(ALICE, "s", [{"role": "user", **message}])["masked"] == count, number
    desk.sessions.used(ALICE, "s", [], {"uri": "viking://agent/skills/x", "input": {"password": WORD}, "output": KEY})
    whole = [desk.sessions.tool_result(ALICE, "s", one["tool_result_id"], limit=-1)["content"]
             for one in desk.sessions.tool_results(ALICE, "s")["tool_results"]]  # fmt: skip
    assert len(whole) == 1
    assert whole[0].endswith("[masked: API key]")
    desk.sessions.commit(ALICE, "s")
    desk.work()
    data = everything(desk)
    for secret in SECRETS:
        assert secret.encode() not in data
        assert desk.search.grep(ALICE, "viking://~", secret).matches == ()
    told = json.dumps(desk.sessions.archive(ALICE, "s", "archive_001"))
    assert '"user": "alice"' in told
    assert '"password": "[masked: password]"' in told
    assert "4f2a9c1d" in told


def test_what_is_repeated_is_masked_once_and_tokens_count_what_is_kept(desk: Desk) -> None:
    first = desk.say("s", f"key {KEY}", id="m")
    again = desk.say("s", f"key {KEY}", id="m")
    assert (first["masked"], again["added"]) == (1, 0)
    assert first["pending_tokens"] == -(-len("key [masked: API key]") // 4)


def test_it_can_be_switched_off(desk: Desk) -> None:
    desk.sessions._settings = SessionSettings(scrub_secrets=False)
    assert desk.say("s", KEY)["masked"] == 0
    assert desk.texts("s") == [KEY]


@pytest.mark.parametrize(
    ("value", "kept", "count"),
    [
        (None, None, 0), (5, 5, 0), ({"a": [1, True, None, 1.5]}, {"a": [1, True, None, 1.5]}, 0),
        ({"password": 1234567890123}, {"password": "[masked: password]"}, 1),
        ({"token_count": 5, "password": True, "max_tokens": 100}, {"token_count": 5, "password": True, "max_tokens": 100}, 0),
        (["-v", "--token", WORD], ["-v", "--token", "[masked: password]"], 1),
        (["password", "of", "the", "day"], ["password", "of", "the", "day"], 0),
        ({KEY: 1}, {"[masked: API key]": 1}, 1),
        ({"env": f"A=1\n{KEY}\r\n{AWS}\n\tpass: hunter2x9Q!"},
         {"env": "A=1\n[masked: API key]\r\n[masked: API key]\n\tpass: [masked: password]"}, 3),
        ({"shown": json.dumps({"out": f"\x1b[32m{KEY}\n{KEY}"})},
         {"shown": json.dumps({"out": "\x1b[32m[masked: API key]\n[masked: API key]"})}, 2),
        ({"password": 'Xy7$a"b9Qrs', "x": "Xy7$a"}, {"password": "[masked: password]", "x": "Xy7$a"}, 1),
        ({"passwords": {"root": "hunter2x9Q"}}, {"passwords": {"root": "[masked: password]"}}, 1),
        ({"secret": ["k1`j2 n3h4j5k6l7"]}, {"secret": ["[masked: secret]"]}, 1),
        ({"password": "must have 8 characters"}, {"password": "must have 8 characters"}, 0),
        ({"token": "<the 3rd one>", "sort_key": "order 12 id"}, {"token": "<the 3rd one>", "sort_key": "order 12 id"}, 0),
    ],
)  # fmt: skip
def test_values_keep_their_form(value: Any, kept: Any, count: int) -> None:
    assert scrubbed_value(value) == (kept, count)

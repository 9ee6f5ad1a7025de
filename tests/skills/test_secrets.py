"""Secrets in skills are replaced before anything is stored, and the answer says where."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from openviking import OpenViking
from openviking.errors import InvalidArgumentError

KEY = "sk-live4Zq8Wm2Xv7Tn5Lb9Rc3Jd"
TOKEN = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OpenViking]:
    with OpenViking(tmp_path / "data", embedder="none", workers=0) as opened:
        yield opened


def everything(place: Path) -> bytes:
    return b"".join(file.read_bytes() for file in place.rglob("*") if file.is_file())


def test_no_byte_of_a_secret_is_stored_and_the_answer_says_where(store: OpenViking, tmp_path: Path) -> None:
    folder = tmp_path / "deploy"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        f"---\nname: deploy\ndescription: Deploys to db at postgres://app:Xk29vQz71p@db.example/x\n---\n\n# Deploy\n\nUse {KEY}\n"
    )
    (folder / "scripts" / "run.sh").write_text(f"#!/bin/sh\nset -e\nexport GITHUB_TOKEN={TOKEN}\n")
    (folder / "logo.bin").write_bytes(b"\x89PNG\r\n\x1a\n" + KEY.encode())
    added = store.add_skill(folder, source_metadata={"type": "git", "url": f"https://me:{TOKEN}@example.org/x"})
    assert [(one["path"], one["count"]) for one in added["masked"]] == [("SKILL.md", 2), ("scripts/run.sh", 1)]
    assert added["masked"][1]["lines"] == [3]
    assert len(added["warnings"]) == 2
    shown = store.get_skill("deploy", include_source=True)
    assert "# Deploy" in shown["content"]
    assert "Deploys to db at" in shown["description"]
    for text in (json.dumps(added), json.dumps(shown), store.read("viking://~/skills/deploy/scripts/run.sh")):
        assert not any(secret in text for secret in (KEY, TOKEN, "Xk29vQz71p"))
    # Bytes that are no text are not looked into.
    assert store.download("viking://~/skills/deploy/logo.bin").endswith(KEY.encode())
    (folder / "logo.bin").unlink()
    store.update_skill("deploy", folder)
    store.close()
    left = everything(tmp_path / "data")
    assert TOKEN.encode() not in left
    assert b"Xk29vQz71p" not in left


@pytest.mark.parametrize("data", [
    {"name": "call", "description": "Calls", "content": "# Call\n", "metadata": {"api_key": KEY}},
    {"name": "call", "description": f"Calls with {KEY}", "content": "# Call\n"},
    {"name": "call", "description": "Calls", "inputSchema": {"properties": {"a": {"type": "string", "description": f"such as {KEY}"}}}},
    f"---\nname: call\ndescription: Calls\n---\nexport API_KEY={KEY}\n",
])  # fmt: skip
def test_every_shape_of_a_skill_is_looked_through(store: OpenViking, data: object) -> None:
    added = store.add_skill(data)  # type: ignore[arg-type]
    assert sum(one["count"] for one in added["masked"]) == 1
    assert KEY not in json.dumps(store.get_skill("call"))
    assert store.validate_skill(store.get_skill("call")["content"])["valid"]


def test_a_skill_without_secrets_keeps_every_byte(store: OpenViking) -> None:
    text = (
        "\ufeff---\r\nname: plain\r\ndescription: 'Asks for a password: never stores one'\r\n---\r\nUse $API_KEY.\r\n"
    )
    added = store.add_skill(text)
    assert "masked" not in added
    assert "warnings" not in added
    assert store.get_skill("plain")["content"] == text


def test_a_name_that_is_a_secret_is_refused(store: OpenViking) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        store.add_skill({"name": TOKEN, "description": "d"})
    assert TOKEN not in caught.value.message

"""Keys: one spelling of each, nothing of them that helps to guess them, and no other that fits."""

from __future__ import annotations

import base64
import hashlib
import sqlite3
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from openviking.errors import FailedPreconditionError, InvalidArgumentError, UnauthenticatedError
from openviking.model.account import MAX_ID_CHARS, checked_account_id, checked_user_id
from openviking.service.keys import Key, Keys, kept, new_key, parsed, same_secret
from openviking.store.system import Page
from openviking.uri import is_identifier

identifiers = st.text(string.ascii_letters + string.digits + "_.@-", min_size=1, max_size=MAX_ID_CHARS).filter(
    is_identifier
)
secrets = st.text("0123456789abcdef", min_size=64, max_size=64)


@hypothesis.given(identifiers, identifiers, secrets)
def test_a_key_is_parsed_as_it_was_spelled(account: str, user: str, secret: str) -> None:
    key = Key(account, user, secret)
    assert parsed(str(key)) == key
    assert str(key).count(".") == 2
    segments = str(key).split(".")
    assert [base64.urlsafe_b64decode(part + "==").decode() for part in segments] == [account, user, secret]


@hypothesis.given(st.text() | st.text("ABCDabcd0123-_.=+/ \n", max_size=300))
def test_whatever_is_no_key_is_none_of_ours(text: str) -> None:
    key = parsed(text)
    assert key is None or str(key) == text


@hypothesis.given(identifiers, identifiers, secrets, st.data())
def test_every_other_spelling_of_a_key_is_refused(account: str, user: str, secret: str, data: st.DataObject) -> None:
    text = str(Key(account, user, secret))
    position = data.draw(st.integers(0, len(text) - 1))
    changed = text[:position] + data.draw(st.sampled_from("Aaz09-_.= +/é\x00")) + text[position + 1 :]
    for other in (changed, text + "=", text + ".", " " + text, text + "\n", text.replace(".", "..", 1), text[:-1]):
        key = parsed(other)
        assert other == text or key is None or (str(key) == other and key != Key(account, user, secret))


@pytest.mark.parametrize(
    "text",
    ["", ".", "..", "...", "a.b.c", "a" * 100_000, "é.é.é", "a" * 64, "\udc80", "YQ.Yg." + "A" * 86, "YR.Yg.Yw"],
)
def test_hostile_texts_are_no_keys(text: str) -> None:
    assert parsed(text) is None


def test_a_seeded_secret_follows_from_user_and_seed() -> None:
    expected = hashlib.sha256(b"alice\0correct horse").hexdigest()
    assert new_key("acme", "alice", "correct horse") == Key("acme", "alice", expected)
    assert new_key("other", "alice", "correct horse").secret == expected
    assert new_key("acme", "bob", "correct horse").secret != expected
    for bad in ("", 5, True, ["x"], b"x"):
        with pytest.raises(InvalidArgumentError):
            new_key("acme", "alice", bad)


def test_random_secrets_differ_and_have_256_bits() -> None:
    made = {new_key("acme", "alice", None).secret for _ in range(50)}
    assert len(made) == 50
    assert all(len(bytes.fromhex(secret)) == 32 for secret in made)


def test_what_is_kept_shows_no_secret() -> None:
    key, seeded = new_key("acme", "alice", None), new_key("acme", "alice", "x")
    random_record = kept(key, seeded=False, hashed=True)
    assert random_record.form == "sha256"
    assert str(key).startswith(random_record.prefix)
    assert len(random_record.prefix.split(".")[2]) == 8
    slow = kept(seeded, seeded=True, hashed=True)
    assert (slow.form, slow.prefix.split(".")[2]) == ("scrypt", "")
    assert kept(seeded, seeded=True, hashed=True).value != slow.value
    plain = kept(key, seeded=False, hashed=False)
    assert plain.value.decode() == str(key)
    for record in (random_record, slow):
        assert key.secret.encode() not in record.value
        assert seeded.secret.encode() not in record.value
    assert key.secret not in repr(key) + repr(plain)


@pytest.mark.parametrize("hashed", [True, False])
@pytest.mark.parametrize("seed", [None, "weak"])
def test_only_the_key_itself_fits(serve: Callable[..., Any], hashed: bool, seed: str | None) -> None:
    server = serve(hashed=hashed)
    alice = server.account("acme", "alice", seed=seed)
    bob, eve = server.user("acme", "bob", seed=seed), server.account("evil", "alice", seed=seed)
    who = server.who(alice)
    assert (who.account, who.user, who.role) == ("acme", "alice", "admin")
    assert server.who(bob).user == "bob"
    assert server.who(eve).account == "evil"
    account, user, secret = alice.split(".")
    strangers = [
        f"{eve.split('.')[0]}.{user}.{bob.split('.')[2]}",
        f"{account}.{bob.split('.')[1]}.{secret}",
        str(Key("acme", "nobody", "0" * 64)),
        str(Key("none", "alice", "0" * 64)),
        str(Key("acme", "alice", "0" * 64)),
        alice + "A",
        alice.upper(),
        "",
    ]
    for stranger in strangers:
        with pytest.raises(UnauthenticatedError):
            server.who(stranger)
        # Refused again, and not because of the first time.
        with pytest.raises(UnauthenticatedError):
            server.who(stranger)
    assert server.who(alice) == who


def test_a_slow_hash_is_computed_once_for_a_key(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    key = server.account("acme", "alice", seed="weak")
    counted: list[int] = []
    real = hashlib.scrypt

    def counting(*args: Any, **kwargs: Any) -> bytes:
        counted.append(1)
        return real(*args, **kwargs)

    monkeypatch.setattr(hashlib, "scrypt", counting)
    for _ in range(5):
        server.who(key)
    assert len(counted) == 1
    again = server.tenancy.admin.regenerate_key(server.who(key), "acme", "alice", seed="other")["user_key"]
    for _ in range(3):
        with pytest.raises(UnauthenticatedError):
            server.who(key)
        assert server.who(again).user == "alice"
    assert len(counted) == 4


def test_plain_keys_are_hashed_when_they_are_to_be(serve: Callable[..., Any], place: Path) -> None:
    plain = serve(hashed=False)
    keys = [plain.account("acme", "alice"), plain.user("acme", "bob", seed="weak")]
    assert plain.tenancy.keys.harden() == 0
    hashing = serve(hashed=True)
    assert hashing.tenancy.keys.harden() == 2
    assert hashing.tenancy.keys.harden() == 0
    assert [hashing.who(key).user for key in keys] == ["alice", "bob"]
    forms = {user.id: user.key.form for user in hashing.tenancy.system.users("acme", Page())[0]}
    assert forms == {"alice": "sha256", "bob": "scrypt"}
    connection = sqlite3.connect(place / "system.db")
    values = connection.execute("SELECT key_value FROM users").fetchall()
    connection.close()
    assert all(parsed(key).secret.encode() not in row[0] for key in keys for row in values)  # type: ignore[union-attr]


def test_the_key_of_who_is_being_deleted_gives_412(server: Any) -> None:
    admin = server.account("acme")
    key = server.user("acme", "alice")
    server.tenancy.admin.delete_user(server.who(admin), "acme", "alice")
    with pytest.raises(FailedPreconditionError):
        server.who(key)
    with pytest.raises(UnauthenticatedError):
        server.who(str(Key("acme", "alice", "0" * 64)))
    server.work("acme")
    with pytest.raises(UnauthenticatedError):
        server.who(key)


def test_secrets_of_any_length_are_compared() -> None:
    assert same_secret("a", "a")
    assert not same_secret("a", "b")
    assert not same_secret("a", "a" * 10_000)
    assert not same_secret("", "a")
    assert same_secret("\udc80ü", "\udc80ü")


@hypothesis.given(identifiers)
def test_identifiers_are_taken_as_they_are(text: str) -> None:
    assert checked_user_id(text) == text
    if text.startswith("_"):
        with pytest.raises(InvalidArgumentError):
            checked_account_id(text)
    else:
        assert checked_account_id(text) == text


@hypothesis.given(st.text() | st.integers() | st.none() | st.lists(st.text()) | st.binary())
def test_nothing_else_is_an_identifier(value: object) -> None:
    if isinstance(value, str) and is_identifier(value) and len(value) <= MAX_ID_CHARS:
        return
    for check in (checked_user_id, checked_account_id):
        with pytest.raises(InvalidArgumentError):
            check(value)


@pytest.mark.parametrize("text", [".", "..", "a@b@c", "a b", "a/b", "a\n", "ü", "a" * (MAX_ID_CHARS + 1), "", "a~b"])
def test_bad_identifiers(text: str) -> None:
    with pytest.raises(InvalidArgumentError):
        checked_user_id(text)


def test_keys_need_no_process_of_their_own(server: Any) -> None:
    """What one process changed another sees with its next look."""
    other = Keys(server.tenancy.system)
    key = server.account("acme")
    assert other.identify(key).user == "boss"

"""Keys: how they are spelled, made, kept and recognised (contract/core.md §1.5).

A key names its account and user, so that it is found with one look-up however many there are. Its secret is 256
random bits: no guessing finds it from a fast hash, and a slow one would only let strangers burn our time. A secret made
from a seed is only as good as the seed, which may be a word; so it is kept by scrypt, and of it nothing is shown.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from openviking.errors import FailedPreconditionError, InvalidArgumentError, UnauthenticatedError
from openviking.model.account import MAX_ID_CHARS, KeyRecord, User
from openviking.model.identity import Identity, Role
from openviking.store.system import SystemStore
from openviking.uri import is_identifier

MAX_KEY_CHARS: Final = 1024
SHOWN_CHARS: Final = 8
"""Characters of a random secret that its prefix shows: 24 of its 256 bits."""

REMEMBERED: Final = 4096
SCRYPT_COST: Final = 1 << 14
SCRYPT_MEMORY: Final = 64 * 1024 * 1024
_HARDENED_AT_ONCE: Final = 100
_SECRET = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Key:
    """A key taken apart; ``secret`` is 64 hexadecimal digits."""

    account: str
    user: str
    secret: str = field(repr=False)

    def __str__(self) -> str:
        return ".".join(_encoded(part) for part in (self.account, self.user, self.secret))


def parsed(text: str) -> Key | None:
    """The key that ``text`` spells, None if it spells none; there is one spelling only of each."""
    if len(text) > MAX_KEY_CHARS:
        return None
    parts = [_decoded(part) for part in text.split(".")]
    if len(parts) != 3 or not all(parts):
        return None
    account, user, secret = (part or "" for part in parts)
    sound = all(is_identifier(one) and len(one) <= MAX_ID_CHARS for one in (account, user))
    return Key(account, user, secret) if sound and _SECRET.fullmatch(secret) else None


def new_key(account: str, user: str, seed: object) -> Key:
    """A key with a random secret, or with the one that follows from ``seed``; raises `InvalidArgumentError`."""
    if seed is None:
        return Key(account, user, secrets.token_hex(32))
    if not isinstance(seed, str) or not seed:
        raise InvalidArgumentError("seed must be a text that is not empty", field="seed")
    return Key(account, user, hashlib.sha256(f"{user}\0{seed}".encode("utf-8", "surrogatepass")).hexdigest())


def kept(key: Key, *, seeded: bool, hashed: bool) -> KeyRecord:
    """What is kept of a key."""
    named = ".".join(_encoded(part) for part in (key.account, key.user))
    if not hashed:
        # Nothing of a secret is shown beside the key itself; the salt tells `Keys.harden` how it was made.
        return KeyRecord("plain", b"seeded" if seeded else b"", str(key).encode(), named + ".")
    if seeded:
        salt = secrets.token_bytes(16)
        return KeyRecord("scrypt", salt, _slow(key.secret, salt), named + ".")
    return KeyRecord("sha256", b"", _fast(key.secret), f"{named}.{_encoded(key.secret)[:SHOWN_CHARS]}")


class Keys:
    """Makes keys and recognises them.

    ``hashed`` is ``encryption.api_key_hashing.enabled``: without it keys are kept as they are, so that they can be
    read back. It says how new ones are kept; `harden` hashes the old.
    """

    def __init__(self, system: SystemStore, *, hashed: bool = True) -> None:
        self._system = system
        self._hashed = hashed
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        self._answers: OrderedDict[bytes, bool] = OrderedDict()

    def issue(self, account: str, user: str, seed: str | None = None) -> tuple[str, KeyRecord]:
        """A new key, and what is to be kept of it."""
        key = new_key(account, user, seed)
        return str(key), kept(key, seeded=seed is not None, hashed=self._hashed)

    def identify(self, text: str) -> Identity:
        """Whose key it is, as the store says at this moment.

        Raises `UnauthenticatedError` for one that is unknown, replaced or malformed, `FailedPreconditionError` for
        that of a user who is being deleted.
        """
        key = parsed(text)
        user = None if key is None else self._system.user(key.account, key.user)
        if key is None or user is None or user.key is None or not self._fits(key, user.key):
            raise UnauthenticatedError("Invalid API key")
        if user.deletion is not None:
            raise FailedPreconditionError(
                f"The user {user.id} is being deleted", resource=user.id, task_id=user.deletion
            )
        return Identity(account=user.account, user=user.id, role=user.role, registration=user.number)

    def role(self, account: str, user: str) -> Role | None:
        """The role of a registered user, None for anybody else."""
        found = self._system.user(account, user)
        return None if found is None else found.role

    def shown(self, user: User) -> str | None:
        """The key itself where keys are kept as they are; None where it is hashed."""
        return user.key.value.decode() if user.key is not None and user.key.form == "plain" else None

    def harden(self) -> int:
        """Hash the keys that are still kept as they are, if keys are to be hashed; how many."""
        done = 0
        while self._hashed and (users := self._system.plain_keys(_HARDENED_AT_ONCE)):
            for user in users:
                key = parsed((user.key.value if user.key else b"").decode())
                if key is None or user.key is None:
                    raise UnauthenticatedError(f"What is kept of the key of {user.account}/{user.id} is no key")
                hashed = kept(key, seeded=user.key.salt != b"", hashed=True)
                done += self._system.set_key(user.account, user.id, hashed, instead_of=user.key)
        return done

    def _fits(self, key: Key, record: KeyRecord) -> bool:
        if record.form == "plain":
            return hmac.compare_digest(str(key).encode(), record.value)
        if record.form == "sha256":
            return hmac.compare_digest(_fast(key.secret), record.value)
        return self._fits_slowly(key, record)

    def _fits_slowly(self, key: Key, record: KeyRecord) -> bool:
        """Compare by scrypt, once for each secret and record; one at a time, so that strangers use one core at most."""
        question = hashlib.sha256(record.salt + record.value + key.secret.encode()).digest()
        answer = self._remembered(question)
        if answer is not None:
            return answer
        with self._turn:
            answer = self._remembered(question)
            if answer is None:
                answer = hmac.compare_digest(_slow(key.secret, record.salt), record.value)
                with self._lock:
                    self._answers[question] = answer
                    while len(self._answers) > REMEMBERED:
                        self._answers.popitem(last=False)
        return answer

    def _remembered(self, question: bytes) -> bool | None:
        with self._lock:
            answer = self._answers.get(question)
            if answer is not None:
                self._answers.move_to_end(question)
            return answer


def same_secret(given: str, expected: str) -> bool:
    """Whether two texts are equal, in a time that tells neither how far they are nor how long."""
    one, two = (hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in (given, expected))
    return hmac.compare_digest(one, two)


def _fast(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _slow(secret: str, salt: bytes) -> bytes:
    return hashlib.scrypt(secret.encode(), salt=salt, n=SCRYPT_COST, r=8, p=1, maxmem=SCRYPT_MEMORY, dklen=32)


def _encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decoded(text: str) -> str | None:
    try:
        decoded = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    return decoded if _encoded(decoded) == text else None

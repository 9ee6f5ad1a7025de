"""Text out of bytes: the encoding of a file, or that it is binary.

UTF-8 is tried first and settles nearly every file. UTF-16 and UTF-32 are known by their byte order mark or by where
their NUL bytes stand. What remains is an 8-bit or East Asian encoding, judged on a bounded sample of the parts that
are not ASCII and then validated over the whole. Time is linear in the size, with a small constant.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

_UTF32_BOMS: Final = ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"))
_UTF16_BOMS: Final = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))

# Only formats that could pass for text: most others hold a NUL byte and need no entry.
_BINARY_MAGIC: Final = (
    b"%PDF-", b"\x89PNG\r\n\x1a\n", b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08", b"\x1f\x8b\x08", b"BZh91AY&SY", b"\xfd7zXZ\x00",
    b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"\x7fELF", b"\xca\xfe\xba\xbe", b"\xcf\xfa\xed\xfe",
    b"\xff\xd8\xff", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"SQLite format 3\x00", b"\x00asm", b"OggS\x00", b"wOF2", b"wOFF",
)  # fmt: skip

# Bell, backspace, form feed, vertical tab, Ctrl-Z and escape sequences stand in terminal logs and old listings.
_CONTROLS: Final = bytes(set(range(0x20)) - set(b"\t\n\r\f\v\a\b\x1a\x1b")) + b"\x7f"
_MAX_CONTROL_SHARE: Final = 0.1
_MAX_CONTROL_SHARE_LEGACY: Final = 0.01
_MAX_DAMAGE_SHARE: Final = 0.01

_SAMPLE_BYTES: Final = 32 * 1024
_DAMAGE_SAMPLE_BYTES: Final = 256 * 1024
_WINDOW_BYTES: Final = 2048
_HIGH_RUN: Final = re.compile(rb"[\x80-\xff]+")
_BOUNDARY: Final = re.compile(rb"[\x00-\x2f]")
_UTF8_SEQUENCE: Final = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")

_CYRILLIC_VOWELS: Final = frozenset("аеёиоуыэюяіїєАЕЁИОУЫЭЮЯІЇЄ")
_INNER_SYMBOL: Final = re.compile(r"(?<=[^\W\d_])[\x80-\u02ff\u2010-\u2018\u201a-\u2fff](?<!\w)(?=[^\W\d_])")
_LATIN_LETTERS: Final = {
    "cp1252": frozenset("àâäçèéêëîïôöùûüÿœæñáíóúßåøãõìòºª"),
    "cp1250": frozenset("ąćęłńóśźżáčďéěíňřšťúůýžäôľĺŕöüőűăâîșțşţđß"),
    "iso8859_2": frozenset("ąćęłńóśźżáčďéěíňřšťúůýžäôľĺŕöüőűăâîşţđß"),
    "cp1254": frozenset("çğıöşüâîû"),
    "cp1257": frozenset("ąčęėįšųūžāēģīķļņõäöü"),
}
"""Letters that the languages written in an encoding use; each also has others, for languages that use another one."""

_INNER_CAPITAL: Final = re.compile("[а-яёіїє][А-ЯЁІЇЄ]")

_LATIN: Final = ("cp1252", "cp1250", "cp1254", "cp1257", "iso8859_2")
_OTHER_BYTE: Final = ("cp1251", "koi8_r", "cp1253", "cp1255", "cp1256", "cp874")
_EAST_ASIAN: Final = ("gb18030", "big5", "cp932", "euc_jp", "cp949")
_PUBLIC_NAMES: Final = {
    "cp1250": "windows-1250", "cp1251": "windows-1251", "cp1252": "windows-1252", "cp1253": "windows-1253",
    "cp1254": "windows-1254", "cp1255": "windows-1255", "cp1256": "windows-1256", "cp1257": "windows-1257",
    "cp874": "windows-874", "iso8859_2": "iso-8859-2", "koi8_r": "koi8-r", "cp932": "shift_jis", "euc_jp": "euc-jp",
    "cp949": "euc-kr",
}  # fmt: skip
_CODECS: Final = {"utf-8-sig": "utf-8"} | {public: name for name, public in _PUBLIC_NAMES.items()}
"""The byte order mark of UTF-8 stays in the text, so that the codec must not add another."""


def decode(data: bytes) -> tuple[str, str] | None:
    """The text of ``data`` and the name of its encoding, None if it is binary.

    The text can always be encoded as UTF-8 and holds no NUL. UTF-8 is given back unchanged, so that its bytes and
    the text's UTF-8 form are identical; a byte order mark therefore stays in it as U+FEFF (``utf-8-sig``), while
    those of UTF-16 and UTF-32 are dropped. Where a few bytes of a clear encoding are damaged, U+FFFD stands for
    them. Names are such as ``utf-8``, ``utf-16-le``, ``gb18030``, ``shift_jis``, ``windows-1252``.
    """
    if data.startswith(_BINARY_MAGIC):
        return None
    for mark, name in _UTF32_BOMS + _UTF16_BOMS:
        if data.startswith(mark):
            return _wide(data[len(mark) :], name)
    if b"\0" in data:
        return _unmarked_utf16(data)
    controls = len(data) - len(data.translate(None, _CONTROLS))
    if controls > len(data) * _MAX_CONTROL_SHARE:
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        if controls > len(data) * _MAX_CONTROL_SHARE_LEGACY:
            return None
        return _damaged_utf8(data) or _legacy(data)
    return text, "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"


def codec(encoding: str) -> str:
    """The Python codec that turns the text of `decode` back into bytes of the encoding that it named."""
    return _CODECS.get(encoding, encoding)


def _wide(data: bytes, name: str) -> tuple[str, str] | None:
    text = data.decode(name, "replace")
    damaged = text.count("\ufffd")
    if "\0" in text or damaged > max(1, len(text) * _MAX_DAMAGE_SHARE):
        return None
    return text, name


def _unmarked_utf16(data: bytes) -> tuple[str, str] | None:
    if len(data) % 2:
        return None
    sample = data[: _SAMPLE_BYTES * 2]
    best, best_share = "", 0.98
    for name in ("utf-16-le", "utf-16-be"):
        share = _common_share(sample.decode(name, "replace"))
        if share > best_share:
            best, best_share = name, share
    if not best:
        return None
    try:
        text = data.decode(best)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else (text, best)


def _common_share(text: str) -> float:
    """The share of characters of the blocks that running text is made of."""
    return sum(1 for char in text if _is_common(ord(char))) / max(len(text), 1)


def _is_common(code: int) -> bool:
    return (
        0x20 <= code <= 0x7E
        or code in {0x9, 0xA, 0xD}
        or 0xA0 <= code <= 0x6FF
        or 0x2010 <= code <= 0x206F
        or 0x3000 <= code <= 0x30FF
        or 0x4E00 <= code <= 0x9FFF
        or 0xAC00 <= code <= 0xD7A3
        or 0xFF01 <= code <= 0xFFEF
        or 0x1F300 <= code <= 0x1FAFF
    )


def _damaged_utf8(data: bytes) -> tuple[str, str] | None:
    """UTF-8 with a few broken bytes, such as a log that was cut inside of a character."""
    for part in (data[:_DAMAGE_SAMPLE_BYTES], data):
        whole = sum(1 for _ in _UTF8_SEQUENCE.finditer(part))
        text = part.decode("utf-8", "replace")
        # A cut sample may end inside of a character, which counts as one more.
        if (whole < 4 and part is data) or text.count("\ufffd") > max(2, whole // 20):
            return None
        if len(part) == len(data):
            return (text, "utf-8") if whole >= 4 else None
    return None


def _legacy(data: bytes) -> tuple[str, str] | None:
    for name in _candidates(_sample(data)):
        try:
            text = data.decode(name)
        except UnicodeDecodeError:
            text = data.decode(name, "replace")
            if text.count("\ufffd") > len(text) // 1000:
                continue
        if _readable(text):
            return text, _PUBLIC_NAMES.get(name, name)
    return None


def _sample(data: bytes) -> bytes:
    """The first parts of ``data`` that are not ASCII with what surrounds them, cut where no character is split."""
    parts: list[bytes] = []
    taken = position = 0
    while taken < _SAMPLE_BYTES and (found := _HIGH_RUN.search(data, position)):
        # All bytes between the last part and this run are ASCII, so any of them starts a character.
        start = max(position, found.start() - 80, data.rfind(b"\n", position, found.start()) + 1)
        boundary = _BOUNDARY.search(
            data, min(found.start() + _WINDOW_BYTES, len(data)), found.start() + 2 * _WINDOW_BYTES
        )
        newline = data.find(b"\n", found.end(), found.start() + _WINDOW_BYTES)
        end = newline + 1 if newline >= 0 else boundary.end() if boundary else found.start() + 2 * _WINDOW_BYTES
        parts.append(data[start:end])
        taken += end - start
        position = end
    return b"".join(parts)


def _candidates(sample: bytes) -> list[str]:
    """Encodings that ``sample`` may be in, the likeliest first."""
    runs = [len(run) for run in _HIGH_RUN.findall(sample)]
    latin = _looks_latin(sample, runs)
    words = not latin and sum(runs) >= 3 * len(runs)
    allowed = list(_LATIN if latin else _OTHER_BYTE + _EAST_ASIAN if words else _LATIN + _OTHER_BYTE + _EAST_ASIAN)
    # Most folders have no such file, and the import costs more than opening a store.
    from charset_normalizer import from_bytes  # noqa: PLC0415

    matches: list[tuple[float, float, int, str]] = []
    # A long sample may still end inside of a character.
    for cut in range(4):
        found = from_bytes(sample[: len(sample) - cut], cp_isolation=allowed, threshold=0.4, preemptive_behaviour=False)
        matches = [
            (
                round(match.chaos + _strangeness(str(match), name), 2),
                0.0 if latin else -match.coherence,
                allowed.index(name),
                name,
            )
            for match in found
            for name in match.could_be_from_charset
            if name in allowed
        ]
        if matches:
            break
    ranked = [name for _, _, _, name in sorted(matches)]
    return ranked[:4] or (["cp1252"] if latin else [])


def _looks_latin(sample: bytes, runs: list[int]) -> bool:
    """Whether the bytes beyond ASCII stand one or two at a time among ASCII letters, as accents do."""
    letters = sum(1 for byte in sample if chr(byte).isascii() and chr(byte).isalpha())
    return letters > 1.5 * sum(runs) and sum(run > 2 for run in runs) <= len(runs) // 20


def _strangeness(text: str, name: str) -> float:
    """How much of ``text`` consists of characters that the encoding has but its writers hardly use."""
    beyond = [char for char in text if char > "\x7f"]
    if name in {"cp1251", "koi8_r"}:
        # Hebrew and other alphabets read as Cyrillic give letters without vowels, or with capitals inside of words.
        vowels = sum(1 for char in beyond if char in _CYRILLIC_VOWELS)
        shouted = sum(1 for char in beyond if char.isupper()) > len(beyond) * 0.6
        return (
            0.5 * (vowels < len(beyond) * 0.2) + 0.2 * shouted + len(_INNER_CAPITAL.findall(text)) / max(len(beyond), 1)
        )
    if name == "cp874":
        # Korean read as Thai gives consonants without vowels, and letters that Thai gave up.
        vowels = sum(1 for char in beyond if "\u0e30" <= char <= "\u0e3a" or "\u0e40" <= char <= "\u0e4e")
        return 0.5 * (vowels < len(beyond) * 0.2) + sum(char in "ฃฅ" for char in beyond) / max(len(beyond), 1)
    if name in _LATIN_LETTERS:
        # What is no letter stands beside words, not inside of them.
        symbols = len(_INNER_SYMBOL.findall(text))
        letters = sum(1 for char in beyond if char.isalpha() and char.lower() not in _LATIN_LETTERS[name])
        return (symbols + letters) / max(len(beyond), 1)
    return sum(1 for char in beyond if _is_strange(char, name)) / max(len(beyond), 1)


def _is_strange(char: str, name: str) -> bool:
    code = ord(char)
    if name == "cp932":
        return 0xFF61 <= code <= 0xFF9F
    if name == "gb18030":
        try:
            first = char.encode("gb2312")[0]
        except UnicodeEncodeError:
            return True
        return first in {0xA4, 0xA5} or first >= 0xD8
    return False


def _readable(text: str) -> bool:
    start = text[: 2 * _SAMPLE_BYTES]
    odd = sum(
        1
        for char in start
        if not char.isprintable() and not char.isspace() and char not in "\a\b\x1a\x1b\ufeff\u200b\xad"
    )
    return odd <= len(start) * 0.02

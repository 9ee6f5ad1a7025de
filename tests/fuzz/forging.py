"""Zip files as nobody's tool would write them: every field of every header is what the strategy says, then bytes are broken."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from hypothesis import strategies as st

NASTY = (
    "../../evil", "/abs", "C:\\x", "C:x", "..\\up", "a/../b", "a//b", "./a", "a/.", "a\0b", "nul.txt", "CON", "a" * 300,
    "é", "e\u0301", "\u202egpj.exe", "\uff0e\uff0e/x", "%2e%2e", ".abstract.md", ".overview.md", "{calendar:today}", "#x?",
    "a\nb", " ", "trailing. ", "__MACOSX/._a", ".gitignore", "node_modules/x", "a/" * 200 + "b", "\ud800", "退票规则", "",
)  # fmt: skip
"""Names that have hurt somebody."""

NAMES = st.one_of(
    st.sampled_from(NASTY).map(lambda name: name.encode("utf-8", "surrogatepass")),
    st.text(max_size=12).map(lambda name: name.encode("utf-8", "surrogatepass")),
    st.binary(max_size=24),
    st.sampled_from([b"a.md", b"b/c.md", b"A.MD", b"b", "退票.md".encode("gb18030"), "会議.txt".encode("cp932")]),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry, and how its headers lie: ``flags``, ``method`` and sizes need not be true."""

    name: bytes
    data: bytes
    flags: int = 0
    method: int = 0
    system: int = 3
    mode: int = 0o100644
    extra: bytes = b""
    size: int | None = None
    packed: int | None = None
    version: int = 20
    local_name: bytes | None = None
    shift: int = 0


ENTRIES = st.builds(
    Entry,
    name=NAMES,
    data=st.one_of(st.binary(max_size=200), st.just(b"words\n" * 50), st.just(b"*.md\n!a*\n**/x\n"), st.just(bytes(100_000))),
    flags=st.sampled_from([0, 0, 0, 0x800, 0x800, 0x1, 0x8, 0x20, 0x40, 0x2000]),
    method=st.sampled_from([0, 0, 8, 8, 9, 12, 14, 93, 97]),
    system=st.sampled_from([0, 3, 3, 10, 19]),
    mode=st.sampled_from([0o100644, 0o120777, 0o040755, 0o020666, 0o010644, 0]),
    extra=st.one_of(
        st.just(b""),
        st.binary(max_size=32),
        st.binary(max_size=28).map(lambda held: struct.pack("<HH", 1, len(held)) + held),
        st.text(max_size=8).map(
            lambda name: struct.pack("<HHBL", 0x7075, 5 + len(name.encode("utf-8", "replace")), 1, 0)
            + name.encode("utf-8", "replace")
        ),
    ),
    size=st.one_of(st.none(), st.none(), st.sampled_from([0, 1, 0xFFFFFFFF, 0xFFFFFFFE, 1 << 30])),
    packed=st.one_of(st.none(), st.none(), st.sampled_from([0, 1, 0xFFFFFFFF, 1 << 30])),
    version=st.sampled_from([20, 20, 20, 45, 63, 255]),
    local_name=st.one_of(st.none(), st.none(), NAMES),
    shift=st.sampled_from([0, 0, 0, 0, 1, -1, 1 << 20]),
)  # fmt: skip

BREAKS = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from(["flip", "cut", "copy", "zero", "sign"]), st.integers(0, 255)),
    max_size=4,
)
"""Where (as a share of the whole), how, and with what the bytes of an archive are broken."""


def forged(entries: list[Entry], comment: bytes = b"", *, wide: bool = False) -> bytes:
    """The bytes of a zip with ``entries``; with ``wide`` its end is that of a zip64."""
    out = bytearray()
    directory = bytearray()
    for one in entries:
        packed = _packed(one)
        size = len(one.data) if one.size is None else one.size
        packed_size = len(packed) if one.packed is None else one.packed
        common = struct.pack(
            "<HHHHHLLL", one.version & 0xFF, one.flags, one.method, 0, 0x5821, zlib.crc32(one.data), packed_size, size
        )
        at = len(out)
        local = one.name if one.local_name is None else one.local_name
        out += b"PK\x03\x04" + common + struct.pack("<HH", len(local), 0) + local + packed
        directory += (
            b"PK\x01\x02" + struct.pack("<BB", 20, one.system) + common
            + struct.pack("<HHHHHLL", len(one.name), len(one.extra), 0, 0, 0, one.mode << 16, max(0, at + one.shift))
            + one.name + one.extra
        )  # fmt: skip
    at, size, count = len(out), len(directory), len(entries)
    out += directory
    if wide:
        out += b"PK\x06\x06" + struct.pack("<QHHLLQQQQ", 44, 45, 45, 0, 0, count, count, size, at)
        out += b"PK\x06\x07" + struct.pack("<LQL", 0, at + size, 1)
        at, size, count = 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFF
    out += b"PK\x05\x06" + struct.pack("<HHHHLLH", 0, 0, count, count, size, at, len(comment)) + comment
    return bytes(out)


def broken(data: bytes, breaks: list[tuple[float, str, int]]) -> bytes:
    """``data`` after each of ``breaks``."""
    made = bytearray(data)
    for share, how, value in breaks:
        at = int(share * max(0, len(made) - 1))
        if how == "cut":
            del made[at : at + value]
        elif how == "copy":
            made[at:at] = made[at : at + value]
        elif how == "zero":
            made[at : at + 4] = bytes(4)
        elif how == "sign":
            made[at : at + 4] = (b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07")[value % 4]
        elif made:
            made[at] ^= value or 1
    return bytes(made)


def _packed(entry: Entry) -> bytes:
    if entry.method != 8:
        return entry.data
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(entry.data) + packer.flush()

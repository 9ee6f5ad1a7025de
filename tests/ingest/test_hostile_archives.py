"""Zips that no honest tool writes: what is wrong with one entry is told of that entry, and bounds hold for all together."""

from __future__ import annotations

import bz2
import runpy
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from openviking.errors import ProcessingError
from openviking.ingest import archive, zip_directory
from openviking.ingest.archive import ZipDelivery
from openviking.ingest.delivery import Scan, UnreadableError
from openviking.ingest.ignore import SkipRules
from openviking.model.imports import ImportOptions

FORGING = runpy.run_path(str(Path(__file__).resolve().parents[1] / "fuzz" / "forging.py"))
Entry, forged = FORGING["Entry"], FORGING["forged"]
LIMIT = 512 * 1024 * 1024
GOOD = Entry(b"good.md", b"good")
UTF8 = 0x800

Opened = Callable[[bytes], tuple[ZipDelivery, Scan]]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens and scans an archive called pack.zip."""
    made: list[ZipDelivery] = []

    def opening(data: bytes) -> tuple[ZipDelivery, Scan]:
        path = tmp_path / "pack.zip"
        path.write_bytes(data)
        made.append(ZipDelivery(path, "pack"))
        return made[-1], made[-1].scan(SkipRules(ImportOptions()), lambda: False)

    yield opening
    for one in made:
        one.close()


def reasons(scan: Scan) -> dict[str, str]:
    return {one.name: one.reason for one in scan.skipped}


def outcome(delivery: ZipDelivery, name: str) -> bytes | str:
    try:
        return delivery.read(name, LIMIT)
    except UnreadableError as error:
        return str(error)


@pytest.mark.parametrize(
    ("bad", "name", "said"),
    [
        (Entry(b"", b"x"), None, "it has no name"),
        (Entry(b"a\xff\xfe.md", b"x", flags=UTF8), None, "can't be unpacked"),
        (Entry(b"v.md", b"x", version=255), "v.md", b"x"),
        (Entry(b"e.md", b"x", extra=b"\x01\x00\xff\x00cut off"), "e.md", b"x"),
        (Entry(b"w.md", b"x", extra=struct.pack("<HH", 1, 0), size=0xFFFFFFFF), "w.md", "4,294,967,295 bytes"),
        (Entry(b"u.md", b"x", extra=struct.pack("<HHB", 0x7075, 1, 1)), "u.md", b"x"),
        (Entry(b"l.md", b"x", local_name=b"other.md"), "l.md", "differ"),
        (Entry(b"f.md", b"x", shift=1 << 20), "f.md", "can't be unpacked"),
        (Entry(b"s.md", b"words", method=8, size=3), "s.md", "Bad CRC-32"),
        (Entry(b"p.md", b"words" * 50, method=8, packed=4), "p.md", "can't be unpacked"),
        (Entry(b"t.md", b"words", size=500), "t.md", "has 5 bytes and says 500"),
        (Entry(b"c.md", b"words", flags=1), "c.md", "encrypted"),
        (Entry(b"m.md", b"words", method=93), "m.md", "only deflate is taken"),
        (Entry(b"k.md", b"words", mode=0o010644), "k.md", "neither a file nor a directory"),
        (Entry(b"a/" * 200 + b"b.md", b"x"), "a/" * 200 + "b.md", "128 levels"),
    ],
    ids=lambda one: one.name.decode("latin-1")[:8] if isinstance(one, Entry) else "",
)
def test_a_bad_entry_takes_no_other_along(opened: Opened, bad: Any, name: str | None, said: bytes | str) -> None:
    delivery, scan = opened(forged([bad, GOOD]))
    assert delivery.read("good.md", LIMIT) == b"good"
    other = [one for one in scan.files if one != "good.md"]
    told = outcome(delivery, other[0]) if other else next(iter(reasons(scan).values()))
    assert told == said if isinstance(said, bytes) else said in str(told), told
    if name is not None:
        assert [*other, *reasons(scan)] == [name]


def test_an_archive_of_all_of_them_delivers_the_good_one(opened: Opened) -> None:
    names = [name.encode("utf-8", "surrogatepass") for name in FORGING["NASTY"]]
    delivery, scan = opened(forged([*(Entry(name, b"x", flags=UTF8) for name in names), GOOD]))
    assert delivery.read("good.md", LIMIT) == b"good"
    assert {"../../evil", "/abs", "C:\\x", "C:x", "..\\up", "a/../b"} <= reasons(scan).keys()
    for file in scan.files:
        assert outcome(delivery, file) in {b"good", b"x"} or "utf-8" in str(outcome(delivery, file))


def test_names_that_only_fold_together_stay_apart(opened: Opened) -> None:
    names = ["A.md", "a.md", "é.md", "e\u0301.md", "ＡＢ.md", "AB.md"]
    _, scan = opened(forged([Entry(name.encode(), name.encode(), flags=UTF8) for name in names]))
    assert sorted(scan.files) == sorted(names)
    assert scan.skipped == []


def test_a_file_and_a_directory_of_one_name_are_both_delivered(opened: Opened) -> None:
    _, scan = opened(forged([Entry(b"a", b"1"), Entry(b"a/b", b"2"), Entry(b"a b/c", b"3")]))
    assert scan.files == ["a", "a/b", "a b/c"]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=["bzip2", "lzma"])
def test_methods_that_are_unpacked_without_a_bound_are_not_taken(opened: Opened, tmp_path: Path, method: int) -> None:
    path = tmp_path / "made.zip"
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr("bomb.txt", bytes(20_000_000))
    lied = path.read_bytes().replace(struct.pack("<L", 20_000_000), struct.pack("<L", 1000))
    tracemalloc.start()
    delivery, _ = opened(lied)
    with pytest.raises(UnreadableError, match="only deflate is taken"):
        delivery.read("bomb.txt", LIMIT)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_bzip2_would_be_such_a_method() -> None:
    assert len(bz2.compress(bytes(20_000_000))) < 100


def test_many_small_bombs_are_a_large_one(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "TOTAL_FREE_BYTES", 8_000_000)
    data = forged([Entry(b"%d.txt" % number, bytes(3_000_000), method=8) for number in range(10)])
    delivery, scan = opened(data)
    taken = [one for one in (outcome(delivery, name) for name in scan.files) if isinstance(one, bytes)]
    assert len(taken) == 2
    assert "in total" in str(outcome(delivery, "9.txt"))
    assert outcome(delivery, "0.txt") == bytes(3_000_000)  # What was counted once may be read again.


def test_entries_that_share_their_bytes_are_counted_each(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "TOTAL_FREE_BYTES", 1_000_000)
    single = forged([Entry(b"a.txt", bytes(500_000), method=8)])
    at = single.rfind(b"PK\x01\x02")
    entry, end = single[at : single.rfind(b"PK\x05\x06")], 500
    data = single[:at] + entry * end + struct.pack("<4sHHHHLLH", b"PK\x05\x06", 0, 0, end, end, len(entry) * end, at, 0)
    delivery, scan = opened(data)
    assert scan.files == ["a.txt"]
    assert len(scan.skipped) == end - 1
    assert outcome(delivery, "a.txt") == bytes(500_000)


def test_the_number_of_entries_is_counted_and_not_believed(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_directory, "MAX_ENTRIES", 10)
    data = bytearray(forged([Entry(b"%d" % number, b"") for number in range(11)]))
    end = data.rfind(b"PK\x05\x06")
    data[end + 8 : end + 12] = struct.pack("<HH", 1, 1)
    with pytest.raises(ProcessingError, match=r"pack\.zip has too many entries, at most 10"):
        opened(bytes(data))


def test_a_directory_that_is_too_large_or_not_there(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytearray(forged([GOOD]))
    end = data.rfind(b"PK\x05\x06")
    data[end + 12 : end + 16] = struct.pack("<L", 0x7FFFFFFF)
    with pytest.raises(ProcessingError, match="can't be unpacked"):
        opened(bytes(data))
    monkeypatch.setattr(zip_directory, "MAX_DIRECTORY_BYTES", 1000)
    with pytest.raises(ProcessingError, match="too many entries"):
        opened(forged([Entry(b"%d" % number, b"") for number in range(40)]))


def test_directories_are_bounded_too(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    data = forged([Entry(b"%d/a/b/c/d.md" % number, b"") for number in range(10)])
    assert len(opened(data)[1].files) == 10
    monkeypatch.setattr(archive, "MAX_ENTRIES", 39)
    with pytest.raises(ProcessingError, match="too many entries"):
        opened(data)


def test_deep_names_take_no_memory(opened: Opened) -> None:
    deep = [Entry(b"%04d/" % number + b"a/" * 1_900 + b"b", b"") for number in range(40)]
    wide = [Entry(b"%04d/" % number + b"/".join([b"x" * 30] * 120), b"") for number in range(40)]
    data = forged(deep + wide)
    tracemalloc.start()
    _, scan = opened(data)
    assert (len(scan.files), len(scan.skipped)) == (40, 40)
    assert tracemalloc.get_traced_memory()[1] < 20 * len(data)
    tracemalloc.stop()


def test_a_name_in_an_extra_field_counts_if_it_is_that_of_the_entry(opened: Opened) -> None:
    def named(crc: int, name: bytes) -> Any:
        return Entry("Größe.md".encode("cp437"), b"x", extra=struct.pack("<HHBL", 0x7075, 5 + len(name), 1, crc) + name)

    crc, meant = zlib.crc32("Größe.md".encode("cp437")), "退票.md".encode()
    assert opened(forged([named(crc, meant)]))[1].files == ["退票.md"]
    assert opened(forged([named(crc ^ 1, meant)]))[1].files == ["Größe.md"]
    assert reasons(opened(forged([named(crc, b"../../evil")]))[1]) == {
        "../../evil": "its name leads out of the archive"
    }


def test_what_honest_tools_write_is_read(opened: Opened, tmp_path: Path) -> None:
    assert opened(forged([GOOD], wide=True))[1].files == ["good.md"]
    assert opened(b"#!/bin/sh\nexit\n" + forged([GOOD], b"a comment"))[1].files == ["good.md"]

    class OneWay:
        """A pipe: the sizes come behind the bytes, in data descriptors."""

        def __init__(self) -> None:
            self.data = bytearray()

        def write(self, data: bytes) -> int:
            self.data += data
            return len(data)

        def flush(self) -> None:
            """Nothing is held back."""

    out = OneWay()
    pipe: Any = out
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.md", b"words " * 100)
    delivery, scan = opened(bytes(out.data))
    assert delivery.read("a.md", LIMIT) == b"words " * 100
    with zipfile.ZipFile(tmp_path / "wide.zip", "w") as file, file.open("b.md", "w", force_zip64=True) as entry:
        entry.write(b"wide")
    delivery, scan = opened((tmp_path / "wide.zip").read_bytes())
    assert delivery.read(scan.files[0], LIMIT) == b"wide"


@pytest.mark.parametrize("cut", [1, 10, 21, 22, 30, 60])
def test_a_cut_archive_is_an_error_that_names_it(opened: Opened, cut: int) -> None:
    with pytest.raises(ProcessingError, match=r"pack\.zip can't be unpacked"):
        opened(forged([GOOD])[:-cut])


def test_lines_of_ignore_files_are_bounded(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    ignoring = [Entry(b"%d/.gitignore" % number, b"*.log\n" * 3) for number in range(3)]
    logs = [Entry(b"%d/a.log" % number, b"") for number in range(3)]
    data = forged([*ignoring, *logs])
    assert opened(data)[1].files == []
    monkeypatch.setattr(archive, "MAX_IGNORE_LINES", 7)
    _, scan = opened(data)
    assert scan.files == ["1/a.log", "2/a.log"]
    assert [(one.name, one.error) for one in scan.failed] == [
        (f"{number}/.gitignore", "the archive has more than 7 lines of .gitignore") for number in (1, 2)
    ]

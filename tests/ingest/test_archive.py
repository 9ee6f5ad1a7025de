from __future__ import annotations

import io
import stat
import struct
import tracemalloc
import zipfile
from typing import TYPE_CHECKING

import pytest

from openviking.errors import ProcessingError
from openviking.ingest import zip_directory
from openviking.ingest.archive import ZipDelivery
from openviking.ingest.delivery import Scan, UnreadableError
from openviking.ingest.ignore import SkipRules
from openviking.model.imports import ImportOptions

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 512 * 1024 * 1024


def scan(delivery: ZipDelivery) -> Scan:
    return delivery.scan(SkipRules(ImportOptions()), lambda: False)


def pack(path: Path, *entries: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in entries:
            file.writestr(name, data)
    return path


def read_all(path: Path, stem: str = "pack") -> dict[str, bytes]:
    delivery = ZipDelivery(path, stem)
    try:
        return {name: delivery.read(name, LIMIT) for name in scan(delivery).files}
    finally:
        delivery.close()


def test_a_zip_gives_its_files_by_name_under_the_rules_of_folders(tmp_path: Path) -> None:
    path = pack(
        tmp_path / "pack.zip",
        ("z.md", b"z"), ("a/b.md", b"b"), ("a/", b""), (".env", b"s"), ("a/node_modules/x.js", b"x"), ("a/node_modules/y/z.js", b"x"), ("a/c.log", b"l"),
        ("a/.gitignore", b"*.log\n"), ("inner.zip", b"PK\x03\x04"), ("__MACOSX/a/._b.md", b"noise"),
    )  # fmt: skip
    delivery = ZipDelivery(path, "pack")
    found = scan(delivery)
    assert found.files == ["a/b.md", "inner.zip", "z.md"]
    assert {entry.name: entry.reason for entry in found.skipped} == {
        ".env": "hidden",
        "__MACOSX/a/._b.md": "metadata of another system",
        "a/.gitignore": "hidden",
        "a/c.log": "ignored by .gitignore",
        "a/node_modules/": "a directory of tools or build results, 2 files; include it with node_modules/",
    }
    delivery.close()


def test_an_include_takes_a_directory_of_a_zip_in_spite_of_its_name(tmp_path: Path) -> None:
    path = pack(tmp_path / "pack.zip", ("doc/build/x.md", b"x"), (".github/a/ci.yml", b"y"), (".github/w.md", b"z"))
    for include, names in {"build/": ["doc/build/x.md"], ".github/a/": [".github/a/ci.yml"]}.items():
        delivery = ZipDelivery(path, "pack")
        assert delivery.scan(SkipRules(ImportOptions.of(include=include)), lambda: False).files == names
        delivery.close()


def test_one_root_directory_of_the_same_name_is_unwrapped(tmp_path: Path) -> None:
    path = pack(tmp_path / "pack.zip", ("pack/a.md", b"a"), ("pack/sub/b.md", b"b"), ("__MACOSX/._pack", b""))
    assert read_all(path) == {"a.md": b"a", "sub/b.md": b"b"}
    assert list(read_all(path, "other")) == ["pack/a.md", "pack/sub/b.md"]
    two = pack(tmp_path / "two.zip", ("pack/a.md", b"a"), ("b.md", b"b"))
    assert list(read_all(two)) == ["b.md", "pack/a.md"]


@pytest.mark.parametrize(
    "name",
    [
        "../../evil.txt",
        "/abs/evil",
        "C:\\evil",
        "C:evil",
        "..\\..\\evil",
        "a/../../evil",
        "a/../b",
        "\\\\host\\share",
        "a\\..\\b/c",
    ],
)
def test_names_that_lead_out_are_reported(tmp_path: Path, name: str) -> None:
    path = pack(tmp_path / "pack.zip", (name, b"evil"), ("good.md", b"good"))
    delivery = ZipDelivery(path, "pack")
    found = scan(delivery)
    assert found.files == ["good.md"]
    assert [entry.reason for entry in found.skipped] == ["its name leads out of the archive"]
    delivery.close()


def test_nul_names_links_devices_and_doubles_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "pack.zip"
    with zipfile.ZipFile(path, "w") as file:
        link = zipfile.ZipInfo("link")
        link.create_system = 3
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.writestr(link, "/etc")
        device = zipfile.ZipInfo("device")
        device.create_system = 3
        device.external_attr = (stat.S_IFCHR | 0o666) << 16
        file.writestr(device, "")
        file.writestr("good.mdXevil.sh", "nul")
        file.writestr("twice.md", "first")
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("twice.md", "second")
    path.write_bytes(path.read_bytes().replace(b"good.mdXevil.sh", b"good.md\0evil.sh"))
    delivery = ZipDelivery(path, "pack")
    found = scan(delivery)
    assert found.files == ["twice.md"]
    assert delivery.read("twice.md", LIMIT) == b"second"
    assert {entry.name: entry.reason for entry in found.skipped} == {
        "device": "neither a file nor a directory",
        "good.md\\0evil.sh": "its name holds a NUL or is too long",
        "link": "symbolic link",
        "twice.md": "a later entry has the same name",
    }
    delivery.close()


def test_a_bomb_is_given_up_without_unpacking_it(tmp_path: Path) -> None:
    path = pack(tmp_path / "pack.zip", ("bomb.txt", bytes(50_000_000)), ("good.md", b"good"))
    tracemalloc.start()
    delivery = ZipDelivery(path, "pack")
    assert scan(delivery).files == ["bomb.txt", "good.md"]
    with pytest.raises(UnreadableError, match="more than 100 times"):
        delivery.read("bomb.txt", LIMIT)
    assert delivery.read("good.md", LIMIT) == b"good"
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()
    delivery.close()


def test_a_header_that_lies_about_the_size_is_not_believed(tmp_path: Path) -> None:
    path = pack(tmp_path / "pack.zip", ("bomb.txt", bytes(30_000_000)))
    raw = path.read_bytes()
    path.write_bytes(raw.replace(struct.pack("<L", 30_000_000), struct.pack("<L", 1000)))
    delivery = ZipDelivery(path, "pack")
    scan(delivery)
    with pytest.raises(UnreadableError):
        delivery.read("bomb.txt", LIMIT)
    delivery.close()


def test_limits_of_one_file_and_of_all_together(tmp_path: Path) -> None:
    path = pack(tmp_path / "pack.zip", *((f"{number}.txt", b"x" * 1000) for number in range(5)))
    delivery = ZipDelivery(path, "pack", max_total_bytes=3500)
    outcomes: list[int | str] = []
    for name in scan(delivery).files:
        try:
            outcomes.append(len(delivery.read(name, LIMIT)))
        except UnreadableError as error:
            outcomes.append(str(error))
    assert outcomes[:3] == [1000] * 3
    assert outcomes[3:] == ["the archive unpacks to more than is taken in total"] * 2
    with pytest.raises(UnreadableError, match="1,000 bytes, at most 999"):
        delivery.read("0.txt", 999)
    delivery.close()


def test_encrypted_damaged_and_unknown_methods_fail_alone(tmp_path: Path) -> None:
    path = pack(tmp_path / "pack.zip", ("a.txt", b"alpha " * 50), ("b.txt", b"beta " * 50), ("c.txt", b"gamma " * 50))
    raw = bytearray(path.read_bytes())
    with zipfile.ZipFile(io.BytesIO(bytes(raw))) as file:
        places = {info.filename: info.header_offset for info in file.infolist()}
    directory = raw.find(b"PK\x01\x02")
    raw[directory + 8] |= 1
    raw[places["b.txt"] + 30 + len("b.txt") + 3] ^= 0xFF
    third = raw.find(b"PK\x01\x02", raw.find(b"PK\x01\x02", directory + 1) + 1)
    raw[third + 10] = 97
    raw[places["c.txt"] + 8] = 97
    path.write_bytes(bytes(raw))
    delivery = ZipDelivery(path, "pack")
    assert scan(delivery).files == ["a.txt", "b.txt", "c.txt"]
    with pytest.raises(UnreadableError, match="encrypted"):
        delivery.read("a.txt", LIMIT)
    for name in ("b.txt", "c.txt"):
        with pytest.raises(UnreadableError, match="can't be unpacked"):
            delivery.read(name, LIMIT)
    delivery.close()


@pytest.mark.parametrize("data", [b"", b"not a zip at all", b"PK\x03\x04" + bytes(100), b"PK\x05\x06" + b"\xff" * 18])
def test_what_is_no_zip_is_an_error_that_names_it(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "pack.zip"
    path.write_bytes(data)
    with pytest.raises(ProcessingError, match=r"pack\.zip can't be unpacked|too many entries"):
        ZipDelivery(path, "pack")


def test_too_many_entries_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_directory, "MAX_ENTRIES", 10)
    path = pack(tmp_path / "pack.zip", *((f"{number}.txt", b"") for number in range(11)))
    with pytest.raises(ProcessingError, match="at most 10"):
        ZipDelivery(path, "pack")


def test_ten_thousand_entries_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "pack.zip"
    with zipfile.ZipFile(path, "w") as file:
        for number in range(10_000):
            file.writestr(f"d{number % 100}/{number}.txt", b"")
    delivery = ZipDelivery(path, "pack")
    assert len(scan(delivery).files) == 10_000
    delivery.close()


@pytest.mark.parametrize(
    ("encoding", "names"),
    [
        ("gb18030", ["退票规则/第一章.md", "退票规则/常见问题.md", "会议纪要.txt"]),
        ("cp932", ["会議の議事録.txt", "これは日本語です.md"]),
        ("utf-8", ["日本語/説明.md"]),
        ("cp437", ["café/menü.txt", "naïve.md"]),
    ],
)
def test_names_without_the_utf8_mark_are_decoded(tmp_path: Path, encoding: str, names: list[str]) -> None:
    plain = {name: f"entry-{number}".ljust(len(name.encode(encoding)), "x") for number, name in enumerate(names)}
    longer = {name: stand for name, stand in plain.items() if len(stand) == len(name.encode(encoding))}
    path = pack(tmp_path / "pack.zip", *((stand, name.encode()) for name, stand in longer.items()))
    raw = path.read_bytes()
    for name, stand in longer.items():
        raw = raw.replace(stand.encode(), name.encode(encoding))
    path.write_bytes(raw)
    assert longer
    assert read_all(path) == {name: name.encode() for name in longer}

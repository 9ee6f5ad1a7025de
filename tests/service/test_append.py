"""Appending keeps the text that is there, whatever its encoding is, and never ends in an error of Python's."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openviking import OpenViking
from openviking.errors import InvalidArgumentError

ROOT = "viking://resources"
URI = f"{ROOT}/f.txt"

Fill = Callable[[OpenViking, Mapping[str, str | bytes]], None]

THAI = "ภาษาไทยเป็นภาษาที่มีระดับเสียงของคำแน่นอนหรือวรรณยุกต์เช่นเดียวกับภาษาจีน และออกเสียงแยกคำต่อคำ\n" * 4
JAPANESE = "①日本語の文章をここに書きます。これは文字コードの試験です。ひらがなとカタカナと漢字があります。\n" * 4
FRENCH = "Où est le garçon ? Il a mangé une crêpe à la fraise près du château, déjà fêté l'été dernier.\n" * 4
GERMAN = "Die Größe der Änderung läßt sich schätzen; für Übungen genügt ein kürzerer Maßstab.\n" * 4
GREEK = "Η γλώσσα των αρχαίων Ελλήνων και η νεότερη ελληνική γλώσσα.\n" * 6

ENCODED = {
    "windows-874": (THAI.encode("cp874"), THAI),
    "shift_jis": (JAPANESE.encode("cp932"), JAPANESE),
    "euc-jp": (JAPANESE.replace("①", "").encode("euc_jp"), JAPANESE.replace("①", "")),
    "windows-1252": (GERMAN.encode("cp1252"), GERMAN),
    "windows-1253": (GREEK.encode("cp1253"), GREEK),
    "utf-16-le": (codecs.BOM_UTF16_LE + FRENCH.encode("utf-16-le"), FRENCH),
    "utf-16-be": (codecs.BOM_UTF16_BE + JAPANESE.encode("utf-16-be"), JAPANESE),
    "utf-32-le": (codecs.BOM_UTF32_LE + FRENCH.encode("utf-32-le"), FRENCH),
    "utf-8": (FRENCH.encode(), FRENCH),
    "utf-8-sig": (codecs.BOM_UTF8 + FRENCH.encode(), "\ufeff" + FRENCH),
    "empty": (b"", ""),
}


@pytest.mark.parametrize("encoding", ENCODED)
@pytest.mark.parametrize("more", ["plain", "①é日ภ😀\n"])
def test_all_text_is_kept_in_every_encoding(ov: OpenViking, fill: Fill, encoding: str, more: str) -> None:
    data, text = ENCODED[encoding]
    fill(ov, {"resources/f.txt": data})
    assert ov.read(URI) == text
    ov.write(URI, more, "append")
    assert ov.read(URI) == text + more
    assert ov.download(URI) == (text + more).encode()
    ov.write(URI, more, "append")
    assert ov.read(URI) == text + more + more


def test_nothing_more_changes_nothing(ov: OpenViking, fill: Fill) -> None:
    data, _ = ENCODED["windows-1252"]
    fill(ov, {"resources/f.txt": data})
    assert ov.write(URI, "", "append")["content_updated"] is False
    assert ov.download(URI) == data


def test_damaged_utf_8_keeps_its_bytes(ov: OpenViking, fill: Fill) -> None:
    data = FRENCH.encode() + "é".encode()[:1]
    fill(ov, {"resources/f.txt": data})
    before = ov.read(URI)
    assert before == FRENCH + "\ufffd"
    ov.write(URI, "één", "append")
    assert ov.read(URI) == before + "één"
    assert ov.download(URI) == data + "één".encode()
    ov.write(URI, "\ufffd" * 200, "append")
    assert ov.read(URI) == before + "één" + "\ufffd" * 200


def test_damaged_utf_16_keeps_its_text(ov: OpenViking, fill: Fill) -> None:
    data = codecs.BOM_UTF16_LE + (FRENCH * 3).encode("utf-16-le") + b"\x00\xd8" + "end".encode("utf-16-le")
    fill(ov, {"resources/f.txt": data})
    before = ov.read(URI)
    assert before == FRENCH * 3 + "\ufffdend"
    ov.write(URI, "more", "append")
    assert ov.read(URI) == before + "more"


@pytest.mark.parametrize("more", ["a\0b", "\x01" * 5000])
def test_what_would_make_it_binary_is_refused(ov: OpenViking, fill: Fill, more: str) -> None:
    fill(ov, {"resources/f.txt": FRENCH})
    with pytest.raises(InvalidArgumentError, match="no text"):
        ov.write(URI, more, "append")
    assert ov.read(URI) == FRENCH


def test_a_binary_file_takes_no_text(ov: OpenViking, fill: Fill) -> None:
    fill(ov, {"resources/f.txt": b"\x89PNG\r\n\x1a\n" + bytes(range(256))})
    with pytest.raises(InvalidArgumentError, match="binary"):
        ov.write(URI, "x", "append")


@given(data=st.binary(max_size=80), more=st.text(max_size=20))
def test_any_bytes_and_any_text(tmp_path_factory: pytest.TempPathFactory, data: bytes, more: str) -> None:
    from openviking.ingest.prepare import prepare
    from openviking.store.batch import PutFile

    with OpenViking(_shared(tmp_path_factory), workers=0) as ov:
        ov._accounts.store(ov._identity).apply([PutFile("resources/f.txt", prepare("f.txt", data))])
        try:
            before = ov.read(URI)
            ov.write(URI, more, "append")
        except InvalidArgumentError:
            assert ov.download(URI) == data
        else:
            assert ov.read(URI) == before + more


def _shared(factory: pytest.TempPathFactory) -> Path:
    place = factory.getbasetemp() / "appended"
    place.mkdir(exist_ok=True)
    return place

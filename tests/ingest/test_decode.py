from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openviking.ingest.decode import _PUBLIC_NAMES, codec, decode

LEGACY = [
    ("gb18030", "退款规则：出发前24小时可全额退款。", "gb18030"),
    ("gb18030", "会议纪要\n一、出席人员：张三、李四\n", "gb18030"),
    ("gb18030", "# 标题\nprint('你好，世界')  # 注释\n", "gb18030"),
    ("cp932", "これは日本語のテキストです。返金の規則。", "shift_jis"),
    ("cp932", "会議の議事録\n出席者：田中、鈴木\n", "shift_jis"),
    ("euc_jp", "これは日本語のテキストです。返金の規則。", "euc-jp"),
    ("big5", "退款規則：出發前二十四小時可全額退款。", "big5"),
    ("euc_kr", "환불 규칙은 출발 24시간 전까지입니다.", "euc-kr"),
    ("cp1251", "Договор № 5\nСтороны согласились о нижеследующем:\n", "windows-1251"),
    ("koi8_r", "Привет, мир! Возврат билетов возможен.", "koi8-r"),
    ("cp1252", "Café – déjà vu, naïve “quotes” €5 costs", "windows-1252"),
    ("latin-1", "Größe", "windows-1252"),
    ("latin-1", "Capitainerie du port : réservé aux abonnés\n", "windows-1252"),
    ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy", "windows-1250"),
    ("cp1253", "Καλημέρα κόσμε, επιστροφή χρημάτων", "windows-1253"),
    ("cp874", "สวัสดีชาวโลก เงื่อนไขการคืนเงินค่าตั๋วโดยสาร", "windows-874"),
    ("cp1252", "Ça va très bien. Où êtes-vous déjà ? L'été, le château français est fermé.", "windows-1252"),
    ("cp1254", "Türkiye'nin başkenti Ankara'dır; şehir güzel, ağaçlar çok, ışık bol.", "windows-1254"),
    ("iso8859_2", "Příliš žluťoučký kůň úpěl ďábelské ódy o svobodě.", "iso-8859-2"),
    ("cp1257", "Įlinkdama fechtuotojo špaga sublykčiojusi pragręžė apvalų arbūzą.", "windows-1257"),
    ("cp949", "프로젝트 계획서입니다. 오늘은 데이터베이스 복구를 이야기합니다.", "euc-kr"),
]


@pytest.mark.parametrize(("written", "text", "name"), LEGACY)
def test_short_legacy_texts_are_read(written: str, text: str, name: str) -> None:
    assert decode(text.encode(written)) == (text, name)
    assert text.encode(written).decode(codec(name)) == text


@pytest.mark.parametrize(("name", "public"), sorted(_PUBLIC_NAMES.items()))
def test_every_public_name_leads_back_to_its_codec(name: str, public: str) -> None:
    text = "".join(map(chr, range(0x20, 0xD800))).encode(name, "ignore").decode(name)
    assert len(text) > 190
    assert text.encode(codec(public)).decode(name) == text


@pytest.mark.parametrize("name", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"])
def test_unicode_gives_its_bytes_back(name: str) -> None:
    data = "退款 rules 規則\n".encode(name) * 20
    found = decode(data)
    assert found is not None
    assert found[1] == name
    assert found[0].encode(codec(name)) == data


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=200))
def test_utf8_is_never_taken_for_anything_else(text: str) -> None:
    data = text.encode()
    if data.startswith((b"%PDF-", b"BZh91AY&SY")):
        return
    assert decode(data) == (text, "utf-8-sig" if text.startswith("\ufeff") else "utf-8")


@given(st.binary(max_size=300))
def test_whatever_is_read_can_be_stored(data: bytes) -> None:
    found = decode(data)
    if found is not None:
        text, name = found
        text.encode()
        assert "\0" not in text
        assert name
        if name in {"utf-8", "utf-8-sig"} and "\ufffd" not in text:
            assert text.encode() == data


def test_the_byte_order_mark_of_utf8_stays_and_others_go() -> None:
    assert decode(b"\xef\xbb\xbf# x\n") == ("\ufeff# x\n", "utf-8-sig")
    for name in ("utf-16", "utf-32"):
        found = decode("naïve 退款\n".encode(name))
        assert found is not None
        assert found[0] == "naïve 退款\n"
    assert decode(b"\xfe\xff" + "é".encode("utf-16-be")) == ("é", "utf-16-be")


def test_utf16_without_mark_is_known_by_its_nuls() -> None:
    assert decode("hello world\nplain\n".encode("utf-16-le")) == ("hello world\nplain\n", "utf-16-le")
    assert decode("hello world\nplain\n".encode("utf-16-be")) == ("hello world\nplain\n", "utf-16-be")
    assert decode("退款规则：出发前24小时可全额退款。\n".encode("utf-16-be")) is not None


@pytest.mark.parametrize(
    "data",
    [
        b"%PDF-1.4\n1 0 obj\n<< >>\nendobj\n",
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        b"PK\x03\x04\x14\x00",
        b"\x1f\x8b\x08\x00abc",
        b"\x7fELF\x02\x01\x01",
        b"SQLite format 3\x00",
        b"text with one \x00 in it\n",
        bytes(range(1, 32)) * 10,
        "lost \0 inside".encode("utf-16"),
    ],
)
def test_binary_is_binary(data: bytes) -> None:
    assert decode(data) is None


def test_random_bytes_are_binary() -> None:
    source = random.Random(7)
    assert all(decode(source.randbytes(size)) is None for size in (64, 200, 1000, 100_000) for _ in range(5))


def test_nothing_and_blanks_are_text() -> None:
    assert decode(b"") == ("", "utf-8")
    assert decode(b" " * 4096) == (" " * 4096, "utf-8")


def test_terminal_output_is_text() -> None:
    text = "\x1b[31mred\x1b[0m\n" * 5
    assert decode(text.encode()) == (text, "utf-8")


def test_a_log_cut_inside_of_a_character_stays_utf8() -> None:
    data = ("支付失败，请重试。\n" * 50).encode()
    found = decode(data[1:-2])
    assert found is not None
    assert found[1] == "utf-8"
    assert found[0].count("支付失败") == 49


def test_one_legacy_byte_in_a_long_ascii_file() -> None:
    data = b"int main(void) { return 0; } /* plain */\n" * 20_000 + b"/* caf\xe9 */\n"
    found = decode(data)
    assert found is not None
    assert found[0].endswith("/* café */\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [b"plain ascii\n", "退款规则：出发前可全额退款。\n".encode("gbk"), b"\xe9", "é".encode(), bytes(range(1, 256))],
)
def test_a_hundred_megabytes_take_bounded_time(unit: bytes) -> None:
    data = (unit * (100_000_000 // len(unit) + 1))[:100_000_000]
    start = time.process_time()
    decode(data)
    assert time.process_time() - start < 20

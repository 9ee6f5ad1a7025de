"""Names in a zip are read in the encoding whose characters they consist of, be there ever so few of them."""

from __future__ import annotations

import pytest

from openviking.ingest.zip_names import names_codec

NAMES = {
    "gb18030": ["项目.txt", "退票规则/第一章.md", "会议纪要.txt", "新建文件夹/简历.doc", "照片", "使用说明书.pdf", "北京", "王小明"],
    "cp932": ["会議の議事録.txt", "これは日本語です.md", "見積書.xlsx", "写真", "東京", "新しいフォルダー"],
    "cp949": ["프로젝트.txt", "보고서 최종.hwp", "사진", "회의록", "새 폴더", "김철수 이력서.doc"],
    "cp950": ["專案報告.txt", "會議紀錄", "圖片", "新增資料夾", "台北"],
    "cp866": ["Проект.txt", "Документы/Отчёт за год.doc", "фото", "Новая папка"],
    "cp1251": ["Проект.txt", "отчёт"],
    "cp437": [
        "café/menü.txt", "naïve.md", "Größe.txt", "Übersicht.txt", "élève.doc", "préféré", "Müller & Söhne", "år", "España.txt", "décédée",
        "façade", "à la carte",
    ],
    "utf-8": ["项目.txt", "Größe.txt"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("encoding", "name"), [(encoding, name) for encoding, names in NAMES.items() for name in names]
)
def test_a_single_name_is_enough(encoding: str, name: str) -> None:
    assert names_codec([name.encode(encoding)]) == encoding


@pytest.mark.parametrize("encoding", NAMES)
def test_many_names_have_one_encoding(encoding: str) -> None:
    assert names_codec([name.encode(encoding) for name in NAMES[encoding]]) == encoding


def test_many_names_take_no_time() -> None:
    assert names_codec([f"项目{number}.txt".encode("gb18030") for number in range(100_000)]) == "gb18030"
    assert names_codec([bytes([0x80 + number % 128, 0xFF]) * 2_000 for number in range(1_000)]) != ""

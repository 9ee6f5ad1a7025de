"""Empty and blank files sink nothing: they are listed and readable, and the others are found."""

from __future__ import annotations

import zipfile
from pathlib import Path

from openviking import OpenViking


def test_a_zip_with_blank_files(tmp_path: Path) -> None:
    archive = tmp_path / "notes.zip"
    blank = {"empty.md": "", "line.md": "\n", "blanks.md": " " * 4096}
    with zipfile.ZipFile(archive, "w") as zipped:
        for number in range(37):
            zipped.writestr(f"n{number}.md", f"The word of this note is zorblax{number}x.\n")
        for name, text in blank.items():
            zipped.writestr(name, text)
    with OpenViking(tmp_path / "data", workers=0) as ov:
        report = ov.add_resource(archive, wait=True)
        assert (report.created, report.failed) == (40, ())
        for number in range(37):
            assert ov.find(f"zorblax{number}x", level=2).hits[0].uri == f"{report.root_uri}/n{number}.md"
        for name, text in blank.items():
            assert ov.read(f"{report.root_uri}/{name}") == text
        assert len(ov.ls(report.root_uri)) == 40
        ov.write(f"{report.root_uri}/late.md", "", mode="create")
        assert ov.read(f"{report.root_uri}/late.md") == ""
        status = ov.wait_processed(30)
        assert (status["waiting"], status["failed"]) == ({}, [])
        assert ov.check() == []


def test_a_stored_preference_is_listed_read_and_found(tmp_path: Path) -> None:
    with OpenViking(tmp_path, workers=0) as ov:
        uri = "viking://~/memories/preferences/tea.md"
        answer = ov.write(uri, "Prefers zorblax tea without milk.\n", mode="create")
        assert answer["context_type"] == "memory"
        assert [entry["uri"] for entry in ov.ls("viking://~/memories/preferences")] == [answer["uri"]]
        memory = ov.find("zorblax").memories[0]
        assert (memory.uri, memory.abstract) == (answer["uri"], "Prefers zorblax tea without milk.\n")
        assert ov.read(answer["uri"]) == "Prefers zorblax tea without milk.\n"

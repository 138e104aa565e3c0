"""The process that parses: its limits, its environment, and what its parent believes."""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from graphmem.ingest import media_types, parsing, processes
from graphmem.ingest.document import DocumentLimits, ParsedDocument, ParseFailed
from graphmem.ingest.parsing import parsed
from tests.contract.snapshots import ROOT
from tests.support.walks import walk_over

LIBRARIES = {
    "PIL", "chardet", "dateutil", "email.parser",
    "lxml", "markdown_it", "openpyxl", "puremagic", "pypdfium2",
    "striprtf",
}  # fmt: skip
FILES = ROOT / "tests/ingest/files"
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def parse(path: Path, declared: str | None = None, limits: DocumentLimits | None = None) -> ParsedDocument:
    return asyncio.run(parsed(path, declared, path.name, limits))


def failure(path: Path, **limits: float) -> ParseFailed:
    with pytest.raises(ParseFailed) as error:
        parse(path, limits=DocumentLimits(**limits))  # pyright: ignore[reportArgumentType]
    return error.value


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_a_file_parses_in_the_child(tmp_path: Path) -> None:
    document = parse(written(tmp_path, "a.csv", b"name,mail\nAda,ada@example.org\n"))
    assert [(field.name, field.value) for field in document.parts[0].fields] == [
        ("name", "Ada"),
        ("mail", "ada@example.org"),
    ]


def test_a_declared_type_that_contradicts_the_content_is_kept_beside_it(tmp_path: Path) -> None:
    document = parse(written(tmp_path, "note", b"just a note"), declared="application/pdf; x=1")
    assert document.media_type == "text/plain"
    assert document.metadata["declared_type"] == "application/pdf"
    assert document.metadata["media_type"] == "text/plain"
    assert "The content decides" in document.warnings[0]


@pytest.mark.parametrize(
    ("name", "data", "declared", "media_type"),
    [
        ("a.md", b"# Title", "text/plain", "text/markdown"),
        ("a.bin", b"%PDF", "application/octet-stream", "text/plain"),
        ("a.csv", b"a,b\n1,2\n", "text/csv; charset=utf-8", "text/csv"),
    ],
)
def test_a_declared_type_that_says_little_contradicts_nothing(
    tmp_path: Path, name: str, data: bytes, declared: str, media_type: str
) -> None:
    document = parse(written(tmp_path, name, data), declared)
    assert document.media_type == media_type
    assert document.warnings == ()


def test_a_text_that_is_declared_as_no_text_is_what_its_name_says(tmp_path: Path) -> None:
    document = parse(written(tmp_path, "people.csv", b"name,city\nAda,London\n"), "application/pdf")
    assert (document.format, document.media_type) == ("csv", "text/csv")
    assert document.warnings == ("The content decides: it is text/csv, and application/pdf was declared.",)


@pytest.mark.parametrize(
    ("name", "data", "format"),
    [
        ("a.txt", b'[{"a": 1}]', "json"),
        ("a.txt", b'{"a": 1}\n{"a": 2}\n', "jsonl"),
        ("memory.json", b'{"type":"relation","from":"a","to":"b","relationType":"c"}\n', "memory"),
        ("a.txt", b"[link] is no JSON", "text"),
        ("a.csv", b"<!DOCTYPE html><html><p>x</p></html>", "html"),
        ("a", b"\xff\xfe" + "BEGIN:VCARD\nFN:A\nEND:VCARD\n".encode("utf-16-le"), "vcf"),
        ("a", "[1, 2]".encode("utf-16-le"), "json"),
        ("a.txt", b"<?xml version='1.0'?> <!-- a --> <!-- b --><HTML><p>x</p></HTML>", "html"),
        ("a.txt", b"<!-- a -->" * 5_000 + b"text", "text"),
        ("a.pdf", b"no PDF", "text"),
        ("a.txt", b"From: a@b.c\nTo: d@e.f\nSubject: hi\n\nbody", "eml"),
        ("a.txt", b"Note: to: from: subject:\n", "text"),
    ],
)
def test_the_content_decides(tmp_path: Path, name: str, data: bytes, format: str) -> None:
    assert parse(written(tmp_path, name, data)).format == format


BY_SIGNATURE = sorted(
    file.name
    for file in FILES.iterdir()
    if file.suffix not in {".json", ".jsonl", ".csv", ".tsv", ".md", ".txt"}
)


@walk_over("file", BY_SIGNATURE)
def test_a_file_without_a_name_is_stored_with_the_type_that_its_parser_finds(file: str) -> None:
    data = (FILES / file).read_bytes()
    media_type = asyncio.run(parsed(FILES / file, None, "")).media_type
    for declared in (None, "text/html" if file != "page.html" else "text/csv"):
        assert media_types.media_type(data, declared, "") == media_type


@pytest.mark.parametrize(
    ("member", "name", "declared", "media_type"),
    [
        ("a.txt", "", None, "application/zip"),
        ("a.txt", "", "application/pdf", "application/zip"),
        ("a.txt", "a.jar", None, "application/java-archive"),
        ("xl/workbook.xml", "report.docx", None, SHEET),
    ],
)
def test_an_archive_is_an_office_file_by_its_members(
    member: str, name: str, declared: str | None, media_type: str
) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(member, "x")
    assert media_types.media_type(data.getvalue(), declared, name) == media_type


def test_an_empty_file_is_refused_without_a_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "start", None)
    assert failure(written(tmp_path, "a.txt", b"")).code == "empty"


def test_a_file_over_the_limit_is_refused(tmp_path: Path) -> None:
    error = failure(written(tmp_path, "a.txt", b"12345"), file_bytes=4)
    assert (error.code, "4" in error.reason) == ("too_large", True)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [({"text_characters": 9}, "characters"), ({"parts": 1}, "parts"), ({"cells": 2}, "cells")],
)
def test_the_reason_names_the_limit(tmp_path: Path, limits: dict[str, int], reason: str) -> None:
    error = failure(written(tmp_path, "a.csv", b"name,mail\nAda,a\nBob,b\n"), **limits)
    assert error.code == "limit_exceeded"
    assert reason in error.reason


def test_too_much_output_ends_the_child(tmp_path: Path) -> None:
    error = failure(written(tmp_path, "a.csv", b"name,mail\n" + b"Ada,a\n" * 1000), output_bytes=1000)
    assert error.code == "limit_exceeded"


def test_a_child_over_its_wall_time_is_killed(tmp_path: Path) -> None:
    error = failure(written(tmp_path, "a.md", b"*a* [b](c)\n" * 400_000), wall_seconds=0.1)
    assert error.code == "timed_out"


def test_the_child_sees_no_secret_and_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(processes.ENVIRONMENT) == {
        "OPENBLAS_NUM_THREADS",
        "PYTHONHASHSEED",
        "PYTHONPATH",
        "PYTHONUTF8",
        "TZ",
    }


def test_the_room_imports_no_library_of_a_format() -> None:
    code = "import sys, graphmem.ingest.parsing, graphmem.ingest.format_table; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, env=os.environ
    )
    assert not LIBRARIES & set(run.stdout.split())

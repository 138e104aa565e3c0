"""The files of the caller: read by the program that the caller runs, and sent as content."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

import graphmem.runtime  # noqa: F401  (fills the registry)
from graphmem.errors import FileEmpty, FileIsDirectory, FileMissing, FileTooLarge, FileUnreadable, InvalidJson
from graphmem.ingest import own_files
from graphmem.registry import REGISTRY


def test_the_names_are_those_of_the_registry() -> None:
    # Copies send each other bytes, and no path.
    taking = [each for each in REGISTRY.values() if each.takes_file and each.name != "copies.take_file"]
    assert {operation.name for operation in taking} == own_files.OPERATIONS
    assert {operation.tool for operation in taking} - {""} == own_files.TOOLS
    for operation in REGISTRY.values():
        assert operation.takes_file == (
            {"file_content", "file_path"} <= operation.arguments.model_fields.keys()
        )


def test_a_path_becomes_the_content_and_the_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"ok")
    path = str(tmp_path / "a.txt")
    content = base64.b64encode(b"ok").decode()
    assert own_files.with_content({"file_path": path, "x": 1}) == {
        "file_content": content, "original_filename": "a.txt", "x": 1,
    }  # fmt: skip
    named = own_files.with_content({"file_path": path, "original_filename": "b"})
    assert named["original_filename"] == "b"
    for arguments in ({}, {"file_path": path, "file_content": "x"}, {"file_path": 7}, {"file_path": ""}):
        assert own_files.with_content(arguments) == arguments


def test_what_cannot_be_read_has_a_code_of_its_own(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "empty").touch()
    (tmp_path / "private").write_bytes(b"x")
    (tmp_path / "private").chmod(0)
    with (tmp_path / "large").open("wb") as file:
        file.truncate(own_files.FILE_BYTES_LIMIT + 1)
    errors = {
        "missing": FileMissing, "empty": FileEmpty, "": FileIsDirectory, "fifo": FileUnreadable,
        "large": FileTooLarge, "empty/x": FileUnreadable, "\0": FileUnreadable,
    }  # fmt: skip
    if os.geteuid() != 0:
        errors["private"] = FileUnreadable
    for name, error in errors.items():
        with pytest.raises(error) as refused:
            own_files.read_file(f"{tmp_path}/{name}")
        assert type(refused.value) is error, name


def test_a_file_that_begins_as_json_holds_arguments(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for data, expected in (
        (b' \n{"a": 1}', True), (b"[", True), (b"\xef\xbb\xbf{", True), (b"  \n", True), (b"{damaged", True),
        (b"a,b\n", False), (b"%PDF-1.7", False), (b'"a"', False), (b"", False),
        (b"{\\rtf1 a letter}", False), (b"[draft] a letter", False),
    ):  # fmt: skip
        file.write_bytes(data)
        assert own_files.is_request(str(file)) is expected, data
    assert not own_files.is_request(str(tmp_path / "missing"))
    assert not own_files.is_request(str(tmp_path))


def test_a_file_of_the_memory_server_is_uploaded_and_not_taken_for_arguments() -> None:
    line = b'{"type": "entity", "name": "Ada", "entityType": "person", "observations": []}\n'
    for data in (line, line * 2, line + b'{"type": "rel'):
        with pytest.raises(InvalidJson, match=r"graphmem upload memory\.jsonl"):
            own_files.read_request(data, "memory.jsonl")


def test_a_pipe_holds_arguments_and_is_not_read_to_find_out() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"[]")
    try:
        assert own_files.is_request(f"/dev/fd/{reader}")
        assert os.read(reader, 2) == b"[]"
    finally:
        os.close(reader)
        os.close(writer)

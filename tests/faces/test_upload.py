"""`graphmem upload`, `graphmem parse` and POST /parse_file."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from graphmem.cli import upload
from graphmem.cli.session import Session
from graphmem.errors import AuthInvalid, FileEmpty, FileNotParsed, InvalidInput, ServiceBusy
from graphmem.ingest.document import ParseFailed
from graphmem.operations import files
from graphmem.registry import REGISTRY
from tests.faces.conftest import Command
from tests.support.faces import Call
from tests.support.packages import word

LETTER = b"Dear Ada,\nyours, Charles"
FIXTURES = Path(__file__).parents[1] / "ingest/files"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory with files at two levels, one of them twice, and some that are left out."""
    (tmp_path / "scans/more").mkdir(parents=True)
    (tmp_path / "scans/.hidden").mkdir()
    (tmp_path / "scans/a.txt").write_bytes(LETTER)
    (tmp_path / "scans/more/b.txt").write_bytes(LETTER)
    (tmp_path / "scans/more/c.csv").write_bytes(b"name,city\nAda,London\n")
    (tmp_path / "scans/.hidden/d.txt").write_bytes(b"hidden")
    (tmp_path / "scans/.e").write_bytes(b"hidden")
    (tmp_path / "scans/loop").symlink_to(tmp_path / "scans")
    return tmp_path / "scans"


def test_the_operation_is_that_of_the_registry() -> None:
    operation = REGISTRY[upload.STORE.name]
    assert (upload.STORE.routes, upload.STORE.reads) == (operation.routes, False)


def test_an_upload_that_is_run_again_stores_nothing_twice(command: Command, folder: Path, run: Call) -> None:
    code, stdout, _ = command("upload", str(folder), "--json")
    answer = json.loads(stdout)
    assert (code, answer["stored"], answer["stored_before"], answer["failed"]) == (0, 3, 0, 0)
    assert [Path(row["file"]).name for row in answer["files"]] == ["a.txt", "b.txt", "c.csv"]
    first, second, _ = answer["files"]
    assert first["content_hash"] == second["content_hash"] == hashlib.sha256(LETTER).hexdigest()
    assert (first["source_id"], second["deduplicated"]) == (second["source_id"], True)
    names = {each["name"] for each in run("sources.get", source_id=first["source_id"])["names"]}
    assert names == {"a.txt", "more/b.txt"}
    sequence = run("server.stats")["sequence"]
    (folder / "new.txt").write_bytes(b"new")
    code, stdout, _ = command("upload", str(folder), "--json")
    answer = json.loads(stdout)
    assert (code, answer["stored"], answer["stored_before"], answer["failed"]) == (0, 1, 3, 0)
    # One transaction stores the new file, and one ends its interpretation.
    assert run("server.stats")["sequence"] == sequence + 2
    assert answer["files"][-1]["interpretation"]["status"] == "completed"


def test_a_file_that_fails_does_not_stop_the_others(command: Command, folder: Path, run: Call) -> None:
    (folder / "empty").touch()
    code, stdout, stderr = command("upload", "--no-recursive", str(folder), str(folder / "missing"))
    assert code == 1
    assert "1 stored, 0 stored before, 2 failed" in stdout
    assert re.search(r"/empty: FILE_EMPTY: ", stderr)
    assert re.search(r"/missing: FILE_NOT_FOUND: ", stderr)
    (source,) = run("sources.list")["sources"]
    assert source["original_filename"] == "a.txt"


def test_what_is_stored_and_not_interpreted_is_told_with_its_file_and_reason(
    command: Command, folder: Path, run: Call
) -> None:
    (folder / "broken.docx").write_bytes(b"PK\x03\x04 no document")
    code, stdout, stderr = command("upload", "--no-recursive", str(folder))
    assert (code, "2 stored, 0 stored before, 0 failed" in stdout) == (1, True)
    assert re.search(r"/broken\.docx: stored, but not interpreted: \w", stderr)
    assert "a.txt" not in stderr
    assert len(run("sources.list")["sources"]) == 2


def test_an_upload_says_that_people_share_an_address(command: Command, tmp_path: Path) -> None:
    rows = "Name,Email\nKaja Moen,info@yard.example\nSindre Foss,info@yard.example\n"
    (tmp_path / "crew.csv").write_text(rows, "utf-8")
    assert "crew.csv: SHARED_IDENTIFIER" in " ".join(command("upload", str(tmp_path))[2].split())


def test_what_is_not_read_is_said_in_the_receipt_and_with_the_source_and_an_address_is_found(
    command: Command, tmp_path: Path, run: Call
) -> None:
    paragraph = (
        "<w:p><w:r><w:t>Your ticket: </w:t></w:r>"
        '<w:hyperlink r:id="ticket"><w:r><w:t>the paper</w:t></w:r></w:hyperlink></w:p>'
    )
    address = "https://ticket.example.org/t/88Q1"
    data = word(paragraph, {"ticket": ("hyperlink", address)}, other="<x><w:t>Lost</w:t></x>")
    (tmp_path / "ticket.docx").write_bytes(data)
    expected = "TEXT_NOT_READ: 1 member (word/other.xml), 4 characters."
    (stored,) = json.loads(command("upload", "--json", str(tmp_path))[1])["files"]
    assert stored["interpretation"]["warnings"] == [expected]
    source = run("sources.get", source_id=stored["source_id"], include_text=True)
    assert source["document"]["warnings"] == [expected]
    assert address in json.dumps(run("sources.search", search="Which ticket?")["passages"])


def test_the_address_of_a_link_in_a_message_answers_a_question(
    command: Command, tmp_path: Path, run: Call
) -> None:
    message = (
        "From: Port <port@aeroe.example>\nTo: ebbe@rask.example\nSubject: Your ticket\n"
        "Date: Mon, 03 Nov 2025 09:15:00 +0100\nContent-Type: text/html\n\n"
        '<p>Your ticket is <a href="https://ticket.example.org/t/88Q1">here</a>.</p>'
    )
    (tmp_path / "ticket.eml").write_text(message)
    assert command("upload", str(tmp_path))[0] == 0
    answer = run("context.retrieve", question="Which ticket did they send me?")
    assert "here <https://ticket.example.org/t/88Q1>" in json.dumps(answer["lines"])


def test_an_upload_of_nothing_is_an_error(command: Command, tmp_path: Path) -> None:
    code, stdout, stderr = command("upload", "--json", str(tmp_path))
    assert (code, stdout, json.loads(stderr)["error_code"]) == (2, "", "VALIDATION_INVALID_FORMAT")


def test_a_busy_service_is_asked_again_and_a_refusal_ends_the_upload(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes: list[Any] = [ServiceBusy(retry_after=7), ServiceBusy()]
    waited: list[float] = []

    def answered(self: Session, operation: Any, raw: dict[str, Any]) -> bytes:
        if outcomes:
            raise outcomes.pop(0)
        return b'{"replayed": false, "source_id": "src_0", "content_hash": "0", "file_size": 1, ' + (
            b'"mime_type": "text/plain", "deduplicated": false, "store_warnings": []}'
        )

    monkeypatch.setattr(Session, "run", answered)
    monkeypatch.setattr(upload.time, "sleep", waited.append)
    upload.upload(Session(as_json=True), [str(folder / "a.txt")])
    assert waited == [7.0, 2.0]
    capsys.readouterr()
    outcomes[:] = [AuthInvalid(), AuthInvalid()]
    with pytest.raises(AuthInvalid):
        upload.upload(Session(as_json=True), [str(folder)])
    assert (len(outcomes), len(waited)) == (1, 2)


@pytest.mark.parametrize("name", ["report.docx", "report.pdf", "staff.xlsx", "utf16.txt"])
def test_a_file_is_parsed_alike_by_the_command_and_the_service(
    command: Command, run: Call, name: str
) -> None:
    path = FIXTURES / name
    code, stdout, _ = command("parse", str(path), "--json")
    printed = json.loads(stdout)
    assert code == 0
    from graphmem.ingest.own_files import with_content

    answered = run("files.parse", **with_content({"file_path": str(path)}))
    assert answered == printed
    assert printed["content_hash"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (printed["file_size"], "next_offset" in printed) == (path.stat().st_size, False)
    assert command("parse", str(path))[1].rstrip("\n") == printed["text"].rstrip("\n")
    assert run("sources.list")["sources"] == []


def test_the_text_of_a_file_is_answered_in_pages(run: Call) -> None:
    content = {"file_content": "RGVhciBBZGEsCnlvdXJz", "original_filename": "letter.txt"}
    text, offset, pages = "", 0, 0
    while True:
        page = run("files.parse", **content, offset=offset, limit=4)
        text, pages = text + page["text"], pages + 1
        assert (page["offset"], page["total_characters"]) == (offset, 15)
        if "next_offset" not in page:
            break
        offset = page["next_offset"]
    assert (text, pages) == ("Dear Ada,\nyours", 4)
    assert run("files.parse", **content, offset=99)["text"] == ""


def test_what_cannot_be_parsed_is_refused_with_its_reason(
    run: Call, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileNotParsed) as refused:
        run("files.parse", file_content="AAECAwQFBgcICQ==")
    assert refused.value.details["reason"] == "unsupported"
    with pytest.raises(FileEmpty):
        run("files.parse", file_content="")
    with pytest.raises(InvalidInput, match="there is no file"):
        run("files.parse")
    (tmp_path / "binary").write_bytes(bytes(range(10)))
    code, _, stderr = command("parse", str(tmp_path / "binary"), "--json")
    assert (code, json.loads(stderr)["error_code"]) == (2, "FILE_NOT_PARSED")

    async def late(*_: Any, **__: Any) -> Any:
        raise ParseFailed("The file was not parsed within 60 s.", "timed_out")

    monkeypatch.setattr(files, "parsed", late)
    with pytest.raises(FileNotParsed, match="within 60 s"):
        run("files.parse", file_content="YWJj")

"""Hostile files end as a failure that people understand, within the limits."""

from __future__ import annotations

import asyncio
import io
import resource
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from graphmem.ingest import processes
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits, ParsedDocument, ParseFailed
from graphmem.ingest.parsing import parsed
from tests.ingest.goldens import FOLDER

FIXTURES = FOLDER / "files"
PARENT_BYTES_LIMIT = 64 << 20
"""How much more the parent may be resident after all hostile files."""
LAUGHS = "".join(f'<!ENTITY {chr(97 + i)} "{(f"&{chr(96 + i)};") * 10}">' for i in range(1, 10))
BILLION_LAUGHS = f'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "lol">{LAUGHS}]><l>&j;</l>'.encode()
QUADRATIC = (
    b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "' + b"A" * 50_000 + b'">]><l>' + b"&a;" * 2_000 + b"</l>"
)


def archive(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as written:
        for name, data in members.items():
            written.writestr(name, data)
    return stream.getvalue()


def members_of(file: str) -> dict[str, bytes]:
    with zipfile.ZipFile(FIXTURES / file) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def bomb() -> bytes:
    return archive({**members_of("report.docx"), "word/media/zeros.bin": bytes(50 << 20)})


def lying_header() -> bytes:
    """An archive whose central directory says that the bomb has 100 bytes."""
    data = bytearray(bomb())
    place = data.rfind(b"PK\x01\x02")
    data[place + 24 : place + 28] = (100).to_bytes(4, "little")
    return bytes(data)


def many_members() -> bytes:
    return archive({**members_of("report.docx"), **{f"word/{number}": b"" for number in range(2_100)}})


def with_xml(file: str, member: str, content: bytes) -> bytes:
    return archive({**members_of(file), member: content})


def far_row() -> bytes:
    """A workbook whose last row claims a number that no sheet has."""
    name = "xl/worksheets/sheet1.xml"
    sheet = members_of("staff.xlsx")[name]
    place = sheet.rindex(b"<row r=") + len(b'<row r="')
    return with_xml("staff.xlsx", name, sheet[:place] + b"99999999999" + sheet[place + 1 :])


def nested() -> bytes:
    inner = archive({"bomb.docx": bomb()})
    for _ in range(5):
        inner = archive({"inner.zip": inner})
    return inner


def many_pages() -> bytes:
    """A PDF whose tree of pages names one page 100,000 times."""
    return pdf(b"<</Type/Pages/Count 100000/Kids[" + b"3 0 R " * 100_000 + b"]>>")


def pdf(pages: bytes, trailer: bytes = b"") -> bytes:
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        pages,
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>",
    ]
    stream = io.BytesIO(b"%PDF-1.4\n")
    stream.seek(0, io.SEEK_END)
    places = []
    for number, content in enumerate(objects, 1):
        places.append(stream.tell())
        stream.write(b"%d 0 obj\n%s\nendobj\n" % (number, content))
    start = stream.tell()
    stream.write(
        b"xref\n0 4\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    )
    stream.write(b"trailer<</Size 4/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF" % (trailer, start))
    return stream.getvalue()


def encrypted_pdf() -> bytes:
    key = b"00" * 32
    handler = b"<</Filter/Standard/V 1/R 2/P -4/O<%s>/U<%s>>>" % (key, key)
    return pdf(b"<</Type/Pages/Count 1/Kids[3 0 R]>>", b"/ID[<00><00>]/Encrypt" + handler)


def encrypted_odt() -> bytes:
    manifest = members_of("report.odt")["META-INF/manifest.xml"]
    entry = b"<manifest:encryption-data/></manifest:manifest>"
    return with_xml("report.odt", "META-INF/manifest.xml", manifest.replace(b"</manifest:manifest>", entry))


def encrypted_archive() -> bytes:
    data = bytearray((FIXTURES / "report.docx").read_bytes())
    for signature, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        place = data.find(signature)
        while place >= 0:
            data[place + offset] |= 1
            place = data.find(signature, place + 1)
    return bytes(data)


def test_a_member_that_is_larger_than_it_says_is_left_out() -> None:
    document = parsed_here(lying_header(), None, "report.docx", DocumentLimits())
    assert document.warnings == ("LEFT_OUT: The member word/media/zeros.bin is damaged and left out.",)


REFUSED: dict[str, tuple[Callable[[], bytes], str, str]] = {
    "bomb.docx": (bomb, "limit_exceeded", "inflates"),
    "members.docx": (many_members, "limit_exceeded", "members"),
    "laughs.docx": (
        lambda: with_xml("report.docx", "word/document.xml", BILLION_LAUGHS),
        "damaged",
        "entities",
    ),
    "quadratic.xlsx": (lambda: with_xml("staff.xlsx", "xl/workbook.xml", QUADRATIC), "damaged", "entities"),
    "laughs.odt": (lambda: with_xml("report.odt", "content.xml", BILLION_LAUGHS), "damaged", "entities"),
    "utf16.pptx": (
        lambda: with_xml("kickoff.pptx", "ppt/presentation.xml", BILLION_LAUGHS.decode().encode("utf-16")),
        "damaged",
        "entities",
    ),
    "far.xlsx": (far_row, "limit_exceeded", "cells"),
    "nested.zip": (nested, "unsupported", "archive"),
    "pages.pdf": (many_pages, "limit_exceeded", "pages"),
    "encrypted.pdf": (encrypted_pdf, "encrypted", "password"),
    "encrypted.odt": (encrypted_odt, "encrypted", "password"),
    "encrypted.docx": (encrypted_archive, "encrypted", "encrypted"),
    "cell.csv": (lambda: b"a,b\n" + b"x" * 40_000_000, "limit_exceeded", "characters"),
    "line.json": (lambda: b'["' + b"x" * 40_000_000 + b'"]', "limit_exceeded", "characters"),
    "deep.json": (lambda: b"[" * 100_000, "limit_exceeded", "deep"),
    "deep.html": (lambda: b"<html>" + b"<div>" * 300_000 + b"x", "limit_exceeded", "deep"),
    "attributes.html": (
        lambda: b"<p " + b" ".join(b"a%d=1" % number for number in range(200_000)) + b">x",
        "limit_exceeded",
        "attributes",
    ),
    "rows.csv": (lambda: b"a,b\n" + b"1,2\n" * 250_000, "limit_exceeded", "parts"),
    "commas.csv": (lambda: b"," * 9_000_000, "limit_exceeded", "cells"),
    "program.txt": (lambda: b"\x7fELF" + bytes(range(256)) * 100, "unsupported", "kind of file"),
    "protected.docx": (
        lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"),
        "encrypted",
        "a password is needed",
    ),
    "old.doc": (
        lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2_000),
        "unsupported",
        "old binary format",
    ),
}


def fails(folder: Path, name: str, data: bytes, limits: DocumentLimits | None = None) -> ParseFailed:
    path = folder / name
    path.write_bytes(data)
    with pytest.raises(ParseFailed) as error:
        asyncio.run(parsed(path, None, name, limits))
    return error.value


def parses(folder: Path, name: str, data: bytes) -> ParsedDocument:
    path = folder / name
    path.write_bytes(data)
    return asyncio.run(parsed(path, None, name))


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_file_is_refused_with_a_reason(tmp_path: Path, name: str) -> None:
    make, code, word = REFUSED[name]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    data = make()
    made = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    error = fails(tmp_path, name, data)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (error.code, word in error.reason) == (code, True), error.reason
    assert (after - max(before, made)) << 10 < PARENT_BYTES_LIMIT


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "cell.csv"
    with path.open("wb") as file:
        file.truncate(100 << 20)
    with pytest.raises(ParseFailed, match="104,857,600 bytes; the limit is 52,428,800"):
        asyncio.run(parsed(path, None, path.name))


def test_cpu_is_limited(tmp_path: Path) -> None:
    begun = time.monotonic()
    error = fails(tmp_path, "a.md", b"*a* [b](c)\n" * 800_000, DocumentLimits(cpu_seconds=1))
    assert (error.code, "CPU" in error.reason) == ("timed_out", True)
    assert time.monotonic() - begun < 20


def test_memory_is_limited(tmp_path: Path) -> None:
    data = b"[" + b"[],[],[],[],[],[],[],[],[],[]," * 300_000 + b"[]]"
    error = fails(tmp_path, "a.json", data, DocumentLimits(address_space_bytes=160 << 20, parts=10_000_000))
    assert (error.code, "memory" in error.reason) == ("limit_exceeded", True)


def test_macros_are_named_and_not_read(tmp_path: Path) -> None:
    data = archive({**members_of("staff.xlsx"), "xl/vbaProject.bin": b"Sub AutoOpen()"})
    document = parses(tmp_path, "staff.xlsm", data)
    assert "macros" in " ".join(document.warnings)
    assert "AutoOpen" not in document.text


def test_a_word_document_with_macros_is_read_without_them(tmp_path: Path) -> None:
    members = members_of("report.docx")
    types = members["[Content_Types].xml"].replace(
        b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
        b"application/vnd.ms-word.document.macroEnabled.main+xml",
    )
    data = archive({**members, "[Content_Types].xml": types, "word/vbaProject.bin": b"Sub AutoOpen()"})
    document = parses(tmp_path, "report.docm", data)
    assert document.text.startswith("Quarterly report")
    assert "macros" in " ".join(document.warnings)


def test_aliases_of_front_matter_are_not_expanded(tmp_path: Path) -> None:
    lines = [
        "a: &a [x, x]",
        *(f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]" for i in range(20)),
    ]
    document = parses(tmp_path, "a.md", ("---\n" + "\n".join(lines) + "\n---\n# Title\n").encode())
    assert document.title == "Title"
    assert "aliases" in " ".join(document.warnings)


def test_an_entity_of_html_reads_no_file(tmp_path: Path) -> None:
    data = b'<!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/passwd">]><html><p>a &x; b</p></html>'
    assert "root:" not in parses(tmp_path, "a.html", data).text


@pytest.mark.parametrize("name", ["note.txt", "people.csv", "page.html", "people.vcf", "studio.ics"])
def test_wrong_encodings_are_shown_as_such(tmp_path: Path, name: str) -> None:
    data = (FIXTURES / name).read_bytes().replace("é".encode(), b"\xc3\x28\xff")
    document = parses(tmp_path, name, data)
    assert document.text


def test_nothing_of_a_file_stays_in_the_server(tmp_path: Path) -> None:
    parses(tmp_path, "a.txt", b"text")
    server = processes.SERVER._process
    if server is None:
        pytest.skip("this system has no fork server")
    fails(tmp_path, "b.json", b"{")
    fails(tmp_path, "c.txt", b"text", DocumentLimits(wall_seconds=0.0))
    fails(tmp_path, "d.txt", b"text", DocumentLimits(address_space_bytes=1 << 20))
    descriptors = list(Path(f"/proc/{server.pid}/fd").iterdir())
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text()
    assert processes.SERVER._process is server
    assert (len(descriptors), children) == (3, "")


def test_a_server_that_was_killed_is_replaced(tmp_path: Path) -> None:
    parses(tmp_path, "a.txt", b"text")
    if processes.SERVER._process is not None:
        processes.SERVER._process.kill()
        processes.SERVER._process.wait()
    assert parses(tmp_path, "a.txt", b"more text").text == "more text"


def test_a_new_interpreter_parses_as_a_fork_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warm = parses(tmp_path, "a.csv", b"name\nAda\n")
    monkeypatch.setattr("graphmem.ingest.parsing.start", processes.NewInterpreter)
    assert parses(tmp_path, "a.csv", b"name\nAda\n") == warm


CONFINED = b'{"unconfined": ""}\n'


@pytest.mark.parametrize(
    "first", [b"", b"nonsense\n", b'{"unconfined": 3}\n', b'{"unconfined": "\\ud800"}\n']
)
def test_an_answer_that_does_not_say_whether_it_is_confined_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: bytes
) -> None:
    script = f"import os; os.write(1, {first!r})"
    monkeypatch.setattr(processes, "COMMAND", [*processes.COMMAND[:1], "-c", script])
    monkeypatch.setattr("graphmem.ingest.parsing.start", processes.NewInterpreter)
    assert fails(tmp_path, "a.txt", b"text").code == "crashed"


@pytest.mark.parametrize(
    "output",
    [
        b"",
        b"nonsense\n",
        b'{"failed": {"reason": 3, "code": "damaged"}}',
        b'{"failed": {"reason": "x", "code": "invented"}}',
        b'{"text": "a", "title": null, "metadata": {}, "format": "text", "media_type": "text/plain", '
        b'"parser": "x", "parser_version": "1", "warnings": []}\n["row",null,null,1,1,null,null,0,2,[]]\n',
        b'{"text": "a\\u0000", "title": null, "metadata": {}, "format": "text", "media_type": "text/plain", '
        b'"parser": "x", "parser_version": "1", "warnings": []}\n',
        b'{"text": "\\ud800", "title": null, "metadata": {}, "format": "text", "media_type": "text/plain", '
        b'"parser": "x", "parser_version": "1", "warnings": []}\n',
        b'{"text": "a", "title": null, "metadata": {"x": NaN}, "format": "text", "media_type": "text/plain", '
        b'"parser": "x", "parser_version": "1", "warnings": []}\n',
    ],
)
def test_an_answer_that_is_no_document_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: bytes
) -> None:
    script = f"import os; os.write(1, {CONFINED + output!r})"
    monkeypatch.setattr(processes, "COMMAND", [*processes.COMMAND[:1], "-c", script])
    monkeypatch.setattr("graphmem.ingest.parsing.start", processes.NewInterpreter)
    error = fails(tmp_path, "a.txt", b"text")
    assert (error.code, "no valid document" in error.reason) == ("crashed", True)


def test_a_process_that_drips_is_over_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import os, time\nwhile True: os.write(1, b' '); time.sleep(0.01)"
    monkeypatch.setattr(processes, "COMMAND", [*processes.COMMAND[:1], "-c", script])
    monkeypatch.setattr("graphmem.ingest.parsing.start", processes.NewInterpreter)
    assert fails(tmp_path, "a.txt", b"text", DocumentLimits(wall_seconds=0.5)).code == "timed_out"


def test_a_process_that_dies_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "COMMAND", [*processes.COMMAND[:1], "-c", "import os; os.abort()"])
    monkeypatch.setattr("graphmem.ingest.parsing.start", processes.NewInterpreter)
    error = fails(tmp_path, "a.txt", b"text")
    assert (error.code, "ended abnormally" in error.reason) == ("crashed", True)

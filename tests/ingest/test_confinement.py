"""A parser that a file has taken over reaches nothing, where the system can confine it; else it is said."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphmem import settings
from graphmem.doctor import around
from graphmem.errors import ParserUnconfined
from graphmem.ingest import child, parsing, processes
from graphmem.ingest.document import DocumentLimits, ParsedDocument
from graphmem.ingest.parsing import Terms, parsed
from tests.ingest.goldens import FOLDER
from tests.ingest.other_parsers import BY_LANDLOCK, UNCONFINED_REACHES, attempts

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Landlock and seccomp are of Linux")


@pytest.fixture
def parser(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A server of this test alone, which :func:`use` makes one of another kind."""
    server = processes.ForkServer()
    monkeypatch.setattr(processes, "SERVER", server)
    yield monkeypatch
    server.close()


def use(parser: pytest.MonkeyPatch, kind: str) -> None:
    parser.setattr(processes, "COMMAND", [sys.executable, "-P", "-m", "tests.ingest.other_parsers", kind])


def attacked(folder: Path, names: list[str], confine: Any) -> tuple[dict[str, str], str]:
    """Return what came of each attempt of a hostile parser, and what its confinement lacks."""
    key, victim, path = folder / "root.key", folder / "victim", folder / "attempts.json"
    key.write_bytes(b"secret")
    victim.touch()
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(folder / "s"))
        unix.listen()
        targets = {"key": str(key), "victim": str(victim), "socket": str(folder / "s")}
        path.write_text(json.dumps({**targets, "port": tcp.getsockname()[1], "attempts": names}))
        run = parsing._Run(path, None, path.name, DocumentLimits(), Terms(confine=confine))
        return run.answer(lambda lines: json.loads(lines[0])), run.unconfined


@pytest.mark.parametrize("starts", ["a fork", "an interpreter"])
def test_a_parser_that_was_taken_over_reaches_nothing(
    tmp_path: Path, parser: pytest.MonkeyPatch, starts: str
) -> None:
    use(parser, "hostile")
    if starts == "an interpreter":
        parser.setattr(parsing, "start", processes.NewInterpreter)
    names = list(attempts({}))
    outcomes, unconfined = attacked(tmp_path, names, "auto")
    if "seccomp" in unconfined:
        pytest.skip(f"this system has no seccomp: {unconfined}")
    refused = [name for name in names if not unconfined or name not in BY_LANDLOCK]
    assert {name: outcomes.get(name) for name in refused} == {
        name: outcomes[name] for name in refused if outcomes[name] in ("EPERM", "EACCES")
    }
    assert (tmp_path / "root.key").read_bytes() == b"secret"
    assert (tmp_path / "victim").exists()


def test_an_unconfined_parser_reaches_what_its_user_may(tmp_path: Path, parser: pytest.MonkeyPatch) -> None:
    use(parser, "hostile")
    outcomes, unconfined = attacked(tmp_path, list(UNCONFINED_REACHES), "off")
    assert outcomes == dict.fromkeys(UNCONFINED_REACHES, "reached")
    assert unconfined == "GRAPHMEM_CONFINE is off"


def test_each_format_is_parsed_by_libraries_that_are_imported_confined(parser: pytest.MonkeyPatch) -> None:
    files = sorted(file for file in (FOLDER / "files").iterdir() if file.is_file())

    async def documents(confine: Any) -> list[ParsedDocument | BaseException]:
        answers = [parsed(file, None, file.name, terms=Terms(confine=confine)) for file in files]
        return await asyncio.gather(*answers, return_exceptions=True)

    expected = asyncio.run(documents("off"))
    use(parser, "cold")
    processes.SERVER.close()
    for file, document, other in zip(files, asyncio.run(documents("auto")), expected, strict=True):
        assert plain(document) == plain(other), file.name


def plain(document: ParsedDocument | BaseException) -> object:
    """Return a document without what it says of confinement; of a failure its reason."""
    if isinstance(document, BaseException):
        return str(document)
    head = document.head()
    head["warnings"] = [each for each in head["warnings"] if "unconfined" not in each]
    return head, document.parts


def test_a_kernel_without_landlock_parses_and_says_so(tmp_path: Path, parser: pytest.MonkeyPatch) -> None:
    use(parser, "refused")
    (tmp_path / "a.txt").write_bytes(b"text")
    with (tmp_path / "a.txt").open("rb") as file:
        document = asyncio.run(parsed(file, None, "a.txt"))
        assert (document.text, len(document.warnings)) == ("text", 1)
        assert "unconfined (Landlock: Function not implemented)" in document.warnings[0]
        with pytest.raises(ParserUnconfined) as caught:
            asyncio.run(parsed(file, None, "a.txt", terms=Terms(confine="require")))
        # The parser shares this offset: it has read nothing.
        assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == 0
    assert "Landlock" in caught.value.details["lacking"]


@pytest.mark.parametrize(("confine", "status"), [("auto", "warn"), ("require", "fail"), ("off", "warn")])
def test_the_doctor_says_that_a_parser_is_unconfined_and_why(
    parser: pytest.MonkeyPatch, confine: str, status: str
) -> None:
    use(parser, "refused")
    finding = asyncio.run(around.parser(settings.load(confine=confine)))
    assert finding.status == status
    assert ("GRAPHMEM_CONFINE" if confine == "off" else "Landlock: Function not implemented") in finding.what


def test_the_doctor_says_what_confines_a_parser() -> None:
    if lacking := processes.unconfined():
        pytest.skip(f"this system cannot confine a process: {lacking}")
    finding = asyncio.run(around.parser(settings.load()))
    version = child.landlock_version()
    assert (finding.status, finding.what) == ("ok", f"parsers are confined by Landlock {version} and seccomp")


def test_what_must_be_confined_is_parsed_where_it_can_be(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"text")
    try:
        document = asyncio.run(parsed(tmp_path / "a.txt", None, "a.txt", terms=Terms(confine="require")))
    except ParserUnconfined as exc:
        pytest.skip(f"this system cannot confine a process: {exc.details['lacking']}")
    assert document.warnings == ()


@pytest.mark.parametrize("machine", child.ARCHITECTURES)
def test_calls_have_the_numbers_of_the_headers_of_the_kernel(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip("the headers of the kernel are not installed")
    known = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", HEADERS[machine].read_text()))
    column = child.ARCHITECTURES[machine][1]
    wanted = {call[0]: known.get(call[0], "-") for call in child.REFUSED}
    assert {call[0]: call[column] for call in child.REFUSED} == wanted
    assert str(child.ARCHITECTURES[machine][2]) == known["fcntl"]


def decision(machine: str, number: int, argument: int = 0, architecture: int | None = None) -> int:
    """Run the filter of a machine over a call, and return its decision."""
    data = struct.pack("=iIQQQ", number, architecture or child.ARCHITECTURES[machine][0], 0, 0, argument)
    program, place, loaded = child.seccomp_program(machine), 0, 0
    while True:
        code, yes, no, value = struct.unpack("HBBI", program[place])
        if code == child.RETURN:
            return value
        if code == child.LOAD:
            (loaded,) = struct.unpack_from("=I", data, value)
            yes = no = 0
        holds = loaded == value if code == child.EQUAL else loaded >= value
        place += 1 + (yes if holds else no)


@pytest.mark.parametrize("machine", child.ARCHITECTURES)
def test_the_filter_decides_every_call_as_the_table_says(machine: str) -> None:
    refused = set(child.numbers(machine))
    wanted = {
        number: child.REFUSE
        if number in refused or (number >= child.UNIFORM and number not in child.UNIFORM_ALLOWED)
        else child.ALLOW
        for number in (*range(600), 1 << 30, 0x4000_0029)
    }
    assert {number: decision(machine, number) for number in wanted} == wanted
    fcntl = child.ARCHITECTURES[machine][2]
    commands = {decision(machine, fcntl, command) for command in child.OWNING_COMMANDS}
    assert commands == {child.REFUSE}
    assert decision(machine, fcntl, 3) == child.ALLOW
    assert decision(machine, 0, architecture=0x40000003) == child.KILL

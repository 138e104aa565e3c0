"""``graphmem import``: files and folders of other programs, and of `graphmem export`, as sources."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import os
import posixpath
import re
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal, NamedTuple, cast

import typer

from graphmem.cli import upload
from graphmem.cli.session import Session, stderr, uses_service
from graphmem.errors import FileMissing, FileNotParsed, FileUnreadable, InvalidInput

if TYPE_CHECKING:
    from graphmem.cli.importing.note_files import NoteFile, NoteIndex

PIECE_BYTES: Final = 4_000_000
"""Bytes of lines of an export that are stored as one file: a file is read within limits."""
POLL_SECONDS: Final = 1.0
UNFINISHED: Final = ("pending", "running")
NO_CONTENT: Final = re.compile(r"(?:^|/)(?:\.|__MACOSX/|Thumbs\.db$|desktop\.ini$)")
"""Members of archives that are no content."""
HEAD_BYTES: Final = 1_000
_NOTION_TABLE: Final = re.compile(r"(?:_all)?\.csv$")


def import_files(
    session: Session, path: str, kind: Literal["neotoma"] | None = None, dry_run: bool = False,
    wait: bool = True,
) -> None:  # fmt: skip
    is_url = re.match("https?://", path) is not None
    if is_url != (kind is not None):
        raise InvalidInput("give --from neotoma with a URL" if is_url else f"--from {kind} takes a URL")
    from graphmem.cli.importing.neotoma import NeotomaReader, neotoma_files, register_schemas
    from graphmem.cli.tables import plain

    other = NeotomaReader(path) if is_url else None
    files = neotoma_files(other, path) if other else _pieces(_expanded(path))
    rows: list[dict[str, Any]] = []
    try:
        if other and not dry_run:
            rows += register_schemas(session, other)
        for file in with_links(files):
            if stderr.is_terminal and not session.as_json:
                stderr.print(plain(file.name, "dim"), highlight=False)
            if dry_run:
                rows.append(_planned(session, file))
            elif isinstance(file, LinkedNote):
                rows.append(upload.uploaded(session, file.file, partial(_stored_note, file=file)))
            else:
                rows.append(upload.uploaded(session, file))
        if wait and not dry_run:
            _wait(session, rows)
    finally:
        if rows:
            outcomes = ("would_store", "failed") if dry_run else upload.OUTCOMES
            upload.print_rows(rows, session.as_json, outcomes, other.not_imported if other else ())
    if not rows:
        raise InvalidInput("there is no file to import")
    from graphmem.ingest.document import LEFT_OUT

    complaints = (each for row in rows for each in upload.complaints(row))
    if any(colour == "red" or text.startswith(LEFT_OUT) for text, colour in complaints):
        raise typer.Exit(1)


class LinkedNote(NamedTuple):
    file: upload.LocalFile
    note: NoteFile
    beside: NoteIndex

    @property
    def name(self) -> str:
        return self.file.name


def _expanded(path: str) -> Iterator[upload.LocalFile]:
    """Yield the file of a path, the files of a folder, and in place of an archive its members."""
    if not os.path.exists(path):
        raise FileMissing(f"there is no file {path}", file=path)
    for file in upload.files_of([path], recursive=True):
        if zipfile.is_zipfile(file.path) and not _is_document(file.path):
            yield from _members(file)
        else:
            yield file


def _is_document(path: str) -> bool:
    """Return whether an archive is one file that is read as such: of an office program, or of chats."""
    from graphmem.ingest.archives import format_of
    from graphmem.ingest.document import FILE_BYTES_LIMIT, DocumentLimits, ParseFailed
    from graphmem.ingest.own_files import read_file

    try:
        return os.path.getsize(path) <= FILE_BYTES_LIMIT and bool(
            format_of(read_file(path), DocumentLimits())
        )
    except ParseFailed:
        return False


def _members(file: upload.LocalFile) -> Iterator[upload.LocalFile]:
    from graphmem.ingest.archives import DAMAGE
    from graphmem.ingest.document import FILE_BYTES_LIMIT

    with zipfile.ZipFile(file.path) as archive:
        names = set(archive.namelist())
        for member in sorted(archive.infolist(), key=lambda each: each.filename):
            name = member.filename.replace("\\", "/").lstrip("/")
            # Google Keep writes each note twice.
            is_copy = "/Keep/" in name and f"{name.removesuffix('.html')}.json" in names
            if member.is_dir() or NO_CONTENT.search(name) or is_copy:
                continue
            try:
                with archive.open(member) as opened:
                    # What a header says of a size is not believed.
                    data = opened.read(FILE_BYTES_LIMIT + 1)
            except DAMAGE as exc:
                raise FileUnreadable(f"{name} in {file.path} cannot be read: {exc}", file=file.path) from None
            yield upload.LocalFile(f"{file.path}:{name}", name, data)


def _pieces(files: Iterable[upload.LocalFile]) -> Iterator[upload.LocalFile]:
    """Yield files, and in place of a large one of `graphmem export` its lines in several."""
    for file in files:
        if file.data is not None or os.path.getsize(file.path) <= PIECE_BYTES or not _is_exported(file.path):
            yield file
            continue
        with open(file.path, "rb") as opened:
            lines: list[bytes] = []
            number = size = 0
            for line in itertools.chain(opened, [b""]):
                if lines and (not line or size + len(line) > PIECE_BYTES):
                    number += 1
                    yield upload.LocalFile(f"{file.path}#{number}", f"{file.name}#{number}", b"".join(lines))
                    lines, size = [], 0
                lines.append(line)
                size += len(line)


def _is_exported(path: str) -> bool:
    from graphmem.ingest.detection import EXPORTED_LINE

    with open(path, "rb") as file:
        return EXPORTED_LINE.match(file.read(HEAD_BYTES).decode(errors="replace")) is not None


def with_links(files: Iterable[upload.LocalFile]) -> Iterator[upload.LocalFile | LinkedNote]:
    """Yield files; the Markdown of a folder last, when it is known what their links mean.

    Of a database of Notion the pages are imported, with its name as their type, and not its table.
    """
    from graphmem.cli.importing.note_files import NoteIndex, read_note, shown_folder, shown_name
    from graphmem.ingest.interpreters.labels import type_of_table

    notes: list[tuple[upload.LocalFile, NoteFile]] = []
    tables: dict[str, upload.LocalFile] = {}
    markdown: list[upload.LocalFile] = []
    for file in files:
        if file.interpret and file.name.lower().endswith((".md", ".markdown")):
            markdown.append(file)
        elif file.interpret and file.name.endswith(".csv") and shown_name(file.name) != file.name:
            tables[_NOTION_TABLE.sub("", file.name)] = file
        else:
            yield file
    folders = {posixpath.dirname(file.name) for file in markdown}
    for name, table in tables.items():
        if not {name, shown_folder(name)} & folders:
            yield table._replace(name=shown_name(table.name))
    with_table = {*tables, *map(shown_folder, tables)}
    # A folder of Notion is a database, unless it has the name of a page.
    pages = {file.name.removesuffix(".md") for file in markdown}
    with_table |= {folder for folder in folders - pages if shown_folder(folder) != folder}
    for file in markdown:
        folder = posixpath.dirname(file.name)
        kind = type_of_table(posixpath.basename(shown_folder(folder))) if folder in with_table else None
        try:
            data = file.content()
        except upload.FILE_FAULTS:
            # To store it tells why it cannot be read.
            yield file
            continue
        notes.append((file, read_note(file.name, data.decode("utf-8", "replace"), kind)))
    index = NoteIndex(note for _, note in notes)
    for file, note in notes:
        yield LinkedNote(file._replace(name=shown_name(file.name)), note, index)


def _stored_note(session: Session, data: bytes, file: LinkedNote) -> dict[str, Any]:
    """Store a Markdown file with what it says; answer as an upload, ``replayed`` if it was stored before."""
    content = {
        "file_content": base64.b64encode(data).decode("ascii"),
        "original_filename": file.name,
        "observation_source": "import",
        "find_duplicates": False,
    }
    answers: list[dict[str, Any]] = []
    for raw in file.beside.requests(file.note):
        ids = [each["entity_id"] for each in answers[-1]["entities"]] if answers else []
        arguments = _with_ids(raw, ids)
        # What its links mean depends on the files beside it: with another meaning it is stored again.
        key = hashlib.sha256(data + json.dumps([file.name, arguments]).encode()).hexdigest()
        request = {**content, **arguments, "idempotency_key": f"import:{key}"}
        answers.append(upload.patiently(session, "store", request))
    is_replayed = all(each["replayed"] for each in answers)
    created = sum(each["entities_created"] for each in answers)
    warnings = list(file.note.warnings)
    if answers[0]["deduplicated"] and created and not is_replayed:
        query = {"source_id": answers[0]["source_id"], "status": "completed", "limit": 1}
        readings = upload.patiently(session, "interpretations.list", query)["interpretations"]
        warnings += [upload.TWICE.format(row["interpretation_id"]) for row in readings]
    made = {
        "status": "completed",
        "entities_created": created,
        "entities_by_type": {file.note.entity_type: 1},
        "relationships_created": len(answers[-1]["relationships_created"]),
    }
    return {
        **answers[0],
        "replayed": is_replayed,
        "store_warnings": [{"message": text} for text in warnings],
        "interpretation": made,
    }


def _with_ids(raw: Any, ids: Sequence[str]) -> Any:
    """Return arguments with the ids that the store before answered in place of ``$0``, ``$1`` and so on."""
    entities = [{**each, "target_id": ids[0]} if "target_id" in each else each for each in raw["entities"]]
    ends = ("source_entity_id", "target_entity_id")
    links = [
        {name: ids[int(value[1:])] if name in ends else value for name, value in link.items()}
        for link in raw.get("relationships", ())
    ]
    return {**raw, "entities": entities, "relationships": links}


def _planned(session: Session, file: upload.LocalFile | LinkedNote) -> dict[str, Any]:
    """Return what would come in of a file: it is read here, and nothing is sent."""
    import asyncio

    from graphmem.ingest import InterpretationFailed, propose
    from graphmem.ingest.document import ParseFailed
    from graphmem.ingest.parsing import Terms, parsed

    if isinstance(file, LinkedNote):
        *_, last = file.beside.requests(file.note)
        types, related = {file.note.entity_type: 1}, len(last["relationships"])
        return _plan(file.file.path, types, related, file.note.warnings)
    if not file.interpret:
        return _plan(file.path, {}, 0, ())
    try:
        with tempfile.TemporaryFile() as copy:
            copy.write(file.content())
            copy.flush()
            terms = Terms(confine=session.settings().confine)
            document = asyncio.run(parsed(cast("BinaryIO", copy), None, file.name, terms=terms))
        proposal = propose(document, file_name=file.name)
    except (ParseFailed, InterpretationFailed) as exc:
        return file.failed(FileNotParsed(exc.reason))
    except upload.FILE_FAULTS as exc:
        return file.failed(exc)
    types = Counter(entity.entity_type for entity in proposal.entities)
    return _plan(file.path, types, len(proposal.relationships), [*document.warnings, *proposal.warnings])


def _plan(path: str, types: Mapping[str, int], related: int, warnings: Sequence[str]) -> dict[str, Any]:
    made = {"entities_by_type": dict(types), "relationships_created": related}
    return {"file": path, "outcome": "would_store", **upload.warned(warnings), "interpretation": made}


def _wait(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Wait until the service has read the files that it reads later; Ctrl-C leaves them to it."""
    chosen = session.settings()
    if chosen.base_url is None and not uses_service(chosen):
        return
    for row in rows:
        started = row.get("interpretation", {})
        while started.get("status") in UNFINISHED:
            time.sleep(POLL_SECONDS)
            page = session.ask("interpretations.list", {"source_id": row["source_id"], "limit": 1})
            if not page["interpretations"]:
                break
            started = {**started, **page["interpretations"][0]}
        row |= {"interpretation": started} if started else {}

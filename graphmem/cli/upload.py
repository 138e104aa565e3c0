"""``graphmem upload``: store files, one request each, as sources."""

from __future__ import annotations

import base64
import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import typer

from graphmem.cli.commands import Listed
from graphmem.cli.progress import counted_items
from graphmem.cli.session import Session, console, show, tell
from graphmem.cli.tables import List, add, plain
from graphmem.errors import FileMissing, GraphmemError, InvalidInput, PayloadTooLarge

ATTEMPTS: Final = 5  # how often a file is sent while the service is busy
WAIT_SECONDS_LIMIT: Final = 30.0
TYPES_LIMIT: Final = 8  # types of entities that are counted at the end, the most frequent ones
TWICE: Final = (
    "the same bytes were stored before and make another entity now: `graphmem interpretations withdraw {}` "
    "takes back what `graphmem upload` read in them"
)
"""An upload identifies a note by its content, an import by its title."""
FILE_FAULTS: Final = (InvalidInput, FileMissing, PayloadTooLarge)
"""Errors that are about one file: the files after it are stored."""
Store = Callable[[Session, bytes], dict[str, Any]]
STORE: Final = Listed("store.unstructured", (), (("POST", "/store/unstructured"),), reads=False)
"""The operation that stores a file alone: no command of its own."""


class LocalFile(NamedTuple):
    """A file to upload: its path, the name under which it is stored, and its bytes if these are read."""

    path: str
    name: str
    data: bytes | None = None
    interpret: bool = True  # whether what it says is stored as well
    mime_type: str | None = None  # what it is declared to be

    def content(self) -> bytes:
        """Return its bytes, read from its path if need be; raise as :func:`own_files.read_file`."""
        from graphmem.ingest.own_files import read_file

        return read_file(self.path) if self.data is None else self.data

    def failed(self, error: GraphmemError) -> dict[str, Any]:
        message, issues = str(error), error.details.get("issues") or [{}]
        reason = issues[0].get("message", "")
        message += "" if reason in message else f" ({reason})"
        return {"file": self.path, "outcome": "failed", "error_code": error.code, "message": message}


def upload(session: Session, paths: list[str], recursive: bool = True, encoding: str | None = None) -> None:
    from graphmem.ingest.decoding import with_charset

    files = [file._replace(mime_type=with_charset(None, encoding)) for file in files_of(paths, recursive)]
    if not files:
        raise InvalidInput("there is no file to upload")

    rows: list[dict[str, Any]] = []
    try:
        with counted_items("storing files", len(files), session.as_json) as advance:
            for file in files:
                rows.append(uploaded(session, file))
                advance()
    finally:
        if rows:
            print_rows(rows, session.as_json)
    if any(row["outcome"] == "failed" or _started(row).get("status") == "failed" for row in rows):
        raise typer.Exit(1)


def files_of(paths: Sequence[str], recursive: bool) -> Iterator[LocalFile]:
    """Yield files, and the files of directories in the order of their names.

    The name of a file in a directory is its path below the directory. Names that begin with a point are left
    out, and so are links to directories.
    """
    for path in paths:
        if not os.path.isdir(path):
            yield LocalFile(path, Path(path).name)
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not name.startswith(".")) if recursive else []
            for name in sorted(name for name in names if not name.startswith(".")):
                file = Path(folder) / name
                yield LocalFile(str(file), file.relative_to(path).as_posix())


def uploaded(session: Session, file: LocalFile, store: Store | None = None) -> dict[str, Any]:
    """Return what became of a file. A fault of the file alone is a row; every other fault is raised.

    ``store``: stores the bytes, in place of an upload, and answers as an upload does.
    """
    try:
        data = file.content()
        answer = _stored(session, data, file) if store is None else store(session, data)
    except FILE_FAULTS as exc:
        return file.failed(exc)
    kept = ("source_id", "content_hash", "file_size", "mime_type", "deduplicated")
    outcome = "stored_before" if answer["replayed"] else "stored"
    messages, made = answer["store_warnings"], answer.get("interpretation", {})
    is_again = answer["deduplicated"] and not answer["replayed"]
    if is_again and made.get("interpreter") == "notes" and made["entities_created"]:
        messages = [*messages, {"message": TWICE.format(made["interpretation_id"])}]
    row = {"file": file.path, "outcome": outcome, **{name: answer[name] for name in kept}}
    row |= {"store_warnings": messages} if messages else {}
    return row | ({"interpretation": answer["interpretation"]} if "interpretation" in answer else {})


def warned(texts: Sequence[str]) -> dict[str, Any]:
    return {"store_warnings": [{"message": text} for text in texts]} if texts else {}


def _stored(session: Session, data: bytes, file: LocalFile) -> dict[str, Any]:
    """Store a file once, by a key of its bytes and its name."""
    name = file.name if file.mime_type is None else f"{file.name}\0{file.mime_type}"
    key = hashlib.sha256(data + b"\0" + name.encode(errors="surrogateescape")).hexdigest()
    raw = {
        "file_content": base64.b64encode(data).decode("ascii"),
        "original_filename": file.name.encode(errors="replace").decode(),
        "idempotency_key": f"{'upload' if file.interpret else 'kept'}:{key}",
        **({} if file.mime_type is None else {"mime_type": file.mime_type}),
        **({} if file.interpret else {"interpret": False}),
    }
    return patiently(session, STORE, raw)


def patiently(session: Session, operation: str | Listed, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of an operation; a service that is busy is asked again."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return session.ask(operation, raw)
        except GraphmemError as exc:
            if not exc.retryable or attempt == ATTEMPTS or exc.code == "SERVICE_UNREACHABLE":
                raise
            time.sleep(min(float(exc.details.get("retry_after", attempt)), WAIT_SECONDS_LIMIT))
    raise AssertionError("the last attempt returns or raises")


def _started(row: dict[str, Any]) -> dict[str, Any]:
    return row.get("interpretation", {})


def complaints(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what was not taken of a file and why, each with its colour."""
    started = _started(row)
    if row["outcome"] == "failed":
        yield f"{row['error_code']}: {row['message']}", "red"
    if started.get("status") == "failed":
        yield f"stored, but not interpreted: {started['error_message']}", "red"
    for warning in row.get("store_warnings", ()):
        yield warning["message"], "yellow"
    for sentence in started.get("warnings", ()):
        yield sentence, "yellow"


def _understood(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield what files were understood as, and what to ask next."""
    started = [_started(row) for row in rows]
    types: Counter[str] = Counter()
    for each in started:
        types.update(each.get("entities_by_type", {}))
    passages = sum(each.get("passages", 0) for each in started)
    related = sum(each.get("relationships_created", 0) for each in started)
    parts = [f"{count} {name}" for name, count in types.most_common(TYPES_LIMIT)]
    parts += [f"{related} relationships"] if related else []
    parts += [f"{passages} passages of text"] if passages else []
    if parts:
        yield f"Understood: {', '.join(parts)}."
    if any(each.get("status") in ("pending", "running") for each in started):
        yield "Larger files are being read: `graphmem interpretations list` says how far they are."
    if passages:
        file = Path(max(rows, key=lambda row: _started(row).get("passages", 0))["file"]).name
        yield f"Next: `graphmem ask QUESTION`, or `graphmem sources search WORDS` for what {file} says."


OUTCOMES: Final = ("stored", "stored_before", "failed")


def print_rows(
    rows: Sequence[dict[str, Any]],
    as_json: bool,
    outcomes: tuple[str, ...] = OUTCOMES,
    not_imported: Sequence[str] = (),
) -> None:
    """Print what became of files, how many had each outcome, and what did not come in."""
    counts = {name: sum(row["outcome"] == name for row in rows) for name in outcomes}
    more = {"not_imported": not_imported} if not_imported else {}
    show({"files": rows, **counts, **more}, as_json, lambda: _draw(rows, counts, not_imported))


def _draw(rows: Sequence[dict[str, Any]], counts: Mapping[str, int], not_imported: Sequence[str]) -> None:
    columns = "file", "outcome", "bytes", "type", "interpretation", "entities", "source"
    table = List(columns, optional=("type", "interpretation"))
    for row in rows:
        status = _started(row).get("status", "")
        entities = str(_started(row)["entities_created"]) if status == "completed" else ""
        cells = row["file"], row["outcome"].replace("_", " "), str(row.get("file_size", ""))
        source = row.get("source_id", row.get("error_code", ""))
        add(table, *cells, row.get("mime_type", ""), status, entities, source)
    console.print(table)
    for row in rows:
        for text, colour in complaints(row):
            tell(f"{row['file']}: {text}", colour)
    texts = (f"{count} {name.replace('_', ' ')}" for name, count in counts.items())
    console.print(", ".join(texts), highlight=False)
    for text in (*_understood(rows), *(f"Not imported: {each}." for each in not_imported)):
        console.print(plain(text), highlight=False, soft_wrap=True)

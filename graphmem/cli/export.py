"""``graphmem export``: entities and relationships as files that other programs read."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Literal

from graphmem.cli.command_groups import command_help
from graphmem.cli.people_times import iso
from graphmem.cli.progress import counted_items
from graphmem.cli.session import Session, stderr, tell_progress
from graphmem.cli.upload import patiently
from graphmem.errors import InvalidInput

if TYPE_CHECKING:
    from graphmem.cli.exporting.export_spool import ExportSpool

Format = Literal["jsonl", "memory", "markdown", "csv", "graphml", "prov"]
OBSERVED: Final = {"jsonl", "markdown", "prov"}
"""Formats that need observations: what identifies an entity is one of them."""


def export(
    session: Session, format: Format = "jsonl", output: Path | None = None, types: list[str] | None = None,
    ids: list[str] | None = None, by_account: str | None = None, by_agent: str | None = None,
    by_client: str | None = None, by_key: str | None = None, updated_since: str | None = None,
    created_since: str | None = None, exact_cells: bool = False, force: bool = False,
) -> dict[str, Any] | None:  # fmt: skip
    writers = {"by_account": by_account, "by_agent": by_agent, "by_client": by_client, "by_key": by_key}
    chosen = _filters(types, writers, {"updated_since": updated_since, "created_since": created_since})
    if output is None and format in ("markdown", "csv"):
        raise InvalidInput(f"{format} is a folder: give --output FOLDER")
    if ids and chosen:
        raise InvalidInput("--id names the entities: give no other filter with it")
    from graphmem.cli.exporting.export_spool import ExportSpool

    def call(name: str, raw: Mapping[str, Any]) -> dict[str, Any]:
        return patiently(session, name, raw)

    # Nothing is drawn where stderr is no terminal.
    status = stderr.status("reading")
    with ExportSpool(call, lambda read: status.update(f"reading: {read}")) as spool:
        with contextlib.nullcontext() if session.as_json else status:
            spool.fill(chosen, ids or (), with_observations=format in OBSERVED)
        with counted_items("writing entities", spool.count, session.as_json) as advance:
            counts = {"entities": spool.count, **_write(spool, format, output, exact_cells, force, advance)}
    if output is None:
        return None
    tell_progress(f"{format} does not hold: {_not_held(format)}")
    return {"format": format, "output": str(output), **counts}


def _not_held(format: Format) -> str:
    """Return what a format cannot hold, as the help says it."""
    match = re.search(rf"^  {format}: (.+)$", command_help("export")["help"], re.MULTILINE)
    return match[1] if match else ""


def _filters(
    types: list[str] | None, writers: Mapping[str, str | None], since: Mapping[str, str | None]
) -> dict[str, Any]:
    chosen: dict[str, Any] = {name: value for name, value in writers.items() if value is not None}
    times = {name: text for name, text in since.items() if text is not None}
    chosen |= {name: iso(text, f"$.{name}", is_end=False) for name, text in times.items()}
    return chosen | ({"entity_types": types} if types else {})


def _write(
    spool: ExportSpool, format: Format, output: Path | None, exact: bool, force: bool,
    advance: Callable[[], None],
) -> dict[str, Any]:  # fmt: skip
    """Write a format; return what else there is to tell."""
    from graphmem.cli.exporting import export_lines, export_notes, export_tables
    from graphmem.neo4j_local.private_files import changing, new_file

    if format == "markdown":
        assert output is not None
        output.mkdir(parents=True, exist_ok=True)
        # Another export would replace the same files, and forget those that only this one writes.
        with changing(output / export_notes.JOURNAL):
            notes = export_notes.NoteFolder(output)
            for _ in notes.write(spool):
                advance()
        return dict(notes.counts)
    if format == "csv":
        assert output is not None
        return _write_tables(spool, output, exact, force)
    made = {
        "jsonl": export_lines.json_lines,
        "memory": export_lines.memory_lines,
        "graphml": export_tables.graphml,
        "prov": export_tables.prov_json,
    }[format](spool)
    stdout = contextlib.nullcontext(sys.stdout.buffer)
    with stdout if output is None else new_file(output, force, InvalidInput) as file:
        _send(made, file, advance)
    return {}


def _write_tables(spool: ExportSpool, folder: Path, exact: bool, force: bool) -> dict[str, Any]:
    from graphmem.cli.exporting import export_tables
    from graphmem.neo4j_local.private_files import new_file

    folder.mkdir(parents=True, exist_ok=True)
    cell = export_tables.exact_cell if exact else export_tables.safe_cell
    files = 0
    for name, lines in export_tables.csv_tables(spool, cell):
        # An entity type may have the name of the table of relationships.
        clash = name == export_tables.RELATIONSHIPS and name in spool.types() and files == len(spool.types())
        with new_file(folder / f"{name}{'_' if clash else ''}.csv", force, InvalidInput) as file:
            _send(lines, file, lambda: None)
        files += 1
    return {"files": files}


def _send(lines: Iterable[str], file: IO[bytes], advance: Callable[[], None]) -> None:
    for line in lines:
        file.write(line.encode())
        advance()
    file.flush()

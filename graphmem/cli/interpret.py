"""``graphmem interpret``: interpret files that were stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import typer

from graphmem.cli.progress import counted_items
from graphmem.cli.session import Session, console, show, tell
from graphmem.cli.tables import List
from graphmem.errors import GraphmemError, InvalidInput

PAGE: Final = 500
_OUTCOMES: Final = ("completed", "pending", "failed")


def interpret(
    session: Session, sources: list[str] | None = None, uninterpreted: bool = False,
    interpreter: str | None = None, limit: int | None = None, dry_run: bool = False,
) -> None:  # fmt: skip
    if not sources and not uninterpreted:
        raise InvalidInput("name the sources, or give --uninterpreted for all that nobody has interpreted")
    ids = sources or _uninterpreted(session, limit)
    if dry_run:
        _print([{"source_id": source_id, "status": "would_interpret"} for source_id in ids], session.as_json)
        return

    rows: list[dict[str, Any]] = []
    try:
        with counted_items("interpreting files", len(ids), session.as_json) as advance:
            for source_id in ids:
                rows.append(_interpreted(session, source_id, interpreter))
                advance()
    finally:
        _print(rows, session.as_json)
    if any(row["status"] == "failed" for row in rows):
        raise typer.Exit(1)


def _uninterpreted(session: Session, limit: int | None) -> list[str]:
    """Return the ids of sources that nobody has interpreted, the newest first, ``limit`` at most."""
    ids: list[str] = []
    cursor: str | None = None
    while True:
        page = session.ask("sources.list", {"interpreted": False, "limit": PAGE, "cursor": cursor})
        ids += [source["source_id"] for source in page["sources"]]
        cursor = page.get("next_cursor")
        if cursor is None or (limit is not None and len(ids) >= limit):
            return ids[:limit]


def _interpreted(session: Session, source_id: str, interpreter: str | None) -> dict[str, Any]:
    """Return what became of a source. A fault of its bytes is a row; every other fault is raised."""
    try:
        answer = session.ask("interpretations.run", {"source_id": source_id, "interpreter": interpreter})
    except GraphmemError as exc:
        if exc.code not in ("OBJECT_MISSING", "OBJECT_DAMAGED", "RESOURCE_NOT_FOUND"):
            raise
        return {"source_id": source_id, "status": "failed", "error_message": str(exc)}
    names = ("interpreter", "status", "entities_created", "relationships_created", "error_message")
    row = {"source_id": source_id, "interpretation_id": answer["interpretation_id"]}
    return row | {name: answer[name] for name in names}


def _print(rows: Sequence[dict[str, Any]], as_json: bool) -> None:
    counts = {status: sum(row["status"] == status for row in rows) for status in _OUTCOMES}
    show({"interpretations": rows, **counts}, as_json, lambda: _draw(rows, counts))


def _draw(rows: Sequence[dict[str, Any]], counts: Mapping[str, int]) -> None:
    if rows:
        made = "interpreter", "entities_created", "relationships_created"
        cells = (
            (row["source_id"], row["status"].replace("_", " "), *(str(row.get(name, "")) for name in made))
            for row in rows
        )
        console.print(List(("source", "status", "interpreter", "entities", "relationships"), cells))
    for row in rows:
        if row["status"] == "failed":
            tell(f"{row['source_id']}: {row['error_message']}", "red")
    console.print(", ".join(f"{count} {status}" for status, count in counts.items()), highlight=False)

"""What a withdrawal or a reinstatement would change, as tables for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType

from graphmem.cli.lists import List
from graphmem.cli.tables import Row, add, pairs, short


def changes(answer: Row) -> RenderableType:
    """Return the changes of a dry run, a line for each field; nothing for any other answer."""
    if "dry_run" not in answer:
        return Group()
    entities = [
        ((row["entity_id"], row["entity_type"], row["canonical_name"]), row) for row in answer["entities"]
    ]
    relationships = [((row["relationship_key"],), row) for row in answer["relationships"]]
    return Group(
        *_table_of("entities", ("id", "type", "name"), entities),
        *_table_of("relationships", ("relationship",), relationships),
        pairs({f"touched {name}": count for name, count in answer["counts"].items()}),
    )


def _table_of(title: str, columns: Sequence[str], changes: Sequence[tuple[Sequence[str], Row]]) -> list[List]:
    """Return a table with a line for each thing that would change, and one for each of its fields."""
    if not changes:
        return []
    table = List(title, (*columns, "change", "before", "after", "set by"), optional=("set by",))
    for cells, change in changes:
        add(table, *map(short, (*cells, change["change"], "", "", "")))
        for field in change["fields"]:
            before, after = (
                "" if field[name] is None else short(field[name]) for name in ("old_value", "new_value")
            )
            winner = (field["winner"] or {}).get("observation_id", "")
            add(table, *[""] * len(cells), field["field"], before, after, winner, style="dim")
    return [table]

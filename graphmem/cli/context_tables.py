"""Lines of context, and what a withdrawal or a split would change, as tables for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType

from graphmem.cli.tables import List, Row, add, pairs, plain, short, time_text, who

_ARROWS = {"outgoing": "→ ", "incoming": "← "}


def lines(answer: Row) -> RenderableType:
    """Return lines of context, each with its observation; values that contest a line follow it."""
    rows = answer["lines"]
    if not rows or isinstance(rows[0], str):
        return Group(*map(plain, rows))
    columns = "entity", "field", "value", "observed at", "observation"
    table = List(columns, optional=("observation", "observed at"))
    for row in rows:
        field = f"formerly {row['field']}" if {"ended", "until"} & row.keys() else row["field"]
        add(table, row["entity_name"], field, _value(row), *_origin(row))
        for other in row.get("earlier", ()):
            add(table, "", "", f"{short(other['value'])} until {time_text(other['until'])[:10]}", style="dim")
        for other in row.get("contested", ()):
            add(table, "", "", f"but {short(other['value'])}", *_origin(other), style="yellow")
    return Group(table, List(("id", "type", "name"), map(who, answer["entities"])))


def _value(line: Row) -> str:
    metadata = ", ".join(f"{name}: {short(value)}" for name, value in line.get("metadata", {}).items())
    text = _ARROWS.get(line.get("direction", ""), "") + short(line["value"])
    text = f"{text} ({metadata})" if metadata else text
    return f"{text} ({line['note']})" if "note" in line else text


def _origin(line: Row) -> tuple[str, str]:
    return time_text(line["observed_at"])[:10], line.get("observation_id", "")


def changes(answer: Row) -> RenderableType:
    """Return the changes of a dry run, a line for each field; nothing for any other answer."""
    if "dry_run" not in answer:
        return Group()
    entities = [(who(row), row) for row in answer["entities"]]
    relationships = [((row["relationship_key"],), row) for row in answer["relationships"]]
    return Group(
        *_table_of("entities", ("id", "type", "name"), entities),
        *_table_of("relationships", ("relationship",), relationships),
        pairs({f"touched {name}": count for name, count in answer.get("counts", {}).items()}),
    )


def _table_of(title: str, columns: Sequence[str], changes: Sequence[tuple[Sequence[str], Row]]) -> list[List]:
    """Return a table with a line for each thing that would change, and one for each of its fields."""
    if not changes:
        return []
    table = List((*columns, "change", "before", "after", "set by"), title=title, optional=("set by",))
    for cells, change in changes:
        add(table, *map(short, (*cells, change["change"], "", "", "")))
        for field in change["fields"]:
            before, after = (
                "" if field[name] is None else short(field[name]) for name in ("old_value", "new_value")
            )
            winner = (field["winner"] or {}).get("observation_id", "")
            add(table, *[""] * len(cells), field["field"], before, after, winner, style="dim")
    return [table]

"""Lines of context, as tables for people."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from graphmem.cli.lists import List
from graphmem.cli.tables import Row, add, short, time_text

_ARROWS = {"outgoing": "→ ", "incoming": "← "}


def lines(answer: Row) -> RenderableType:
    """Return lines of context, each with its observation; values that contest a line follow it."""
    rows = answer["lines"]
    if not rows or isinstance(rows[0], str):
        return Text("\n".join(rows))
    columns = "entity", "field", "value", "observed at", "observation"
    table = List(None, columns, optional=("observation", "observed at"))
    for row in rows:
        add(table, row["entity_name"], _field(row), _value(row), *_origin(row))
        for other in row.get("contested", ()):
            add(table, "", "", f"but {short(other['value'])}", *_origin(other), style="yellow")
    mentioned = List(None, ("id", "type", "name"))
    for row in answer["entities"]:
        add(mentioned, row["entity_id"], row["entity_type"], row["canonical_name"])
    return Group(table, mentioned)


def _field(line: Row) -> str:
    return f"formerly {line['field']}" if "ended" in line else line["field"]


def _value(line: Row) -> str:
    """Return the value of a line; that of a relationship has its direction and metadata."""
    metadata = ", ".join(f"{name}: {short(value)}" for name, value in line.get("metadata", {}).items())
    text = _ARROWS.get(line.get("direction", ""), "") + short(line["value"])
    return f"{text} ({metadata})" if metadata else text


def _origin(line: Row) -> tuple[str, str]:
    """Return the day and the observation of a line of context."""
    return time_text(line["observed_at"])[:10], line.get("observation_id", "")

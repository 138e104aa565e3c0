"""Answers as tables for people. Programs take ``--json``.

:data:`LAYOUTS` says by the operation's name which part of an answer has a table of its own. The other parts
are shown as pairs of name and value, and lists of objects as plain tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from graphmem.cli.tables import (
    WARNINGS,
    Row,
    Snapshot,
    new_table,
    origin_cells,
    pairs,
    plain,
    short,
    time_text,
)

_PAGING = frozenset({"limit", "offset", "omitted"})


@dataclass(frozen=True, slots=True)
class Layout:
    """How the answer of one operation is shown.

    ``table`` draws the parts of the answer that ``parts`` names. ``pairs`` says whether the remaining plain
    values are listed below it.
    """

    table: Callable[[Row], RenderableType]
    parts: frozenset[str]
    pairs: bool = True


def show(console: Console, operation: str, answer: Row) -> None:
    """Print the answer of an operation."""
    console.print(render(operation, answer))


def render(operation: str, answer: Row) -> RenderableType:
    """Return the answer of an operation as something to print."""
    layout = LAYOUTS.get(operation)
    printed_names = layout.parts if layout else frozenset[str]()
    parts: list[RenderableType] = [layout.table(answer)] if layout else []
    rest = {name: value for name, value in answer.items() if name not in printed_names | _PAGING}
    if layout is None or layout.pairs:
        parts.append(pairs({name: value for name, value in rest.items() if not _is_rows(value)}))
    return Group(*parts, *_plain_tables(rest), *_warnings(answer), *_omitted(answer))


def _plain_tables(answer: Row) -> list[RenderableType]:
    """Return a table for each list of objects in an answer."""
    return [
        _plain_rows(name, rows) for name, rows in answer.items() if name not in WARNINGS and _is_rows(rows)
    ]


def _warnings(answer: Row) -> list[RenderableType]:
    rows = [row for name in sorted(WARNINGS) for row in answer.get(name) or ()]
    return [plain(f"{row['code']}: {row['message']}", style="yellow") for row in rows]


def _omitted(answer: Row) -> list[RenderableType]:
    """Return a line about what an answer lacks to stay within ``--max-characters``."""
    omitted: Row | None = answer.get("omitted")
    if omitted is None:
        return []
    parts = [f"{count} {name} left out" for name, count in omitted.get("left_out", {}).items()]
    if names := omitted.get("shortened"):
        parts.append(f"shortened: {', '.join(names)}")
    return [plain("; ".join([*parts, omitted["hint"]]), style="yellow")]


def _plain_rows(name: str, rows: Sequence[Row]) -> Table:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = new_table(name.replace("_", " "), *columns)
    for row in rows:
        table.add_row(*(plain("" if row.get(key) is None else short(row[key])) for key in columns))
    return table


def _entities(answer: Row) -> Table:
    """Return entities, one a line."""
    table = new_table(None, "id", "type", "name", "v.", "obs.", "last observed")
    for row in answer["entities"]:
        counts = str(row["version"]), str(row["observation_count"])
        table.add_row(
            *map(
                plain,
                (
                    row["entity_id"],
                    row["entity_type"],
                    row["canonical_name"],
                    *counts,
                    time_text(row["last_observation_at"])[:10],
                ),
            )
        )
    return table


def _matched(answer: Row) -> Table:
    """Return the entities of a look-up, each with the reason of its match."""
    table = new_table(None, "id", "type", "name", "found by", "in", "score")
    for row in answer["entities"]:
        cells = row["entity_id"], row["entity_type"], row["canonical_name"], row["matched"]
        table.add_row(*map(plain, (*cells, row.get("matched_field", ""), f"{row['score']:.2f}")))
    return table


def _ranked(answer: Row) -> RenderableType:
    """Return the entities of a search with their rank in each strategy."""
    strategies = answer["strategies"]
    names = [strategy["strategy"] for strategy in strategies]
    table = new_table(None, "id", "type", "name", "points", *names)
    for row in answer["entities"]:
        ranks = [str(row["ranks"].get(name, "")) for name in names]
        cells = row["entity_id"], row["entity_type"], row["canonical_name"], f"{row['points']:.4f}"
        table.add_row(*map(plain, (*cells, *ranks)))
    counts = [f"{row['strategy']} {row['found'] if row['ran'] else 'not run'}" for row in strategies]
    return Group(table, plain(f"entities by strategy: {', '.join(counts)}", style="dim"))


def _stored(answer: Row) -> RenderableType:
    """Return the entities of a store, each with its action, and the likely duplicates below."""
    rows = answer["entities"]
    table = new_table(None, "id", "type", "name", "action", "v.", "identified by")
    for row in rows:
        action = row["action"] + (" (stored before)" if row["deduplicated"] else "")
        cells = row["entity_id"], row["entity_type"], row["canonical_name"], action, str(row["version"])
        table.add_row(*map(plain, (*cells, row["identity_basis"])))
    duplicates = [
        plain(
            f"{row['canonical_name']} may be {other['canonical_name']} "
            f"({other['entity_id']}, {other['score']:.2f})"
        )
        for row in rows
        for other in row.get("duplicate_candidates", [])
    ]
    return Group(table, *duplicates)


def _related(answer: Row) -> RenderableType:
    """Return the entities of a walk by their distance, and the relationships between them."""
    rows = answer["entities"]
    table = new_table(None, "steps", "id", "type", "name")
    for row in rows:
        cells = str(row["depth"]), row["entity_id"], row["entity_type"], row["canonical_name"]
        table.add_row(*map(plain, cells))
    return Group(table, _edges(answer["relationships"], _names([*rows, answer])))


def _relationships(answer: Row) -> Table:
    """Return relationships, with names in place of the ids of entities that the answer names."""
    center = {answer[name]: "(this entity)" for name in ("entity_id", "node_id") if name in answer}
    return _edges(answer["relationships"], {**_names(answer.get("related_entities", [])), **center})


def _neighborhood(answer: Row) -> RenderableType:
    """Return an entity with its relationships, observations and events; of a source only what it has."""
    parts: list[RenderableType] = [Snapshot(answer["entity"])] if "entity" in answer else []
    parts += [
        table(answer)
        for name, table in (
            ("relationships", _relationships), ("observations", _observations), ("events", _events),
        )
        if answer.get(name)
    ]  # fmt: skip
    return Group(*parts)


def _relationship_snapshot(answer: Row) -> Snapshot:
    kind = answer.get("relationship_type", "")
    title = f"{answer.get('source_entity_id', '')} {kind} {answer.get('target_entity_id', '')}"
    return Snapshot(answer, title)


def _event(answer: Row) -> Table:
    return pairs(answer["event"])


def _edges(rows: Sequence[Row], names: Row) -> Table:
    table = new_table(None, "from", "relationship", "to", "metadata")
    for row in rows:
        ends = [
            names.get(row[f"{side}_entity_id"], row[f"{side}_entity_id"]) for side in ("source", "target")
        ]
        table.add_row(
            *map(
                plain,
                (
                    ends[0],
                    row["relationship_type"],
                    ends[1],
                    short(row["snapshot"]) if row.get("snapshot") else "",
                ),
            )
        )
    return table


def _observations(answer: Row) -> RenderableType:
    """Return observations, each with its fields on lines below it."""
    lines: list[RenderableType] = []
    for row in answer["observations"]:
        head = plain(f"{row['id']}  ", style="bold")
        head.append(plain(f"{row['kind']}  {'  '.join(origin_cells(row))}", style="not bold"))
        lines.append(head)
        if "entity_id" in row:
            lines.append(plain(f"    of {row['entity_type']} {row['entity_id']}", style="dim"))
        fields = row["fields"] if "fields" in row else row["metadata"]
        lines += [plain(f"    {name}: {short(value)}") for name, value in fields.items()]
    return Group(*lines)


def _schemas(answer: Row) -> Table:
    table = new_table(None, "type", "entities", "observations", "fields")
    for row in answer["schemas"]:
        fields = ", ".join(f"{name}: {field['type']}" for name, field in row["fields"].items())
        table.add_row(
            *map(plain, (row["entity_type"], str(row["entity_count"]), str(row["observation_count"]), fields))
        )
    return table


def _schema(answer: Row) -> Table:
    """Return the fields of a schema, one a line."""
    table = new_table(None, "field", "type", "description")
    for name, field in answer["fields"].items():
        table.add_row(*map(plain, (name, field["type"], field.get("description") or "")))
    return table


def _candidates(answer: Row) -> Table:
    table = new_table(None, "score", "entity", "other entity", "type", "matched fields")
    for row in answer["candidates"]:
        ends = [f"{row[f'canonical_name_{side}']} ({row[f'entity_{side}']})" for side in "ab"]
        fields = ", ".join(row["matched_fields"])
        table.add_row(*map(plain, (f"{row['score']:.2f}", *ends, row["entity_type"], fields)))
    return table


def _events(answer: Row) -> Table:
    """Return events, one a line, with the time as it was written."""
    table = new_table(None, "when", "event", "entity", "type", "field", "id")
    for row in answer["events"]:
        cells = row["event_timestamp"], row["event_type"], row["entity_name"], row["entity_type"]
        table.add_row(*map(plain, (*map(short, cells), row["source_field"], row["id"])))
    return table


def _types(answer: Row) -> Table:
    table = new_table(None, "relationship", "inverse", "origin", "count", "description")
    for row in answer["relationship_types"]:
        cells = row["relationship_type"], row["inverse"] or "", row["origin"], str(row["relationship_count"])
        table.add_row(*map(plain, (*cells, row["description"] or "")))
    return table


def _lines(answer: Row) -> RenderableType:
    """Return lines of context, each with its observation; values that contest a line follow it."""
    table = new_table(None, "entity", "field", "value", "observed at", "observation")
    for row in answer["lines"]:
        arrow = {"outgoing": "→ ", "incoming": "← "}.get(row.get("direction", ""), "")
        cells = row["entity_name"], row["field"], arrow + short(row["value"])
        table.add_row(*map(plain, (*cells, time_text(row["observed_at"]), row.get("observation_id", ""))))
        for other in row.get("contested", ()):
            cells = (
                "",
                "",
                f"but {short(other['value'])}",
                time_text(other["observed_at"]),
                other.get("observation_id", ""),
            )
            table.add_row(*(plain(cell, style="yellow") for cell in cells))
    mentioned = new_table(None, "id", "type", "name")
    for row in answer["entities"]:
        mentioned.add_row(*map(plain, (row["entity_id"], row["entity_type"], row["canonical_name"])))
    return Group(table, mentioned) if answer["lines"] else Text("")


def _names(rows: Sequence[Row]) -> dict[str, str]:
    return {row["entity_id"]: row["canonical_name"] for row in rows}


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


_ENTITY = Layout(Snapshot, frozenset({"snapshot"}), pairs=False)
_RELATIONSHIP = Layout(_relationship_snapshot, frozenset({"snapshot"}), pairs=False)


def _layout(table: Callable[[Row], RenderableType], *parts: str) -> Layout:
    return Layout(table, frozenset(parts))


LAYOUTS: dict[str, Layout] = {
    "context.retrieve": _layout(_lines, "lines", "entities"),
    "entities.correct": _ENTITY,
    "entities.duplicates": _layout(_candidates, "candidates"),
    "entities.find": _layout(_matched, "entities"),
    "entities.get": _ENTITY,
    "entities.provenance": _layout(_observations, "observations"),
    "entities.query": _layout(_entities, "entities"),
    "entities.related": _layout(_related, "entities", "relationships", "paths"),
    "entities.snapshot": _ENTITY,
    "graph.neighborhood": _layout(
        _neighborhood, "entity", "relationships", "related_entities", "observations", "events"
    ),
    "observations.create": _ENTITY,
    "observations.query": _layout(_observations, "observations"),
    "relationship_types.list": _layout(_types, "relationship_types"),
    "relationships.create": _RELATIONSHIP,
    "relationships.create_many": _layout(_relationships, "relationships"),
    "relationships.get": _RELATIONSHIP,
    "relationships.list": _layout(
        _relationships, "relationships", "outgoing", "incoming", "related_entities"
    ),
    "relationships.snapshot": _RELATIONSHIP,
    "schemas.get": _layout(_schema, "fields", "field_names"),
    "schemas.list": _layout(_schemas, "schemas"),
    "search.explain": _layout(_ranked, "entities", "strategies"),
    "store": _layout(_stored, "entities"),
    "timeline.get": _layout(_event, "event"),
    "timeline.list": _layout(_events, "events"),
}
"""The layout of each operation that has a table of its own. Other answers are pairs and plain tables."""

"""Answers as tables for people. Programs take ``--json``.

:data:`LAYOUTS` says by the operation's name which part of an answer has a table of its own. The other parts
are shown as pairs of name and value, and lists of objects as plain tables.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

WIDE_SNAPSHOT_COLUMNS = 140
"""Width of a terminal from which a snapshot has one line for each field, with its observation."""
VALUE_CHARACTERS = 76
"""Characters of one value that are shown; ``--json`` has it whole."""

_PAGING = frozenset({"limit", "offset"})
_WARNINGS = frozenset({"store_warnings", "warnings"})
_UNCUT = frozenset({"next_cursor", "hint", "message"})
"""Texts that are shown whole."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Layout:
    """How the answer of one operation is shown.

    ``table`` draws the parts of the answer that ``parts`` names. ``pairs`` says whether the remaining plain
    values are listed below it.
    """

    table: Callable[[Row], RenderableType]
    parts: frozenset[str]
    pairs: bool = True


def plain(text: str, style: str = "") -> Text:
    """Return a text without control characters: stored text must not steer the terminal."""
    return Text("".join(c if c.isprintable() else " " for c in text), style=style)


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
    return Group(*parts, *_plain_tables(rest), *_warnings(answer))


def _plain_tables(answer: Row) -> list[RenderableType]:
    """Return a table for each list of objects in an answer."""
    return [
        _plain_rows(name, rows) for name, rows in answer.items() if name not in _WARNINGS and _is_rows(rows)
    ]


def _warnings(answer: Row) -> list[RenderableType]:
    rows = [row for name in sorted(_WARNINGS) for row in answer.get(name) or ()]
    return [plain(f"{row['code']}: {row['message']}", style="yellow") for row in rows]


def _plain_rows(name: str, rows: Sequence[Row]) -> Table:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = _table(name.replace("_", " "), *columns)
    for row in rows:
        table.add_row(*(plain("" if row.get(key) is None else _value(row[key])) for key in columns))
    return table


class Snapshot:
    """A snapshot: each field with its value, and the observation that set it with its time and writer.

    A narrow terminal shows the number of the observation beside the field, and the observations below.
    """

    def __init__(self, answer: Row, title: str | None = None) -> None:
        self.answer = answer
        self.title = title or f"{answer.get('canonical_name', '')}  ({answer.get('entity_type', '')})"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        observations: Row = self.answer.get("provenance_observations", {})
        provenance: Row = self.answer.get("provenance", {})
        yield plain(self.title, style="bold")
        if options.max_width >= WIDE_SNAPSHOT_COLUMNS or not observations:
            yield self._wide(provenance, observations)
        else:
            numbers = {name: i for i, name in enumerate(dict.fromkeys(provenance.values()), 1)}
            table = _table(None, "field", "value", "set by")
            for field, value in self.answer["snapshot"].items():
                table.add_row(*map(plain, (field, _value(value), f"[{numbers[provenance[field]]}]")))
            yield table
            for name, number in numbers.items():
                yield plain(f" [{number}] {name}  {' '.join(_writing(observations[name]))}", style="dim")
        yield _caption(self.answer)

    def _wide(self, provenance: Row, observations: Row) -> Table:
        more = ("observed at", "kind of writer", "written by") if observations else ()
        table = _table(None, "field", "value", "observation", *more)
        for field, value in self.answer["snapshot"].items():
            name = provenance.get(field, "")
            writing = _writing(observations[name]) if name in observations else ()
            table.add_row(*map(plain, (field, _value(value), name, *writing)))
        return table


def _writing(observation: Row) -> tuple[str, str, str]:
    """Return the time of an observation, its kind of source, and its writer."""
    writer = observation["provenance"]
    return (
        _time(observation["observed_at"]),
        observation["observation_source"],
        f"{writer['agent']} via {writer['client']}",
    )


def _entities(answer: Row) -> Table:
    """Return entities, one a line."""
    table = _table(None, "id", "type", "name", "v.", "obs.", "last observed")
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
                    _time(row["last_observation_at"])[:10],
                ),
            )
        )
    return table


def _caption(answer: Row) -> Text:
    parts = {
        "id": answer.get("entity_id"),
        "version": answer.get("version"),
        "observations": answer.get("observation_count"),
        "as of": _time(answer.get("at")),
        "as known": _time(answer.get("at_ingested")),
    }
    return plain("  ".join(f"{name} {value}" for name, value in parts.items() if value not in (None, "")))


def _matched(answer: Row) -> Table:
    """Return the entities of a look-up, each with the reason of its match."""
    table = _table(None, "id", "type", "name", "found by", "in", "score")
    for row in answer["entities"]:
        cells = row["entity_id"], row["entity_type"], row["canonical_name"], row["matched"]
        table.add_row(*map(plain, (*cells, row.get("matched_field", ""), f"{row['score']:.2f}")))
    return table


def _ranked(answer: Row) -> RenderableType:
    """Return the entities of a search with their rank in each strategy."""
    strategies = answer["strategies"]
    names = [strategy["strategy"] for strategy in strategies]
    table = _table(None, "id", "type", "name", "points", *names)
    for row in answer["entities"]:
        ranks = [str(row["ranks"].get(name, "")) for name in names]
        cells = row["entity_id"], row["entity_type"], row["canonical_name"], f"{row['points']:.4f}"
        table.add_row(*map(plain, (*cells, *ranks)))
    counts = [f"{row['strategy']} {row['found'] if row['ran'] else 'not run'}" for row in strategies]
    return Group(table, plain(f"entities by strategy: {', '.join(counts)}", style="dim"))


def _stored(answer: Row) -> RenderableType:
    """Return the entities of a store, each with its action, and the likely duplicates below."""
    rows = answer["entities"]
    table = _table(None, "id", "type", "name", "action", "v.", "identified by")
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
    table = _table(None, "steps", "id", "type", "name")
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


def _entity_snapshot(answer: Row) -> Snapshot:
    return Snapshot(answer)


def _relationship_snapshot(answer: Row) -> Snapshot:
    kind = answer.get("relationship_type", "")
    title = f"{answer.get('source_entity_id', '')} {kind} {answer.get('target_entity_id', '')}"
    return Snapshot(answer, title)


def _event(answer: Row) -> Table:
    return pairs(answer["event"])


def _edges(rows: Sequence[Row], names: Row) -> Table:
    table = _table(None, "from", "relationship", "to", "metadata")
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
                    _value(row["snapshot"]) if row.get("snapshot") else "",
                ),
            )
        )
    return table


def _observations(answer: Row) -> RenderableType:
    """Return observations, each with its fields on lines below it."""
    lines: list[RenderableType] = []
    for row in answer["observations"]:
        head = plain(f"{row['id']}  ", style="bold")
        head.append(plain(f"{row['kind']}  {'  '.join(_writing(row))}", style="not bold"))
        lines.append(head)
        if "entity_id" in row:
            lines.append(plain(f"    of {row['entity_type']} {row['entity_id']}", style="dim"))
        fields = row["fields"] if "fields" in row else row["metadata"]
        lines += [plain(f"    {name}: {_value(value)}") for name, value in fields.items()]
    return Group(*lines)


def _schemas(answer: Row) -> Table:
    table = _table(None, "type", "entities", "observations", "fields")
    for row in answer["schemas"]:
        fields = ", ".join(f"{name}: {field['type']}" for name, field in row["fields"].items())
        table.add_row(
            *map(plain, (row["entity_type"], str(row["entity_count"]), str(row["observation_count"]), fields))
        )
    return table


def _candidates(answer: Row) -> Table:
    table = _table(None, "score", "entity", "other entity", "type", "matched fields")
    for row in answer["candidates"]:
        ends = [f"{row[f'canonical_name_{side}']} ({row[f'entity_{side}']})" for side in "ab"]
        fields = ", ".join(row["matched_fields"])
        table.add_row(*map(plain, (f"{row['score']:.2f}", *ends, row["entity_type"], fields)))
    return table


def _events(answer: Row) -> Table:
    """Return events, one a line, with the time as it was written."""
    table = _table(None, "when", "event", "entity", "type", "field", "id")
    for row in answer["events"]:
        cells = row["event_timestamp"], row["event_type"], row["entity_name"], row["entity_type"]
        table.add_row(*map(plain, (*map(_value, cells), row["source_field"], row["id"])))
    return table


def _types(answer: Row) -> Table:
    table = _table(None, "relationship", "inverse", "origin", "count", "description")
    for row in answer["relationship_types"]:
        cells = row["relationship_type"], row["inverse"] or "", row["origin"], str(row["relationship_count"])
        table.add_row(*map(plain, (*cells, row["description"] or "")))
    return table


def _lines(answer: Row) -> RenderableType:
    """Return lines of context, each with its observation; values that contest a line follow it."""
    table = _table(None, "entity", "field", "value", "observed at", "observation")
    for row in answer["lines"]:
        arrow = {"outgoing": "→ ", "incoming": "← "}.get(row.get("direction", ""), "")
        cells = row["entity_name"], row["field"], arrow + _value(row["value"])
        table.add_row(*map(plain, (*cells, _time(row["observed_at"]), row["observation_id"])))
        for other in row.get("contested", ()):
            cells = (
                "",
                "",
                f"but {_value(other['value'])}",
                _time(other["observed_at"]),
                other["observation_id"],
            )
            table.add_row(*(plain(cell, style="yellow") for cell in cells))
    mentioned = _table(None, "id", "type", "name")
    for row in answer["entities"]:
        mentioned.add_row(*map(plain, (row["entity_id"], row["entity_type"], row["canonical_name"])))
    return Group(table, mentioned) if answer["lines"] else Text("")


def _names(rows: Sequence[Row]) -> dict[str, str]:
    return {row["entity_id"]: row["canonical_name"] for row in rows}


def pairs(answer: Row) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column()
    # A cursor is copied by people, so it is folded and not cut.
    table.add_column(overflow="fold")
    for name, value in answer.items():
        if value in (None, [], {}) or name in _WARNINGS:
            continue
        text = value if name in _UNCUT and isinstance(value, str) else _value(value)
        table.add_row(plain(name, style="dim"), plain(text))
    return table


def _table(title: str | None, *columns: str) -> Table:
    table = Table(
        title=plain(title, style="bold") if title else None,
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    for column in columns:
        table.add_column(
            column, overflow="fold", no_wrap=column in ("id", "v.", "obs.", "observation", "when")
        )
    return table


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _time(text: str | None) -> str:
    """Return a time to the second: ``--json`` has it to the microsecond."""
    return f"{text[:19].replace('T', ' ')}Z" if text else ""


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= VALUE_CHARACTERS else f"{text[: VALUE_CHARACTERS - 1]}…"


_ENTITY = Layout(_entity_snapshot, frozenset({"snapshot"}), pairs=False)
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
    "schemas.list": _layout(_schemas, "schemas"),
    "search.explain": _layout(_ranked, "entities", "strategies"),
    "store": _layout(_stored, "entities"),
    "timeline.get": _layout(_event, "event"),
    "timeline.list": _layout(_events, "events"),
}
"""The layout of each operation that has a table of its own. Other answers are pairs and plain tables."""

"""Answers as tables for people. Programs take ``--json``.

:data:`LAYOUTS` says by the operation's name which part of an answer has a table of its own. The other parts
are shown as pairs of name and value, and lists of objects as plain tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from graphmem.changes.change_sentences import sentence
from graphmem.cli import context_tables
from graphmem.cli.tables import (
    WARNINGS,
    List,
    Row,
    SnapshotTable,
    add,
    new_table,
    origin_cells,
    pairs,
    plain,
    short,
    time_text,
    who,
)
from graphmem.model import attribution
from graphmem.model.identity import CANONICAL_NAME

_PAGING = frozenset({"limit", "offset", "omitted", "understood"})


class Layout(NamedTuple):
    """How the answer of one operation is shown."""

    table: Callable[[Row, Sequence[str]], RenderableType]  # of the answer and the requested fields
    parts: frozenset[str]  # the parts of the answer that the table has
    pairs: bool = True  # whether the remaining plain values are listed below it


def render(operation: str, answer: Row, fields: Sequence[str] = ()) -> RenderableType:
    """Return the answer of an operation as something to print; a list has a column for each of ``fields``."""
    layout = LAYOUTS.get(operation)
    # How a question was read that asks for a kind; of a subscription it is the sentence alone.
    understood = answer.get("understood", "")
    sentence_of = understood if isinstance(understood, str) else understood["sentence"]
    head = [plain(sentence_of, style="dim")] if sentence_of else []
    printed_names = layout.parts if layout else frozenset[str]()
    # The column of names has the canonical name already.
    columns = [name for name in dict.fromkeys(fields) if name != CANONICAL_NAME]
    parts: list[RenderableType] = [layout.table(answer, columns)] if layout else []
    rest = {name: value for name, value in answer.items() if name not in printed_names | _PAGING}
    if layout is None or layout.pairs:
        parts.append(pairs({name: value for name, value in rest.items() if not _is_rows(value)}))
    return Group(*head, *parts, *_plain_tables(rest), *_warnings(answer), *_omitted(answer))


def _plain_tables(answer: Row) -> Iterator[RenderableType]:
    for name, rows in answer.items():
        if name not in WARNINGS and _is_rows(rows):
            columns = list(dict.fromkeys(key for row in rows for key in row))
            cells = (["" if row.get(key) is None else short(row[key]) for key in columns] for row in rows)
            yield List(columns, cells, title=name.replace("_", " "))


def _warnings(answer: Row) -> list[RenderableType]:
    rows = [row for name in sorted(WARNINGS) for row in answer.get(name) or ()]
    # Those of an interpretation are sentences.
    texts = [row if isinstance(row, str) else f"{row['code']}: {row['message']}" for row in rows]
    return [plain(text, style="yellow") for text in texts]


def _omitted(answer: Row) -> list[RenderableType]:
    """Return a line about what an answer lacks to stay within ``--max-characters``."""
    omitted: Row | None = answer.get("omitted")
    if omitted is None:
        return []
    parts = [f"{count} {name} left out" for name, count in omitted.get("left_out", {}).items()]
    if names := omitted.get("shortened"):
        parts.append(f"shortened: {', '.join(names)}")
    return [plain("; ".join([*parts, omitted["hint"]]), style="yellow")]


def _entities(answer: Row, fields: Sequence[str]) -> List:
    columns = "id", "type", "name", *fields, "v.", "obs.", "observed"
    table = List(columns, optional=("obs.", "v.", "observed"))
    for row in answer["entities"]:
        counters = str(row["version"]), str(row["observation_count"])
        add(table, *who(row), *_values(row, fields), *counters, time_text(row["last_observation_at"])[:10])
    return table


def _values(entity: Row, fields: Sequence[str]) -> list[str]:
    snapshot: Row = entity.get("snapshot") or {}
    return [short(snapshot[name]) if name in snapshot else "" for name in fields]


def _matched(answer: Row, fields: Sequence[str]) -> RenderableType:
    columns = "id", "type", "name", *fields, "found by", "in", "score"
    table = List(columns, optional=("score", "in"))
    for row in (*answer["entities"], *answer.get("resembling", ())):
        match = row["matched"], row.get("matched_field", ""), f"{row['score']:.2f}"
        add(table, *who(row), *_values(row, fields), *match)
    return Group(plain(answer["hint"], style="yellow"), table) if "hint" in answer else table


def _ranked(answer: Row) -> RenderableType:
    strategies = answer["strategies"]
    names = [strategy["strategy"] for strategy in strategies]
    table = List(("id", "type", "name", "points", *names), optional=("type", "points"))
    for row in answer["entities"]:
        add(table, *who(row), f"{row['points']:.4f}", *(str(row["ranks"].get(name, "")) for name in names))
    counts = [f"{row['strategy']} {row['found'] if row['ran'] else 'not run'}" for row in strategies]
    return Group(table, plain(f"entities by strategy: {', '.join(counts)}", style="dim"))


def _stored(answer: Row) -> RenderableType:
    """Return the entities of a store, each with its action; likely duplicates; then the relationships."""
    rows = answer["entities"]
    columns = "id", "type", "name", "action", "v.", "identified by"
    cells = ((*who(row), _action(row), str(row["version"]), row["identity_basis"]) for row in rows)
    table = List(columns, cells, optional=("v.", "identified by"))
    duplicates = [
        plain(
            f"{row['canonical_name']} may be {other['canonical_name']} "
            f"({other['entity_id']}, {other['score']:.2f})"
        )
        for row in rows
        for other in row.get("duplicate_candidates", [])
    ]
    relationships, names = answer.get("relationships_created"), _names(rows)
    links = ((*_link(row, names), _action(row)) for row in relationships or ())
    # A file that is stored alone has no rows.
    return Group(
        *([table] if rows else []),
        *duplicates,
        *([List(("from", "relationship", "to", "action"), links)] if relationships else []),
    )


def _action(row: Row) -> str:
    return row["action"] + (" (stored before)" if row["deduplicated"] else "")


def _related(answer: Row, fields: Sequence[str]) -> RenderableType:
    rows = answer["entities"]
    cells = ((str(row["depth"]), *who(row), *_values(row, fields)) for row in rows)
    table = List(("steps", "id", "type", "name", *fields), cells)
    return Group(table, _edges(answer["relationships"], _names([*rows, answer])))


def _relationships(answer: Row) -> List:
    """Return relationships, with names in place of the ids of entities that the answer names."""
    center = {answer[name]: "(this entity)" for name in ("entity_id", "node_id") if name in answer}
    return _edges(answer["relationships"], {**_names(answer.get("related_entities", [])), **center})


def _neighborhood(answer: Row) -> RenderableType:
    """Return an entity with its relationships, observations and events; of a source only what it has."""
    parts: list[RenderableType] = [SnapshotTable(answer["entity"])] if "entity" in answer else []
    tables = {"relationships": _relationships, "observations": _observations}
    parts += [table(answer) for name, table in tables.items() if answer.get(name)]
    if answer.get("events"):
        parts.append(_EVENTS.table(answer, ()))
    return Group(*parts)


def _edges(rows: Sequence[Row], names: Row) -> List:
    table = List(("from", "relationship", "to", "metadata"), optional=("metadata",))
    for row in rows:
        fields = ", ".join(f"{name}: {short(value)}" for name, value in (row.get("snapshot") or {}).items())
        add(table, *_link(row, names), short(fields))
    return table


def _link(row: Row, names: Row) -> tuple[str, str, str]:
    source, target = row["source_entity_id"], row["target_entity_id"]
    return names.get(source, source), row["relationship_type"], names.get(target, target)


def _observations(answer: Row) -> RenderableType:
    """Return observations, each with its subject and its fields on lines below it."""
    lines: list[Text] = []
    for row in answer["observations"]:
        time, source, writer = origin_cells(row)
        lines.append(plain(f"{row['id']}  ", "bold") + plain(f"{row['kind']}  {time}", "not bold"))
        lines.append(plain(f"    {source} by {writer}", "dim"))
        if "entity_id" in row:
            lines.append(plain(f"    of {row['entity_type']} {row['entity_id']}", "dim"))
        fields = row["fields"] if "fields" in row else row["metadata"]
        lines += [plain(f"    {name}: {short(value)}") for name, value in fields.items()]
    for line in lines:
        line.no_wrap, line.overflow = True, "ellipsis"
    return Group(*lines) if lines else plain("no observations", "dim")


def _history(answer: Row) -> List:
    """Return what was said of an entity or of one field, a value a line, newest first."""
    table = List(("observed at", "field", "value", "source", "observation"), optional=("observation",))
    for row in answer["observations"]:
        field = answer.get("field")
        if not row["fields"]:
            add(table, time_text(row["observed_at"]), "", row["kind"], row["observation_source"], row["id"])
        for name, value in row["fields"].items():
            if field in (None, name):
                text = "cleared" if value is None else short(value)
                add(table, time_text(row["observed_at"]), name, text, row["observation_source"], row["id"])
    return table


def _schema(answer: Row) -> Table:
    table = new_table("field", "type", "description")
    for name, field in answer["fields"].items():
        add(table, name, field["type"], field.get("description") or "")
    return table


def _candidates(answer: Row) -> List:
    """Return pairs of entities that are likely the same, each pair in two lines."""
    table = List(("score", "id", "type", "name", "matched fields"), optional=("type",))
    for row in answer["candidates"]:
        fields = ", ".join(row["matched_fields"]) + (" (dismissed)" if "dismissed" in row else "")
        first, second = ((row[f"entity_{side}"], row["entity_type"]) for side in "ab")
        add(table, f"{row['score']:.2f}", *first, row["canonical_name_a"], fields)
        add(table, "", *second, row["canonical_name_b"], "")
    return table


def _names(rows: Sequence[Row]) -> dict[str, str]:
    return {row["entity_id"]: row["canonical_name"] for row in rows}


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _layout(table: Callable[[Row], RenderableType], *parts: str, pairs: bool = True) -> Layout:
    """Return the layout of an answer whose table does not depend on the requested fields."""
    return Layout(lambda answer, fields: table(answer), frozenset(parts), pairs)


Cell = str | Callable[[Row], Any]
"""What a list shows of each row: the member of a name, or what a function returns."""


def _list(part: str, columns: Mapping[str, Cell], *optional: str) -> Layout:
    """Return the layout of an answer whose part is a list: a row is one line, with these columns."""

    def shown(row: Row, cell: Cell) -> str:
        value = row[cell] if isinstance(cell, str) else cell(row)
        return "" if value is None else short(value) if isinstance(cell, str) else str(value)

    def table(answer: Row) -> List:
        cells = ([shown(row, cell) for cell in columns.values()] for row in answer[part])
        return List(tuple(columns), cells, optional=optional)

    return _layout(table, part)


def _time(name: str) -> Callable[[Row], str]:
    return lambda row: time_text(row[name])


_EVENTS = _list("events", {
    "when": "event_timestamp", "event": "event_type", "entity": "entity_name", "type": "entity_type",
    "field": "source_field", "id": "id",
}, "type", "field", "id")  # fmt: skip
_KEY = _layout(lambda answer: pairs({**answer["key"], "scopes": ", ".join(answer["key"]["scopes"])}), "key")
_CHANGES = _layout(context_tables.changes, "entities", "relationships", "counts")
_ENTITY = _layout(SnapshotTable, "snapshot", pairs=False)
_TURNS = ("withdraw", "reinstate")
_ENDS = ("source_entity_id", "relationship_type", "target_entity_id")
_RELATIONSHIP = _layout(
    lambda answer: SnapshotTable(answer, " ".join(answer.get(name, "") for name in _ENDS)),
    "snapshot",
    pairs=False,
)


LAYOUTS: dict[str, Layout] = {
    **dict.fromkeys(("entities.correct", "entities.get", "entities.snapshot"), _ENTITY),
    "observations.create": _ENTITY,
    **dict.fromkeys((f"{of}.{turn}" for of in ("interpretations", "sources") for turn in _TURNS), _CHANGES),
    **dict.fromkeys(("keys.create", "keys.revoke", "keys.rotate"), _KEY),
    **dict.fromkeys(("relationships.create", "relationships.get", "relationships.snapshot"), _RELATIONSHIP),
    "connections.list": _list("connections", {
        "id": "connection_id", "program": "client_name", "scopes": lambda row: ", ".join(row["scopes"]),
        "address": lambda row: row["resource"], "last used": _time("last_used_at"),
    }, "address"),
    "context.retrieve": _layout(context_tables.lines, "lines", "entities"),
    "entities.duplicates": _layout(_candidates, "candidates"),
    "copies.list": _list("copies", {
        "id": "id", "copy": lambda row: short(row["peer_name"]), "status": "status",
        "exchanged": _time("exchanged_at"), "sent": "sent", "taken": "taken",
        "error": lambda row: short(row["last_error"] or ""),
    }, "sent", "taken"),
    "entities.find": Layout(_matched, frozenset({"entities", "resembling", "hint", "match"})),
    "entities.history": _layout(_history, "observations", "field"),
    "entities.provenance": _layout(_observations, "observations"),
    "entities.query": Layout(_entities, frozenset({"entities"})),
    "entities.related": Layout(_related, frozenset({"entities", "relationships", "paths"})),
    "entities.split": _layout(context_tables.changes, "entities", "relationships"),
    "graph.neighborhood": _layout(
        _neighborhood, "entity", "relationships", "related_entities", "observations", "events"
    ),
    "interpretations.list": _list("interpretations", {
        "id": "interpretation_id", "source": "source_id", "interpreter": "interpreter",
        "status": lambda row: (
            "withdrawn" if row["withdrawn"] and row["status"] == "completed" else row["status"]
        ),
        "obs.": "observations_created",
        "started": lambda row: time_text(row["started_at"])[:10], "error": "error_message",
    }, "started", "source", "error"),
    "observations.query": _layout(_observations, "observations"),
    "receipts.list": _list("receipts", {
        "id": "receipt_id", "when": _time("created_at"), "by": lambda row: short(row["provenance"]["client"]),
        "face": "face", "operation": "operation", "question": lambda row: short(row["question"]),
    }, "operation", "face"),
    "relationship_types.list": _list("relationship_types", {
        "relationship": "relationship_type", "inverse": "inverse", "origin": "origin",
        "count": "relationship_count", "description": lambda row: row["description"],
    }, "origin"),
    "relationships.create_many": _layout(_relationships, "relationships"),
    "relationships.list": _layout(
        _relationships, "relationships", "outgoing", "incoming", "related_entities"
    ),
    "changes.list": _list("changes", {
        "when": _time("timestamp"), "change": lambda row: short(sentence(row, short)),
        "by": lambda row: short(attribution.described(row["provenance"]["by"], row["provenance"]["client"])),
        "entity": lambda row: row.get("entity_id") or row.get("source_id"),
    }, "by", "entity"),
    "schemas.get": _layout(_schema, "fields", "field_names"),
    "schemas.list": _list("schemas", {
        "type": "entity_type", "entities": "entity_count", "observations": "observation_count",
        "fields": lambda row: ", ".join(f"{name}: {each['type']}" for name, each in row["fields"].items()),
    }, "observations"),
    "search.explain": _layout(_ranked, "entities", "strategies"),
    "sources.list": _list("sources", {
        "name": "original_filename", "type": "mime_type", "bytes": "file_size", "stored": _time("created_at"),
        "state": lambda row: "withdrawn" if row["withdrawn"] else "", "source": "source_id",
    }, "stored"),
    "sources.search": _list("passages", {
        "file": lambda row: short(row["original_filename"] or row.get("title", "")),
        "place": lambda row: f"page {row['page']}" if "page" in row else f"line {row['line']}",
        "text": lambda row: row["quote"],
        "mentions": lambda row: short(", ".join(each["canonical_name"] for each in row["mentions"])),
        "source": "source_id",
    }, "mentions", "source"),
    "store": _layout(_stored, "entities", "relationships_created"),
    "timeline.get": _layout(lambda answer: pairs(answer["event"]), "event"),
    "timeline.list": _EVENTS,
}  # fmt: skip
"""The layout of each operation that has a table of its own. Other answers are pairs and plain tables."""

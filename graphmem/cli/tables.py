"""Answers as tables for people. Programs take ``--json``."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

ROOMY = 140
"""Columns from which on a snapshot fits on a line for each field, its observation written out."""
WIDEST = 76
"""Characters of one value; what is longer is cut, and ``--json`` has it whole."""

_APART = frozenset({
    "strategies", "limit", "offset", "outgoing", "incoming", "related_entities", "entity", "paths", "event",
})  # fmt: skip
_WARNINGS = frozenset({"store_warnings", "warnings"})
_WHOLE = frozenset({"next_cursor", "hint", "message"})
"""What is shown otherwise, or by ``--json`` alone."""

Row = Mapping[str, Any]


def plain(text: str, style: str = "") -> Text:
    """Return a text as a terminal may show it: what others stored must not steer it."""
    return Text("".join(c if c.isprintable() else " " for c in text), style=style)


def show(console: Console, answer: Row) -> None:
    """Print an operation's answer."""
    console.print(render(answer))


def render(answer: Row) -> RenderableType:
    """Return an answer as something to print: its lists as tables, its snapshot field by field."""
    if "snapshot" in answer:
        title = None if "canonical_name" in answer else _relationship_title(answer)
        return Group(Snapshot(answer, title), *_rest(answer))
    parts: list[RenderableType] = []
    if "node_id" in answer and "entity" in answer:
        parts += [
            Snapshot(answer["entity"]),
            *([_relationships(answer)] if "relationships" in answer else []),
        ]
    if isinstance(answer.get("event"), dict):
        parts.append(_pairs(answer["event"]))
    drawn = set[str]()
    for name, table in () if parts else _LISTS.items():
        if name in answer and isinstance(answer[name], list) and _fits(name, answer[name]):
            parts.append(table(answer))
            # A walk's relationships stand below its entities.
            drawn |= {name, "relationships"} | ({"entities"} if name == "lines" else set())
            break
    plain = {name: value for name, value in answer.items() if name not in _APART and not _is_rows(value)}
    if plain:
        parts.append(_pairs(plain))
    return Group(*parts, *_rest(answer, drawn))


def _fits(name: str, rows: Sequence[Row]) -> bool:
    """Return whether rows are of the kind that a table of that name draws."""
    return name != "candidates" or not rows or "canonical_name_a" in rows[0]


def _rest(answer: Row, drawn: Collection[str] = ()) -> list[RenderableType]:
    """Return the lists of an answer that have no table of their own, and what it warns of."""
    parts: list[RenderableType] = []
    for name, rows in answer.items():
        if name in _WARNINGS:
            parts += [plain(f"{one['code']}: {one['message']}", style="yellow") for one in rows]
        elif _is_rows(rows) and name not in _APART and name not in drawn:
            table = _BESIDE.get(name)
            parts.append(table(answer) if table else _plain_rows(name, rows))
    return parts


def _plain_rows(name: str, rows: Sequence[Row]) -> Table:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = _table(name.replace("_", " "), *columns)
    for row in rows:
        table.add_row(*(plain("" if row.get(key) is None else _value(row[key])) for key in columns))
    return table


def _relationship_title(answer: Row) -> str:
    kind = answer.get("relationship_type", "")
    return f"{answer.get('source_entity_id', '')} {kind} {answer.get('target_entity_id', '')}"


class Snapshot:
    """A snapshot: each field with its value and the observation that set it, its time and its writer.

    Where the terminal is too narrow for that on one line, fields give the number of their observation.
    """

    def __init__(self, answer: Row, title: str | None = None) -> None:
        self.answer = answer
        self.title = title or f"{answer.get('canonical_name', '')}  ({answer.get('entity_type', '')})"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        observations: Row = self.answer.get("provenance_observations", {})
        provenance: Row = self.answer.get("provenance", {})
        yield plain(self.title, style="bold")
        if options.max_width >= ROOMY or not observations:
            yield self._wide(provenance, observations)
        else:
            numbers = {name: i for i, name in enumerate(dict.fromkeys(provenance.values()), 1)}
            table = _table(None, "field", "value", "set by")
            for field, value in self.answer["snapshot"].items():
                table.add_row(*map(plain, (field, _value(value), f"[{numbers[provenance[field]]}]")))
            yield table
            for name, number in numbers.items():
                yield plain(f" [{number}] {name}  {' '.join(_said(observations[name]))}", style="dim")
        yield _caption(self.answer)

    def _wide(self, provenance: Row, observations: Row) -> Table:
        more = ("observed at", "kind of writer", "written by") if observations else ()
        table = _table(None, "field", "value", "observation", *more)
        for field, value in self.answer["snapshot"].items():
            name = provenance.get(field, "")
            said = _said(observations[name]) if name in observations else ()
            table.add_row(*map(plain, (field, _value(value), name, *said)))
        return table


def _said(observation: Row) -> tuple[str, str, str]:
    """Return when an observation was made, by what kind of writer, and by whom."""
    writer = observation["provenance"]
    return (
        _time(observation["observed_at"]),
        observation["observation_source"],
        f"{writer['agent']} via {writer['client']}",
    )


def entities(rows: Sequence[Row], title: str | None = None) -> Table:
    """Return entities, one a line."""
    table = _table(title, "id", "type", "name", "v.", "obs.", "last observed")
    for row in rows:
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
    known = {
        "id": answer.get("entity_id"),
        "version": answer.get("version"),
        "observations": answer.get("observation_count"),
        "as of": _time(answer.get("at")),
        "as known": _time(answer.get("at_ingested")),
    }
    return plain("  ".join(f"{name} {value}" for name, value in known.items() if value not in (None, "")))


def _found(answer: Row) -> RenderableType:
    rows = answer["entities"]
    if rows and "action" in rows[0]:
        return _stored(rows)
    if "strategies" in answer:
        return _ranked(answer)
    if rows and "matched" in rows[0]:
        return _matched(rows)
    if rows and "depth" in rows[0]:
        return Group(_related(rows), _edges(answer["relationships"], _names([*rows, answer])))
    return entities(rows)


def _matched(rows: Sequence[Row]) -> Table:
    """Return what a look-up found, with what of each it was found by."""
    table = _table(None, "id", "type", "name", "found by", "in", "score")
    for row in rows:
        cells = row["entity_id"], row["entity_type"], row["canonical_name"], row["matched"]
        table.add_row(*map(plain, (*cells, row.get("matched_field", ""), f"{row['score']:.2f}")))
    return table


def _ranked(answer: Row) -> RenderableType:
    """Return the entities of a search with their rank in each list."""
    names = [one["strategy"] for one in answer["strategies"]]
    table = _table(None, "id", "type", "name", "points", *names)
    for row in answer["entities"]:
        ranks = [str(row["ranks"].get(name, "")) for name in names]
        cells = row["entity_id"], row["entity_type"], row["canonical_name"], f"{row['points']:.4f}"
        table.add_row(*map(plain, (*cells, *ranks)))
    ran = [f"{one['strategy']} {one['found'] if one['ran'] else 'not asked'}" for one in answer["strategies"]]
    return Group(table, plain(f"found: {', '.join(ran)}", style="dim"))


def _stored(rows: Sequence[Row]) -> RenderableType:
    table = _table(None, "id", "type", "name", "what happened", "v.", "by")
    for row in rows:
        happened = row["action"] + (" (known already)" if row["deduplicated"] else "")
        cells = row["entity_id"], row["entity_type"], row["canonical_name"], happened, str(row["version"])
        table.add_row(*map(plain, (*cells, row["identity_basis"])))
    likely = [
        plain(
            f"{row['canonical_name']} may be {one['canonical_name']} ({one['entity_id']}, {one['score']:.2f})"
        )
        for row in rows
        for one in row.get("duplicate_candidates", [])
    ]
    return Group(table, *likely)


def _related(rows: Sequence[Row]) -> Table:
    table = _table(None, "steps", "id", "type", "name")
    for row in rows:
        cells = str(row["depth"]), row["entity_id"], row["entity_type"], row["canonical_name"]
        table.add_row(*map(plain, cells))
    return table


def _relationships(answer: Row) -> Table:
    itself = {answer[name]: "(it)" for name in ("entity_id", "node_id") if name in answer}
    return _edges(answer["relationships"], {**_names(answer.get("related_entities", [])), **itself})


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
    lines: list[RenderableType] = []
    for row in answer["observations"]:
        head = plain(f"{row['id']}  ", style="bold")
        head.append(f"{row['kind']}  {'  '.join(_said(row))}", style="not bold")
        lines.append(head)
        if "entity_id" in row:
            lines.append(plain(f"    of {row['entity_type']} {row['entity_id']}", style="dim"))
        said = row["fields"] if "fields" in row else row["metadata"]
        lines += [plain(f"    {name}: {_value(value)}") for name, value in said.items()]
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
    table = _table(None, "score", "one", "other", "type", "because of")
    for row in answer["candidates"]:
        ends = [f"{row[f'canonical_name_{side}']} ({row[f'entity_{side}']})" for side in "ab"]
        because = ", ".join(row["matched_fields"])
        table.add_row(*map(plain, (f"{row['score']:.2f}", *ends, row["entity_type"], because)))
    return table


def _events(answer: Row) -> Table:
    """Return events, one a line: when as it was written, what, of what, and by which field."""
    table = _table(None, "when", "what", "of", "type", "field", "id")
    for row in answer["events"]:
        cells = row["event_timestamp"], row["event_type"], row["entity_name"], row["entity_type"]
        table.add_row(*map(plain, (*map(_value, cells), row["source_field"], row["id"])))
    return table


def _types(answer: Row) -> Table:
    table = _table(None, "relationship", "inverse", "origin", "live ones", "description")
    for row in answer["relationship_types"]:
        cells = row["relationship_type"], row["inverse"] or "", row["origin"], str(row["relationship_count"])
        table.add_row(*map(plain, (*cells, row["description"] or "")))
    return table


def _lines(answer: Row) -> RenderableType:
    """Lines of context: what is known, since when, and by which observation; what contests it below."""
    table = _table(None, "about", "field", "value", "observed at", "observation")
    for row in answer["lines"]:
        arrow = {"outgoing": "→ ", "incoming": "← "}.get(row.get("direction", ""), "")
        cells = row["entity_name"], row["field"], arrow + _value(row["value"])
        table.add_row(*map(plain, (*cells, _time(row["observed_at"]), row["observation_id"])))
        for one in row.get("contested", ()):
            cells = "", "", f"but {_value(one['value'])}", _time(one["observed_at"]), one["observation_id"]
            table.add_row(*(plain(cell, style="yellow") for cell in cells))
    mentioned = _table(None, "id", "type", "name")
    for row in answer["entities"]:
        mentioned.add_row(*map(plain, (row["entity_id"], row["entity_type"], row["canonical_name"])))
    return Group(table, mentioned) if answer["lines"] else Text("")


def _names(rows: Sequence[Row]) -> dict[str, str]:
    return {row["entity_id"]: row["canonical_name"] for row in rows}


def _pairs(answer: Row) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column()
    # A cursor is there to be copied: it goes on in the next line.
    table.add_column(overflow="fold")
    for name, value in answer.items():
        if value in (None, [], {}) or name in _WARNINGS:
            continue
        text = value if name in _WHOLE and isinstance(value, str) else _value(value)
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
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and "code" not in value[0]


def _time(text: str | None) -> str:
    """Return a time to the second: ``--json`` has it to the microsecond."""
    return f"{text[:19].replace('T', ' ')}Z" if text else ""


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


_LISTS: dict[str, Callable[[Row], RenderableType]] = {
    "lines": _lines,
    "candidates": _candidates,
    "entities": _found,
    "observations": _observations,
    "relationships": _relationships,
    "schemas": _schemas,
    "relationship_types": _types,
    "events": _events,
}
_BESIDE: dict[str, Callable[[Row], RenderableType]] = {"observations": _observations, "events": _events}
"""Lists that stand below others as well, with a table of their own."""

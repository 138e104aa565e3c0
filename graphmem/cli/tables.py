"""The pieces of the tables that people see: texts, lists, pairs, and the table of a snapshot."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Column, Table
from rich.text import Text

WIDE_SNAPSHOT_COLUMNS = 140
"""Width of a terminal from which a snapshot has one line for each field, with its observation."""
VALUE_CHARACTERS = 76  # characters of one value that a cell of a table shows; ``--json`` has it whole
PAIR_CHARACTERS = 600  # characters of one value that stands beside its name

GAP: Final = 2  # characters between two columns of a list
EDGES: Final = 3  # characters before the first column of a list and behind the last
LEAST_CHARACTERS: Final = 12  # characters to which a cell of a list may be cut
MOST_TELLING: Final = {"name": 20, "entity": 20, "from": 20, "to": 20, "value": 24, "description": 30}
"""Characters to which a cell of these columns may be cut."""
_WHOLE: Final = re.compile(r"[a-z]{3}_[0-9a-f]{24,32}|[-+0-9.,: TZ]{1,36}|[A-Z0-9_]{1,28}")
"""Cells that are not cut: ids, numbers, times and relationship types."""

WARNINGS = frozenset({"store_warnings", "warnings"})  # parts of an answer that are shown as warnings
_UNCUT = frozenset({"next_cursor", "hint", "message", "secret"})  # texts that are shown whole

Row = Mapping[str, Any]


def plain(text: str, style: str = "") -> Text:
    """Return a text without control characters: stored text must not steer the terminal."""
    return Text("".join(c if c.isprintable() else " " for c in text), style=style)


class SnapshotTable:
    """A snapshot: each field with its value, and the observation that set it with its time and writer.

    A narrow terminal shows the number of the observation beside the field, and the observations below: their
    ids, with time and writer if the answer has them.
    """

    def __init__(self, answer: Row, title: str | None = None) -> None:
        self.answer = answer
        self.title = title or f"{answer.get('canonical_name', '')}  ({answer.get('entity_type', '')})"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        observations: Row = self.answer.get("provenance_observations", {})
        provenance: Row = self.answer.get("provenance", {})
        yield plain(self.title, style="bold")
        if options.max_width >= WIDE_SNAPSHOT_COLUMNS or not provenance:
            yield self._wide(provenance, observations)
        else:
            yield from self._narrow(provenance, observations)
        yield _caption(self.answer)

    def _narrow(self, provenance: Row, observations: Row) -> Iterator[Table]:
        numbers = {name: i for i, name in enumerate(dict.fromkeys(provenance.values()), 1)}
        table = new_table("field", "value", "set by")
        for field, value in self.answer["snapshot"].items():
            number = f"[{numbers[provenance[field]]}]" if field in provenance else ""
            add(table, field, short(value), number)
        yield table
        notes = Table.grid(padding=(0, 1))
        for name, number in numbers.items():
            origin = f"  {' '.join(origin_cells(observations[name]))}" if name in observations else ""
            notes.add_row(plain(f" [{number}]", style="dim"), plain(f"{name}{origin}", style="dim"))
        yield notes

    def _wide(self, provenance: Row, observations: Row) -> Table:
        more = ("observed at", "kind of writer", "written by") if observations else ()
        table = new_table("field", "value", *(("observation",) if provenance else ()), *more)
        for field, value in self.answer["snapshot"].items():
            name = provenance.get(field, "")
            origin = origin_cells(observations[name]) if name in observations else ()
            add(table, field, short(value), *(name,) if provenance else (), *origin)
        return table


def origin_cells(observation: Row) -> tuple[str, str, str]:
    from graphmem.model.attribution import described

    writer = observation["provenance"]
    return (
        time_text(observation["observed_at"]),
        observation["observation_source"],
        described(writer["by"], writer["client"]),
    )


def _caption(answer: Row) -> Text:
    parts = {
        "id": answer.get("entity_id"),
        "version": answer.get("version"),
        "observations": answer.get("observation_count"),
        "as of": time_text(answer.get("at")),
        "as known": time_text(answer.get("at_ingested")),
    }
    return plain("  ".join(f"{name} {value}" for name, value in parts.items() if value not in (None, "")))


def pairs(answer: Row) -> Table:
    """Return names and values, one pair a line. Empty values and warnings are left out."""
    table = _grid()
    for name, value in answer.items():
        if value in (None, [], {}) or name in WARNINGS:
            continue
        text = value if name in _UNCUT and isinstance(value, str) else short(_listed(value), PAIR_CHARACTERS)
        table.add_row(plain(name, style="dim"), plain(text))
    return table


def _grid() -> Table:
    """Return a table of two columns; a cursor is copied by people, so it is folded and not cut."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(overflow="fold")
    return table


def _listed(value: Any) -> Any:
    """Return an object of numbers, such as counts by type, as ``name number, …``; other values unchanged."""
    if not isinstance(value, dict) or not all(type(each) in (int, float) for each in value.values()):
        return value
    return ", ".join(f"{name} {each}" for name, each in value.items())


class List(Table):
    """A table in which each row is one line: what does not fit is cut and ends with ``…``.

    Where the cells would become too short, optional columns are left out, the first named first, and a line
    below names them. Where that is not enough, each row is printed as lines of name and value.
    """

    def __init__(
        self, columns: Sequence[str], rows: Iterable[Sequence[str]] = (), *, title: str | None = None,
        optional: Sequence[str] = (),
    ) -> None:  # fmt: skip
        super().__init__(
            title=plain(title, style="bold") if title else None, title_justify="left", box=SIMPLE_HEAD,
            pad_edge=False, padding=(0, GAP - 1, 0, 0),
        )  # fmt: skip
        self.optional = optional
        for column in columns:
            self.add_column(plain(column), overflow="ellipsis", no_wrap=True)
        for cells in rows:
            add(self, *cells)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns, omitted = self.columns, list[str]()
        for name in self.optional:
            if _spare(columns, options.max_width) >= 0:
                break
            columns = [column for column in columns if str(column.header) != name]
            omitted.append(name)
        spare = _spare(columns, options.max_width)
        if spare < 0:
            yield from _blocks(self)
            return
        widths = _grown(list(map(_least_width, columns)), columns, spare)
        fitted = copy(self)
        fitted.columns = [
            replace(column, width=width, _index=place)
            for place, (column, width) in enumerate(zip(columns, widths, strict=True))
        ]
        yield from Table.__rich_console__(fitted, console, options)
        if omitted:
            yield plain(f"no room for {', '.join(omitted)}: --json has all", "dim")


def _spare(columns: Sequence[Column], width: int) -> int:
    """Return the characters of a terminal's width that columns leave free; negative if they do not fit."""
    return width - EDGES - sum(map(_least_width, columns)) - GAP * (len(columns) - 1)


def _least_width(column: Column) -> int:
    """Return the width to which a column may be cut: its header, ids, numbers and times stay whole."""
    header, *cells = _texts_of(column)
    least = MOST_TELLING.get(header, LEAST_CHARACTERS)
    widths = (cell_len(cell) if _WHOLE.fullmatch(cell) else min(cell_len(cell), least) for cell in cells)
    return max(cell_len(header), *widths, 0)


def _grown(least: Sequence[int], columns: Sequence[Column], spare: int) -> list[int]:
    """Return widths of columns that share ``spare`` characters: the narrowest one that is cut grows first."""
    widths = list(least)
    whole = [max(map(cell_len, _texts_of(column))) for column in columns]
    for _ in range(spare):
        cut = [i for i, each in enumerate(widths) if each < whole[i]]
        if not cut:
            break
        widths[min(cut, key=widths.__getitem__)] += 1
    return widths


def _blocks(table: Table) -> Iterator[RenderableType]:
    """Yield a table as blocks of lines, one block a row, one line a cell: name and value."""
    if table.title:
        yield table.title
    for row in zip(*(list(column.cells) for column in table.columns), strict=True):
        block = _grid()
        for column, cell in zip(table.columns, row, strict=True):
            if str(cell):
                block.add_row(plain(str(column.header), "dim"), cell)
        yield block
        yield Text("")


def _texts_of(column: Column) -> list[str]:
    return [str(column.header), *map(str, column.cells)]


def who(row: Row) -> tuple[str, str, str]:
    """Return the cells that say which entity it is."""
    return row["entity_id"], row["entity_type"], row["canonical_name"]


def add(table: Table, *cells: str, style: str = "") -> None:
    table.add_row(*(plain(cell, style) for cell in cells))


def new_table(*columns: str) -> Table:
    """Return an empty table, whose long cells take several lines. Ids of observations are not wrapped."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in ("observation", "set by"))
    return table


def time_text(text: str | None) -> str:
    """Return a time to the second: ``--json`` has it to the microsecond."""
    return f"{text[:19].replace('T', ' ')}Z" if text else ""


def short(value: Any, limit: int = VALUE_CHARACTERS) -> str:
    """Return a value as text of at most ``limit`` characters. Values other than strings are JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"

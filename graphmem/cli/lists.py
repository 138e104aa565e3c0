"""Lists for people: one item a line, whatever the width of the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Column, Table

from graphmem.cli.tables import blocks, grown, plain, texts_of, with_widths

GAP: Final = 2
"""Characters between two columns."""
EDGES: Final = 3
"""Characters before the first column and behind the last."""
LEAST_CHARACTERS: Final = 12
"""Characters to which a cell may be cut."""
MOST_TELLING: Final = {"name": 20, "entity": 20, "from": 20, "to": 20, "value": 24, "description": 30}
"""Characters to which a cell of these columns may be cut."""

_WHOLE: Final = re.compile(r"[a-z]{3}_[0-9a-f]{24,32}|[-+0-9.,: TZ]{1,36}|[A-Z0-9_]{1,28}")
"""Cells that are not cut: ids, numbers, times and relationship types."""


class List(Table):
    """A table in which each row is one line: what does not fit is cut and ends with ``…``.

    Where the cells would become too short, optional columns are left out, the first named first, and a line
    below names them. Where that is not enough, each row is printed as lines of name and value.
    """

    def __init__(self, title: str | None, columns: Sequence[str], optional: Sequence[str] = ()) -> None:
        super().__init__(
            title=plain(title, style="bold") if title else None,
            title_justify="left",
            box=SIMPLE_HEAD,
            pad_edge=False,
            padding=(0, GAP - 1, 0, 0),
        )
        self.optional = optional
        for column in columns:
            self.add_column(plain(column), overflow="ellipsis", no_wrap=True)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns, omitted = self.columns, list[str]()
        for name in self.optional:
            if _spare(columns, options.max_width) >= 0:
                break
            columns = [column for column in columns if str(column.header) != name]
            omitted.append(name)
        spare = _spare(columns, options.max_width)
        if spare < 0:
            yield from blocks(self)
            return
        widths = grown(list(map(_least_width, columns)), columns, spare)
        yield from with_widths(self, columns, widths, console, options)
        if omitted:
            yield plain(f"no room for {', '.join(omitted)}: --json has all", "dim")


def _spare(columns: Sequence[Column], width: int) -> int:
    """Return the characters of a terminal's width that columns leave free; negative if they do not fit."""
    return width - EDGES - sum(map(_least_width, columns)) - GAP * (len(columns) - 1)


def _least_width(column: Column) -> int:
    """Return the width to which a column may be cut: its header, ids, numbers and times stay whole."""
    header, *cells = texts_of(column)
    least = MOST_TELLING.get(header, LEAST_CHARACTERS)
    widths = (cell_len(cell) if _WHOLE.fullmatch(cell) else min(cell_len(cell), least) for cell in cells)
    return max(cell_len(header), *widths, 0)

"""``graphmem doctor``: what is wrong with this installation, and what to do about it."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict

import orjson
import typer
from rich.table import Table

from graphmem.cli.session import Session, console, run_async
from graphmem.cli.tables import plain
from graphmem.doctor import Finding, examine
from graphmem.observability import logs

SIGNS = {"ok": ("ok", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "bold red")}


def run(session: Session, deep: bool, as_json: bool) -> None:
    """Look at everything and print what was found; exit with 1 where something fails."""
    # Nothing but the findings is to be told, and nothing is to be written.
    with logs.silenced():
        found = run_async(examine(session.overrides, deep))
    failed = any(one.status == "fail" for one in found)
    if as_json:
        answer = {"ok": not failed, "findings": [asdict(one) for one in found]}
        sys.stdout.write(orjson.dumps(answer).decode() + "\n")
    else:
        _print(found)
    if failed:
        raise typer.Exit(1)


def _print(found: list[Finding]) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for one in found:
        sign, style = SIGNS[one.status]
        table.add_row(plain(sign, style), plain(one.check), plain(one.what))
        if one.fix:
            table.add_row("", "", plain(f"→ {one.fix}", "bold"))
    console.print(table)
    counts = Counter(one.status for one in found)
    console.print(plain(f"{counts['ok']} ok, {counts['warn']} to look at, {counts['fail']} failing"))

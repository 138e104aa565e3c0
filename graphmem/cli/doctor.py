"""``graphmem doctor``: print the findings of the checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Group
from rich.table import Table

from graphmem.cli.session import Session, run_async, show
from graphmem.cli.tables import plain

if TYPE_CHECKING:
    from graphmem.doctor import Finding

SIGNS = {"ok": ("ok", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "bold red")}


def doctor(session: Session, deep: bool = False) -> None:
    findings = findings_of(session, deep=deep)
    failed = any(finding.status == "fail" for finding in findings)
    answer = {"ok": not failed, "findings": [asdict(finding) for finding in findings]}
    counts = Counter(finding.status for finding in findings)
    line = plain(f"{counts['ok']} ok, {counts['warn']} warnings, {counts['fail']} failures")
    show(answer, session.as_json, lambda: Group(findings_table(answer["findings"]), line))
    if failed:
        raise typer.Exit(1)


def findings_of(session: Session, *, deep: bool = False, quick: bool = False) -> list[Finding]:
    """Return what the checks find; the log stays as it is."""
    from graphmem.doctor import examine
    from graphmem.observability import logs

    with logs.silenced():
        return run_async(examine(session.overrides, deep, quick=quick))


def findings_table(findings: Iterable[Mapping[str, Any]]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        sign, style = SIGNS[finding["status"]]
        table.add_row(plain(sign, style), plain(finding["check"]), plain(finding["what"]))
        if finding["fix"]:
            table.add_row("", "", plain(f"→ {finding['fix']}", "bold"))
    return table

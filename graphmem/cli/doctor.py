"""``graphmem doctor``: print the findings of the checks."""

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
    """Run every check and print the findings; exit with 1 if a check fails."""
    # The doctor prints findings only, and writes no log file.
    with logs.silenced():
        findings = run_async(examine(session.overrides, deep))
    failed = any(finding.status == "fail" for finding in findings)
    if as_json:
        answer = {"ok": not failed, "findings": [asdict(finding) for finding in findings]}
        sys.stdout.write(orjson.dumps(answer).decode() + "\n")
    else:
        _print(findings)
    if failed:
        raise typer.Exit(1)


def _print(findings: list[Finding]) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        sign, style = SIGNS[finding.status]
        table.add_row(plain(sign, style), plain(finding.check), plain(finding.what))
        if finding.fix:
            table.add_row("", "", plain(f"→ {finding.fix}", "bold"))
    console.print(table)
    counts = Counter(finding.status for finding in findings)
    console.print(plain(f"{counts['ok']} ok, {counts['warn']} warnings, {counts['fail']} failures"))

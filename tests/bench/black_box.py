"""The second half of ``make bench``: a benchmark of the REST interface by a program from outside.

``SERVICE_BENCH`` names the program; without it there is nothing to do. The program gets an embedded Neo4j and
a service in a temporary directory. Its figures are printed as a table, and written as JSON to the file that
``OUT`` names. ``SECTIONS`` and ``SIZES`` choose what the program measures.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from graphmem import neo4j_local, settings
from tests.bench.run import PORT, serving


def main() -> None:
    """Run the program and print its figures."""
    named = os.environ.get("SERVICE_BENCH")
    if not named:
        print("SERVICE_BENCH names no program that measures a service: skipped")
        return
    program = Path(named)
    if not program.exists():
        raise SystemExit(f"SERVICE_BENCH: there is no {program}")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(os.environ.get("OUT") or Path(folder) / "figures.json").absolute()
        service_settings = settings.load(data_dir=Path(folder) / "data", port=PORT)
        service_settings.data_path.mkdir()
        with serving(service_settings) as process:
            database = neo4j_local.status(service_settings).pid
            command = [sys.executable, str(program), "--base-url", f"http://127.0.0.1:{PORT}"]
            command += ["--dialect", "spec", "--pid", f"{process.pid},{database}", "--out", str(out)]
            command += ["--sections", os.environ.get("SECTIONS", "a,b,c,d,e,f,j")]
            command += ["--sizes", os.environ.get("SIZES", "1000,10000")]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        Console().print(table(json.loads(out.read_text())["rows"]))


def table(rows: list[dict[str, Any]]) -> Table:
    """Return what was measured as a table: the median of each, and the answer's errors."""
    figures = Table(title="graphmem, from outside", title_justify="left")
    for column in ("what", "p50 ms", "p95 ms", "a second", "more"):
        figures.add_column(column, justify="left" if column in ("what", "more") else "right")
    for row in rows:
        per_second = row.get("observations_per_s") or row.get("requests_per_s") or row.get("rps")
        figures.add_row(
            f"{row['section']} {row['name']}",
            *(_median(row.get(name)) for name in ("p50_ms", "p95_ms")),
            _median(per_second),
            _more(row),
        )
    return figures


def _more(row: dict[str, Any]) -> str:
    """Return the errors of a measure, or the values of a row without a duration."""
    if row.get("errors"):
        return json.dumps(row["errors"])[:200]
    if "p50_ms" in row:
        return ""
    values = {name: value for name, value in row.items() if name not in ("section", "name", "load1")}
    return json.dumps({name: value for name, value in values.items() if value is not None})[:200]


def _median(figure: dict[str, float] | None) -> str:
    return "" if figure is None else f"{figure['median']:g}"


if __name__ == "__main__":
    main()

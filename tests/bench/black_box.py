"""The second half of ``make bench``: a black-box benchmark of the REST interface, where one is there.

The program is the one that ``SERVICE_BENCH`` names, else ``shared/bench/service_bench.py`` beside the
checkout. It gets an embedded Neo4j and a service in a temporary directory. What it says stands in a table,
and in JSON in the file that ``OUT`` names. ``SECTIONS`` and ``SIZES`` choose what it measures.
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

BESIDE = Path(__file__).parents[3] / "shared" / "bench" / "service_bench.py"


def main() -> None:
    """Run it, and print what it measured."""
    program = Path(os.environ.get("SERVICE_BENCH") or BESIDE)
    if not program.exists():
        raise SystemExit(
            f"there is no {program.name}: set SERVICE_BENCH to a program that measures a service"
        )
    with tempfile.TemporaryDirectory() as folder:
        out = Path(os.environ.get("OUT") or Path(folder) / "figures.json").absolute()
        chosen = settings.load(data_dir=Path(folder) / "data", port=PORT)
        chosen.data_path.mkdir()
        with serving(chosen) as process:
            database = neo4j_local.status(chosen).pid
            command = [sys.executable, str(program), "--base-url", f"http://127.0.0.1:{PORT}"]
            command += ["--dialect", "spec", "--pid", f"{process.pid},{database}", "--out", str(out)]
            command += ["--sections", os.environ.get("SECTIONS", "a,b,c,d,e,f,j")]
            command += ["--sizes", os.environ.get("SIZES", "1000,10000")]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        Console().print(table(json.loads(out.read_text())["rows"]))


def table(rows: list[dict[str, Any]]) -> Table:
    """Return what was measured as a table: the median of each, and the answer's errors."""
    drawn = Table(title="graphmem, from outside", title_justify="left")
    for column in ("what", "p50 ms", "p95 ms", "a second", "more"):
        drawn.add_column(column, justify="left" if column in ("what", "more") else "right")
    for row in rows:
        per_second = row.get("observations_per_s") or row.get("requests_per_s") or row.get("rps")
        drawn.add_row(
            f"{row['section']} {row['name']}",
            *(_median(row.get(name)) for name in ("p50_ms", "p95_ms")),
            _median(per_second),
            _more(row),
        )
    return drawn


def _more(row: dict[str, Any]) -> str:
    """Return the errors of a measure, or what is said of what is none."""
    if row.get("errors"):
        return json.dumps(row["errors"])[:200]
    if "p50_ms" in row:
        return ""
    told = {name: value for name, value in row.items() if name not in ("section", "name", "load1")}
    return json.dumps({name: value for name, value in told.items() if value is not None})[:200]


def _median(figure: dict[str, float] | None) -> str:
    return "" if figure is None else f"{figure['median']:g}"


if __name__ == "__main__":
    main()

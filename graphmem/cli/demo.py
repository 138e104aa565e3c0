"""``graphmem demo``: store the example world in an instance of its own, and show what comes back."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from graphmem import neo4j_local
from graphmem.auth import local_actor
from graphmem.cli.session import Session, console, fetching, run_async
from graphmem.cli.tables import Snapshot, plain, render
from graphmem.errors import ConfigurationInvalid
from graphmem.ingest.requests import read_request
from graphmem.model import canonical
from graphmem.registry import REGISTRY, Services
from graphmem.runtime import open_services
from graphmem.settings import Settings


def run(session: Session, folder: Path) -> None:
    """Store the JSON files of ``folder`` in the order of their names, then print what is known.

    Raises:
        ConfigurationInvalid: there are no such files.
        GraphmemError: the database cannot be had, or a file is refused.
    """
    files = sorted(folder.glob("*.json"))
    if not files:
        raise ConfigurationInvalid(f"{folder} holds no .json files: give the folder of the examples")
    # Never the user's own data: an instance of its own, whatever the environment says.
    own = {"neo4j_uri": None, "base_url": None, "data_dir": session.overrides.get("data_dir")}
    chosen = session.settings(env="demo").model_copy(update=own)
    session.log_to_file(chosen)
    run_async(_run(chosen, files))


async def _run(settings: Settings, files: list[Path]) -> None:
    console.print("Starting Neo4j (the first time it is fetched, 155 MB) …")
    begin = time.monotonic()
    async with open_services(settings, fetching()) as services:
        console.print(f"Neo4j is up after {time.monotonic() - begin:.1f} s.")
        await _store(services, files)
        await _show(services)
    _next(settings)


async def _call(services: Services, name: str, **arguments: Any) -> dict[str, Any]:
    return canonical.decode(await REGISTRY[name].run(services, local_actor("demo"), arguments))


async def _store(services: Services, files: Iterable[Path]) -> None:
    table = Table(title=Text("Stored", style="bold"), title_justify="left")
    for name in ("file", "items", "new entities", "relationships", ""):
        table.add_column(name)
    for file in files:
        answer = await _call(services, "store", **read_request(file.read_bytes(), file.name))
        counts = len(answer["entities"]), answer["entities_created"], len(answer["relationships_created"])
        table.add_row(file.name, *map(str, counts), "known already" if answer["replayed"] else "")
    console.print(table)


async def _show(services: Services) -> None:
    stats = await _call(services, "server.stats")
    table = Table(title=Text("What is known, by type", style="bold"), title_justify="left")
    for name in ("type", "entities", "observations"):
        table.add_column(name)
    for kind, count in stats["entities_by_type"].items():
        table.add_row(kind, str(count), str(stats["observations_by_type"][kind]))
    console.print(table)
    star = await _most_observed(services, stats["entities_by_type"])
    name, entity_id = star["canonical_name"], star["entity_id"]
    now = await _call(services, "entities.snapshot", entity_id=entity_id, expand_provenance=True)
    console.print(Snapshot(now, f"{name}, now: each field names its observation, its time and its writer"))
    seen = await _call(services, "observations.query", entity_id=entity_id)
    earlier = seen["observations"][len(seen["observations"]) // 3]["observed_at"]
    then = await _call(services, "entities.snapshot", entity_id=entity_id, at=earlier, expand_provenance=True)
    console.print(Snapshot(then, f"{name}, as of {earlier[:10]}"))
    console.print(plain(f"\nRelated to {name}, one step away", style="bold"))
    console.print(render(await _call(services, "entities.related", entity_id=entity_id)))


async def _most_observed(services: Services, types: Iterable[str]) -> dict[str, Any]:
    """Return the person of whom most is told; where there are no persons, the entity."""
    kind = "person" if "person" in types else None
    found = await _call(services, "entities.query", limit=500, **({"entity_type": kind} if kind else {}))
    return max(found["entities"], key=lambda one: (one["observation_count"], one["entity_id"]))


def _next(settings: Settings) -> None:
    login = neo4j_local.info(settings)
    program = shutil.which("graphmem") or str(Path(sys.executable).with_name("graphmem"))
    where = ["--env", "demo", *(["--data-dir", str(settings.data_dir)] if settings.data_dir else [])]
    command = shlex.join([program, *where])
    config = {"mcpServers": {"graphmem-demo": {"command": program, "args": [*where, "mcp"]}}}
    console.print(Text("\nWhat to try next on this data", style="bold"))
    for title, *lines in (
        ("Serve it over REST and MCP", f"{command} serve"),
        ("Ask it", f"{command} entities list --entity-type task",
         f'{command} entities search "Tarnhill Observatory Trust"',
         f'{command} context --question "who signs for the mirror"',
         f"{command} timeline list --limit 10"),
        ("Look at the graph in the Neo4j Browser", login.browser_url,
         f"user {login.username}, password {login.password}",
         "MATCH p = (:Entity)-[:WORKS_AT|MANAGES|PART_OF]->(:Entity) RETURN p"),
        ("Give it to an agent: MCP over stdio", json.dumps(config)),
        ("Stop the database; the data stays", f"{command} db stop"),
        ("Remove everything", f"{command} db stop && rm -r {shlex.quote(str(settings.data_path))}"),
    ):  # fmt: skip
        console.print(f"  {title}:", highlight=False)
        for line in lines:
            console.print(f"    {line}", style="cyan", highlight=False, markup=False, soft_wrap=True)

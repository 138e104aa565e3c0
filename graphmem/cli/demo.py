"""``graphmem demo``: store the examples in a separate instance and print what graphmem answers."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from rich.text import Text

from graphmem import neo4j_local
from graphmem.cli.layouts import render
from graphmem.cli.session import Session, console, open_instance
from graphmem.cli.tables import List, SnapshotTable, plain
from graphmem.errors import ConfigurationInvalid
from graphmem.ingest.own_files import read_request
from graphmem.neo4j_local.private_files import private_directory, used_as_data
from graphmem.settings import Settings, variable

MARKER = "demo"  # file in a data directory that was made by the demo
QUESTIONS = "questions.txt"
"""File in the folder of the examples: questions in words, one a line, which the demo asks."""
BROWSER_QUERY = (
    "MATCH p = (:Entity)-[e:WORKS_AT|MANAGES|PART_OF {live: true}]->(:Entity) "
    "MATCH (r:Relationship {key: e.key}) WHERE NOT 'end_date' IN r.fields RETURN p"
)
"""Draws the example world in the Neo4j Browser, without the relationships that ended."""
BUDGET = 500  # tokens of context for one question


def demo(session: Session, folder: Path = Path("examples")) -> None:
    files = sorted(folder.glob("*.json"))
    if not files:
        raise ConfigurationInvalid(f"{folder} holds no .json files: give the folder of the examples")
    chosen, ignored = demo_settings(session)
    session.log_to_file(chosen)
    mark(chosen)
    for name in ignored:
        console.print(plain(f"{name} is set and not used: the demo runs a Neo4j of its own.", "yellow"))
    page = folder / QUESTIONS
    questions = page.read_text("utf-8").splitlines() if page.exists() else []
    session.chosen = chosen
    console.print(plain(f"The demo's data directory is {chosen.data_path}."))
    console.print("Starting Neo4j (its 155 MB are downloaded the first time) …")
    begin = time.monotonic()
    open_instance(chosen)
    console.print(f"Neo4j is up after {time.monotonic() - begin:.1f} s.")
    _store(session, files)
    _show(session)
    _ask(session, questions)
    _print_next_steps(chosen)


def demo_settings(session: Session) -> tuple[Settings, list[str]]:
    """Return the settings of the demo, and the names of the variables that it does not use.

    The examples must not get into anybody's own data. The demo therefore runs an embedded Neo4j, in the data
    directory that was set or in the one of ``GRAPHMEM_ENV=demo``.
    """
    chosen = session.settings(env="demo")
    ignored = [name for name in ("neo4j_uri", "base_url") if getattr(chosen, name) is not None]
    chosen = chosen.model_copy(update=dict.fromkeys(ignored))
    path = chosen.data_path
    if chosen.data_dir is not None and (path / "neo4j").exists() and not (path / MARKER).exists():
        raise ConfigurationInvalid(
            f"{path} holds data that the demo did not store: set GRAPHMEM_DATA_DIR (or --data-dir) to an "
            "empty directory, or unset it",
            setting="GRAPHMEM_DATA_DIR",
        )
    return chosen, [variable(name) for name in ignored]


def mark(settings: Settings) -> None:
    with used_as_data(settings.data_path):
        private_directory(settings.data_path)
        (settings.data_path / MARKER).touch()


def _store(session: Session, files: Iterable[Path]) -> None:
    table = List(("file", "items", "new entities", "relationships", ""), title="Stored")
    for file in files:
        answer = session.ask("store", read_request(file.read_bytes(), file.name))
        counts = len(answer["entities"]), answer["entities_created"], len(answer["relationships_created"])
        table.add_row(file.name, *map(str, counts), "stored before" if answer["replayed"] else "")
    console.print(table)


def _show(session: Session) -> None:
    stats = session.ask("server.stats", {})
    counts = stats["entities_by_type"], stats["observations_by_type"]
    cells = ((kind, *(str(each[kind]) for each in counts)) for kind in counts[0])
    console.print(List(("type", "entities", "observations"), cells, title="Entities by type"))
    # The person with the most observations; without persons, the entity with the most.
    filters = {"entity_type": "person"} if "person" in stats["entities_by_type"] else {}
    entities = session.ask("entities.query", {"limit": 500, **filters})
    entity = max(entities["entities"], key=lambda entity: (entity["observation_count"], entity["entity_id"]))
    name, entity_id = entity["canonical_name"], entity["entity_id"]
    snapshot = {"entity_id": entity_id, "expand_provenance": True}
    now = session.ask("entities.snapshot", snapshot)
    console.print(
        SnapshotTable(now, f"{name}, now: each field names its observation, its time and its writer")
    )
    page = session.ask("observations.query", {"entity_id": entity_id})
    earlier = page["observations"][len(page["observations"]) // 3]["observed_at"]
    then = session.ask("entities.snapshot", {**snapshot, "at": earlier})
    console.print(SnapshotTable(then, f"{name}, as of {earlier[:10]}"))
    console.print(Text("\n") + plain(f"Related to {name}, one step away", style="bold"))
    console.print(render("entities.related", session.ask("entities.related", {"entity_id": entity_id})))


def _ask(session: Session, questions: Iterable[str]) -> None:
    """Ask questions in words, and print the lines of context that answer them best."""
    for question in questions:
        console.print(Text("\n") + plain(question, style="bold"))
        for line in session.ask("context.retrieve", {"question": question, "budget": BUDGET})["lines"][:1]:
            console.print(plain(line))


def _print_next_steps(settings: Settings) -> None:
    login = neo4j_local.info(settings)
    program = shutil.which("graphmem") or str(Path(sys.executable).with_name("graphmem"))
    where = ["--env", "demo", *(["--data-dir", str(settings.data_dir)] if settings.data_dir else [])]
    command = shlex.join([program, *where])
    config = {"mcpServers": {"graphmem-demo": {"command": program, "args": [*where, "mcp"]}}}
    console.print(Text("\nWhat to try next on this data", style="bold"))
    for title, *lines in (
        ("Serve it over REST and MCP", f"{command} serve"),
        ("Ask it", f"{command} ask who signs for the mirror",
         f"{command} search Tarnhill Observatory Trust",
         f"{command} entities list --entity-type task",
         f"{command} timeline list --limit 10"),
        ("Look at the graph in the Neo4j Browser", login.browser_url,
         f"user {login.username}, password {login.password}",
         BROWSER_QUERY,
         "docs/neo4j-browser.md has more queries, and the setting that keeps out what ended"),
        ("Give it to an agent: MCP over stdio", json.dumps(config)),
        ("Its service and its database run on. Stop both; the data stays", f"{command} db stop"),
        ("Remove everything", f"{command} db stop && rm -r {shlex.quote(str(settings.data_path))}"),
    ):  # fmt: skip
        console.print(f"  {title}:", highlight=False)
        for line in lines:
            console.print(f"    {line}", style="cyan", highlight=False, markup=False, soft_wrap=True)

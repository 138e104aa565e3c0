"""``graphmem init``: data directory, database, start at login, agents and the user, in one command."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import typer

from graphmem import environment_file
from graphmem.cli.agents.agent_table import agents
from graphmem.cli.agents.file_changes import chosen_agents, print_files
from graphmem.cli.encryption import KeyPlace, new_keys, words_told
from graphmem.cli.session import Draw, Session, console, open_instance, run_async, tell, tell_progress
from graphmem.cli.tables import pairs, plain
from graphmem.errors import ConfigurationInvalid
from graphmem.service import calling

if TYPE_CHECKING:
    from graphmem.database.driver import Database
    from graphmem.settings import Settings

T = TypeVar("T")
EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class Choices:
    """What a person wants; None: as it is, or as graphmem does by itself."""

    data_dir: Path | None = None
    # Address of a Neo4j, or the word ``embedded``.
    database: str | None = None
    login: dict[str, Any] = field(default_factory=dict)
    at_login: bool | None = None
    agents: list[str] | None = None
    me: str | None = None
    receipts: str | None = None


def init(
    session: Session, data_dir: Path | None = None, neo4j_uri: str | None = None,
    neo4j_username: str | None = None, neo4j_database: str | None = None, embedded: bool = False,
    at_login: bool | None = None, agent: list[str] | None = None, no_agents: bool = False,
    hooks: bool = False, me: str | None = None, receipts: Literal["off", "mcp", "all"] | None = None,
    encrypt: bool = False, key_place: KeyPlace = "file", yes: bool = False,
) -> tuple[dict[str, Any], Draw]:  # fmt: skip
    current = session.settings_here(". `graphmem --base-url {} setup` gives that service to your agents")
    login = {"neo4j_username": neo4j_username, "neo4j_database": neo4j_database}
    choices = Choices(
        data_dir, EMBEDDED if embedded else neo4j_uri, {n: v for n, v in login.items() if v is not None},
        at_login, [] if no_agents else agent, me, receipts,
    )  # fmt: skip
    if not yes:
        if not sys.stdin.isatty():
            raise ConfigurationInvalid(
                "there is no terminal to ask: give --yes, and options for what is not as usual"
            )
        choices = _completed(choices, current)
    done: dict[str, Any] = {"data_directory": str(_place(session, choices.data_dir))}
    done["environment_file"], done["settings"] = _database(session, choices)
    chosen = session.settings()
    if encrypt:
        done["encryption"] = _seal(session, chosen, key_place)
    session.log_to_file(chosen)
    open_instance(chosen)
    done["database"] = chosen.neo4j_uri or "the embedded Neo4j, which runs"
    return _printed(session, {**done, **_around(session, choices, hooks)})


def _completed(choices: Choices, current: Settings) -> Choices:
    if choices.data_dir is None:
        answer = typer.prompt("Where shall the data be?", default=str(current.data_path), err=True)
        choices = replace(choices, data_dir=Path(answer).expanduser())
    if choices.database is None:
        question = "Which database? The embedded Neo4j, or the address of yours (bolt://...)"
        answer = typer.prompt(question, default=current.neo4j_uri or EMBEDDED, err=True)
        choices = replace(choices, database=answer)
    if choices.agents is None:
        names = [name for name, agent in agents().items() if agent.is_installed(Path.home())]
        if not (names and typer.confirm(f"Give graphmem to {', '.join(names)}?", default=True, err=True)):
            choices = replace(choices, agents=[])
    if choices.at_login is None and typer.confirm("Start graphmem at login?", default=False, err=True):
        choices = replace(choices, at_login=True)
    if choices.me is None:
        answer = typer.prompt(
            'Your name, whom "my" means (Enter: none)', default="", show_default=False, err=True
        )
        choices = replace(choices, me=answer.strip() or None)
    question, kept = "Keep receipts of what agents are told?", current.receipts
    if choices.receipts is None and typer.confirm(question, default=kept != "off", err=True):
        choices = replace(choices, receipts=kept.replace("off", "mcp"))
    return choices


def _place(session: Session, data_dir: Path | None) -> Path:
    """Let every command find the data in the directory that is wanted; return it. Data is never moved."""
    from graphmem import neo4j_local
    from graphmem.neo4j_local.private_files import private_directory, used_as_data, write_private

    current = session.settings()
    named = current.data_dir or environment_file.default_directory(current.env)
    start, target = Path(os.path.realpath(named)), Path(os.path.realpath(data_dir or current.data_path))
    with used_as_data(target):
        private_directory(target)
    if environment_file.directory(target, current.env) != current.data_path:
        if neo4j_local.exists(current) or current.objects_path.exists():
            raise ConfigurationInvalid(
                f"there is data in {current.data_path}: `graphmem storage move {target}` moves it"
            )
        with used_as_data(start):
            private_directory(start)
            write_private(start / environment_file.NOTE, f"{target}\n")
    return session.settings().data_path


def _database(session: Session, choices: Choices) -> tuple[str, str]:
    """Keep in the environment file which database is wanted; return the file, and what became of it."""
    from graphmem.neo4j_local.private_files import changing, used_as_data, write_private
    from graphmem.settings import variable

    names = ("neo4j_uri", "neo4j_username", "neo4j_password", "neo4j_database")
    current = session.settings()
    values: dict[str, str | None] = {}
    if choices.database == EMBEDDED:
        values = dict.fromkeys(map(variable, names))
        if current.neo4j_uri is not None and "NEO4J_URI" not in environment_file.applied():
            raise ConfigurationInvalid("NEO4J_URI is set in the environment, which wins: unset it there")
    elif choices.database is not None:
        trial = session.settings(neo4j_uri=choices.database, **choices.login)
        if not trial.neo4j_password.get_secret_value() and sys.stdin.isatty():
            password = typer.prompt("Its password", hide_input=True, err=True)
            trial = session.settings(neo4j_uri=choices.database, neo4j_password=password, **choices.login)
        _on_database(trial, lambda database: database.verify())
        values = {variable(name): getattr(trial, name) for name in names}
        values[variable("neo4j_password")] = trial.neo4j_password.get_secret_value()
    if choices.receipts is not None:
        values[variable("receipts")] = choices.receipts
    path = current.data_path / environment_file.FILE
    with used_as_data(current.data_path), changing(path):
        before = path.read_text("utf-8") if path.exists() else None
        kept = environment_file.read(current.data_path)
        if before is not None and all(kept.get(name) == value for name, value in values.items()):
            return str(path), "as asked"
        write_private(path, environment_file.changed(current.data_path, values))
    return str(path), "written" if before is None else "changed"


def _on_database(chosen: Settings, work: Callable[[Database], Awaitable[T]]) -> T:
    """Run ``work`` on the database of some settings, as it is; raise its error if it does not answer."""

    async def run() -> T:
        from graphmem.database.driver import Database
        from graphmem.observability.metrics import Metrics
        from graphmem.runtime import connection

        database = Database(await connection(chosen), chosen, Metrics())
        try:
            return await work(database)
        finally:
            await database.close()

    return run_async(run())


def _seal(session: Session, chosen: Settings, place: KeyPlace) -> dict[str, Any]:
    """Make the keys of an instance that has nothing yet; return what became of it."""
    if chosen.keys_path.exists():
        return {"result": "as asked", "key_file": str(chosen.keys_path)}
    if chosen.sandbox or _has_data(chosen):
        raise ConfigurationInvalid(
            "only an instance without data is made sealed, and no sandbox: `graphmem encryption enable` "
            "seals the data of one in a new directory"
        )
    root, kept = new_keys(chosen, place)
    done = {"result": "sealed", "key_file": str(chosen.keys_path), "root_key": root.id, "kept_in": kept}
    return done | words_told(session, root, kept)


def _has_data(chosen: Settings) -> bool:
    """Return whether an instance has files, an embedded database, or facts in a Neo4j of one's own."""
    from graphmem import neo4j_local

    if chosen.objects_path.exists() or (chosen.neo4j_uri is None and neo4j_local.exists(chosen)):
        return True
    if chosen.neo4j_uri is None:
        return False

    async def look(database: Database) -> bool:
        return any([True async for _ in database.owners()])

    return _on_database(chosen, look)


def _around(session: Session, choices: Choices, hooks: bool) -> dict[str, Any]:
    from graphmem.cli.me import me
    from graphmem.cli.setup import launch, set_up
    from graphmem.cli.start_at_login import change_login

    start = launch(session)
    done: dict[str, Any] = {}
    if choices.at_login is not None:
        done["login"] = change_login(session.settings().env, start.command, undo=not choices.at_login)
    try:
        chosen = [] if choices.agents == [] else chosen_agents(choices.agents or ())
    except ConfigurationInvalid:
        # Nobody asked for an agent by name, and none is installed.
        chosen = []
    done["agents"] = [
        row for each in chosen for row in set_up(each, "user", Path.home(), start, hooks, False, False)
    ]
    if choices.me is not None:
        with calling.telling("storing who you are", tell_progress):
            known = me(session)
            if known.get("canonical_name") != choices.me:
                item = {"entity_type": "person", "name": choices.me, "self": True}
                session.ask("store", {"entities": [item], "observation_source": "human"})
                known = me(session)
        done["me"] = known.get("canonical_name")
    return done


def _printed(session: Session, done: dict[str, Any]) -> tuple[dict[str, Any], Draw]:
    from graphmem.cli.start_at_login import start_now

    login, files = done.get("login", {}), done["agents"]
    following = [
        'graphmem store --entities \'[{"entity_type": "note", "title": "First note"}]\'',
        "graphmem ask what do I know",
        "graphmem setup check" if files else "graphmem setup",
        *([start_now(session.settings().env)] if login.get("result") in ("added", "changed") else []),
    ]

    def draw() -> None:
        login_text = f"{login['result']}: {login.get('file') or login.get('why')}" if login else None
        names = "data_directory", "database", "environment_file", "settings", "me"
        console.print(pairs({**{name: done.get(name) for name in names}, "start_at_login": login_text}))
        for line in login.get("text", "").splitlines() if login.get("result") in ("added", "changed") else ():
            console.print(plain(f"    {line}", "dim"), highlight=False)
        if files:
            print_files(session, files)
        tell("Next:", "bold")
        for line in following:
            tell(f"  {line}")

    return {**done, "next": following}, draw

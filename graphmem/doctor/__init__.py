"""What is wrong with an installation, and what to do about it: found without changing or starting anything.

It works with the database down, half a configuration, and a data directory that is not there: each check says
what it found, and what it could not look at.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from graphmem import neo4j_local, settings
from graphmem.doctor import around, database, machine
from graphmem.doctor.finding import Finding, looked, redact
from graphmem.errors import ConfigurationInvalid, SetupError
from graphmem.neo4j_local import Connection
from graphmem.settings import Settings

__all__ = ["Finding", "examine"]


async def examine(
    overrides: Mapping[str, Any], deep: bool = False, environment: Mapping[str, str] = os.environ
) -> list[Finding]:
    """Look at everything; return what was found, in the order of looking.

    Args:
        overrides: settings that were given otherwise than by the environment.
        deep: derive every snapshot again and compare, hash the engine's files; that may take minutes.
    """
    found = await _here("versions", lambda: [machine.versions()])
    found += await _here("settings", machine.variables, environment)
    try:
        chosen = settings.load(**overrides)
    except ConfigurationInvalid as exc:
        return [*found, *_invalid(exc)]
    found += await _here("settings", machine.contradictions, chosen, environment)
    found += await _here("data directory", machine.data_directory, chosen)
    found += await _here("disk", machine.disk, chosen)
    if chosen.neo4j_uri is None:
        found += await _here("engine", machine.engine, chosen, deep)
        found += await _here("memory", machine.memory, chosen)
    found += await looked("database", partial(_database, chosen, deep))
    found += await looked("embedding", partial(around.embedding, chosen))
    found += await looked("service", partial(around.service, chosen))
    return redact(found, chosen)


async def _here(check: str, look: Callable[..., Iterable[Finding]], *given: Any) -> list[Finding]:
    """Look at something without a network."""

    async def now() -> Iterable[Finding]:
        return look(*given)

    return await looked(check, now)


def _invalid(exc: ConfigurationInvalid) -> Iterator[Finding]:
    for issue in exc.details.get("issues", []):
        path = issue["path"]
        name = settings.variable(path) if path in Settings.model_fields else path
        what = " ".join(filter(None, (name, issue["message"])))
        yield Finding("settings", "fail", what, "Correct this setting, then run graphmem doctor again.")
    yield Finding("everything else", "warn", "was not looked at: the settings do not say where it is")


async def _database(chosen: Settings, deep: bool) -> list[Finding]:
    if chosen.neo4j_uri is not None:
        password = chosen.neo4j_password.get_secret_value()
        where = Connection(chosen.neo4j_uri, chosen.neo4j_username, password, "", chosen.neo4j_database)
        return await database.examine(where, chosen, deep)
    try:
        status = neo4j_local.status(chosen)
        if status.version is None:
            return [Finding("database", "ok", "there is none yet: the first command or service makes it")]
        if not status.running:
            what = "the embedded Neo4j does not run, so nothing in it was looked at"
            return [Finding("database", "warn", what, "Run graphmem db start, then graphmem doctor again.")]
        return await database.examine(neo4j_local.info(chosen), chosen, deep)
    except SetupError as exc:
        return [Finding("database", "fail", str(exc), _where_to_look(chosen.data_path))]


def _where_to_look(path: Path) -> str:
    return f"Put {path} back from a backup, or set GRAPHMEM_DATA_DIR to another directory."

"""Migrations: the .cypher files of ``cypher/migrations``, applied once, in order, and remembered by checksum.

Each statement can be applied twice without harm (``IF NOT EXISTS``), so two processes that start at the
same time need no lock. A shipped file is never edited: what it said is in the databases of users.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import LiteralString, cast

import structlog

from graphmem.domain import times
from graphmem.errors import MigrationRefused
from graphmem.graph import Graph

_log = structlog.get_logger("graphmem.migrations")
_NAME = re.compile(r"V(\d{4})__(\w+)\.cypher")
DERIVED = 9
"""The last migration that needs what an older graphmem did not write with an entity."""
TOLD_SECONDS = 10.0
"""How often the progress of indexes that are being filled is told."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the database's schema."""

    version: int
    name: str
    checksum: str
    statements: tuple[LiteralString, ...]


@cache
def shipped() -> tuple[Migration, ...]:
    """Return the migrations of this version, in order."""
    found = []
    for file in resources.files("graphmem.cypher").joinpath("migrations").iterdir():
        match = _NAME.fullmatch(file.name)
        if match is None:
            continue
        text = file.read_text(encoding="utf-8")
        code = "\n".join(line for line in text.splitlines() if not line.startswith("//"))
        # Our own files, shipped in the package: as safe as a literal in the code.
        statements = cast("tuple[LiteralString, ...]", tuple(p.strip() for p in code.split(";") if p.strip()))
        checksum = hashlib.sha256(" ".join(code.split()).encode()).hexdigest()
        found.append(Migration(int(match[1]), match[2], checksum, statements))
    return tuple(sorted(found, key=lambda migration: migration.version))


async def apply(graph: Graph) -> list[Migration]:
    """Bring the database's schema to this version and wait until its indexes are online.

    Returns:
        The migrations that were applied now.

    Raises:
        MigrationRefused: the database was made by a newer version, or a shipped migration was changed.
    """
    await graph.script(
        "CREATE CONSTRAINT migration_version IF NOT EXISTS FOR (n:Migration) REQUIRE n.version IS UNIQUE"
    )
    rows = await graph.script("MATCH (n:Migration) RETURN n.version AS version, n.checksum AS checksum")
    done = {row["version"]: row["checksum"] for row in rows}
    known = {migration.version: migration for migration in shipped()}
    _check(done, known)
    new = [migration for migration in shipped() if migration.version not in done]
    for migration in new:
        for statement in migration.statements:
            await graph.script(statement)
    if done and new and new[0].version <= DERIVED:
        # A migration makes indexes; what they hold of an entity is written with it.
        _log.warning("an older database: lists and searches find all of it after `graphmem rebuild`")
    if new:
        await _filled(graph)
        # What was planned before an index existed stays slow until it is planned again.
        await graph.script("CALL db.clearQueryCaches()")
        for migration in new:
            await graph.script(
                "MERGE (n:Migration {version: $version}) "
                "ON CREATE SET n.name = $name, n.checksum = $checksum, n.applied_at = $at",
                version=migration.version,
                name=migration.name,
                checksum=migration.checksum,
                at=times.now(),
            )
    return new


async def _filled(graph: Graph) -> None:
    """Wait until every index is there: those of a large database take minutes, and each look is a short one.

    Raises:
        MigrationRefused: the database could not make one of them.
    """
    told = time.monotonic()
    while rows := await graph.script(
        "SHOW INDEXES YIELD name, state, populationPercent WHERE state <> 'ONLINE' "
        "RETURN name, state, round(populationPercent) AS percent ORDER BY name"
    ):
        if failed := [row["name"] for row in rows if row["state"] == "FAILED"]:
            raise MigrationRefused(
                f"Neo4j could not make the index {failed[0]}: its debug.log says why; "
                "mend that, drop the index and start again",
                index=failed[0],
            )
        if time.monotonic() - told > TOLD_SECONDS:
            told = time.monotonic()
            _log.info("indexes are being filled", **{row["name"]: f"{row['percent']:.0f} %" for row in rows})
        await asyncio.sleep(0.1)


def _check(done: dict[int, str], known: dict[int, Migration]) -> None:
    unknown = sorted(set(done) - set(known))
    if unknown:
        raise MigrationRefused(
            f"this database was made by a newer graphmem (its schema is at version {unknown[-1]}, "
            f"this one knows {max(known)}): install that version, or use another data directory",
            found=unknown[-1],
            known=max(known),
        )
    for version, checksum in done.items():
        if known[version].checksum != checksum:
            raise MigrationRefused(
                f"migration {version} is not the one that was applied to this database: "
                "install graphmem anew from an unchanged source",
                version=version,
            )

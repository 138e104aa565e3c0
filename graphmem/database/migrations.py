"""Migrations: the .cypher files of ``cypher/migrations``, applied once, in order, and remembered by checksum.

Each statement can be applied twice without harm (``IF NOT EXISTS``), and is tried again where two processes
that start at the same time run it at once (``Database.script``), so they need no lock. A shipped file is
never edited: what it said is in the databases of users.
"""

import asyncio
import hashlib
import re
import time
from collections.abc import Collection, Mapping
from functools import cache
from importlib import resources
from typing import LiteralString, NamedTuple, cast

import structlog

from graphmem.database import instance_kind
from graphmem.database.driver import Database
from graphmem.errors import MigrationRefused
from graphmem.model import times

_log = structlog.get_logger("graphmem.migrations")
_NAME = re.compile(r"V(\d{4})__(\w+)\.cypher")
LAST_NEEDING_REBUILD = 9
"""The last migration whose indexes hold properties that an older graphmem did not write."""
_MADE = re.compile(r"(CREATE|DROP) (?:\w+ )*?(?:INDEX|CONSTRAINT) (\w+) IF ")
BATCH_PARAMETER = "$after"  # a statement with this parameter runs in batches
STALLED_SECONDS = 600.0
"""Seconds without progress after which waiting for indexes ends. While they progress there is no limit."""
REPORT_SECONDS = 10.0
"""Seconds between two lines in the log about the progress of indexes or of a statement in batches."""


class Migration(NamedTuple):
    """One step of the database's schema."""

    version: int
    name: str
    checksum: str
    statements: tuple[LiteralString, ...]


class MigrationComparison(NamedTuple):
    """The versions of a database's migrations beside those of this version of graphmem."""

    latest: int
    newer: list[int]
    changed: list[int]
    missing: list[int]


@cache
def shipped() -> tuple[Migration, ...]:
    """Return the migrations of this version, in order."""
    migrations = []
    for file in resources.files("graphmem.cypher").joinpath("migrations").iterdir():
        match = _NAME.fullmatch(file.name)
        if match is None:
            continue
        text = file.read_text(encoding="utf-8")
        code = "\n".join(line for line in text.splitlines() if not line.startswith("//"))
        # Our own files, shipped in the package: as safe as a literal in the code.
        statements = cast("tuple[LiteralString, ...]", tuple(p.strip() for p in code.split(";") if p.strip()))
        checksum = hashlib.sha256(" ".join(code.split()).encode()).hexdigest()
        migrations.append(Migration(int(match[1]), match[2], checksum, statements))
    return tuple(sorted(migrations))


def indexes(done: Collection[int] | None = None) -> dict[str, str]:
    """Return what makes each index and constraint that the migrations create and keep, by name. ``done``: the
    versions of those that count; by default all."""
    made: dict[str, str] = {}
    for migration in shipped():
        for statement in migration.statements if done is None or migration.version in done else ():
            for act, name in _MADE.findall(statement):
                if act == "CREATE":
                    made[name] = " ".join(statement.split())
                else:
                    made.pop(name, None)
    return made


async def apply(
    database: Database, *, is_sandbox: bool = False, sealed: str | None = None
) -> list[Migration]:
    """Bring the database's schema to this version; return what was applied once its indexes are online.

    Args:
        is_sandbox: whether the data is that of a public sandbox.
        sealed: the id of the instance if it is sealed.

    Raises:
        SandboxMismatch: the database is that of a sandbox and should not be, or the other way round.
        EncryptionKeyMissing, ConfigurationInvalid: the same of a sealed instance.
        MigrationRefused: the database was made by a newer version, a shipped migration was changed, or an
            index cannot be made.
    """
    await database.script(
        "CREATE CONSTRAINT migration_version IF NOT EXISTS FOR (n:Migration) REQUIRE n.version IS UNIQUE"
    )
    await instance_kind.claim(database, is_sandbox=is_sandbox, sealed=sealed)
    done = await applied(database)
    comparison = compare(done)
    if comparison.newer:
        raise MigrationRefused(
            f"this database was made by a newer graphmem (its schema is at version {comparison.newer[-1]}, "
            f"this one knows {comparison.latest}): install that version, or use another data directory",
            found=comparison.newer[-1],
            known=comparison.latest,
        )
    for version in comparison.changed:
        raise MigrationRefused(
            f"migration {version} is not the one that was applied to this database: "
            "install graphmem anew from an unchanged source",
            version=version,
        )
    new = [migration for migration in shipped() if migration.version not in done]
    for migration in new:
        for statement in migration.statements:
            if BATCH_PARAMETER not in statement:
                await database.script(statement)
            elif done:  # a new database has nothing to change
                await _in_batches(database, migration, statement)
    if done and new and new[0].version <= LAST_NEEDING_REBUILD:
        # The properties that a new index holds are written with an entity: older entities lack them.
        _log.warning("an older database: lists and searches find all of it after `graphmem rebuild`")
    if new:
        await _wait_for_indexes(database)
        # A plan that was made before an index existed does not use the index.
        await database.script("CALL db.clearQueryCaches()")
        for migration in new:
            await database.script(
                "MERGE (n:Migration {version: $version}) "
                "ON CREATE SET n.name = $name, n.checksum = $checksum, n.applied_at = $at",
                version=migration.version,
                name=migration.name,
                checksum=migration.checksum,
                at=times.now(),
            )
    return new


async def _in_batches(database: Database, migration: Migration, statement: LiteralString) -> None:
    """Run a statement that changes some nodes at a time, in the order of ids, until it has changed all.

    It takes the id of the last node of the batch before. It answers one row: the id of its own last node
    (null where it changed none) and how many nodes it changed.
    """
    after: str | None = ""
    total = 0
    reported = time.monotonic()
    while after is not None:
        (row,) = await database.script(statement, after=after)
        after, total = row["after"], total + row["done"]
        if time.monotonic() - reported > REPORT_SECONDS:
            reported = time.monotonic()
            _log.info("an older database is being brought up to date", migration=migration.name, nodes=total)


async def _wait_for_indexes(database: Database) -> None:
    """Wait until the indexes of the migrations, and no others, are online; that may take minutes. Raises
    MigrationRefused: the database could not make one of them, or makes no progress."""
    reported = moved = time.monotonic()
    before: dict[str, float] = {}
    names = indexes()
    text = (
        "SHOW INDEXES YIELD name, state, populationPercent WHERE state <> 'ONLINE' "
        "RETURN name, state, populationPercent AS percent ORDER BY name"
    )
    while rows := [row for row in await database.script(text) if row["name"] in names]:
        if failed := [row["name"] for row in rows if row["state"] == "FAILED"]:
            raise MigrationRefused(
                f"Neo4j could not make the index {failed[0]}: its debug.log says why; "
                "mend that, drop the index and start again",
                index=failed[0],
            )
        now = {row["name"]: row["percent"] for row in rows}
        if now != before:
            before, moved = now, time.monotonic()
        if time.monotonic() - moved > STALLED_SECONDS:
            name = min(now)
            raise MigrationRefused(
                f"Neo4j has made no progress with the index {name} for {STALLED_SECONDS / 60:.0f} minutes: "
                "see its debug.log, and that its disk is neither full nor busy with other work; then start "
                "graphmem again, which goes on waiting, or drop the index first to have it made anew",
                index=name,
            )
        if time.monotonic() - reported > REPORT_SECONDS:
            reported = time.monotonic()
            _log.info("indexes are being filled", **{name: f"{part:.0f} %" for name, part in now.items()})
        await asyncio.sleep(0.1)


async def applied(database: Database) -> dict[int, str]:
    """Return the checksums of the migrations that were applied to the database, by version."""
    rows = await database.script(
        "MATCH (n:Migration) WHERE n.version > 0 RETURN n.version AS version, n.checksum AS checksum"
    )
    return {row["version"]: row["checksum"] for row in rows}


def compare(done: Mapping[int, str]) -> MigrationComparison:
    """Compare the migrations that were applied with those of this version."""
    known = {migration.version: migration.checksum for migration in shipped()}
    return MigrationComparison(
        latest=max(known),
        newer=sorted(set(done) - set(known)),
        changed=sorted(version for version in done if version in known and done[version] != known[version]),
        missing=sorted(set(known) - set(done)),
    )

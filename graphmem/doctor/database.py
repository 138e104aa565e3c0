"""What a database says of itself: its version, the schema in it, its memory, its clock, its vectors."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

from graphmem.database import migrations
from graphmem.database.driver import Database
from graphmem.doctor.finding import Finding, looked
from graphmem.embedding.local import MODEL
from graphmem.embedding.meaning import DIMENSIONS
from graphmem.errors import GraphmemError
from graphmem.model import times
from graphmem.neo4j_local import Connection
from graphmem.observability.metrics import Metrics
from graphmem.settings import Settings

SUPPORTED = ("5.26.", "2026.")
"""Beginnings of the versions that the tests run on."""
LEAST = (5, 26)
SKEW_TOLD = 2.0
SKEW_REFUSED = 60.0
"""Seconds between the database's clock and this machine's."""
MANY = 1_000
_MADE = re.compile(r"CREATE (?:(CONSTRAINT)|(?:\w+ )?INDEX) (\w+) IF NOT EXISTS")
_DROPPED = re.compile(r"DROP (?:CONSTRAINT|INDEX) (\w+)")
Check = Callable[[Database, Settings], Awaitable[list[Finding]]]


async def examine(where: Connection, settings: Settings, deep: bool) -> list[Finding]:
    """Look at a database, if it answers; nothing is written."""
    try:
        database = Database(where, settings, Metrics())
    except GraphmemError as exc:
        return [Finding("database", "fail", str(exc), "Correct NEO4J_URI.")]
    try:
        await database.verify()
    except GraphmemError as exc:
        fix = (
            "Look at graphmem db logs, and run graphmem db stop and graphmem db start."
            if settings.neo4j_uri is None
            else "Start that server, or correct NEO4J_URI, NEO4J_USERNAME, NEO4J_PASSWORD and NEO4J_DATABASE."
        )
        await database.close()
        return [Finding("database", "fail", f"{where.uri}: {exc}", fix)]
    try:
        found = []
        for check in (_version, _schema, _indexes, _limits, _clock, _ahead, _vectors):
            found += await _told(check, database, settings)
        sound = all(one.status == "ok" for one in found if one.check in ("schema", "indexes"))
        look = partial(_consistency, database, settings, deep, sound)
        return [*found, *await looked("consistency", look)]
    finally:
        await database.close()


async def _told(check: Check, database: Database, settings: Settings) -> list[Finding]:
    async def look() -> list[Finding]:
        try:
            return await check(database, settings)
        except GraphmemError as exc:
            fix = "Run graphmem doctor again, as a user who may administer it."
            return [Finding(name, "warn", f"could not be looked at: {exc}", fix)]

    name = check.__name__.removeprefix("_")
    return await looked(name, look)


async def _version(database: Database, settings: Settings) -> list[Finding]:
    (row,) = await database.script(
        "CALL dbms.components() YIELD name, versions, edition WHERE name = 'Neo4j Kernel' "
        "RETURN versions[0] AS version, edition"
    )
    said = f"Neo4j {row['version']} {row['edition']} answers"
    numbers = tuple(int(part) for part in re.findall(r"\d+", row["version"])[:2])
    if numbers < LEAST:
        return [Finding("database", "fail", f"{said}: it is too old", "Use Neo4j 5.26 or a later one.")]
    if not row["version"].startswith(SUPPORTED):
        fix = "Use Neo4j 5.26 or 2026 if something fails."
        return [Finding("database", "warn", f"{said}: graphmem is not tested with it", fix)]
    return [Finding("database", "ok", said)]


async def _schema(database: Database, settings: Settings) -> list[Finding]:
    rows = await database.script("MATCH (n:Migration) RETURN n.version AS version, n.checksum AS checksum")
    done = {row["version"]: row["checksum"] for row in rows}
    known = {migration.version: migration.checksum for migration in migrations.shipped()}
    newer = sorted(set(done) - set(known))
    if newer:
        what = f"its schema is at version {newer[-1]}, and this graphmem knows {max(known)}"
        return [Finding("schema", "fail", what, "Install the newer graphmem that made it.")]
    changed = [version for version in done if done[version] != known[version]]
    if changed:
        what = f"migration {changed[0]} is not the one that was applied"
        return [Finding("schema", "fail", what, "Install graphmem anew from an unchanged source.")]
    if missing := sorted(set(known) - set(done)):
        at = max(done, default=0)
        what = f"its schema is at version {at} of {max(known)}: {len(missing)} migrations are to be applied"
        return [
            Finding("schema", "warn", what, "Start the service, or run graphmem db start, to apply them.")
        ]
    return [Finding("schema", "ok", f"it is at version {max(known)}, as this graphmem")]


async def _indexes(database: Database, settings: Settings) -> list[Finding]:
    rows = await database.script("MATCH (n:Migration) RETURN n.version AS version")
    wanted = _made({row["version"] for row in rows})
    indexes = await database.script(
        "SHOW INDEXES YIELD name, state, populationPercent RETURN name, state, populationPercent AS percent"
    )
    constraints = await database.script("SHOW CONSTRAINTS YIELD name RETURN name")
    states = {row["name"]: row for row in indexes}
    there = {row["name"] for row in constraints}
    found = list(_faults(wanted, states, there))
    return found or [Finding("indexes", "ok", f"{len(wanted)} indexes and constraints are there and online")]


def _faults(
    wanted: dict[str, tuple[str, bool]], states: dict[str, Any], there: set[str]
) -> Iterator[Finding]:
    for name, (statement, constraint) in sorted(wanted.items()):
        if name not in states or (constraint and name not in there):
            what = f"{'the constraint' if constraint else 'the index'} {name} is missing"
            yield Finding("indexes", "fail", what, f"Run this in the Neo4j Browser: {statement}")
        elif states[name]["state"] == "POPULATING":
            what = f"the index {name} is made: {states[name]['percent']:.0f} % are done"
            yield Finding("indexes", "warn", what, "Wait until it is online: queries are slow meanwhile.")
        elif states[name]["state"] != "ONLINE":
            what = f"the index {name} is {states[name]['state']}"
            drop = f"DROP {'CONSTRAINT' if constraint else 'INDEX'} {name}"
            yield Finding("indexes", "fail", what, f"Run this in the Neo4j Browser: {drop}; {statement}")


def _made(applied: set[int]) -> dict[str, tuple[str, bool]]:
    """Return the indexes and constraints of some migrations, with what makes each and whether it is one."""
    made: dict[str, tuple[str, bool]] = {}
    for migration in migrations.shipped():
        for statement in migration.statements if migration.version in applied else ():
            if match := _MADE.match(statement):
                made[match[2]] = (" ".join(statement.split()), bool(match[1]))
            if match := _DROPPED.match(statement):
                made.pop(match[1], None)
    return made


async def _limits(database: Database, settings: Settings) -> list[Finding]:
    """Look at the memory of a server that somebody else set up; the embedded one's settings are ours."""
    if settings.neo4j_uri is None:
        return []
    rows = await database.script(
        "SHOW SETTINGS YIELD name, value WHERE name IN ['db.memory.transaction.max', "
        "'server.memory.heap.max_size', 'server.memory.pagecache.size'] RETURN name, value"
    )
    values = {row["name"]: row["value"] for row in rows}
    said = ", ".join(f"{name} {value}" for name, value in sorted(values.items()))
    if values.get("db.memory.transaction.max", "").startswith("0"):
        what = "one greedy query may take all memory of the database from the others"
        return [Finding("memory", "warn", what, "Set db.memory.transaction.max=128m in neo4j.conf.")]
    return [Finding("memory", "ok", said)]


async def _clock(database: Database, settings: Settings) -> list[Finding]:
    before = time.time()
    (row,) = await database.script("RETURN datetime.realtime().epochMillis / 1000.0 AS seconds")
    after = time.time()
    # Only what the way there and back cannot explain is skew.
    skew = max(before - row["seconds"], row["seconds"] - after, 0.0)
    if skew < SKEW_TOLD:
        return [Finding("clock", "ok", "the database's clock and this machine's agree")]
    what = f"the database's clock and this machine's are {skew:,.0f} s apart"
    status = "fail" if skew > SKEW_REFUSED else "warn"
    return [Finding("clock", status, what, "Have both machines keep their clocks by NTP.")]


async def _ahead(database: Database, settings: Settings) -> list[Finding]:
    rows = await database.script(
        "MATCH (n:Owner) WHERE n.recorded_at > $now RETURN count(n) AS owners, max(n.recorded_at) AS last",
        now=times.now() + int(SKEW_TOLD * 1_000_000),
    )
    if not rows or not rows[0]["owners"]:
        return []
    last = times.render(rows[0]["last"])
    what = f"{rows[0]['owners']} owners have transactions of later than now, up to {last}"
    return [Finding("clock", "warn", what, "Correct this machine's clock; what is stored keeps its order.")]


async def _vectors(database: Database, settings: Settings) -> list[Finding]:
    ours = f"{settings.embedding_model} {DIMENSIONS}" if settings.embedding_url else MODEL
    rows = await database.script(
        "OPTIONAL MATCH (used:Model {use: 'meaning'}) "
        "CALL (used) { MATCH (m:Meaning) WHERE m.model < used.model RETURN m LIMIT $many "
        "UNION ALL MATCH (m:Meaning) WHERE m.model > used.model RETURN m LIMIT $many } "
        "RETURN used.model AS model, count(m) AS waiting",
        many=MANY,
    )
    used = await database.script("MATCH (n:Model {use: 'meaning'}) RETURN n.model AS model")
    if not used:
        return [Finding("vectors", "ok", f"no model is in use yet; a service will use {ours!r}")]
    model, waiting = used[0]["model"], rows[0]["waiting"] if rows else 0
    if model != ours:
        what = f"the database uses the model {model!r}, and these settings say {ours!r}"
        fix = (
            "Start the service to have all vectors made anew, or set GRAPHMEM_EMBEDDING_URL and _MODEL back."
        )
        return [Finding("vectors", "warn", what, fix)]
    if waiting:
        count = f"{MANY} entities or more" if waiting >= MANY else f"{waiting} entities"
        what = f"{count} wait for a vector of {model!r}"
        return [Finding("vectors", "warn", what, "Leave the service running until its worker has made them.")]
    return [Finding("vectors", "ok", f"every entity has its vector of {model!r}")]


async def _consistency(database: Database, settings: Settings, deep: bool, sound: bool) -> list[Finding]:
    if not deep:
        what = "snapshots were not compared with their observations"
        return [Finding("consistency", "ok", f"{what}: graphmem doctor --deep or snapshots check does that")]
    if not sound:
        what = "snapshots were not compared with their observations: the schema comes first"
        return [
            Finding("consistency", "warn", what, "Mend the schema, then run graphmem doctor --deep again.")
        ]
    from graphmem.auth import local_actor
    from graphmem.reading.snapshot_check import audit
    from graphmem.registry import Context
    from graphmem.runtime import services_over

    try:
        async with services_over(database, settings) as services:
            report = await audit(Context(local_actor("cli"), services), fix=False, deep=True)
    except GraphmemError as exc:
        what = f"snapshots could not be compared with their observations: {exc}"
        fix = "Run graphmem doctor --deep again when the database has less to do."
        return [Finding("consistency", "fail", what, fix)]
    if report.stale_count:
        what = f"{report.stale_count} things are not as observed, of {report.checked} and their counts"
        return [Finding("consistency", "fail", what, "Run graphmem rebuild.")]
    return [Finding("consistency", "ok", f"all {report.checked} things are as observed")]

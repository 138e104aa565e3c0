"""Checks of the database: version, schema, indexes, memory, clock, vectors, snapshots."""

import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from graphmem.auth.accounts import Accounts
from graphmem.database import instance_kind, migrations
from graphmem.database.driver import Database
from graphmem.doctor import machine
from graphmem.doctor.finding import Finding, Found, fail, ok, run_check, warn
from graphmem.embedding import new_embedder
from graphmem.errors import GraphmemError
from graphmem.model import times
from graphmem.neo4j_local import InstanceLogin
from graphmem.observability.metrics import Metrics
from graphmem.settings import Settings

SUPPORTED = ("5.26.", "2026.")  # prefixes of the versions that the tests run on
VERSION_MIN = (5, 26)
SKEW_WARN_SECONDS = 2.0
SKEW_FAIL_SECONDS = 60.0  # difference between the clocks of the database and of this machine
ACCOUNTS_VERSION = 12  # the migration that makes accounts
WAITING_LIMIT = 1_000  # entities without a vector that are counted
Check = Callable[[Database, Settings], Awaitable[Found]]


async def examine(where: InstanceLogin, settings: Settings, deep: bool) -> Found:
    """Check a database. Nothing is written."""
    try:
        database = Database(where, settings, Metrics())
    except GraphmemError as exc:
        return fail(str(exc), "Correct NEO4J_URI.")
    try:
        await database.verify()
    except GraphmemError as exc:
        fix = (
            "Read graphmem logs --log neo4j, then run graphmem db stop and graphmem db start."
            if settings.neo4j_uri is None
            else "Start that server, or correct NEO4J_URI, NEO4J_USERNAME, NEO4J_PASSWORD and NEO4J_DATABASE."
        )
        await database.close()
        return fail(f"{where.uri}: {exc}", fix)
    try:
        findings = []
        for check in (_access, _version, _schema, _indexes, _limits, _clock, _ahead, _vectors, _sealing):
            findings += await _run(check, database, settings)
        sound = all(item.status == "ok" for item in findings if item.check in ("schema", "indexes"))
        return [*findings, *await run_check("consistency", _consistency, database, settings, deep, sound)]
    finally:
        await database.close()


async def _run(check: Check, database: Database, settings: Settings) -> list[Finding]:
    async def look() -> Found:
        try:
            return await check(database, settings)
        except GraphmemError as exc:
            fix = "Mend what it names, or run graphmem doctor as a database user with administrator rights."
            return Finding(name, "warn", f"the check failed: {exc}", fix)

    name = check.__name__.removeprefix("_")
    return await run_check(name, look)


async def _access(database: Database, settings: Settings) -> list[Finding]:
    # An older schema has no accounts, and lacks the index by which they are looked up.
    has_accounts = ACCOUNTS_VERSION in await migrations.applied(database)
    guarded = has_accounts and await Accounts(database).are_guarded()
    accounts = await Accounts(database).all() if has_accounts else []
    findings = [machine.access(settings, guarded)]
    for name in (account.name for account in accounts if account.is_erased):
        what = f"the account {name} is being deleted with its data"
        fix = f"If that was interrupted, finish it: graphmem account delete {name} --with-data."
        findings.append(warn(what, fix))
    return findings


async def _version(database: Database, settings: Settings) -> Found:
    (row,) = await database.script(
        "CALL dbms.components() YIELD name, versions, edition WHERE name = 'Neo4j Kernel' "
        "RETURN versions[0] AS version, edition"
    )
    answer = f"Neo4j {row['version']} {row['edition']} answers"
    numbers = tuple(int(part) for part in re.findall(r"\d+", row["version"])[:2])
    if numbers < VERSION_MIN:
        return Finding("database", "fail", f"{answer}: it is too old", "Use Neo4j 5.26 or later.")
    if not row["version"].startswith(SUPPORTED):
        fix = "Use Neo4j 5.26 or 2026 if something fails."
        return Finding("database", "warn", f"{answer}: graphmem is not tested with it", fix)
    return Finding("database", "ok", answer)


async def _schema(database: Database, settings: Settings) -> Found:
    done = await migrations.applied(database)
    versions = migrations.compare(done)
    if versions.newer:
        newest = versions.newer[-1]
        what = f"the schema of the database has version {newest}, and this graphmem knows {versions.latest}"
        return fail(what, "Install the newer graphmem that migrated it.")
    if versions.changed:
        what = f"migration {versions.changed[0]} of this graphmem differs from the one that was applied"
        return fail(what, "Install graphmem again from an unchanged source.")
    if versions.missing:
        at, lacking = max(done, default=0), len(versions.missing)
        what = f"the schema has version {at} of {versions.latest}: {lacking} migrations are to be applied"
        return warn(what, "Start the service, or run graphmem db start, to apply them.")
    return ok(f"the schema of the database has version {versions.latest}, as this graphmem")


async def _indexes(database: Database, settings: Settings) -> Found:
    expected = migrations.indexes(await migrations.applied(database))
    indexes = await database.script(
        "SHOW INDEXES YIELD name, state, populationPercent RETURN name, state, populationPercent AS percent"
    )
    constraints = await database.script("SHOW CONSTRAINTS YIELD name RETURN name")
    states = {row["name"]: row for row in indexes}
    constraint_names = {row["name"] for row in constraints}
    faults = list(_faults(expected, states, constraint_names))
    return faults or [ok(f"{len(expected)} indexes and constraints exist and are online")]


def _faults(expected: Mapping[str, str], states: dict[str, Any], there: set[str]) -> Iterator[Finding]:
    for name, statement in sorted(expected.items()):
        constraint = statement.startswith("CREATE CONSTRAINT")
        if name not in states or (constraint and name not in there):
            what = f"{'the constraint' if constraint else 'the index'} {name} is missing"
            yield fail(what, f"Run this in the Neo4j Browser: {statement}")
        elif states[name]["state"] == "POPULATING":
            what = f"the index {name} is being built: {states[name]['percent']:.0f} % are done"
            yield warn(what, "Wait until it is online: queries are slow meanwhile.")
        elif states[name]["state"] != "ONLINE":
            what = f"the index {name} is {states[name]['state']}"
            drop = f"DROP {'CONSTRAINT' if constraint else 'INDEX'} {name}"
            yield fail(what, f"Run this in the Neo4j Browser: {drop}; {statement}")


async def _limits(database: Database, settings: Settings) -> Found:
    """Check the memory settings of a server at ``NEO4J_URI``."""
    if settings.neo4j_uri is None:
        return []
    rows = await database.script(
        "SHOW SETTINGS YIELD name, value WHERE name IN ['db.memory.transaction.max', "
        "'server.memory.heap.max_size', 'server.memory.pagecache.size'] RETURN name, value"
    )
    values = {row["name"]: row["value"] for row in rows}
    listed = ", ".join(f"{name} {value}" for name, value in sorted(values.items()))
    if values.get("db.memory.transaction.max", "").startswith("0"):
        what = "the memory of one transaction is not limited, so that one query can use all of it"
        return Finding("memory", "warn", what, "Set db.memory.transaction.max=128m in neo4j.conf.")
    return Finding("memory", "ok", listed)


async def _clock(database: Database, settings: Settings) -> Found:
    before = time.time()
    (row,) = await database.script("RETURN datetime.realtime().epochMillis / 1000.0 AS seconds")
    after = time.time()
    # The round trip explains a difference up to its own duration.
    skew = max(before - row["seconds"], row["seconds"] - after, 0.0)
    if skew < SKEW_WARN_SECONDS:
        return ok("the database's clock and this machine's agree")
    what = f"the database's clock and this machine's are {skew:,.0f} s apart"
    status = "fail" if skew > SKEW_FAIL_SECONDS else "warn"
    return Finding("clock", status, what, "Synchronize the clocks of both machines, for example by NTP.")


async def _ahead(database: Database, settings: Settings) -> Found:
    rows = await database.script(
        "MATCH (n:Owner) WHERE n.recorded_at > $now RETURN count(n) AS owners, max(n.recorded_at) AS last",
        now=times.now() + int(SKEW_WARN_SECONDS * 1_000_000),
    )
    if not rows or not rows[0]["owners"]:
        return []
    last = times.render(rows[0]["last"])
    what = f"{rows[0]['owners']} owners have transactions with a time in the future, up to {last}"
    return Finding(
        "clock", "warn", what, "Correct the clock of this machine. The order of stored transactions stays."
    )


async def _vectors(database: Database, settings: Settings) -> Found:
    ours = new_embedder(settings).model
    rows = await database.script(
        "OPTIONAL MATCH (used:Model {use: 'meaning'}) "
        "CALL (used) { MATCH (m:Meaning) WHERE m.model < used.model RETURN m LIMIT $many "
        "UNION ALL MATCH (m:Meaning) WHERE m.model > used.model RETURN m LIMIT $many } "
        "RETURN used.model AS model, count(m) AS waiting",
        many=WAITING_LIMIT,
    )
    used = await database.script("MATCH (n:Model {use: 'meaning'}) RETURN n.model AS model")
    if not used:
        return ok(f"no model is in use yet; a service will use {ours!r}")
    model, waiting = used[0]["model"], rows[0]["waiting"] if rows else 0
    if model != ours:
        what = f"the database uses the model {model!r}, and these settings say {ours!r}"
        fix = "Start the service to make all vectors again, or reset GRAPHMEM_EMBEDDER and _EMBEDDING_URL."
        return warn(what, fix)
    if waiting:
        count = f"{WAITING_LIMIT} entities or more" if waiting >= WAITING_LIMIT else f"{waiting} entities"
        what = f"{count} wait for a vector of {model!r}"
        return warn(what, "Keep the service running until its worker has made them.")
    return ok(f"every entity has its vector of {model!r}")


async def _sealing(database: Database, settings: Settings) -> Found:
    from graphmem.sealing.instance_keys import read_record

    path = settings.keys_path
    own = read_record(path).instance if path.exists() else None
    instance, seals_rows, _ = await instance_kind.sealed_as(database)
    if instance is not None and instance != own:
        what = f"the database belongs to the sealed instance {instance}, whose key file is not {path}"
        return fail(what, "Put a copy of its key file there, or set GRAPHMEM_KEY_FILE to one.")
    if own is None:
        return []
    if seals_rows:
        return ok("the values in the database are sealed")
    what = "the values in the database are in clear: an earlier version made this sealed instance"
    return warn(what, "Run `graphmem encryption enable`: it makes a new instance.")


async def _consistency(database: Database, settings: Settings, deep: bool, sound: bool) -> Found:
    if not deep:
        what = "snapshots were not compared with their observations"
        return ok(f"{what}: run graphmem doctor --deep or graphmem snapshots check")
    if not sound:
        what = "snapshots were not compared with their observations: the schema has faults"
        return warn(what, "Mend the schema, then run graphmem doctor --deep again.")
    from graphmem.auth import local_actor
    from graphmem.context import Context
    from graphmem.reading.snapshot_check import audit
    from graphmem.runtime import seal, services_over
    from graphmem.sealing import keys_of

    try:
        keys = keys_of(settings)
        await seal(database, keys)
        async with services_over(database, settings, keys) as services:
            report = await audit(Context(local_actor("cli"), services), fix=False, deep=True)
    except GraphmemError as exc:
        what = f"snapshots could not be compared with their observations: {exc}"
        return fail(what, "Run graphmem doctor --deep again when the database has less to do.")
    if report.stale_count:
        what = f"{report.stale_count} of {report.checked} snapshots differ from their observations"
        return fail(what, "Run graphmem rebuild.")
    return ok(f"all {report.checked} entities and relationships agree with their observations")

"""Checks of an installation: each finding says what is wrong and how to mend it.

Nothing is started or fetched. Nothing is changed, but for a small object that is written into the object
store and deleted again. The checks work without a database, with wrong settings and without a data directory.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from graphmem import neo4j_local, settings
from graphmem.doctor import machine
from graphmem.doctor.finding import Finding, Found, fail, ok, redact, run_check, warn
from graphmem.errors import ConfigurationInvalid, SetupError
from graphmem.neo4j_local import InstanceLogin
from graphmem.settings import Settings

__all__ = ["Finding", "examine"]


async def examine(
    overrides: Mapping[str, Any], deep: bool = False, environment: Mapping[str, str] = os.environ, *,
    quick: bool = False, known: Settings | None = None,
) -> list[Finding]:  # fmt: skip
    """Run every check; return the findings in the order of the checks.

    Args:
        overrides: settings from options, which win over the environment.
        deep: also derive every snapshot again and hash the files of Neo4j; this may take minutes.
        quick: check settings, data directory, disk, memory and backups only, which takes moments.
        known: the settings of a service that asks; by default they are read anew.
    """
    findings = await run_check("versions", machine.versions)
    chosen: Settings | ConfigurationInvalid
    try:
        chosen = (known or settings.load(**overrides)).model_copy(update={"offline": True})
    except ConfigurationInvalid as exc:
        chosen = exc
    # After the settings were read: the file in the data directory has set variables too.
    findings += await run_check("settings", machine.variables, environment)
    if isinstance(chosen, ConfigurationInvalid):
        return [*findings, *_invalid(chosen)]
    findings += await run_check("settings", machine.contradictions, chosen, environment)
    for name in ("data directory", "disk", "backup", "encryption"):
        findings += await run_check(name, getattr(machine, name.replace(" ", "_")), chosen)
    if chosen.neo4j_uri is None and not quick:
        findings += await run_check("engine", machine.engine, chosen, deep)
    if chosen.neo4j_uri is None:
        findings += await run_check("memory", machine.memory, chosen)
    if quick:
        return redact(findings, chosen)
    # Its libraries take seconds to import, and the quick checks need none of them.
    from graphmem.doctor import around

    of_database = await run_check("database", _database, chosen, deep)
    if all(finding.check != "access" for finding in of_database):
        # Nobody knows whether a key or a password guards the instance: the settings alone decide.
        findings += await run_check("access", machine.access, chosen)
    findings += of_database
    for name in ("objects", "embedding", "language model", "parser", "service"):
        findings += await run_check(name, getattr(around, name.replace(" ", "_")), chosen)
    return redact(findings, chosen)


def _invalid(exc: ConfigurationInvalid) -> Iterator[Finding]:
    for issue in exc.details.get("issues", [{"path": "", "message": str(exc)}]):
        path = issue["path"]
        name = settings.variable(path) if path in Settings.model_fields else path
        what = " ".join(filter(None, (name, issue["message"])))
        yield Finding("settings", "fail", what, "Correct this setting, then run graphmem doctor again.")
    yield Finding("everything else", "warn", "was not checked: the settings must be valid first")


async def _database(chosen: Settings, deep: bool) -> Found:
    from graphmem.doctor import database

    if chosen.neo4j_uri is not None:
        password = chosen.neo4j_password.get_secret_value()
        where = InstanceLogin(chosen.neo4j_uri, chosen.neo4j_username, password, "", chosen.neo4j_database)
        return await database.examine(where, chosen, deep)
    try:
        status = neo4j_local.status(chosen)
        if status.version is None:
            return ok("there is none yet: the first store, `graphmem db start` or service creates it")
        if not status.running:
            what = "the embedded Neo4j does not run, so its contents were not checked"
            return warn(what, "Run graphmem db start, then graphmem doctor again.")
        return await database.examine(neo4j_local.info(chosen), chosen, deep)
    except SetupError as exc:
        fix = f"Restore {chosen.data_path} from a backup, or set GRAPHMEM_DATA_DIR to another directory."
        return fail(str(exc), fix)

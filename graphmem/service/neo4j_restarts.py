"""Restarts of the embedded Neo4j: a service starts it again whenever it crashed or hangs."""

from __future__ import annotations

import asyncio
import shutil

import structlog

from graphmem import neo4j_local
from graphmem.context import Services
from graphmem.database.availability import needs_restart
from graphmem.errors import GraphmemError, SetupError
from graphmem.runtime import connection

_log = structlog.get_logger("graphmem.service")

WATCH_SECONDS = 1.0
"""Seconds between two checks of a service whether its embedded database answers."""

RESTART_FREE_BYTES = 64_000_000
"""Bytes that must be free on the disk before a database that stopped working is restarted."""


async def keep_up(services: Services) -> None:
    """Restart the embedded database whenever it does not answer, as long as a service runs.

    The server keeps its ports, so connections come back by themselves. A server whose database has stopped,
    as after a full disk, does not recover: it is stopped first. A server that was stopped on purpose stays
    down. A database at ``NEO4J_URI`` is never started or stopped here.
    """
    settings = services.settings
    crashed_pid: int | None = None
    left = False
    while settings.neo4j_uri is None:
        await asyncio.sleep(WATCH_SECONDS)
        was, left = left, neo4j_local.stopped(settings)
        if left:
            if not was:
                _log.warning("the embedded Neo4j was stopped on purpose: `graphmem db start` starts it")
            continue
        try:
            crashed_pid = await ensure_database_running(services, crashed_pid)
        except Exception:
            _log.exception("unexpected fault in keeping the embedded Neo4j up: it is tried again")


async def ensure_database_running(services: Services, crashed_pid: int | None) -> int | None:
    """Restart the embedded database if it does not answer.

    ``crashed_pid``: a hung server to stop first. Returns the pid that still has to be stopped, or None.
    """
    settings = services.settings
    try:
        await services.database.verify()
        return None
    except GraphmemError as exc:
        if needs_restart(exc):
            crashed_pid = neo4j_local.running(settings)
    if crashed_pid and shutil.disk_usage(settings.data_path).free < RESTART_FREE_BYTES:
        _log.warning(
            "the embedded Neo4j has stopped working, and its disk is too full to restart it: free some space"
        )
        return crashed_pid
    _log.warning("the embedded Neo4j does not answer: starting it again", crashed_pid=crashed_pid)
    try:
        if crashed_pid:
            await asyncio.to_thread(neo4j_local.stop, settings, only=crashed_pid)
        await connection(settings, requested=False)
        await services.database.planning.plan_first()
    except SetupError as failed:
        _log.error("the embedded Neo4j cannot be started", reason=str(failed)[:500])
        # A server that does not come up after its predecessor was stopped is stopped as well.
        return crashed_pid and neo4j_local.running(settings)
    return crashed_pid

"""A data directory whose Neo4j is migrated, to be copied: migrations take half of the CPU of a first start.

It is made once for each state of what makes it, so a change of the migrations is tried on a new database.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

import pytest
from filelock import FileLock

from graphmem import neo4j_local
from graphmem.database import migrations
from graphmem.database.driver import Database
from graphmem.neo4j_local import config
from graphmem.observability.metrics import Metrics
from graphmem.runtime import connection
from graphmem.settings import Settings
from tests.support.embedded_neo4j import engine_settings

PACKAGE: Final = Path(config.__file__).parents[1]
SOURCES: Final = ("cypher/migrations", "database", "neo4j_local")
"""What the directory is made of: all files below these folders of the package."""
KEPT: Final = 2
"""Directories that are kept, those that were made last."""


def bring(folder: Path) -> None:
    """Copy the directory into a data directory that has no database yet."""
    if (folder / "neo4j").exists():
        return
    place = _place()
    with FileLock(place.parent / "lock"):
        if not place.exists():
            _make(place)
    shutil.copytree(place / "neo4j", folder / "neo4j")
    shutil.copy2(place / "instance.json", folder)


def _place() -> Path:
    digest = hashlib.sha256()
    for name in SOURCES:
        for path in sorted((PACKAGE / name).rglob("*")):
            if path.suffix in (".py", ".cypher", ".toml", ".conf"):
                # The number of a migration stands in its name alone.
                digest.update(path.name.encode() + b"\0" + path.read_bytes())
    folder = Path(tempfile.gettempdir()) / f"graphmem-tests-warm-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / digest.hexdigest()[:16]


def _make(place: Path) -> None:
    with tempfile.TemporaryDirectory(dir=place.parent) as name, pytest.MonkeyPatch.context() as patch:
        neo4j_conf = config.neo4j_conf
        small = "db.tx_log.preallocate=false\n"
        patch.setattr(config, "neo4j_conf", lambda *given: neo4j_conf(*given) + small)
        made = engine_settings(Path(name) / "data", env="test")
        try:
            asyncio.run(_migrate(made))
        finally:
            neo4j_local.stop(made)
        for other in ("logs", "run", "conf"):
            shutil.rmtree(made.data_path / "neo4j" / other)
        made.data_path.rename(place)
    for old in sorted(place.parent.glob("?" * 16), key=os.path.getmtime)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


async def _migrate(made: Settings) -> None:
    """Apply the migrations; what the first service on the database writes is left to that."""
    database = Database(await connection(made), made, Metrics())
    try:
        await migrations.apply(database)
        # The mark of what kind of instance it is.
        await database.script("MATCH (n:Migration {version: 0}) DELETE n")
    finally:
        await database.close()

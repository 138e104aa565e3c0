"""The services of a sealed instance over a database in which other owners are in clear."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from pydantic import SecretStr

from graphmem.context import Services
from graphmem.database.driver import Database
from graphmem.observability.metrics import Metrics
from graphmem.runtime import connection, services_over
from graphmem.sealing import InstanceKeys, RootKey
from graphmem.sealing.sealed_rows import RowSealer
from graphmem.settings import Settings
from graphmem.writing.things import NEAR_KIND


@contextlib.asynccontextmanager
async def sealed_services_beside(settings: Settings, folder: Path) -> AsyncIterator[Services]:
    """Open the services of a sealed instance over a database that has its schema already."""
    root = RootKey.new()
    chosen = settings.model_copy(
        update={"data_dir": folder, "key_file": folder / "keys.json", "root_key": SecretStr(root.words)}
    )
    keys = InstanceKeys.create(chosen.keys_path, root)
    database = Database(await connection(chosen), chosen, Metrics())
    database.sealer = RowSealer(keys, NEAR_KIND)
    try:
        async with services_over(database, chosen, keys) as services:
            yield services
    finally:
        await database.close()

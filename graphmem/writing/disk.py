"""The disk guard: writes stop while the disk of the embedded database has little space left.

A Neo4j that cannot write stops, and answers no reads either, until it is started again with more space. The
disk of a database at ``NEO4J_URI`` cannot be seen from here.
"""

import shutil

from graphmem.errors import DiskFull
from graphmem.settings import Settings


def check(settings: Settings) -> None:
    """Raise ``DiskFull`` where less than ``Settings.disk_reserve`` is free."""
    if settings.neo4j_uri is not None:
        return
    free = shutil.disk_usage(settings.data_path).free
    if free < settings.disk_reserve:
        raise DiskFull(free_bytes=free, needed_bytes=settings.disk_reserve, in_doubt=False)

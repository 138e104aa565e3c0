"""The driver's pool of connections: the only use of what the driver keeps private.

The driver has no public way to count its connections, or to replace those of a server that went silent. A new
release of the driver is checked by ``tests/reliability/test_network.py`` and ``tests/faces/test_metrics.py``.
"""

from __future__ import annotations

from neo4j import AsyncDriver


def connections(driver: AsyncDriver) -> list[bool]:
    """Return, for each open connection, whether it is in use."""
    by_address = list(driver._pool.connections.values())
    return [connection.in_use for queue in by_address for connection in list(queue)]


async def close_soon(driver: AsyncDriver) -> None:
    """Have every present connection closed when it is returned or asked for; new requests open new ones."""
    await driver._pool.mark_all_stale()

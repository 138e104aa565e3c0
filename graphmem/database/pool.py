"""The driver's pool of connections: the only use of what the driver keeps private.

The driver has no public way to count its connections, or to replace those of a server that went silent, and
spends on each statement what it could spend once. A new release of the driver is checked by
``tests/reliability/test_network.py``, ``tests/faces/test_metrics.py`` and ``tests/cypher/test_pool.py``.
"""

from collections.abc import Callable
from typing import Any

from neo4j import AsyncDriver, AsyncSession


def connections(driver: AsyncDriver) -> list[bool]:
    by_address = list(driver._pool.connections.values())
    return [connection.in_use for queue in by_address for connection in list(queue)]


async def close_soon(driver: AsyncDriver) -> None:
    """Have every present connection closed when it is returned or asked for; new requests open new ones."""
    await driver._pool.mark_all_stale()


def sessions(driver: AsyncDriver, **config: Any) -> Callable[[], AsyncSession]:
    """Return what makes sessions of one configuration. The driver's own method reads it for each session."""
    read_config = driver._read_session_config(config)

    def session() -> AsyncSession:
        driver._check_state()
        return driver._session(read_config)

    return session


def without_read_timers(driver: AsyncDriver) -> None:
    """Let connections that open from now on wait for an answer without timers.

    A server asks for a limit of two minutes for each wait, and the driver makes a task and a timer for each
    wait. One answer takes several waits. Who runs a statement limits it as a whole, to less.
    """
    open_connection = driver._pool.opener

    async def open_without_timers(*args: Any) -> Any:
        connection = await open_connection(*args)
        connection.socket.set_read_timeout(None)
        return connection

    driver._pool.opener = open_without_timers

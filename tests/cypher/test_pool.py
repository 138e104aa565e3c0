"""What is set on the driver by its private names: a new release of the driver may change them."""

from __future__ import annotations

import neo4j.exceptions
import pytest

from graphmem.context import Services
from graphmem.database.driver import Database
from graphmem.neo4j_local import InstanceLogin
from graphmem.observability.metrics import Metrics
from graphmem.settings import Settings
from tests.support.event_loop import Loop


def test_connections_wait_for_answers_without_timers(loop: Loop, services: Services) -> None:
    assert loop.run(services.database.read("server.ping", None))
    queues = services.database._driver._pool.connections.values()
    timeouts = {connection.socket.get_read_timeout() for queue in queues for connection in queue}
    assert timeouts == {None}


def test_a_server_asks_for_timers(loop: Loop, services: Services) -> None:
    """Else there would be nothing to take away."""
    (queue, *_) = services.database._driver._pool.connections.values()
    hints = queue[0].connection_hints
    assert hints["connection.recv_timeout_seconds"] > services.settings.read_timeout


def test_a_closed_driver_makes_no_sessions(loop: Loop, settings: Settings) -> None:
    address = InstanceLogin(
        uri=settings.neo4j_uri or "",
        username=settings.neo4j_username,
        password=settings.neo4j_password.get_secret_value(),
        browser_url="",
    )

    async def make_and_close() -> Database:
        database = Database(address, settings, Metrics())
        await database.close()
        return database

    closed = loop.run(make_and_close())
    with pytest.raises(neo4j.exceptions.DriverError):
        closed._session()

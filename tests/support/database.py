"""A real Neo4j for the tests: at the address in the environment, else a container, else the embedded one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphmem import neo4j_local, settings
from graphmem.neo4j_local import config, jar_list
from graphmem.runtime import connection
from graphmem.settings import Settings
from tests.support import warm_data
from tests.support.commands import UNLIMITED
from tests.support.embedded_neo4j import START_SECONDS
from tests.support.examples import LONG

IMAGE = "neo4j:5.26-community"
URI_VARIABLE = "GRAPHMEM_TEST_NEO4J_URI"
VERSION = "GRAPHMEM_TEST_NEO4J_VERSION"
"""The version of Neo4j that is started; without it, the version of every installation."""

PASSWORD_VARIABLE = "GRAPHMEM_TEST_NEO4J_PASSWORD"
LATE_COMPILING = (
    "-XX:Tier4InvocationThreshold=50000", "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000", "-XX:Tier4BackEdgeThreshold=400000",
)  # fmt: skip
"""Java's second compiler takes what is run ten times as often as by default.

In an ordinary run it took two fifths of the CPU of the server, most of it for the planner, which plans each
of some hundred statements once.
"""


@contextlib.contextmanager
def shared_database(folder: Path) -> Iterator[None]:
    """Have one Neo4j for all processes of a run: it plans each statement once."""
    # Compiling well pays in a run of many minutes.
    options = {"neo4j_heap": "1g", "neo4j_fast_start": False}
    java_options = config.java_options
    with pytest.MonkeyPatch.context() as patch:
        if keeps_plans():
            patch.setattr(config, "java_options", lambda *given: [*LATE_COMPILING, *java_options(*given)])
        with database(folder, **options) as reached:
            assert reached.neo4j_uri
            patch.setenv(URI_VARIABLE, reached.neo4j_uri)
            patch.setenv(PASSWORD_VARIABLE, reached.neo4j_password.get_secret_value())
            yield


@contextlib.contextmanager
def database(folder: Path, *, shared: bool = True, **options: Any) -> Iterator[Settings]:
    """Yield settings that reach a Neo4j. A Neo4j that this starts is stopped at the end.

    ``GRAPHMEM_TEST_NEO4J_URI`` (with ``GRAPHMEM_TEST_NEO4J_PASSWORD``) wins; a user's own ``NEO4J_URI`` is
    never used.

    Args:
        shared: ``False`` starts a Neo4j in any case, for tests that change what the others rely on.
        options: settings of a Neo4j that is started, such as its heap.
    """
    uri = os.environ.get(URI_VARIABLE)
    if uri and shared:
        yield _at(uri, os.environ.get(PASSWORD_VARIABLE, ""), folder)
        return
    container = _container()
    if container is not None:
        with container as running:
            yield _at(running.get_connection_url(), running.password, folder)
        return
    version = os.environ.get(VERSION)
    own = {"neo4j_fast_start": True, "neo4j_start_timeout": START_SECONDS} | options
    if keeps_plans():
        warm_data.bring(folder)
    embedded = settings.load(env="test", data_dir=folder, neo4j_version=version, **own)
    try:
        with keeping_plans():
            address = asyncio.run(connection(embedded))
        yield _at(address.uri, address.password, folder)
    finally:
        neo4j_local.stop(embedded)


@contextlib.contextmanager
def keeping_plans() -> Iterator[None]:
    """Have a Neo4j that is started meanwhile keep its plans.

    It plans a statement anew when the data has grown, which takes half of its time while tests fill an empty
    database. Our queries demand their seeks, so the plans of the empty database are right.
    """
    neo4j_conf = config.neo4j_conf
    with pytest.MonkeyPatch.context() as patch:
        if keeps_plans():
            kept = "dbms.cypher.min_replan_interval=1d\n"
            patch.setattr(config, "neo4j_conf", lambda *given: neo4j_conf(*given) + kept)
        yield


def keeps_plans() -> bool:
    """Return whether plans are kept: a long run, and one on the next version, plan anew as for users."""
    return not LONG and not os.environ.get(VERSION)


def _at(uri: str, password: str, folder: Path) -> Settings:
    return settings.load(
        env="test",
        data_dir=folder,
        neo4j_uri=uri,
        neo4j_password=password,
        log_level="warning",
        # Tests ask much at once, on whatever machine; tests/reliability/test_admission.py has its own places.
        heavy_queries=32,
        **UNLIMITED,
    )


def _container() -> Any:
    """Return a Neo4j container, ``None`` where no Docker engine answers."""
    if not engine_answers():
        return None
    from testcontainers.neo4j import Neo4jContainer

    version = os.environ.get(VERSION)
    image = f"neo4j:{jar_list.read(version).release}-community" if version else IMAGE
    container = Neo4jContainer(image).with_env("NEO4J_db_memory_transaction_max", "128m")
    if keeps_plans():
        container = container.with_env("NEO4J_dbms_cypher_min__replan__interval", "1d")
    return container


def engine_answers() -> bool:
    """Return whether a Docker engine answers."""
    if os.environ.get("DOCKER_HOST"):
        return True
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect("/var/run/docker.sock")
        except OSError:
            return False
    return True

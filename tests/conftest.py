"""What every test may ask for: a real database, an owner of its own, and the operations through each face."""

from __future__ import annotations

import ast
import contextlib
import functools
import gc
import os
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import xdist
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from neo4j import AsyncGraphDatabase

from graphmem import environment_file
from graphmem.auth import Actor
from graphmem.auth.authenticator import Caller
from graphmem.context import Services
from graphmem.database import driver
from graphmem.errors import AuthRequired
from graphmem.interpretation import runs
from graphmem.observability import logs
from graphmem.settings import Limits, Settings
from tests.support import faces, loop_watch, open_services, quick_passwords, reached_outcomes
from tests.support.actors import full_actor
from tests.support.canaries import leaks
from tests.support.database import URI_VARIABLE, database, shared_database
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.figures import Figures, lines, recorder
from tests.support.long_cases import FACES, leave_faces_to_long_runs
from tests.support.scheduling import OF_ACCOUNTS, OF_OWN, FileScheduling
from tests.support.sealed_database import SEALED_VARIABLE, sealed, skip_in_clear

for profile, examples in (("ci", 25), ("default", 25), ("long", 100)):
    hypothesis_settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        # A run that must pass has the same examples every time; a long one looks for new ones.
        derandomize=profile != "long",
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
hypothesis_settings.load_profile(os.environ.get("GRAPHMEM_TEST_PROFILE", "ci"))

for name in [name for name in os.environ if name.startswith(("NEO4J_", "SERVICE_", "OTEL_"))]:
    del os.environ[name]
for name in [name for name in os.environ if name.startswith("GRAPHMEM_") and "_TEST_" not in name]:
    if name not in ("GRAPHMEM_CACHE_DIR",):
        del os.environ[name]
# The usual data directory of whoever runs the tests may have a file of settings.
os.environ["XDG_DATA_HOME"] = os.path.join(tempfile.gettempdir(), "graphmem-tests-data")
# To rewrite the asserts of all tests takes a process 10 s of CPU: what one has rewritten is kept for all.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
quick_passwords.hash_with(quick_passwords.QUICK_COST)
open_services.leave_open()
os.environ[open_services.VARIABLE] = "1"
# Commands of tests share this process and its owner; tests/reliability/test_local_service.py has the service.
os.environ["GRAPHMEM_OFFLINE"] = "1"

_parse, _parsing = ast.parse, threading.RLock()


def parse_alone(*positional: Any, **named: Any) -> Any:
    """Parse Python in one thread at a time, as Hypothesis does the lambdas of a test.

    CPython 3.11 counts the depth of a syntax tree for all threads together. Where a collection of garbage
    calls Python meanwhile, as ``loop_watch`` has it do, another thread may parse, and both raise SystemError.
    """
    with _parsing:
        return _parse(*positional, **named)


ast.parse = parse_alone


def pytest_configure() -> None:
    """Record the outcomes that this run reaches, where the environment names a file for them."""
    reached_outcomes.install_if_wanted()


_shared = contextlib.ExitStack()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Start the database that the processes of a run share, unless one is given."""
    if xdist.is_xdist_controller(session) and URI_VARIABLE not in os.environ:
        folder = Path(_shared.enter_context(tempfile.TemporaryDirectory(prefix="graphmem-tests-")))
        with contextlib.ExitStack() as meanwhile:
            if not are_rewritten(Path(__file__).parent):
                # Another process rewrites the tests, so that those of the run need not all do so.
                command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", *session.config.args]
                nowhere = subprocess.DEVNULL
                meanwhile.enter_context(subprocess.Popen(command, stdout=nowhere, stderr=nowhere))
            _shared.enter_context(shared_database(folder))


def are_rewritten(folder: Path) -> bool:
    """Return whether a run has rewritten the asserts of all tests since they were changed."""
    return all(
        any(
            kept.stat().st_mtime >= test.stat().st_mtime
            for kept in test.parent.glob(f"__pycache__/{test.stem}.*-pytest-*.pyc")
        )
        for test in folder.rglob("test_*.py")
    )


def pytest_sessionfinish() -> None:
    """Stop the database that was started."""
    _shared.close()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the collector away from the tests themselves, which live as long as the process.

    To look at them again and again takes a quarter of the time to collect them, and a tenth of the time to
    run them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_xdist_auto_num_workers() -> int:
    """Run twice as many processes as there are cores, as processes often wait for a database."""
    return 2 * (os.cpu_count() or 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, and with those that start processes; end with the short ones.

    Else one process has a long file left when all others have ended.
    """
    processes = {"reliability", "access", "setup", "sealing", "page", "objects"}

    def rank(item: pytest.Item) -> int:
        path, _, _ = item.nodeid.partition("::")
        rooms = {*item.path.parts}
        return 0 if path in OF_ACCOUNTS | OF_OWN else 1 if rooms & processes else 3 if "unit" in rooms else 2

    items.sort(key=rank)
    skip_in_clear(items)
    leave_faces_to_long_runs(items)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileScheduling:
    """Have one process take the tests of accounts."""
    return FileScheduling(config, log)


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Settings that reach the database of this run."""
    with database(tmp_path_factory.mktemp("graphmem")) as reached:
        yield sealed(reached)


@pytest.fixture(scope="session")
def instance_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Settings of an instance with accounts (tests/access/conftest.py), in clear, with its own files."""
    folder = tmp_path_factory.mktemp("accounts")
    with database(folder, shared=SEALED_VARIABLE not in os.environ) as reached:
        yield reached


@pytest.fixture(scope="session")
def own_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Settings that reach a database for tests that change, or look at, what all owners share."""
    with database(tmp_path_factory.mktemp("own"), shared=False) as reached:
        yield reached


@pytest.fixture(scope="session", autouse=True)
def no_secret_in_logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fail a run whose logs have a secret: those of every service, command and database of this process."""
    yield
    lines = list(leaks(tmp_path_factory.getbasetemp()))
    assert not lines, lines[:10]


@pytest.fixture(scope="session")
def loop() -> Iterator[Loop]:
    """The event loop of this run."""
    running = Loop()
    yield running
    running.close()


@pytest.fixture(scope="session")
def remarks() -> list[tuple[str, str]]:
    """What the database remarked on our queries."""
    return []


@pytest.fixture(scope="session")
def services(settings: Settings, loop: Loop, remarks: list[tuple[str, str]]) -> Iterator[Services]:
    """The services over that database."""
    from graphmem.runtime import open_services

    def remark(query: str, description: str) -> None:
        remarks.append((query, description))

    logs.configure(settings, logs.folder(settings))
    # An empty database does not know names that our queries use; tests/cypher checks those. To read the
    # 30 remarks on each statement takes longer than to read its rows.
    known = {"notifications_disabled_classifications": ["UNRECOGNIZED"]}
    connect = functools.partial(AsyncGraphDatabase.driver, **known)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "AsyncGraphDatabase", SimpleNamespace(driver=connect))
        opened = open_services(settings, on_notification=remark)
        services = loop.run(opened.__aenter__())
    # On a busy machine an answer may lack what is not read into memory in time.
    limits = Limits(copy_wait_seconds=60.0, passages_wait_seconds=60.0)
    yield replace(services, limits=limits)
    loop.run(opened.__aexit__(None, None, None))


@pytest.fixture(scope="session")
def planned(services: Services, loop: Loop) -> None:
    """Have planned what most tests ask for: on a busy machine that takes longer than some of them wait."""
    ready = faces.by_runner(loop, services, str(uuid.uuid4()))
    for _ in range(2):
        ready("store", entities=[{"entity_type": "person", "name": "Ada Lovelace"}])
        ready("entities.query")
        ready("server.stats")


@pytest.fixture(autouse=True)
def no_remarks(remarks: list[tuple[str, str]]) -> Iterator[None]:
    """Fail a test in which the database warned about one of our queries."""
    remarks.clear()
    yield
    assert not remarks, remarks


@pytest.fixture(autouse=True)
def no_long_callbacks() -> Iterator[None]:
    """Fail a test in which a callback of the event loop takes long CPU."""
    loop_watch.offences.clear()
    yield
    assert not loop_watch.offences, loop_watch.offences


@pytest.fixture(autouse=True)
def own_environment() -> Iterator[None]:
    """Take back the variables of an instance's file, which a command of a test set in this process."""
    yield
    environment_file.apply(Path(os.devnull))


@pytest.fixture
def figures(record_property: Callable[[str, object], None]) -> Figures:
    """What takes a line of figures that a test measured."""
    return recorder(record_property)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what was measured, which a process of its own cannot while it runs."""
    measured = list(lines(terminalreporter.stats))
    if measured:
        terminalreporter.section("figures")
        terminalreporter.write("\n".join(measured) + "\n")


@pytest.fixture
def owner() -> str:
    """An owner that nobody else has."""
    return str(uuid.uuid4())


@pytest.fixture
def own_interpretations(owner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the worker in this process interpret the files of this owner alone: all tests share one queue."""
    claim = functools.partial(runs.claim_next, only_owner=owner)
    monkeypatch.setattr(runs, "claim_next", claim)


@pytest.fixture(scope="session")
def app(services: Services) -> Any:
    """The HTTP application; the bearer token says which owner is asking."""
    from graphmem.api.app import create_app

    async def authenticate(caller: Caller) -> Actor:
        authorization = caller.headers.get("authorization")
        if authorization is None:
            raise AuthRequired
        return full_actor(authorization.removeprefix("Bearer "))

    return create_app(services, authenticate)


@pytest.fixture
def run(loop: Loop, services: Services, owner: str) -> Call:
    """The operations by the registry's runner, for what does not differ by face."""
    return faces.by_runner(loop, services, owner)


@pytest.fixture
def rest(loop: Loop, app: Any, owner: str) -> Call:
    """The operations over REST."""
    return faces.by_rest(loop, app, owner)


@pytest.fixture
def mcp(loop: Loop, services: Services, owner: str) -> Call:
    """The operations as MCP tools."""
    return faces.by_mcp(loop, services, owner)


@pytest.fixture
def cli(loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch, owner: str) -> Call:
    """The operations as commands."""
    return faces.by_cli(loop, services, monkeypatch, owner)


@pytest.fixture(params=FACES)
def call(request: pytest.FixtureRequest) -> Call:
    """The operations through a face: in an ordinary run one a test, by ``leave_faces_to_long_runs``."""
    return request.getfixturevalue(request.param)

"""What the tests of the faces share: many calls at once, services of their own, the doctor."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from graphmem.auth import accounts
from graphmem.cli.main import app as cli
from graphmem.context import Services
from graphmem.doctor import Finding, examine
from graphmem.errors import GraphmemError
from graphmem.model import canonical
from graphmem.registry import REGISTRY
from graphmem.settings import Settings
from tests.support import audits
from tests.support.actors import full_actor
from tests.support.doctor import Examine
from tests.support.event_loop import Loop
from tests.support.faces import share_services
from tests.support.rule_merging import Audited
from tests.support.sealed_database import key_settings
from tests.support.service import Service, free_port, running

Command = Callable[..., tuple[int, str, str]]
Together = Callable[[str, Sequence[dict[str, Any]]], list[Any]]
TOKEN = "token-of-the-tests-0123456789abcdefghijklmnop"


@pytest.fixture
def together(loop: Loop, services: Services, owner: str) -> Together:
    """Call one operation many times at once; each outcome is the answer or the error."""

    async def outcome(name: str, arguments: dict[str, Any]) -> Any:
        try:
            return canonical.decode(await REGISTRY[name].run(services, full_actor(owner), arguments))
        except GraphmemError as exc:
            return exc

    async def every(name: str, calls: Sequence[dict[str, Any]]) -> list[Any]:
        return await asyncio.gather(*(outcome(name, arguments) for arguments in calls))

    return lambda name, calls: loop.run(every(name, calls))


@pytest.fixture
def audited(services: Services, owner: str, loop: Loop) -> Audited:
    """Compare all that is stored with what the facts come to; return what differs."""
    return lambda deep: audits.differences(loop, services, owner, deep=deep)


@pytest.fixture(scope="session")
def exact() -> Callable[[Any], str]:
    """A text of a value that tells 1 from 1.0 and from true, and 0.0 from -0.0."""
    return lambda value: json.dumps(value, sort_keys=True)


@pytest.fixture(scope="session")
def service(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service without a token, with an owner of its own."""
    with running(settings, tmp_path_factory.mktemp("service"), str(uuid.uuid4())) as running_service:
        yield running_service


@pytest.fixture(scope="session")
def guarded(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that wants a token."""
    folder = tmp_path_factory.mktemp("guarded")
    with running(settings, folder, str(uuid.uuid4()), SERVICE_BEARER_TOKEN=TOKEN) as running_service:
        yield running_service


@pytest.fixture
def look(settings: Settings, loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Examine:
    """Examine the database of this run. Arguments are settings; in capitals, environment variables."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)

    def run(deep: bool = False, **arguments: Any) -> list[Finding]:
        variables = {name: value for name, value in arguments.items() if name.isupper()}
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        overrides = {
            "neo4j_uri": settings.neo4j_uri, "neo4j_password": settings.neo4j_password, "env": "test",
            "data_dir": folder, "port": free_port(), **key_settings(settings),
        }  # fmt: skip
        overrides |= {name: value for name, value in arguments.items() if not name.isupper()}
        findings = loop.run(examine(overrides, deep, variables))
        for finding in findings:
            assert finding.status in ("ok", "warn", "fail")
            is_ok = finding.status == "ok"
            assert is_ok == (not finding.fix) or finding.check == "everything else", finding
            assert not finding.fix or (finding.fix[0].isupper() and len(finding.fix) < 400), finding
        return findings

    return run


@pytest.fixture
def command(loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command in this process, on the database of this run; return exit code, stdout and stderr."""
    share_services(monkeypatch, loop, services)
    monkeypatch.setattr(accounts, "local_actor", lambda *_: full_actor(owner, client="test"))
    environment = {
        "NEO4J_URI": services.settings.neo4j_uri,
        "NEO4J_PASSWORD": services.settings.neo4j_password.get_secret_value(),
        "GRAPHMEM_DATA_DIR": str(services.settings.data_path),
    }

    def run(*words: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(cli, ["--offline", *words], env=environment)
        return result.exit_code, result.stdout, result.stderr

    return run


@pytest.fixture
def queries(services: Services, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the queries that are read. What a process reads from time to time is left out."""
    names: list[str] = []
    read = services.database.read

    async def counted(name: str, *positional: Any, **params: Any) -> Any:
        names.extend({name} - {"relationship_type.all", "relationship_type.of_owner", "exclusion.pending"})
        return await read(name, *positional, **params)

    monkeypatch.setattr(services.database, "read", counted)
    return names

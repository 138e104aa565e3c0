"""The image runs as it says: its user, command, environment and health check, on a root that is read-only."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator

import pytest

from graphmem import neo4j_local
from tests.containers.running import DRAWER, GRACE, USER, Running, assert_no_privileges
from tests.support.embedded_neo4j import engine_settings, probe
from tests.support.figures import Figures
from tests.support.images import Image
from tests.support.sse import Events

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

LIMIT_MB = 300
"""Of what the image adds to Python's."""


@pytest.fixture(scope="module")
def login(tmp_path_factory: pytest.TempPathFactory) -> Iterator[neo4j_local.InstanceLogin]:
    """A Neo4j of this machine, empty."""
    settings = engine_settings(tmp_path_factory.mktemp("neo4j"))
    yield neo4j_local.ensure(settings, probe)
    neo4j_local.stop(settings)


@pytest.fixture(scope="module")
def running(
    image: Image, login: neo4j_local.InstanceLogin, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """The image, healthy."""
    running = Running(image, tmp_path_factory.mktemp("container"), login)
    running.container.start()
    with contextlib.closing(running):
        running.until_ready()
        yield running


def test_the_image_is_small_and_keeps_licences_and_the_health_check(image: Image, figures: Figures) -> None:
    added = image.root / "opt" / "graphmem"
    printed = subprocess.run(["du", "--summarize", "--block-size=1M", added], capture_output=True, check=True)
    megabytes = int(printed.stdout.split()[0])
    figures(f"built in {image.seconds:.0f} s, {megabytes} MB below /opt/graphmem")
    assert megabytes <= LIMIT_MB
    (packages,) = added.glob("lib/python3.*/site-packages")
    assert not [name for name in ("pip", "setuptools", "hatchling") if (packages / name).exists()]
    licences = [path for path in packages.glob("*.dist-info") if [*path.rglob("*LICEN[CS]E*")]]
    assert len(licences) > 60
    assert [*packages.glob("cryptography-*.dist-info/sboms/*")]
    assert image.configuration["StopSignal"] == "SIGTERM"
    assert image.health_check == ["graphmem-ready"]


def test_it_has_no_privileges_and_can_write_in_its_folders_alone(running: Running) -> None:
    assert_no_privileges(running.container)


def test_it_stores_reads_files_searches_and_streams(running: Running) -> None:
    with Events(running.http) as events:
        stored = running.post(
            "/store", json={"entities": [{"entity_type": "person", "name": "Ada Lovelace"}]}
        )
        (entity,) = stored["entities"]
        assert not events.until_all({entity["entity_id"]})
    for path in sorted(DRAWER.iterdir()):
        source = running.post("/store", files={"file": (path.name, path.read_bytes())})
        assert running.http.get(f"/sources/{source['source_id']}/content").content == path.read_bytes(), (
            path.name
        )
        parsed = running.post("/parse_file", files={"file": (path.name, path.read_bytes())})
        assert len(parsed["text"]) > 50, path.name
    answer = running.post("/retrieve_entity_by_identifier", json={"identifier": "who wrote Lovelace"})
    assert entity["entity_id"] in json.dumps(answer)
    passages = running.http.get("/sources/search", params={"query": "monthly rent of the flat"})
    assert passages.is_success, passages.text
    assert "lease.pdf" in passages.text


def test_its_commands_run_in_it(running: Running) -> None:
    assert running.command("doctor")["ok"]
    running.command("backup", "create", "--keep", "2")
    assert [*(running.data / "backups").iterdir()]


def test_it_stops_within_its_grace_and_comes_back(running: Running, figures: Figures) -> None:
    stored = running.post("/store", json={"entities": [{"entity_type": "person", "name": "Emmy Noether"}]})
    with Events(running.http):
        code, seconds = running.container.stop(GRACE)
        assert code == 0, running.container.output[-2000:]
    running.container.start()
    refused = running.container.execute(*running.image.health_check)
    assert refused.returncode == 1
    figures(f"stopped in {seconds:.1f} s with a stream open, ready again after {running.until_ready():.1f} s")
    subject_id = stored["entities"][0]["entity_id"]
    assert running.http.get(f"/entities/{subject_id}").json()["canonical_name"] == "Emmy Noether"


def test_it_has_written_logs_in_json_and_nothing_elsewhere(running: Running) -> None:
    lines = running.container.output.splitlines()
    events = {json.loads(line)["event"] for line in lines}
    assert len(events) > 2
    # Of its root, only what the engine itself lays out is new: the names of hosts.
    assert running.container.changed() == ["/etc/hosts"]
    owners = {path.stat().st_uid for path in running.data.rglob("*")}
    assert owners == {USER}

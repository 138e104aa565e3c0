"""The lines of docs/team.md, run: what compose.yaml names, with two services behind Caddy and files in S3."""

from __future__ import annotations

import json
import re
import shutil
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.containers.team import Team
from tests.support import containers
from tests.support.composition import fenced
from tests.support.figures import Figures
from tests.support.images import REPOSITORY, Image
from tests.support.s3_server import LACKING, versitygw
from tests.support.sse import Events

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

WRITERS = 4
WRITES_EACH = 12
"""Between two kills."""
REVOKED_SECONDS = 5.0
IN_DOUBT = {502, 503, 504}
"""Answers after which nobody knows whether a write was done: it is sent again under its key."""
PAGE = (REPOSITORY / "docs" / "team.md").read_text("utf-8")
WITH_COMPOSE, _, REST = PAGE.partition("## 6. ")
BRING_BACK, _, _ = REST.partition("## A proxy of your own")


@pytest.fixture(scope="module")
def team(image: Image, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """A team's instance with two services, by the lines of the page."""
    if shutil.which("caddy") is None:
        pytest.skip("there is no caddy here: apt-get install caddy")
    if versitygw() is None:
        pytest.skip(LACKING)
    with containers.network_of_its_own():
        team = Team(image, tmp_path_factory.mktemp("team"))
        try:
            team.run(fenced(WITH_COMPOSE))
            yield team
        finally:
            team.close()


def key_of(team: Team, person: str) -> str:
    return team.key(f"graphmem --account studio auth keys create {person}-laptop")


def test_the_page_makes_a_team_of_two_with_tls_and_a_backup(team: Team) -> None:
    ada, grace = (team.client(key_of(team, person)) for person in ("ada", "grace"))
    stored = ada.post("/store", json={"entities": [{"entity_type": "person", "name": "Mary Somerville"}]})
    assert stored.is_success, stored.text
    subject_id = stored.json()["entities"][0]["entity_id"]
    assert grace.get(f"/entities/{subject_id}").json()["canonical_name"] == "Mary Somerville"
    assert team.client("").get(f"/entities/{subject_id}").status_code == 401
    assert stored.headers["strict-transport-security"] == "max-age=31536000"
    assert "caddy" in stored.headers.get("server", "").lower() + stored.headers.get("via", "").lower()
    # What is for another host does not reach the service.
    assert "x-trace-id" not in ada.get("/health", headers={"Host": "elsewhere.example.org"}).headers
    assert re.search(r"^\d+ ok, 0 warnings, 0 failures$", team.printed["graphmem doctor"], re.MULTILINE)
    assert (team.folder / ".env").stat().st_mode & 0o777 == 0o600
    assert [*(team.folder / "backups").glob("*.dump")]


def test_the_line_of_each_night_runs(team: Team) -> None:
    (line,) = fenced(WITH_COMPOSE, "crontab")
    schedule, _, command = line.partition(" cd /srv/graphmem && ")
    assert re.fullmatch(r"\d+ \d+ \* \* \*", schedule)
    # Without a terminal, as cron has none.
    assert " exec -T " in command
    before = len([*(team.services.volume("graphmem") / "backups").iterdir()])
    team.run([command])
    assert len([*(team.services.volume("graphmem") / "backups").iterdir()]) == before + 1


def test_nothing_but_the_service_reaches_neo4j_and_it_reaches_nothing(team: Team) -> None:
    database = team.services.addresses["neo4j"]["back"]
    with pytest.raises(OSError), socket.create_connection((database, 7687), timeout=2):
        pass
    assert "default" not in team.execute("neo4j", "ip", "route")
    ask = f"import socket; socket.create_connection(('neo4j', {7687}), 5)"
    team.execute("second", "python", "-c", ask)


class Writing:
    """Clients of the proxy that store, some a file as well, and send again what is in doubt."""

    def __init__(self, team: Team, token: str) -> None:
        self.acknowledged: dict[str, tuple[str, bytes]] = {}
        self.doubted = 0
        self.faults: list[str] = []
        self._clients = [team.client(token) for _ in range(WRITERS)]
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._threads = [
            threading.Thread(target=self._run, args=(client, number))
            for number, client in enumerate(self._clients)
        ]

    def __enter__(self) -> Writing:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(120)

    def more(self) -> None:
        """Wait until as many writes as all clients send between two kills were acknowledged."""
        wanted, end = len(self.acknowledged) + WRITERS * WRITES_EACH, time.monotonic() + 240
        while len(self.acknowledged) < wanted:
            assert not self.faults, self.faults
            assert time.monotonic() < end, f"{len(self.acknowledged)} of {wanted} writes are acknowledged"
            time.sleep(0.05)

    def _run(self, client: httpx.Client, number: int) -> None:
        while not self._stop.is_set():
            key = str(uuid.uuid4())
            item = {"entity_type": "thing", "name": f"thing {key}"}
            content = f"Notes about {key}\n".encode() * 2000 if number % 2 else b""
            arguments = {"entities": [item], "idempotency_key": key}
            while (answer := self._send(client, arguments, content)) is None:
                self.doubted += 1
                time.sleep(0.1)
            if answer.is_success:
                with self._lock:
                    self.acknowledged[answer.json()["entities"][0]["entity_id"]] = (item["name"], content)
            else:
                self.faults.append(f"{answer.status_code} {answer.text}")
                return

    def _send(self, client: httpx.Client, arguments: Any, content: bytes) -> httpx.Response | None:
        try:
            if content:
                parts = {"arguments": (None, json.dumps(arguments)), "file": ("notes.txt", content)}
                answer = client.post("/store", files=parts)
            else:
                answer = client.post("/store", json=arguments)
        except httpx.TransportError:
            return None
        return None if answer.status_code in IN_DOUBT else answer


def test_each_service_is_killed_under_load_and_nothing_acknowledged_is_lost(
    team: Team, figures: Figures
) -> None:
    token = key_of(team, "ada")
    with Events(team.client(token)) as events:
        with Writing(team, token) as writing:
            writing.more()
            for name in ("graphmem", "second"):
                team.services.containers[name].kill()
                writing.more()
                # What `restart: unless-stopped` does.
                assert team.services.services[name]["restart"] == "unless-stopped"
                team.services.start(name)
                figures(f"{name}: killed, and healthy {team.services.wait(name):.1f} s after its start")
                writing.more()
        wanted = {*writing.acknowledged}
        missing = events.until_all(wanted)
        assert not missing, f"{len(missing)} of {len(wanted)} changes did not come in {events.opened} streams"
    created = [event["entity_id"] for event in events.events if event["event_type"] == "entity.created"]
    assert len(created) == len({*created})
    direct = {name: team.client(token, name) for name in ("graphmem", "second")}
    for subject_id, (name, _) in writing.acknowledged.items():
        for client in direct.values():
            answer = client.get(f"/entities/{subject_id}")
            assert answer.json()["canonical_name"] == name, answer.text
    figures(
        f"{len(writing.acknowledged)} writes acknowledged, none lost; {writing.doubted} tries in doubt; "
        f"streams opened {events.opened} times"
    )


def test_a_file_that_one_service_takes_the_other_gives(team: Team) -> None:
    first, second = (team.client(key_of(team, "ada"), name) for name in ("graphmem", "second"))
    content = b"Minutes of the team\n" * 5000
    source = first.post("/store", files={"file": ("minutes.txt", content)}).json()["source_id"]
    assert second.get(f"/sources/{source}/content").content == content


def test_a_revoked_key_is_refused_by_the_other_service(team: Team, figures: Figures) -> None:
    make = ["graphmem", "--account", "studio", "--json", "auth", "keys", "create", "visitor"]
    created = json.loads(team.execute("graphmem", *make))
    second = team.client(created["secret"], "second")
    assert second.get("/stats").is_success
    team.execute("graphmem", *make[:3], "auth", "keys", "revoke", created["key"]["key_id"])
    begun = time.monotonic()
    while second.get("/stats").is_success:
        assert time.monotonic() < begun + REVOKED_SECONDS
        time.sleep(0.05)
    figures(f"a revoked key was refused by the other service after {time.monotonic() - begun:.1f} s")


def test_all_stop_in_their_grace_and_a_backup_brings_all_back(
    team: Team, image: Image, tmp_path: Path, figures: Figures
) -> None:
    ada = team.client(key_of(team, "ada"))
    content = b"The lease of the studio\n" * 100
    item = {"entity_type": "person", "name": "Sofya Kovalevskaya"}
    parts = {"arguments": (None, json.dumps({"entities": [item]})), "file": ("lease.txt", content)}
    stored = ada.post("/store", files=parts).json()
    team.run(["docker compose -f docker/compose.yaml exec graphmem graphmem backup create /data/last.dump"])
    dump = tmp_path / "last.dump"
    shutil.copyfile(team.services.volume("graphmem") / "last.dump", dump)
    ends = team.services.down()
    assert {name: code for name, (code, _) in ends.items() if code not in (0, 143)} == {}
    figures(f"stopped: {', '.join(f'{name} {seconds:.1f} s' for name, (_, seconds) in ends.items())}")
    again = Team(image, tmp_path / "again")
    try:
        again.folder.mkdir()
        again.run(fenced(WITH_COMPOSE)[:3])
        (again.folder / "backups").mkdir()
        dump.rename(again.folder / "backups" / "last.dump")
        again.run([re.sub(r"backups/\S+\.dump", "backups/last.dump", line) for line in fenced(BRING_BACK)])
        again.run([line for line in fenced(WITH_COMPOSE) if "keys create" in line])
        ada = again.client(key_of(again, "ada"))
        subject_id = stored["entities"][0]["entity_id"]
        assert ada.get(f"/entities/{subject_id}").json()["canonical_name"] == item["name"]
        source = stored["source_id"]
        assert ada.get(f"/sources/{source}/content").content == content
    finally:
        again.close()

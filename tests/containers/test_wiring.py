"""The lines of docs/team.md, run: what compose.yaml names, with two services behind Caddy and files in S3."""

from __future__ import annotations

import json
import re
import shutil
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.containers.pods import Pod
from tests.containers.running import USER, assert_no_privileges
from tests.containers.team import Team
from tests.support import containers
from tests.support.composition import HEALTHY_SECONDS, fenced
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
WITH_COMPOSE, BRING_BACK, OWN_PROXY, WITHOUT_CONTAINERS = re.split(
    "^## (?:6[.] |A proxy of your own|Without containers)", PAGE, flags=re.MULTILINE
)
CALLERS = "203.0.113.5", "203.0.113.6"
"""Addresses of this machine by which clients call: those of two machines, as the proxy sees them."""
FORGED = ["198.51.100.1", "198.51.100.2, 198.51.100.3", "127.0.0.1", "192.168.213.2", "unknown", ""]


@pytest.fixture(scope="module")
def team(image: Image, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """A team's instance with two services, by the lines of the page."""
    if shutil.which("caddy") is None:
        pytest.skip("there is no caddy here: apt-get install caddy")
    if versitygw() is None:
        pytest.skip(LACKING)
    with containers.network_of_its_own():
        for address in CALLERS:
            containers.ip("address", "add", f"{address}/32", "dev", "lo")
        team = Team(image, tmp_path_factory.mktemp("team"))
        try:
            team.run(fenced(WITH_COMPOSE))
            yield team
        finally:
            team.close()


def key_of(team: Team, person: str) -> str:
    return team.key(f"{person}-laptop")


def answers(text: str) -> Iterator[tuple[str, str]]:
    """Yield each line of the blocks of a text, with what the page says that it answers: comments below it."""
    for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
        for line, said in re.findall(r"^(?!# )(.+)\n((?:# .*\n)*)", block, re.MULTILINE):
            yield line, "\n".join(each.removeprefix("# ") for each in said.splitlines())


def assert_answers(team: Team, text: str) -> None:
    """Assert that each line printed what the page says of it, with any numbers, or nothing."""
    for line, said in answers(text):
        printed = "\n".join(each.rstrip() for each in team.printed[line].splitlines())
        pattern = re.escape(said).replace("…", ".*")
        pattern = re.sub(r"\d+", r"[\\d,]+", pattern)
        pattern = re.sub(r"(\\ )+", " +", pattern)
        assert re.search(pattern, printed) if said else not printed, f"{line}\n{printed}"


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
    assert (team.folder / ".env").stat().st_mode & 0o777 == 0o600
    assert [*(team.folder / "backups").glob("*.dump")]
    assert [*team.elsewhere.glob("backups/*.dump")]


def test_each_line_answers_what_the_page_says(team: Team) -> None:
    assert_answers(team, WITH_COMPOSE)
    # With both, nothing of the page is left that is not run.
    assert len([*answers(PAGE)]) == sum(
        len(fenced(each)) for each in (WITH_COMPOSE, BRING_BACK, OWN_PROXY, WITHOUT_CONTAINERS)
    )


def left(answer: httpx.Response) -> int:
    """Return how many requests the caller of an answer has left."""
    remaining = re.search(r"r=(\d+)", answer.headers["ratelimit"])
    assert remaining, answer.headers
    return int(remaining[1])


def test_the_limits_are_of_the_caller_behind_the_proxy_whatever_it_forwards(team: Team) -> None:
    first, second = (team.client("", address=address) for address in CALLERS)

    def ask(client: httpx.Client, forwarded: str) -> int:
        answer = client.get("/server-info", headers={"X-Forwarded-For": forwarded} if forwarded else {})
        assert answer.is_success, answer.text
        return left(answer)

    counts = [ask(first, each) for each in FORGED * 2]
    # Two services answer, each with limits of its own: one of them had half of the requests, or more.
    assert max(counts) - min(counts) >= len(FORGED) - 1, counts
    # Whoever forwards the address of another caller does not count as that one.
    assert ask(second, CALLERS[0]) == max(counts)


def test_what_is_forwarded_counts_from_the_proxy_and_the_machine_alone(team: Team) -> None:
    def ask(forwarded: str) -> str:
        return (
            "import sys, urllib.request\n"
            "request = urllib.request.Request('http://graphmem:3080/server-info', "
            f"headers={{'X-Forwarded-For': {forwarded!r}, 'Host': 'localhost'}})\n"
            "print(urllib.request.urlopen(request).headers['RateLimit'])"
        )

    # Another container of the network is no proxy: the address of its connection counts.
    printed = [team.execute("second", "python", "-c", ask(each)) for each in FORGED]
    counts = [int(re.findall(r"r=(\d+)", each)[0]) for each in printed]
    assert counts == [*range(counts[0], counts[0] - len(FORGED), -1)]
    # The machine has a proxy of its own, perhaps: what it forwards is believed.
    direct = team.client("", "graphmem")
    fresh = [
        left(direct.get("/server-info", headers={"X-Forwarded-For": f"203.0.113.{number}"}))
        for number in (7, 8)
    ]
    assert fresh[0] == fresh[1] > counts[-1]


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
        wanted, end = len(self.acknowledged) + WRITERS * WRITES_EACH, time.monotonic() + 900
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


def test_the_pod_of_kubernetes_runs_beside_them_as_its_file_says(
    team: Team, image: Image, tmp_path: Path, figures: Figures
) -> None:
    pod = Pod(image, team, tmp_path)
    begun = time.monotonic()
    pod.container.start()
    try:
        while not pod.probe("startup"):
            assert pod.container.is_running, pod.container.output
            assert time.monotonic() < begun + pod.seconds_to_start, pod.container.output
            time.sleep(0.2)
        figures(f"pod: started after {time.monotonic() - begun:.1f} of {pod.seconds_to_start} s")
        assert pod.probe("readiness")
        assert pod.probe("liveness")
        assert_no_privileges(pod.container)
        assert_what_it_stores_is_there(pod, team)
        # A database that is lost takes the pod out of the service, and does not restart it.
        team.services.containers["neo4j"].kill()
        until(lambda: not pod.probe("readiness"))
        assert pod.probe("liveness")
        team.services.start("neo4j")
        team.services.wait("neo4j")
        until(lambda: pod.probe("readiness"))
        peak = pod.container.memory_peak
        memory = f"{peak >> 20} MB of" if peak else "no group holds its memory to"
        figures(f"pod: {memory} {pod.limit >> 20} MB")
        assert pod.container.changed() == ["/etc/hosts"]
        assert {path.stat().st_uid for path in pod.volume("data").rglob("*")} == {USER}
        code, seconds = pod.container.stop(pod.grace)
        assert code == 0, pod.container.output[-2000:]
        assert seconds < pod.grace
        for line in pod.container.output.splitlines():
            json.loads(line)
    finally:
        pod.container.kill()


def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + HEALTHY_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)


def assert_what_it_stores_is_there(pod: Pod, team: Team) -> None:
    """Assert that the pod and the services have the same facts and files."""
    content = b"Notes of the pod\n" * 1000
    item = {"entity_type": "person", "name": "Hertha Ayrton"}
    parts = {"arguments": (None, json.dumps({"entities": [item]})), "file": ("pod.txt", content)}
    with pod.client() as client:
        stored = client.post("/store", files=parts).json()
    other = team.client(team.token, "graphmem")
    assert (
        other.get(f"/entities/{stored['entities'][0]['entity_id']}").json()["canonical_name"] == item["name"]
    )
    assert other.get(f"/sources/{stored['source_id']}/content").content == content


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
        dump.rename(again.folder / "backups" / "graphmem.dump")
        again.run(fenced(BRING_BACK))
        assert_answers(again, BRING_BACK)
        again.run([line for line in fenced(WITH_COMPOSE) if "keys create" in line])
        ada = again.client(key_of(again, "ada"))
        subject_id = stored["entities"][0]["entity_id"]
        assert ada.get(f"/entities/{subject_id}").json()["canonical_name"] == item["name"]
        source = stored["source_id"]
        assert ada.get(f"/sources/{source}/content").content == content
        # Without `--profile tls`, and with a proxy of the machine itself.
        again.services.containers["caddy"].kill()
        again.run(fenced(OWN_PROXY))
        ada = again.own_client(key_of(again, "ada"))
        assert ada.get(f"/entities/{subject_id}").json()["canonical_name"] == item["name"]
        told_apart(again)
    finally:
        again.close()


def told_apart(team: Team) -> None:
    """Assert that two callers of the machine's own proxy have limits of their own, whatever they forward."""
    first, second = (team.own_client("", address=address) for address in CALLERS)
    counts = [left(first.get("/server-info", headers={"X-Forwarded-For": each})) for each in FORGED]
    assert counts == [*range(counts[0], counts[0] - len(FORGED), -1)]
    assert left(second.get("/server-info", headers={"X-Forwarded-For": CALLERS[0]})) == counts[0]


def test_the_page_serves_without_containers_too(image: Image, tmp_path: Path, figures: Figures) -> None:
    if shutil.which("caddy") is None:
        pytest.skip("there is no caddy here: apt-get install caddy")
    with containers.network_of_its_own():
        for address in CALLERS:
            containers.ip("address", "add", f"{address}/32", "dev", "lo")
        team = Team(image, tmp_path)
        try:
            begun = time.monotonic()
            team.run(fenced(WITHOUT_CONTAINERS))
            ada = team.own_client(key_of(team, "ada"))
            team.until(lambda: ada.get("/health/ready").is_success)
            figures(f"without containers: ready after {time.monotonic() - begun:.1f} s")
            item = {"entity_type": "person", "name": "Sophie Germain"}
            (entity,) = ada.post("/store", json={"entities": [item]}).json()["entities"]
            subject_id = entity["entity_id"]
            assert ada.get(f"/entities/{subject_id}").json()["canonical_name"] == item["name"]
            assert team.own_client("").get("/stats").status_code == 401
            told_apart(team)
            assert_answers(team, WITHOUT_CONTAINERS)
            ((code, printed),) = team.stop_on_the_machine()
            assert code == 0, printed
            # What `graphmem serve` prints for people names the address of the page.
            assert "https://memory.localhost" in printed
        finally:
            team.close()
            team.run(["graphmem --env production db stop"])

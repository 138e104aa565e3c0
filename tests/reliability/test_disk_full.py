"""The disk of the database is full: writes are refused with what to do, reads go on, and nothing is lost."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from graphmem.errors import DiskFull
from graphmem.settings import load
from tests.support.figures import Figures
from tests.support.killed_services import TRANSACTIONS, CrashReport, KillableService, compare, killable
from tests.support.write_load import Ledger, SentWrite

SIZE = "800m"
OWNER = "11111111-1111-1111-1111-111111111111"
RECOVERY = 120.0


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own that is small."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "tmpfs", str(folder)],
            capture_output=True,
            text=True,
        )
        if sys.platform == "linux" and os.geteuid() == 0
        else None
    )
    if mounted is None or mounted.returncode:
        pytest.skip("a small disk cannot be mounted here: it takes root on Linux")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def victims(small: Path, reserve: int) -> Iterator[KillableService]:
    with killable(small / "data", {"GRAPHMEM_DISK_RESERVE": str(reserve)}) as made:
        yield made


class Client:
    """One client that knows what it was told."""

    def __init__(self, http: httpx.Client) -> None:
        self.http, self.ledger = http, Ledger()

    def store(self, key: str) -> httpx.Response:
        """Store once, whatever comes of it; a repeat of a key is the same request."""
        item = {"entity_type": "thing", "name": key, "said": f"zebra {key}", "text": "x" * 100_000}
        known = [write for write in self.ledger.sent if write.key == key]
        sent = known[0] if known else SentWrite(OWNER, key, "/store", {"entities": [item]}, 1)
        if not known:
            self.ledger.sent.append(sent)
        answer = self.http.post("/store", json={**sent.body, "idempotency_key": key})
        if answer.is_success:
            sent.answer = answer.json()
        return answer

    def finds(self, sent: SentWrite) -> bool:
        """Return whether what was stored is found by its words."""
        body = {"identifier": f"zebra {sent.key}", "limit": 5}
        answer = self.http.post("/retrieve_entity_by_identifier", json=body).json()
        (entity,) = sent.answer["entities"] if sent.answer else [{}]
        return entity.get("entity_id") in [hit["entity_id"] for hit in answer["entities"]]

    def fill(self, most: int) -> httpx.Response | None:
        """Store until that fails; return the answer that says so."""
        start = len(self.ledger.sent)
        for count in range(most):
            answer = self.store(f"k{start + count}")
            if not answer.is_success:
                return answer
        return None


@contextlib.contextmanager
def full(folder: Path, left: int = 0) -> Iterator[None]:
    """Take all the space that there is, but for some bytes."""
    ballast = folder / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb") as file:
        while shutil.disk_usage(folder).free > left:
            file.write(b"x" * 65536)
            file.flush()
    try:
        yield
    finally:
        ballast.unlink()


@pytest.fixture
def client(victims: KillableService) -> Iterator[Client]:
    headers = {"Authorization": f"Bearer {OWNER}"}
    with httpx.Client(base_url=victims.url, headers=headers, timeout=90.0) as http:
        yield Client(http)


def settled(client: Client, victims: KillableService, figures: Figures) -> None:
    """What was acknowledged is there, whole and once, and so is what is sent again."""
    begin = time.monotonic()
    while not (answer := client.store(client.ledger.sent[-1].key)).is_success:
        assert time.monotonic() - begin < RECOVERY, answer.text
        time.sleep(0.2)
    figures(f"up again after {time.monotonic() - begin:.1f} s")
    assert client.fill(5) is None
    check = client.http.post("/health_check_snapshots", json={}).json()
    while "next_cursor" in check:
        check = client.http.post("/health_check_snapshots", json={"cursor": check["next_cursor"]}).json()
    assert check["healthy"], check
    report = CrashReport()
    compare(report, client.ledger, OWNER, victims.ask(TRANSACTIONS, owner=OWNER))
    assert not report.wrong
    assert report.acknowledged == len(client.ledger.sent)
    # The index of words follows the commits: what it could not write then, it must have written by now.
    unsaid = [sent.key for sent in client.ledger.sent if not client.finds(sent)]
    assert not unsaid


@pytest.mark.long
@pytest.mark.parametrize("reserve", [200_000_000])
def test_a_disk_that_is_nearly_full_refuses_writes_and_answers_reads(
    client: Client, victims: KillableService, small: Path, figures: Figures
) -> None:
    assert client.fill(5) is None
    answer = client.ledger.sent[0].answer
    assert answer
    subject_id = answer["entities"][0]["entity_id"]
    with full(small, left=100_000_000):
        refused = client.fill(1)
        assert refused is not None
        assert (refused.status_code, refused.json()["error_code"]) == (503, "DB_DISK_FULL")
        assert refused.json()["details"]["in_doubt"] is False
        assert "free some space" in refused.json()["message"]
        assert refused.headers["retry-after"]
        assert client.http.get(f"/entities/{subject_id}").is_success
        assert client.http.post("/entities/query", json={}).is_success
        assert client.http.get("/health").is_success
    settled(client, victims, figures)


@pytest.mark.long
@pytest.mark.parametrize("reserve", [0])
def test_a_database_that_fell_for_want_of_space_is_started_again_when_there_is_some(
    client: Client, victims: KillableService, small: Path, figures: Figures
) -> None:
    assert client.fill(5) is None
    with full(small):
        refused = client.fill(500)
        assert refused is not None
        assert refused.status_code == 503
        assert refused.json()["details"]["retryable"] is True
        assert client.store(client.ledger.sent[-1].key).status_code in (200, 503)
    settled(client, victims, figures)


def test_what_is_left_free_is_a_setting(tmp_path: Path) -> None:
    with pytest.raises(DiskFull, match="free some space"):
        load(data_dir=tmp_path, disk_reserve=1 << 60).check_disk()
    load(data_dir=tmp_path, disk_reserve=0).check_disk()
    # Nobody sees the disk of another machine from here.
    load(data_dir=tmp_path, disk_reserve=1 << 60, neo4j_uri="bolt://elsewhere").check_disk()

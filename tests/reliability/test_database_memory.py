"""The database has too little memory: the answer says to try again, nothing is half written, it goes on."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from graphmem.errors import CATALOGUE
from tests.support.embedded_neo4j import servers_of
from tests.support.figures import Figures
from tests.support.killed_services import TRANSACTIONS, CrashReport, KillableService, audit, compare, killable
from tests.support.write_load import Ledger, SentWrite

HEAP = "160m"
"""Enough for a start and for small requests, and too little for many large ones at once."""
CLIENTS, STORES = 12, 2
TEXT = "x" * 1_900_000
SETTLED_SECONDS = 900.0


@pytest.fixture
def victims(tmp_path: Path) -> Iterator[KillableService]:
    """A service whose database has little memory, up."""
    with killable(tmp_path / "data", neo4j_heap=HEAP) as made:
        yield made


class Crowd:
    """Clients that store large things at once, each for an owner of its own, until all are stored."""

    def __init__(self, url: str) -> None:
        self.url, self.ledger, self.codes = url, Ledger(), Counter[str]()
        self.end = time.monotonic() + SETTLED_SECONDS

    async def run(self) -> None:
        """Send all stores."""
        async with httpx.AsyncClient(base_url=self.url, timeout=SETTLED_SECONDS) as http:
            await asyncio.gather(*(self._client(http, str(uuid.uuid4())) for _ in range(CLIENTS)))

    async def _client(self, http: httpx.AsyncClient, owner: str) -> None:
        for number in range(STORES):
            fields: dict[str, Any] = {f"text {n}": f"{number} {n} {TEXT}" for n in range(4)}
            item = {"entity_type": "thing", "name": f"large {number}", **fields}
            sent = SentWrite(owner, f"k{number}", "/store", {"entities": [item]}, 1)
            self.ledger.sent.append(sent)
            while sent.answer is None:
                assert time.monotonic() < self.end, dict(self.codes)
                await self._send(http, sent)

    async def _send(self, http: httpx.AsyncClient, sent: SentWrite) -> None:
        headers = {"Authorization": f"Bearer {sent.owner}"}
        body = {**sent.body, "idempotency_key": sent.key}
        answer = await http.post("/store", json=body, headers=headers)
        if answer.is_success:
            sent.answer = answer.json()
            return
        error = answer.json()
        self.codes[error["error_code"]] += 1
        assert answer.status_code == CATALOGUE[error["error_code"]].status == 503, error
        assert error["details"]["retryable"] is True, error
        await asyncio.sleep(0.5)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_database_that_runs_out_of_memory_loses_nothing_and_goes_on(
    victims: KillableService, figures: Figures
) -> None:
    before = servers_of(victims.folder)
    crowd = Crowd(victims.url)
    asyncio.run(crowd.run())
    restarts = servers_of(victims.folder) != before
    figures(f"errors {dict(crowd.codes)}, the database was started again: {restarts}")
    assert crowd.codes or restarts, "it had enough memory: make it less"
    report = CrashReport()
    for owner in {sent.owner for sent in crowd.ledger.sent}:
        compare(report, crowd.ledger, owner, victims.ask(TRANSACTIONS, owner=owner))
    asyncio.run(audit(report, victims.url, crowd.ledger.sent[0].owner))
    assert not report.wrong, report.wrong
    assert report.acknowledged == CLIENTS * STORES

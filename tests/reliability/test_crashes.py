"""The service, its database, or both are killed under load: what was acknowledged is there, once."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphmem import dump
from graphmem.context import Services
from graphmem.runtime import open_services
from tests.support import faces
from tests.support.event_loop import Loop
from tests.support.examples import LONG
from tests.support.figures import Figures
from tests.support.killed_services import CrashReport, KillableService, compare, kill_under_load, killable
from tests.support.write_load import Ledger, SentWrite

CLIENTS = 16 if LONG else 4
EVERY = ("service", "neo4j", "both", "twice")
CYCLES = int(os.environ.get("GRAPHMEM_TEST_CRASHES", "200"))


@pytest.fixture
def victims(tmp_path: Path) -> Iterator[KillableService]:
    """A service and its database, up."""
    with killable(tmp_path / "data") as made:
        yield made


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_what_was_acknowledged_outlives_kills(
    victims: KillableService, loop: Loop, services: Services, figures: Figures
) -> None:
    """Both are killed. test_failpoints.py, test_service.py and test_thin_crashes.py kill the service."""
    report = asyncio.run(kill_under_load(victims, "both", CLIENTS, 0.8, random.Random(6)))
    figures(f"both {report}")
    assert not report.wrong, report.wrong
    assert report.acknowledged > CLIENTS
    replayed_alone(victims, loop, services)


@pytest.mark.long
@pytest.mark.timeout(4 * 3600)
def test_what_was_acknowledged_outlives_many_kills(
    victims: KillableService, loop: Loop, services: Services, figures: Figures
) -> None:
    dice, every = random.Random(), []
    for number in range(CYCLES):
        victim = EVERY[number % len(EVERY)]
        every.append(asyncio.run(kill_under_load(victims, victim, CLIENTS, 1.5, dice)))
        figures(f"{number:4} {victim:8} {every[-1]}")
    slowest = max(report.seconds for report in every)
    sums = {
        name: sum(getattr(report, name) for report in every)
        for name in ("acknowledged", "doubted", "replayed", "reads")
    }
    wrong = [report.wrong for report in every if report.wrong]
    figures(f"{len(every)} cycles {sums}, slowest {slowest:.1f} s, wrong: {wrong}")
    assert not wrong
    replayed_alone(victims, loop, services)


def replayed_alone(victims: KillableService, loop: Loop, services: Services) -> None:
    """The facts that are there come to the same state where they are written again, alone, elsewhere."""
    path = victims.folder / "dump"

    async def hashes() -> dict[str, str]:
        async with open_services(victims.settings) as victim_services:
            rows = await victim_services.database.script(
                "MATCH (o:Owner) RETURN o.id AS id, o.state_hash AS hash"
            )
            kept = {row["id"]: row["hash"] for row in rows}
            await dump.create(victim_services.database, path, list(kept), objects=None)
        await dump.restore(
            services.database, services.vocabulary, services.writers, path, objects=services.objects
        )
        return kept

    for owner, kept in loop.run(hashes(), 3000).items():
        stats = faces.by_runner(loop, services, owner)("server.stats")
        assert stats["state_hash"] == kept


# What the comparison would find


def transaction_row(
    key: str, sequence: int, observations: int = 1, recorded_at: int | None = None
) -> dict[str, object]:
    at = sequence if recorded_at is None else recorded_at
    made = {"id": f"t{key}", "key": key, "sequence": sequence, "recorded_at": at}
    return {**made, "observations": observations}


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        ([transaction_row("a", 1), transaction_row("b", 2)], set()),
        ([transaction_row("a", 1)], {"lost"}),
        ([transaction_row("a", 1), {**transaction_row("b", 2), "id": "another"}], {"lost"}),
        ([transaction_row("a", 1), transaction_row("b", 2, observations=0)], {"torn"}),
        ([transaction_row("a", 1), transaction_row("b", 2), transaction_row("b", 3)], {"twice"}),
        ([transaction_row("a", 1), transaction_row("b", 3)], {"disorder"}),
        ([transaction_row("a", 1), transaction_row("b", 2, recorded_at=1)], {"disorder"}),
        ([transaction_row("a", 1), transaction_row("b", 2), transaction_row("c", 3)], {"faults"}),
    ],
)
def test_the_comparison_finds_what_is_wrong(rows: list[dict[str, object]], wrong: set[str]) -> None:
    report, ledger = CrashReport(), Ledger()
    for key in "ab":
        ledger.sent.append(SentWrite("o", key, "/store", {}, 1, answer={"transaction_id": f"t{key}"}))
    compare(report, ledger, "o", rows)
    assert set(report.wrong) == wrong

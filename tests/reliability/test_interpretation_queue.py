"""Processes that interpret files die: no interpretation is lost, and what one does twice has one effect.

Each case starts a process and interprets a table of 600 rows. A death of each kind runs always; the others
are ``long``.
"""

from __future__ import annotations

import base64
import functools
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from graphmem import interpretation
from graphmem.context import Services
from graphmem.interpretation import runs
from tests.faces.test_interpreting import make_due
from tests.reliability.test_failpoints import Doom, doom, healthy
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.long_cases import mostly_long

__all__ = ["doom"]

pytestmark = pytest.mark.usefixtures("own_interpretations")

ROWS = 600
TABLE = "\n".join(["entity_type,name", *(f"thing,Thing {number}" for number in range(ROWS))]).encode()
FILE = {"file_content": base64.b64encode(TABLE).decode(), "original_filename": "things.csv"}

ENQUEUES = ("before:interpretation.enqueue", "after:interpretation.enqueue")
CLAIMS = ("before:interpretation.claim", "after:interpretation.claim")
POSTPONES = ("before:interpretation.postpone", "after:interpretation.postpone")
WRITES = ("before:write.turn", "after:write.turn", "before:write.turn@3", "after:write.turn@3")
WAIT_SECONDS = 100.0


def status(rest: Call) -> dict[str, Any]:
    """Return the only interpretation."""
    (row,) = rest("interpretations.list")["interpretations"]
    return row


def completed(
    rest: Call, loop: Loop, services: Services, owner: str, interpretation_id: str | None = None
) -> dict[str, Any]:
    """Interpret what waits until an interpretation, or the only one of the owner, has ended; return it."""
    end = time.monotonic() + WAIT_SECONDS
    number = interpretation_id or status(rest)["interpretation_id"]
    while (row := rest("interpretations.get", interpretation_id=number))["status"] in (
        "pending",
        "running",
    ) and time.monotonic() < end:
        make_due(loop, services, owner)
        loop.run(interpretation.run_next(services))
    return row


def check(rest: Call, row: dict[str, Any]) -> None:
    """Check that the table was interpreted once, and whole."""
    assert (row["status"], row["entities_created"], row["observations_created"]) == ("completed", ROWS, ROWS)
    stats = rest("server.stats")
    assert (stats["total_entities"], stats["total_observations"]) == (ROWS, ROWS)
    assert healthy(rest)


@pytest.mark.parametrize("place", mostly_long(ENQUEUES, ENQUEUES[1]))
def test_a_store_that_was_not_answered_is_interpreted_once(
    doom: Doom, rest: Call, loop: Loop, services: Services, owner: str, place: str
) -> None:
    doom.dies_during_request(place, "/store/unstructured", FILE)
    rest("store", **FILE)
    check(rest, completed(rest, loop, services, owner))


@pytest.mark.parametrize("place", mostly_long([*CLAIMS, *POSTPONES, *WRITES], "after:write.turn@3"))
def test_a_worker_that_dies_loses_no_interpretation(
    doom: Doom, rest: Call, loop: Loop, services: Services, owner: str, place: str
) -> None:
    answer = rest("store", **FILE)
    assert answer["interpretation"]["status"] == "pending"
    if "postpone" not in place:
        # Without the bytes, the attempt fails, and is postponed.
        shutil.copytree(services.settings.objects_path, Path(doom.folder) / "objects", dirs_exist_ok=True)
    step, _, number = place.partition("@")
    # Where the answer to a claim is lost on a busy machine, the claim holds for a minute that nobody uses.
    due = functools.partial(make_due, loop, services, owner)
    doom.dies(f"{step}=exit@{number or 1}", worker=["interpret"], again=due)
    check(rest, completed(rest, loop, services, owner))


def test_an_interpretation_that_ends_its_process_every_time_fails_in_the_end(
    rest: Call, loop: Loop, services: Services, owner: str
) -> None:
    rest("store", **FILE)
    often = "MATCH (n:Interpretation) WHERE n.owner = $o SET n.attempts = $attempts"
    loop.run(services.database.script(often, o=owner, attempts=runs.ATTEMPTS_LIMIT))
    row = completed(rest, loop, services, owner)
    assert row["status"] == "failed"
    assert "every attempt" in row["error_message"]
    again = rest("interpretations.run", source_id=row["source_id"])
    assert (again["status"], again["run"]) == ("pending", 1)
    rows = rest("interpretations.list")["interpretations"]
    assert again["interpretation_id"] in [row["interpretation_id"] for row in rows]
    # A service of another test may hold it just now: then none is pending.
    pending = rest("interpretations.list", status="pending")["interpretations"]
    assert {row["interpretation_id"] for row in pending} <= {again["interpretation_id"]}
    check(rest, completed(rest, loop, services, owner, again["interpretation_id"]))

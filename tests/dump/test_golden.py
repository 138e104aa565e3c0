"""Dumps that were made once must restore for ever, to the same state."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphmem import dump
from graphmem.model import canonical
from graphmem.registry import Services
from tests.support.dumps import wipe
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner

DATA = Path(__file__).parents[1] / "data"
OWNER = "golden"
PAGE = {"limit": 500, "include_deleted": True}


def essence(call: Call) -> dict[str, Any]:
    """Return what must stay true of a state, whatever else answers come to say."""
    stats = call("server.stats")
    entities = call("entities.query", **PAGE)["entities"]
    relationships = call("relationships.list", **PAGE)["relationships"]
    observations = call("observations.query", **PAGE)["observations"]
    names = "entity_id", "entity_type", "canonical_name", "version", "observation_count", "snapshot"
    shown = "relationship_key", "is_live", "version", "snapshot"
    return {
        "state_hash": stats["state_hash"],
        "sequence": stats["sequence"],
        "entities": {
            entity["entity_id"]: {name: short(entity[name]) for name in names} for entity in entities
        },
        "relationships": {
            relationship["relationship_id"]: {name: relationship[name] for name in shown}
            for relationship in relationships
        },
        "observations": sorted(
            [observation["id"], observation["kind"], observation["observed_at"]]
            for observation in observations
        ),
    }


def short(value: Any) -> Any:
    """Return a value, or its hash where it is long."""
    text = canonical.encode(value)
    return value if len(text) < 3_000 else hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def golden(loop: Loop, services: Services) -> Iterator[Call]:
    """The operations of the owner whom the golden dumps are of, who has nothing."""
    wipe(loop, services, OWNER)
    yield by_runner(loop, services, OWNER)
    wipe(loop, services, OWNER)


@pytest.mark.parametrize("name", sorted(path.stem for path in DATA.glob("*.dump")))
def test_a_golden_dump_restores_to_its_recorded_state(
    name: str, golden: Call, loop: Loop, services: Services, tmp_path: Path
) -> None:
    path, wanted = DATA / f"{name}.dump", json.loads((DATA / f"{name}.json").read_text())
    restored = loop.run(
        dump.restore(services.database, services.vocabulary, services.writers, path, objects=services.objects)
    )
    assert (restored.conflict_count, restored.verified.manifest.root) == (0, wanted["root"])
    assert json.loads(json.dumps(essence(golden))) == wanted["state"]
    again = loop.run(dump.create(services.database, tmp_path / "again", [OWNER], objects=services.objects))
    assert again.manifest.root == wanted["root"]


def test_each_format_has_a_golden_dump() -> None:
    assert {path.name for path in DATA.glob("*.dump")} >= {"format-1.dump"}

"""Dumps that were made once must restore for ever, to the same state."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphmem import dump
from graphmem.auth import passwords
from graphmem.context import Services
from graphmem.dump import container, records, verifying
from graphmem.dump.records import AccountRecord
from graphmem.model import canonical
from graphmem.model.fact_records import TransactionRecord
from graphmem.writing import dismissed_pairs
from tests.support.dumps import wipe
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.long_cases import mostly_long

DATA = Path(__file__).parents[1] / "data"
NAMES = sorted(path.stem for path in DATA.glob("*.dump"))
"""``format-2``, or with a word behind it for what came later to the same format."""
SOME = {NAMES[0], NAMES[len(NAMES) // 2], NAMES[-1]}
"""Those that an ordinary run restores: the oldest, one in the middle and the newest."""
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


def essence_of_files(call: Call) -> dict[str, Any]:
    """Return what must stay true of files and of what is withdrawn; format 1 has neither."""
    sources = call("sources.list", limit=100)["sources"]
    interpretations = call("interpretations.list", limit=100)["interpretations"]
    observations = call("observations.query", include_excluded=True, **PAGE)["observations"]
    counting = {observation["id"] for observation in call("observations.query", **PAGE)["observations"]}
    read = "status", "source_id", "interpreter", "observations_created", "entities_created"
    return {
        "sources": {
            source["source_id"]: {
                "content_hash": source["content_hash"],
                "file_size": source["file_size"],
                "names": [
                    each["name"] for each in call("sources.get", source_id=source["source_id"])["names"]
                ],
            }
            for source in sources
        },
        "interpretations": {
            row["interpretation_id"]: {name: row[name] for name in read} for row in interpretations
        },
        "excluded": sorted({observation["id"] for observation in observations} - counting),
    }


def short(value: Any) -> Any:
    """Return a value, or its hash where it is long."""
    text = canonical.encode(value)
    return value if len(text) < 3_000 else hashlib.sha256(text.encode()).hexdigest()


def wipe_golden(loop: Loop, services: Services) -> None:
    """Delete what the golden dumps hold."""
    wipe(loop, services, OWNER)
    loop.run(services.database.script("MATCH (n:Account {id: $id}) DETACH DELETE n", id=OWNER))
    loop.run(services.database.script("MATCH (n:RelationshipType) WHERE n.name = 'GROWN_AT' DELETE n"))


@pytest.fixture
def golden(loop: Loop, services: Services) -> Iterator[Call]:
    """The operations of the owner whom the golden dumps are of, who has nothing."""
    wipe_golden(loop, services)
    yield by_runner(loop, services, OWNER)
    wipe_golden(loop, services)


def lines(path: Path) -> list[bytes]:
    """Return the records of a dump that are not of the instance."""
    with verifying.open_file(path) as file:
        return [record.line() for record in verifying.read(file) if not isinstance(record, AccountRecord)]


def essence_of_dismissals(call: Call, loop: Loop, services: Services) -> list[list[str]]:
    """Return the pairs of entities that are dismissed."""
    entity_ids = [entity["entity_id"] for entity in call("entities.query", **PAGE)["entities"]]
    dismissed = loop.run(dismissed_pairs(services.database.reads(OWNER), entity_ids))
    return sorted(list(each.pair) for each in dismissed)


def format_of(name: str) -> str:
    """Return the format that the name of a golden dump says: ``format-2``."""
    return "-".join(name.split("-")[:2])


@pytest.mark.parametrize("name", mostly_long(NAMES, *SOME))
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
    assert lines(again.path) == lines(path)
    if name == "format-1":
        assert again.manifest.root == wanted["root"]
        return
    assert essence_of_files(golden) == wanted["files"]
    assert essence_of_dismissals(golden, loop, services) == wanted.get("dismissed", [])
    reads = services.database.reads(None)
    accounts = loop.run(reads.only("account.dumped", list[records.StoredAccount]))
    (account,) = [each for each in accounts if each.id == OWNER]
    # It is disabled: else its password would end the open access to the database of this run.
    assert (account.scopes, account.disabled) == (["read"], True)
    assert loop.run(passwords.matches("correct horse battery staple", account.password))


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_dump_has_the_format_of_its_name(name: str) -> None:
    assert f"format-{dump.verify(DATA / f'{name}.dump').header.format}" == format_of(name)


def test_each_format_has_a_golden_dump() -> None:
    assert [f"format-{number}" for number in range(1, container.FORMAT + 1)] == sorted(
        {format_of(name) for name in NAMES}
    )


def test_the_newest_golden_dump_has_each_kind_of_record() -> None:
    with verifying.open_file(DATA / f"{NAMES[-1]}.dump") as file:
        dumped = list(verifying.read(file))
    assert {type(record) for record in dumped} == set(records.KINDS)
    assert any(isinstance(record, TransactionRecord) and record.by for record in dumped)

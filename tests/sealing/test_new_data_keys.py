"""Data keys that replace others: what the old ones sealed is sealed anew, and every answer stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphmem.checking import resealing
from graphmem.checking.resealing import GRACE_SECONDS, reseal
from graphmem.context import Services
from graphmem.errors import InternalError
from graphmem.objects.keys import owner_segment
from graphmem.sealing.instance_keys import INSTANCE, replaced
from graphmem.sealing.sealed_files import HEAD_BYTES, key_id
from tests.support import failpoints
from tests.support.dumps import Dumps, all_answers, store_rich_example
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.long_cases import mostly_long


@pytest.fixture
def run(loop: Loop, sealed_services: Services, owner: str) -> Call:
    return by_runner(loop, sealed_services, owner)


def seal_anew(loop: Loop, services: Services, wait: float = 0.0) -> int:
    assert services.keys is not None
    where = services.database, services.objects, services.keys
    return loop.run(reseal(*where, write_seconds=wait - GRACE_SECONDS))


def sealed_by(loop: Loop, services: Services, owner: str, old: set[str]) -> set[str]:
    """Return the properties of nodes and edges that one of some keys sealed, but for what is looked up."""
    sealer = services.database.sealer
    assert sealer is not None
    properties = set[str]()
    for text in (
        "MATCH (n) WHERE n.owner = $owner RETURN labels(n)[0] AS kind, properties(n) AS properties",
        "MATCH (node)-[n]->() WHERE node.owner = $owner RETURN type(n) AS kind, properties(n) AS properties",
    ):
        for row in loop.run(services.database.script(text, owner=owner)):
            for name, value in row["properties"].items():
                for each in value if isinstance(value, list) else [value]:
                    if (key := sealer.key_of(each)) is not None and key.hex() in old:
                        properties.add(f"{row['kind']}.{name}")
    return properties


def test_what_old_keys_sealed_is_sealed_anew_and_every_answer_stays(
    run: Call, loop: Loop, sealed_services: Services, owner: str, tmp_path: Path
) -> None:
    keys = sealed_services.keys
    assert keys is not None
    folder = sealed_services.settings.objects_path / owner_segment(owner)
    dumps = Dumps(loop, sealed_services, owner, tmp_path)
    store_rich_example(run)
    made = dumps.create()
    old = {each.id for each in keys.record().keys}
    assert {"Entity.values", "Observation.values", "Transaction.answer", "stored.name"} <= sealed_by(
        loop, sealed_services, owner, old
    )

    new = keys.renew()
    assert {each.owner for each in new} >= {owner, INSTANCE}
    assert {each.id for each in replaced(keys.record())} == old
    # Both keys are in use: what is stored now joins what the old one sealed.
    ada = {"entity_type": "person", "name": "Ada", "email": "ada@example.org"}
    joined = run("store", entities=[ada])["entities"][0]
    before = all_answers(run)

    assert seal_anew(loop, sealed_services, wait=60.0) == 0
    assert seal_anew(loop, sealed_services) > 20
    assert sealed_by(loop, sealed_services, owner, old) == set()
    assert all_answers(run) == before
    assert run("store", entities=[ada])["entities"][0]["entity_id"] == joined["entity_id"]
    assert replaced(keys.record()) == []
    assert seal_anew(loop, sealed_services) == 0
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    assert {key_id(path.read_bytes()[:HEAD_BYTES]) for path in files} <= {each.id for each in new}
    dumps.wipe()
    dumps.restore(made)


def lists(call: Call) -> list[Any]:
    """Return what some lists answer: of each kind of sealed value some."""
    return [call(name) for name in ("entities.query", "relationships.list", "timeline.list", "sources.list")]


@pytest.mark.parametrize("is_alone", mostly_long([False, True], True))
def test_sealing_anew_that_is_interrupted_goes_on_and_both_keys_open_meanwhile(
    run: Call,
    loop: Loop,
    sealed_services: Services,
    owner: str,
    monkeypatch: pytest.MonkeyPatch,
    is_alone: bool,
) -> None:
    """``is_alone``: the owner alone has another data key."""
    keys = sealed_services.keys
    assert keys is not None
    store_rich_example(run)
    old, before = {each.id for each in keys.record().keys}, lists(run)
    made = keys.renew(owner if is_alone else None)
    assert ({each.owner for each in made} == {owner}) is is_alone
    assert {each.owner for each in replaced(keys.record())} == {each.owner for each in made}
    monkeypatch.setattr(resealing, "PAGE_ROWS", 7)
    for side in ("before", "after"):
        failpoints.arm(f"{side}:script=raise@3")
        with pytest.raises(InternalError):
            seal_anew(loop, sealed_services)
        failpoints.arm()
        assert replaced(keys.record()), "whoever was interrupted begins again"
        assert lists(run) == before
    seal_anew(loop, sealed_services)
    assert (sealed_by(loop, sealed_services, owner, old), replaced(keys.record())) == (set(), [])
    assert lists(run) == before

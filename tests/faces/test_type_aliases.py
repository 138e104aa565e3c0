"""Other names of a type: a store or a query with one of them uses the type."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.errors import SchemaRefused
from graphmem.model import canonical
from graphmem.registry import REGISTRY
from graphmem.runtime import open_services
from graphmem.settings import Settings
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call

WINE = {
    "entity_type": "wine",
    "fields": {"name": {"type": "string"}, "year": {"type": "number"}},
    "canonical_name_fields": ["name", "year"],
    "aliases": ["Vin", "vino"],
}
MARGAUX = {"name": "Margaux", "year": 1990}


def refusals(call: Call, name: str, **arguments: Any) -> list[tuple[str, str]]:
    with pytest.raises(SchemaRefused) as refused:
        call(name, **arguments)
    return [(issue["path"], issue["message"]) for issue in refused.value.details["issues"]]


def test_what_is_stored_under_another_name_is_the_same_entity(run: Call) -> None:
    run("schemas.register", schema=WINE)
    (first, second) = run(
        "store",
        entities=[{"entity_type": "vin", **MARGAUX}, {"entity_type": "wine", **MARGAUX, "price": 900}],
    )["entities"]
    assert first["entity_id"] == second["entity_id"]
    assert (first["entity_type"], first["identity_basis"]) == ("wine", "name+year")
    (listed,) = run("entities.query", filters={"entity_type": "VINO"})["entities"]
    assert (listed["entity_id"], listed["entity_type"]) == (first["entity_id"], "wine")
    assert run("entities.query", entity_types=["vin", "wine"], include_total_count=True)["total"] == 1
    answer = run("entities.find", identifier="margaux", entity_type="vin")
    assert [entity["entity_id"] for entity in answer["entities"]] == [first["entity_id"]]
    assert run("observations.query", entity_type="vino", include_total_count=True)["total"] == 2
    assert run("schemas.get", entity_type="vin")["entity_type"] == "wine"
    assert list(run("server.stats")["entities_by_type"]) == ["wine"]


def test_writes_that_name_an_entity_take_the_other_name_of_its_type(run: Call) -> None:
    run("schemas.register", schema=WINE)
    (entity,) = run("store", entities=[{"entity_type": "wine", **MARGAUX}])["entities"]
    about = {"entity_id": entity["entity_id"], "entity_type": "vin"}
    assert run("entities.correct", **about, field="year", value=1991)["snapshot"]["year"] == 1991
    (again,) = run(
        "store", entities=[{"target_id": entity["entity_id"], "entity_type": "vin", "year": 1992}]
    )["entities"]
    assert again["entity_id"] == entity["entity_id"]
    run("observations.create", entity_type="vin", entity_identifier="Margaux", fields={"price": 800})
    (new,) = run("store", entities=[{"entity_type": "vin", **MARGAUX, "intent": "create_new"}])["entities"]
    assert (new["entity_type"], new["entity_id"] != entity["entity_id"]) == ("wine", True)
    run("entities.delete", **about)
    run("entities.restore", **about)


def test_a_name_is_taken_away_and_given_anew(run: Call) -> None:
    run("schemas.register", schema=WINE)
    first = run("store", entities=[{"entity_type": "vin", **MARGAUX}], idempotency_key="one")
    run("schemas.update", entity_type="wine", aliases=["vino"])
    (own,) = run("store", entities=[{"entity_type": "vin", **MARGAUX}])["entities"]
    assert own["entity_type"] == "vin"
    assert own["entity_id"] != first["entities"][0]["entity_id"]
    # What was acknowledged is answered again, whatever the name means today.
    again = run("store", entities=[{"entity_type": "vin", **MARGAUX}], idempotency_key="one")
    assert (again["replayed"], again["entities"][0]["entity_type"]) == (True, "wine")
    run("schemas.register", schema={"entity_type": "must", "fields": {}, "aliases": ["mosto"]})
    assert run("schemas.get", entity_type="mosto")["entity_type"] == "must"
    run("schemas.register", schema={"entity_type": "must", "fields": {}})
    assert (
        run("store", entities=[{"entity_type": "mosto", "name": "a"}])["entities"][0]["entity_type"]
        == "mosto"
    )


def test_a_name_that_means_something_else_is_refused(run: Call) -> None:
    run("schemas.register", schema=WINE)
    run("store", entities=[{"entity_type": "cider", "name": "Brut"}])
    beer: dict[str, Any] = {"entity_type": "beer", "fields": {}}
    taken = {"aliases": ["vin", "people", "cider", "ale"]}
    refusals_of_aliases = refusals(run, "schemas.register", schema={**beer, **taken})
    assert [path for path, _ in refusals_of_aliases] == ["$.schema.aliases"] * 3
    assert [message.partition(" ")[0] for _, message in refusals_of_aliases] == ["cider", "person", "vin"]
    assert "wine" in refusals_of_aliases[2][1]
    # Nothing of it was taken in.
    assert run("store", entities=[{"entity_type": "ale", "name": "a"}])["entities"][0]["entity_type"] == "ale"
    run("schemas.register", schema=beer)
    (update,) = refusals(run, "schemas.update", entity_type="beer", aliases=["vin"])
    assert update[0] == "$.aliases"
    (register,) = refusals(run, "schemas.register", schema={"entity_type": "vin", "fields": {}})
    assert register == ("$.entity_type", "vin is another name of wine: change the schema of wine")
    assert [refusals(run, "schemas.update", entity_type="vin", new_fields={"a": "string"})] == [[register]]


def test_names_belong_to_their_owner(loop: Loop, services: Services) -> None:
    async def ask(owner: str, name: str, **arguments: Any) -> dict[str, Any]:
        return canonical.decode(await REGISTRY[name].run(services, full_actor(owner), arguments))

    async def both() -> None:
        first_owner, second_owner = (str(uuid.uuid4()) for _ in range(2))
        await ask(first_owner, "schemas.register", schema=WINE)
        mine = await ask(first_owner, "store", entities=[{"entity_type": "vin", **MARGAUX}])
        theirs = await ask(second_owner, "store", entities=[{"entity_type": "vin", **MARGAUX}])
        assert [x["entities"][0]["entity_type"] for x in (mine, theirs)] == ["wine", "vin"]
        assert len((await ask(second_owner, "entities.query", entity_type="vin"))["entities"]) == 1

    loop.run(both())


def test_another_process_stores_under_the_type_at_once(
    loop: Loop, settings: Settings, services: Services, owner: str
) -> None:
    async def ask(where: Services, name: str, **arguments: Any) -> dict[str, Any]:
        return canonical.decode(await REGISTRY[name].run(where, full_actor(owner), arguments))

    async def both() -> None:
        async with open_services(settings) as second:
            # It remembers that there is no such name.
            assert (await ask(second, "entities.query", entity_type="vin"))["entities"] == []
            await ask(services, "schemas.register", schema=WINE)
            stores = [
                ask(where, "store", entities=[{"entity_type": "vin", **MARGAUX}])
                for where in (second, services)
            ]
            done = await asyncio.gather(*stores)
            assert {answer["entities"][0]["entity_type"] for answer in done} == {"wine"}

    loop.run(both())

"""The figures of merges by rule are computed in memory: a store comes to the same merges."""

from __future__ import annotations

from tests.bench.retrieval import population
from tests.bench.retrieval.population import Population
from tests.support.faces import Call

PEOPLE = 40
SCHEMA = {
    "fields": {
        name: {"type": "string"} for names in population.REGISTERED for name in names
    },
    "canonical_name_fields": [{"composite": list(names)} for names in population.REGISTERED],
}  # fmt: skip


def groups(run: Call, items: list[dict[str, str]]) -> dict[str, str]:
    """Store items; return the entity that each home entity leads to in the end."""
    stored = run("store", entities=items, find_duplicates=False)["entities"]
    homes = {each.get("home_entity_id", each["entity_id"]) for each in stored}
    return {home: run("entities.get", entity_id=home)["entity_id"] for home in sorted(homes)}


def test_a_store_merges_people_and_members_as_the_figures_do(run: Call, owner: str) -> None:
    records = population.make(PEOPLE, 0.2, namesakes=True)
    # A second population of the same names: bare names that fit two, or somebody of another address.
    records += [
        each for each in population.make(PEOPLE + 20, 0.5) if "email" not in each.item or each.id > "r5"
    ]
    # The figures know no people who share an address: this record has another birthday at the address of r24.
    records = [each for each in records if each.id != "r25"]
    for entity_type, of_type, registered in (
        ("person", records, None),
        ("member", population.members(records), population.REGISTERED),
    ):
        if registered:
            run("schemas.register", entity_type=entity_type, schema_definition=SCHEMA)
        expected = Population(owner, entity_type, registered)
        homes = expected.store(of_type)
        shown = groups(run, [each.item for each in of_type])
        assert shown == {home: expected.survivor(home) for home in homes}
        assert sum(home != survivor for home, survivor in shown.items()) >= 4

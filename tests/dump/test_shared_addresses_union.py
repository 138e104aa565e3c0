"""Random histories of people who share addresses: any order and a union come to the same people."""

from __future__ import annotations

import random
from typing import Any

import pytest

from graphmem.model import ids, shared_addresses
from graphmem.model.shared_addresses import AnyForm, Parting
from tests.support import audits
from tests.support.dumps import Dumps
from tests.support.faces import Call
from tests.support.long_cases import mostly_long

ADDRESSES = ("post@berg.example", "family@dahl.example", "info@firm.example")
NAMES = ("Ann Berg", "A. Berg", "Anne Berg", "Bo Berg", "Axel Berg", "Berg, Ann", "Bo Dahl", "Ann Dahl")
BIRTHDAYS = ("1950-01-02", "1950-02-01", "1980-03-04")


class History:
    """What a test wrote: it makes stores, corrections, relationships and withdrawals by chance."""

    def __init__(self, run: Call, chance: random.Random) -> None:
        self.run, self.chance = run, chance
        self.transactions: list[str] = []
        self.forms: dict[str, set[AnyForm]] = {}
        # A type of which all is withdrawn keeps its discovered fields.
        run("store", entities=[{"entity_type": "company", "name": name} for name in ("Acme", "Beta")])

    def person(self) -> dict[str, Any]:
        chance = self.chance
        item = {"entity_type": "person", "email": chance.choice(ADDRESSES), "note": str(chance.random())}
        if chance.random() < 0.2:
            return {**item, "email": None, "name": chance.choice(NAMES)}
        if chance.random() < 0.9:
            item["name"] = chance.choice(NAMES)
        if chance.random() < 0.4:
            item["birthday"] = chance.choice(BIRTHDAYS)
        return item

    def store(self) -> None:
        items = [self.person() for _ in range(self.chance.randint(1, 3))]
        links = []
        if self.chance.random() < 0.5:
            items.append({"entity_type": "company", "name": self.chance.choice(("Acme", "Beta"))})
            link = {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": len(items) - 1}
            links.append(link)
        self.transactions.append(self.run("store", entities=items, relationships=links)["transaction_id"])
        for item in items:
            form = shared_addresses.form_of("person", item) if item.get("email") else None
            if form is not None:
                self.forms.setdefault(item["email"], set()).add(form)

    def correct(self) -> None:
        address = self.address()
        if address:
            self.run("entities.correct", entity_id=address, field="note", value=str(self.chance.random()))

    def write_outright(self) -> None:
        address = self.address()
        if address:
            self.run("store", entities=[{"target_id": address, "city": "Oslo"}, self.person_of_forms()])

    def person_of_forms(self) -> dict[str, Any]:
        """Return a person whose form is known, so that the forms stay those that :meth:`store` notes."""
        address = self.chance.choice(sorted(self.forms))
        form = self.chance.choice(sorted(self.forms[address], key=str))
        fields = {name: value for name, value in form._asdict().items() if value}
        return {"entity_type": "person", "email": address, **fields}

    def address(self) -> str | None:
        """Return the id of an address that was stored."""
        addresses = sorted(self.forms)
        if not addresses:
            return None
        item = {"entity_type": "person", "email": self.chance.choice(addresses)}
        return self.run("store", entities=[item])["entities"][0]["entity_id"]

    def withdraw(self) -> None:
        if self.transactions:
            transaction_id = self.chance.choice(self.transactions)
            self.run("writings.withdraw", transaction_id=transaction_id)
            if self.chance.random() < 0.5:
                self.run("writings.reinstate", transaction_id=transaction_id)
            self.transactions.remove(transaction_id)

    def go_on(self, steps: int) -> None:
        for _ in range(steps):
            kinds = (self.store, self.correct, self.write_outright, self.withdraw)
            self.chance.choices(kinds, (6, 1, 1, 1))[0]()

    def parts(self, owner: str) -> set[str]:
        """Return the ids of the people that the rule says to be at the addresses, by their forms alone."""
        return {
            part
            for address, forms in self.forms.items()
            for part in Parting.of_forms(owner, "person", address, forms).ids
        }


def people(run: Call) -> dict[str, Any]:
    page = run("entities.query", entity_type="person", include_snapshots=True, limit=500)
    return {each["entity_id"]: (each["snapshot"], each["provenance"]) for each in page["entities"]}


@pytest.mark.parametrize("seed", mostly_long(range(20), 3))
def test_a_random_history_and_its_union_come_to_the_same_people(run: Call, dumps: Dumps, seed: int) -> None:
    chance = random.Random(seed)
    first = History(run, chance)
    first.go_on(8)
    first_dump = dumps.create("first")
    dumps.wipe()
    second = History(run, chance)
    second.go_on(8)
    assert differences(dumps) == {}
    second_dump = dumps.create("second")
    second.forms = {each: first.forms.get(each, set()) | second.forms.get(each, set()) for each in ADDRESSES}
    seen = []
    for order in ((first_dump,), (second_dump, first_dump)):
        if len(order) > 1:
            dumps.wipe()
        for made in order:
            dumps.restore(made)
        assert differences(dumps) == {}
        seen.append((people(run), dumps.root(dumps.create("union"))))
    assert seen[0] == seen[1]
    bases = {("email", each) for each in ADDRESSES} | {("name", each.casefold()) for each in NAMES}
    others = {ids.entity_id(dumps.owner, "person", basis, [value]) for basis, value in bases}
    assert seen[0][0].keys() <= second.parts(dumps.owner) | others


def differences(dumps: Dumps) -> dict[str, Any]:
    return audits.differences(dumps.loop, dumps.services, dumps.owner, deep=True)

"""Merges by rule in dumps: whatever is restored into whatever part, they are what the facts come to."""

from __future__ import annotations

import itertools
import random
import uuid
from dataclasses import replace
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.errors import GraphmemError
from graphmem.model.fact_records import ObservationRecord
from graphmem.writing import Writers
from tests.support.dumps import Dumps
from tests.support.examples import LONG
from tests.support.faces import Call
from tests.support.long_cases import mostly_long
from tests.support.rule_merging import ADA, ADA_BY_EMAIL, home_of, shown_as

NAMES = ("Tom King", "King, Thomas", "T. King", "Tom Kign", "Ada King")
EMAILS = ("a@example.org", "b@example.org", "c@example.org")
STEPS = ("store", "store", "store", "extend", "new", "merge", "unmerge", "delete", "withdraw", "dismiss")


def random_person(rng: random.Random) -> dict[str, Any]:
    """Return a person that a name identifies, or an e-mail."""
    fields = {"name": rng.choice(NAMES), "birthday": rng.choice(("1815-12-10", "1816-01-01", None, None))}
    fields["email"] = rng.choice((*EMAILS, None, None, None))
    kept = {name: value for name, value in fields.items() if value is not None}
    return {"entity_type": "person", **kept, "note": rng.randrange(1_000_000)}


def change_at_random(call: Call, rng: random.Random, steps: int) -> set[str]:
    """Make a random history; return the ids of the entities that it stored something about."""
    homes: list[str] = []
    files: list[str] = []
    refused: list[GraphmemError] = []
    for _ in range(steps):
        step, item = rng.choice(STEPS), random_person(rng)
        entity_id, other = (rng.choice(homes or [""]) for _ in range(2))
        stored: list[dict[str, Any]] = []
        try:
            if step == "store" or not homes:
                stored = call("store", entities=[random_person(rng) for _ in range(rng.randrange(1, 4))])[
                    "entities"
                ]
            elif step == "extend":
                del item["entity_type"]
                call("store", entities=[{**item, "target_id": entity_id}])
            elif step == "new":
                stored = call("store", entities=[{**item, "intent": "create_new"}])["entities"]
            elif step == "merge":
                call("entities.merge", source_entity_id=entity_id, target_entity_id=other)
            elif step == "unmerge":
                call("entities.unmerge", entity_id=entity_id)
            elif step == "delete":
                call("entities.delete", entity_id=entity_id)
            elif step == "dismiss":
                call("entities.dismiss_duplicates", entity_a=entity_id, entity_b=other)
            elif rng.random() < 0.6 or not files:
                file = {"file_content": uuid.uuid4().hex, "mime_type": "text/plain"}
                answer = call("store", entities=[item], **file)
                stored = answer["entities"]
                files.append(answer["source_id"])
            else:
                call("sources.withdraw", source_id=rng.choice(files))
        except GraphmemError as exc:
            refused.append(exc)
        homes += [each.get("home_entity_id", each["entity_id"]) for each in stored]
    assert all(each.status < 500 for each in refused)
    return set(homes)


def answers_about(call: Call, entity_ids: set[str]) -> dict[str, Any]:
    """Return what is merged into what, now and as of each time of recording, and all snapshots."""
    observations = call("observations.query", limit=500, include_deleted=True, include_excluded=True)[
        "observations"
    ]
    moments = sorted({each["recorded_at"] for each in observations})
    answers: dict[str, Any] = {}
    for number, entity_id in enumerate(sorted(entity_ids)):
        answers[entity_id] = _shown(call, entity_id)
        for moment in moments if LONG else moments[number % 4 :: 4]:
            answers[f"{entity_id} {moment}"] = _shown(call, entity_id, at_ingested=moment)
    return answers


def _shown(call: Call, entity_id: str, **clock: str) -> Any:
    try:
        entity = call("entities.snapshot", entity_id=entity_id, include_deleted=True, **clock)
    except GraphmemError as exc:
        return exc.code
    return {name: entity[name] for name in ("entity_id", "snapshot", "observation_count", "state")}


@pytest.mark.parametrize("seed", mostly_long(range(3), 0))
def test_a_restore_into_a_part_of_the_facts_comes_to_one_end_state(
    run: Call, dumps: Dumps, seed: int
) -> None:
    rng = random.Random(seed)
    entity_ids = change_at_random(run, rng, 8)
    early = dumps.create("early").path
    dumps.wipe()
    entity_ids |= change_at_random(run, rng, 8)
    late = dumps.create("late").path
    dumps.restore(early)
    assert run("server.check_snapshots")["healthy"]
    backwards, whole = answers_about(run, entity_ids), dumps.create("whole").path
    for paths in ((early, late), (late, whole), *(((late, early), (whole,)) if LONG else ())):
        dumps.wipe()
        for path in paths:
            dumps.restore(path)
        assert run("server.check_snapshots")["healthy"]
        assert answers_about(run, entity_ids) == backwards, [path.name for path in paths]


def test_a_restore_merges_by_no_alternative_that_is_off(run: Call, dumps: Dumps, services: Services) -> None:
    ada = {"entity_type": "person", "name": "Ada Lovelace"}
    by_name, by_email = (
        run("store", entities=[{**ada, **more}])["entities"][0]["entity_id"]
        for more in ({}, {"email": "ada@example.org"})
    )
    made = dumps.create()
    settings = services.settings.model_copy(update={"merge_rules_off": ("person:name",)})
    # The copy has the cached property of the original.
    vars(settings).pop("merge_rules_off_by_type", None)
    writers = Writers(services.database, settings, services.writers.embedder)
    for chosen, shown in (
        (replace(services, settings=settings, writers=writers), by_name),
        (services, by_email),
    ):
        dumps.wipe()
        dumps.services = chosen
        dumps.restore(made)
        assert run("entities.get", entity_id=by_name)["entity_id"] == shown


def test_an_unmerge_of_a_merge_by_rule_separates_in_every_order_of_restores(run: Call, dumps: Dumps) -> None:
    by_name = home_of(run, ADA)
    parts = [dumps.create("by name").path]
    dumps.wipe()
    by_email = home_of(run, ADA_BY_EMAIL)
    parts.append(dumps.create("by e-mail").path)
    dumps.restore(parts[0])
    assert shown_as(run, by_name) == [by_email]
    run("entities.unmerge", entity_id=by_name)
    parts.append(dumps.create("whole").path)
    orders = [*itertools.permutations(parts), tuple(parts[2:])]
    # The first says the parts as they were made, the last but one backwards.
    for order in orders if LONG else (orders[0], *orders[-2:]):
        dumps.wipe()
        for path in order:
            dumps.restore(path)
        assert shown_as(run, by_name, by_email) == [by_name, by_email]
        assert home_of(run, {**ADA, "note": "again"}) == by_name
        assert shown_as(run, by_name) == [by_name]
        assert run("server.check_snapshots")["healthy"]


def test_a_dump_holds_facts_and_no_merges_by_rule(run: Call, dumps: Dumps) -> None:
    by_name, by_email = home_of(run, ADA), home_of(run, ADA_BY_EMAIL)
    assert shown_as(run, by_name) == [by_email]
    made = dumps.create()
    dumped = [record for record in dumps.records(made) if isinstance(record, ObservationRecord)]
    assert [(each.subject_id, each.kind) for each in dumped] == [(by_name, "value"), (by_email, "value")]

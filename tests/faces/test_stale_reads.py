"""After a schema was changed, every read folds what it answers anew, and none fails."""

from __future__ import annotations

import json
import re
from typing import Any, LiteralString

import pytest

from graphmem.context import Services
from graphmem.errors import DataDamaged, GraphmemError, InternalError, Unavailable
from graphmem.registry import REGISTRY, Scope
from tests.faces.parity_rows import FILE, ROWS, STORE, Row
from tests.support.event_loop import Loop
from tests.support.faces import Call


def change_schemas(run: Call, number: int) -> None:
    """Change the schemas of the types that are stored."""
    for entity_type in ("person", "company"):
        fields = {"name": {"type": "string"}, f"new_{number}": {"type": "string"}}
        run("schemas.register", schema={"entity_type": entity_type, "fields": fields})


def filled(row: Row, known: dict[str, str]) -> dict[str, Any] | None:
    """Return the arguments of a row, with ids in their places; None if an id is not known."""
    text = json.dumps(row.arguments)
    # The longest first: one name begins another.
    for name in sorted(known, key=len, reverse=True):
        text = text.replace(f'"{name}"', json.dumps(known[name]))
    return None if '"$' in text else json.loads(text)


@pytest.mark.long
def test_every_read_answers_after_the_schemas_were_changed(run: Call) -> None:
    answer = run("store", **STORE)
    ada, acme = (item["entity_id"] for item in answer["entities"])
    (link,) = answer["relationships_created"]
    known = {"$ada": ada, "$acme": acme, "$source": run("store", **FILE)["source_id"]}
    known |= {"$link": link["relationship_key"], "$link_id": link["relationship_id"]}
    known["$event"] = run("timeline.list", entity_id=ada)["events"][0]["id"]
    asked, statuses = set[str](), dict[str, int]()
    for number, row in enumerate(ROWS):
        arguments = filled(row, known)
        is_new = not row.code and REGISTRY[row.name].scope is Scope.READ and row.name not in asked
        if arguments is None or not is_new:
            continue
        change_schemas(run, number)
        try:
            run(row.name, **arguments)
        except InternalError:
            raise
        except GraphmemError as refusal:
            # What the example asks for may not be stored here.
            statuses[row.name] = refusal.status
        asked.add(row.name)
    assert all(status < 500 for status in statuses.values()), statuses
    assert {"entities.contested", "entities.query", "context.retrieve", "timeline.list"} < asked
    assert len(asked) > 30


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("entities.duplicates", {"entity_id": "$ada"}),
        ("entities.find", {"identifier": "Lovelace"}),
        ("entities.query", {"filters": {"snapshot_filters": {"born": {"op": "gt", "value": 1800}}}}),
        ("context.retrieve", {"question": "When was Ada Lovelace born?"}),
        ("relationships.list", {"filters": {"entity_id": "$ada"}}),
        ("schemas.get", {"entity_type": "person"}),
        ("schemas.list", {}),
    ],
)
def test_no_read_fails_where_a_commit_fell_into_it(
    run: Call, loop: Loop, services: Services, owner: str, name: str, arguments: dict[str, Any]
) -> None:
    people = [{"entity_type": "person", "name": f"Ada {name}", "born": 1815} for name in ("Lovelace", "King")]
    link = {"relationship_type": "KNOWS", "source_index": 0, "target_index": 1, "metadata": {"since": 1830}}
    ada = run("store", entities=people, relationships=[link])["entities"][0]["entity_id"]
    with_ids = filled(Row(name, arguments), {"$ada": ada})
    assert with_ids is not None
    run(name, **with_ids)
    # A read between two properties of a node sees values of which it does not know the fields.
    longer: LiteralString = (
        "MATCH (n) WHERE n.owner = $owner AND n.check IS NOT NULL SET n.values = n.values + ['1'] "
        "WITH count(n) AS torn MATCH (n:Schema) WHERE n.owner = $owner SET n.seen = n.seen + ['string']"
    )
    loop.run(services.database.script(longer, owner=owner))
    try:
        # A list answers the others, and names what it leaves out.
        message = str(run(name, **with_ids)["left_out"])
    except (Unavailable, DataDamaged) as exc:
        message = str(exc)
    assert re.search(r"ent_|rel_|the schema of person", message)

"""What of an owner's data a language model gets: the names that schemas declare, and no stored value."""

from __future__ import annotations

import json

import pytest

from graphmem.context import Context, Services
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits
from graphmem.interpretation import language_model, readings
from graphmem.interpretation.model_prompt import known_types
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.language_model import running_language_model

CANARY = "canary-7f3a"


def test_the_model_gets_the_names_that_schemas_declare_and_no_stored_value(
    run: Call, loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readings, "SCHEMAS_AT_ONCE", 1)
    fields = {"serial": {"type": "string"}, "watts": {"type": "number"}}
    run("schemas.register", entity_type="lamp", schema_definition={"fields": fields})
    run(
        "schemas.register",
        entity_type="person",
        schema_definition={"fields": {"nickname": {"type": "string"}}},
    )
    ada = {"entity_type": "person", "name": f"Ada {CANARY}", f"field_{CANARY}": 1}
    lamp = {"entity_type": "lamp", "serial": CANARY, "watts": 7}
    heap = {"entity_type": "heap", f"heap_{CANARY}": CANARY}
    run("store", entities=[ada, lamp, heap], idempotency_key=CANARY)
    context = Context(full_actor(owner), services)
    schemas = loop.run(readings.known_schemas(context))
    assert {"lamp", "person", "invoice"} <= {document.entity_type for document in schemas}
    assert "heap" not in {document.entity_type for document in schemas}
    document = parsed_here(b"A lamp of 7 watts.\n", None, "lamp.txt", DocumentLimits())
    with running_language_model() as model:
        config = language_model.configuration(known_types(schemas), model.settings())
        loop.run(language_model.propose(document, schemas, model.settings(), config))
    (request,) = model.requests
    lines = request["messages"][0]["content"].splitlines()
    assert 'lamp {"serial":"string","watts":"number"}' in lines
    assert '"nickname":"string"' in next(line for line in lines if line.startswith("person {"))
    assert CANARY not in json.dumps(request)
    # What is stored meanwhile makes no other interpretation of the same file.
    run("store", entities=[{"entity_type": "lamp", "serial": "8", "colour": "red"}])
    types = known_types(loop.run(readings.known_schemas(context)))
    assert language_model.configuration(types, model.settings()) == config

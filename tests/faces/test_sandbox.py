"""What the public sandbox refuses, and that what it lets visitors delete they can restore."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphmem.errors import NotFound, SandboxDisabled
from graphmem.registry import REGISTRY
from graphmem.runtime import Services
from tests.support import faces
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.walks import walk_over

CLOSED = {
    "entities.merge", "entities.unmerge", "entities.split", "entities.unsplit", "entities.dismiss_duplicates",
    "schemas.register", "schemas.update", "relationship_types.register", "relationship_types.rename",
    "sources.withdraw", "sources.reinstate", "interpretations.withdraw", "interpretations.reinstate",
    "writings.withdraw", "writings.reinstate", "agents.grant", "agents.grants", "agents.quarantine",
    "agents.release", "agents.revoke", "agents.suspend", "undo",
    "server.check_snapshots", "keys.create", "keys.list", "keys.revoke", "keys.rotate",
    "connections.revoke", "receipts.get", "receipts.list", "receipts.replay",
    "subscriptions.add", "subscriptions.list", "subscriptions.remove",
    *(name for name in REGISTRY if name.startswith("copies.")),
}  # fmt: skip
ADA = {"entity_type": "person", "name": "Ada"}
BOB = {"entity_type": "person", "name": "Bob"}


@pytest.fixture
def sandbox(services: Services, loop: Loop, owner: str) -> Call:
    """Run an operation in the sandbox."""
    settings = services.settings.model_copy(update={"sandbox": True})
    return faces.by_runner(loop, replace(services, settings=settings), owner)


def test_sandbox_refuses_these_operations_and_no_others() -> None:
    assert {name for name, operation in REGISTRY.items() if not operation.sandbox} == CLOSED


@walk_over("name", sorted(CLOSED))
def test_closed_operation_in_the_sandbox_is_refused(sandbox: Call, name: str) -> None:
    with pytest.raises(SandboxDisabled) as refused:
        sandbox(name, **REGISTRY[name].example)
    assert refused.value.details == {"operation": name}


def test_schema_in_the_sandbox_stays_as_it_was_after_a_refused_change(sandbox: Call) -> None:
    sandbox("store", entities=[{"entity_type": "wine", "name": "Barolo"}])
    before = sandbox("schemas.get", entity_type="wine")
    with pytest.raises(SandboxDisabled):
        sandbox("schemas.update", entity_type="wine", new_fields={"grape": "string"})
    assert sandbox("schemas.get", entity_type="wine") == before


def test_entity_deleted_in_the_sandbox_can_be_restored(sandbox: Call) -> None:
    (ada,) = (one["entity_id"] for one in sandbox("store", entities=[ADA])["entities"])
    shown = sandbox("entities.get", entity_id=ada)["snapshot"]
    sandbox("entities.delete", entity_id=ada)
    with pytest.raises(NotFound):
        sandbox("entities.get", entity_id=ada)
    sandbox("entities.restore", entity_id=ada)
    assert sandbox("entities.get", entity_id=ada)["snapshot"] == shown


def test_relationship_deleted_in_the_sandbox_can_be_restored(sandbox: Call) -> None:
    ada, bob = (one["entity_id"] for one in sandbox("store", entities=[ADA, BOB])["entities"])
    ends = {"relationship_type": "RELATED_TO", "source_entity_id": ada, "target_entity_id": bob}
    sandbox("relationships.create", **ends)

    def listed() -> list[str]:
        return [
            one["relationship_type"] for one in sandbox("relationships.list", entity_id=ada)["relationships"]
        ]

    assert listed() == ["RELATED_TO"]
    sandbox("relationships.delete", **ends)
    assert listed() == []
    sandbox("relationships.restore", **ends)
    assert listed() == ["RELATED_TO"]

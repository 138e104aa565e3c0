"""What the examples of declarations name, stored for an owner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphmem.auth import local_actor
from graphmem.context import Services
from graphmem.receipts import recording
from graphmem.registry import REGISTRY
from tests.faces.parity_rows import AT, FILE, SPLIT, STORE, with_stored_ids
from tests.support.actors import CONNECTION, DISABLED_ACCOUNT, SUBSCRIPTION
from tests.support.event_loop import Loop


def connection_of(owner: str) -> str:
    """Return the id of the connection of an owner's account."""
    return f"con_{owner[:16]}"


async def bring_connection(services: Services, owner: str) -> None:
    """Have the connection of an owner's account in force."""
    await services.database.script(CONNECTION, account=owner, id=connection_of(owner), name="parity")


async def bring_subscription(services: Services, owner: str) -> str:
    """Have the subscription of an owner's account, and return its id."""
    subscription = f"sub_{owner[:16]}"
    await services.database.script(SUBSCRIPTION, account=owner, id=subscription)
    return subscription


def stored_examples(
    loop: Loop, services: Services, owner: str, run: Callable[[str, dict[str, Any]], dict[str, Any]]
) -> dict[str, str]:
    """Store what the examples name, and return the ids by the names that rows have for them."""
    answer = run("store", {**STORE, "idempotency_key": "parity"})
    ada, acme = (item["entity_id"] for item in answer["entities"])
    (link,) = answer["relationships_created"]
    known = {"$ada": ada, "$acme": acme}
    known |= {"$link": link["relationship_key"], "$link_id": link["relationship_id"]}
    loop.run(services.database.script(DISABLED_ACCOUNT, id=owner))
    known["$key"] = run("keys.create", {"name": "parity"})["key"]["key_id"]
    loop.run(bring_connection(services, owner))
    known["$connection"] = connection_of(owner)
    known["$subscription"] = loop.run(bring_subscription(services, owner))
    known["$grant"] = run("agents.grant", dict(REGISTRY["agents.grant"].example))["grant"]["grant_id"]
    known["$source"] = run("store", FILE)["source_id"]
    example = REGISTRY["interpretations.create"].example
    read = {**with_stored_ids(dict(example)), "source_id": known["$source"], "idempotency_key": "parity read"}
    known["$interpretation"] = run("interpretations.create", read)["interpretation_id"]
    twins = [{"entity_type": "thing", "name": "Twin", "a": number} for number in range(3)]
    stored = run("store", {"entities": twins, "observed_at": AT, "idempotency_key": "parity twins"})
    known["$transaction"] = stored["transaction_id"]
    known["$twin"] = stored["entities"][0]["entity_id"]
    known["$split"] = run("entities.split", {**SPLIT, "source_entity_id": known["$twin"]})["split_id"]
    known["$receipt"] = told(loop, services, lambda: run("context.retrieve", {"entity_id": ada}), run)
    # Callers without the scope admin see their own receipts alone: it is that of the open local account.
    query = "MATCH (receipt:Receipt {id: $id}) SET receipt.asker = $asker"
    asker = recording.asker(local_actor("test"))
    loop.run(services.database.script(query, id=known["$receipt"], asker=asker))
    known["$event"] = run("timeline.list", {"entity_id": ada})["events"][0]["id"]
    return known


def told(
    loop: Loop, services: Services, ask: Callable[[], object],
    run: Callable[[str, dict[str, Any]], dict[str, Any]],
) -> str:  # fmt: skip
    """Ask something that leaves a receipt, and return its id."""
    before, services.receipts.mode = services.receipts.mode, "all"
    ask()
    services.receipts.mode = before
    loop.run(services.receipts.flush())
    return run("receipts.list", {"limit": 1})["receipts"][0]["receipt_id"]


def filled(value: Any, known: dict[str, str]) -> Any:
    """Return the arguments of a row with the ids of what is stored."""
    if isinstance(value, dict):
        return {name: filled(inner, known) for name, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, known) for inner in value]
    return known.get(value, value) if isinstance(value, str) else value

"""Every operation runs over a sealed instance, which refuses to write what nothing declares."""

from __future__ import annotations

from typing import Any

from graphmem.context import Services
from graphmem.errors import GraphmemError
from graphmem.model import canonical
from graphmem.registry import REGISTRY
from tests.faces.example_data import bring_connection, bring_subscription, filled, stored_examples
from tests.faces.parity_rows import ROWS
from tests.support.actors import full_actor
from tests.support.event_loop import Loop


def test_every_operation_succeeds_and_fails_as_over_an_instance_in_clear(
    loop: Loop, sealed_services: Services, owner: str
) -> None:
    actor = full_actor(owner, client="test")

    def run(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return canonical.decode(loop.run(REGISTRY[name].run(sealed_services, actor, arguments)))

    known = stored_examples(loop, sealed_services, owner, run)
    wrong: list[str] = []
    for row in ROWS:
        code = ""
        if row.name == "connections.revoke" and not row.code:
            loop.run(bring_connection(sealed_services, owner))
        if row.name in ("subscriptions.add", "subscriptions.remove") and not row.code:
            loop.run(bring_subscription(sealed_services, owner))
        try:
            run(row.name, filled(row.arguments, known))
        except GraphmemError as exc:
            code = exc.code
        if code != row.code:
            wrong.append(f"{row.name} {row.arguments}: {code}, not {row.code}")
    assert wrong == []

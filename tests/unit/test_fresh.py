"""A read runs again until its answer is whole; an operation that writes runs once."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from graphmem.context import Context
from graphmem.errors import DatabaseTimeout
from graphmem.fresh import READ_ATTEMPTS, read_fresh
from graphmem.model.reduction import Stale, Torn
from graphmem.registry import REGISTRY, Scope
from tests.support.actors import full_actor
from tests.support.walks import walk_over


def run(faults: list[Exception]) -> tuple[str, list[tuple[str, list[str]]]]:
    """Return the answer of a read that first raises some faults, and what was folded again for it."""
    refolded: list[tuple[str, list[str]]] = []
    waiting = list(faults)

    async def refold(owner: str, entity_ids: list[str], keys: list[str]) -> None:
        assert keys == []
        refolded.append((owner, entity_ids))

    @read_fresh
    async def read(context: Context, greeting: str) -> str:
        if waiting:
            raise waiting.pop(0)
        return greeting

    services = SimpleNamespace(writers=SimpleNamespace(refold=refold))
    context = Context(full_actor("owner"), cast("Any", services))
    return asyncio.run(read(context, "hello")), refolded


def test_a_torn_read_runs_again() -> None:
    assert run([Torn("ent_1", 1), Torn("ent_1", 2)]) == ("hello", [])


def test_a_stale_read_runs_again_after_its_entities_are_folded_again() -> None:
    assert run([Stale(["ent_1", "ent_2"])]) == ("hello", [("owner", ["ent_1", "ent_2"])])


def test_a_read_that_stays_torn_times_out() -> None:
    torn: list[Exception] = [Torn("ent_1", part) for part in range(READ_ATTEMPTS)]
    assert run(torn[1:])[0] == "hello"
    with pytest.raises(DatabaseTimeout):
        run(torn)


@walk_over("name", [o.name for o in REGISTRY.values() if o.scope is not Scope.READ])
def test_an_operation_that_writes_is_not_run_again(name: str) -> None:
    function: Any = REGISTRY[name].function
    fresh = read_fresh(function)
    while function:
        assert function.__code__ is not fresh.__code__
        function = getattr(function, "__wrapped__", None)

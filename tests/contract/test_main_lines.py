"""How much code the main requests pass through: shown, so that a change shows what it adds."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import graphmem
from graphmem.context import Services
from graphmem.registry import REGISTRY
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.figures import Figures

PACKAGE: Final = Path(graphmem.__file__).parent
ADA: Final = {"entity_type": "person", "name": "Ada Lovelace", "email": "ada@example.org", "city": "London"}
REQUESTS: Final[tuple[tuple[str, dict[str, Any], int], ...]] = (
    ("store", {"entities": [ADA]}, 394),
    ("entities.query", {"search": "Ada"}, 327),
    ("context.retrieve", {"question": "Where does Ada Lovelace live?"}, 384),
    ("entities.query", {"entity_type": "person"}, 118),
)
"""An operation, its arguments, and the most functions that it may pass: up to 5 % more than it does."""


async def passed(services: Services, owner: str, name: str, arguments: dict[str, Any]) -> Counter[CodeType]:
    """Return the calls of the package's functions while the event loop answers a request."""
    calls: Counter[CodeType] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        is_function = not code.co_name.startswith("<")
        if event == "call" and is_function and code.co_filename.startswith(str(PACKAGE)):
            calls[code] += 1

    actor = full_actor(owner, client="test")
    sys.setprofile(note)
    try:
        await REGISTRY[name].run(services, actor, arguments)
    finally:
        sys.setprofile(None)
    return calls


def test_a_request_passes_through_no_more_functions_than_before(
    loop: Loop, services: Services, owner: str, figures: Figures
) -> None:
    for name, arguments, most in REQUESTS:
        # The first call fills caches, and a call may be tried again.
        calls = min([loop.run(passed(services, owner, name, arguments)) for _ in range(3)], key=len)
        files = {Path(code.co_filename).relative_to(PACKAGE) for code in calls}
        figures(
            f"{name}{arguments}: {len(calls)} functions of {len(files)} files in "
            f"{len({file.parts[0] for file in files})} rooms, {calls.total()} calls"
        )
        assert len(calls) <= most, sorted(code.co_qualname for code in calls)

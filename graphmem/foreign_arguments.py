"""Arguments of other services that operations do not have, and take where the value asks for nothing.

Programs written for another service send such arguments with each call. One whose value would change the
answer is refused as every unknown name is.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from graphmem.arguments import Arguments, spellings
from graphmem.auth import Actor

FOREIGN: Final[Mapping[str, tuple[Any, ...]]] = {
    **dict.fromkeys(("strict", "force", "include_observations", "expand_entities"), (False,)),
    "exclude_bookkeeping": (False,),
    **dict.fromkeys(("user_specific", "activate"), (True,)),
    "migrate_existing": (True, False),
    "source_storage": ("inline",),
    "interpretation": ({},),
    "format": ("json",),
    "order_by": ("event_timestamp",),
    # It limits what `include_observations` asks for, which is refused.
    "observations_limit": tuple(range(1, 201)),
    **dict.fromkeys(
        ("external_actor", "by", "published", "published_after", "published_before", "identity_basis",
         "collapse_by", "similarity_threshold", "source_id", "source_type", "entity_type", "user_id"), (),
    ),
}  # fmt: skip
"""The values of each argument that ask for nothing, beside null. Of ``user_id`` it is the caller's own.

Operations that have an argument of the name read it themselves.
"""


def asking_something(model: type[Arguments], raw: Mapping[str, Any], actor: Actor) -> Mapping[str, Any]:
    """Return the arguments of a call without those that ask for nothing. A query string has texts."""
    neutral = _neutral(model)
    if raw.keys().isdisjoint(neutral):
        return raw
    dropped: set[str] = set()
    for name, values in neutral.items():
        own = tuple(filter(None, (actor.owner, actor.account))) if name == "user_id" else values
        if name in raw and (
            raw[name] in (None, *own) or str(raw[name]).lower() in map(str.lower, map(str, own))
        ):
            dropped.add(name)
    return {name: value for name, value in raw.items() if name not in dropped}


@cache
def _neutral(model: type[Arguments]) -> Mapping[str, tuple[Any, ...]]:
    """Return the arguments that an operation does not read itself."""
    known = spellings(model)
    return {name: values for name, values in FOREIGN.items() if name not in known}

"""What answers hold of entities: which fields, and the provenance of these fields or none.

An operation that answers entities takes :data:`FieldNames` and :data:`ProvenanceLevel`, and is decorated with
:func:`shaped`, which shapes the answer after the operation ran.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal, NotRequired, cast

from pydantic import Field

from graphmem.arguments import Arguments
from graphmem.budgets import A, Answer, Answering, Budgeted, T
from graphmem.context import Context
from graphmem.errors import InvalidInput
from graphmem.model.identity import CANONICAL_NAME
from graphmem.reading import answers, names_in_use
from graphmem.reading.names_in_use import Warned

OBSERVATIONS_LIMIT: Final = 1_000  # observations that a list holds for the provenance of its entities

FieldNames = Annotated[list[str], Field(max_length=100, description="Only these fields; all if empty.")]
EVERY_FIELD: Final[list[str]] = []  # the default of :data:`FieldNames`
ProvenanceLevel = Annotated[
    Literal["none", "ids", "full"], Field(description="ids: the observation of each field; full: these too.")
]


class ShapedArguments(Arguments):
    """The arguments of an operation that answers entities."""

    described_last: ClassVar[tuple[str, ...]] = ("fields", "provenance")

    fields: FieldNames = EVERY_FIELD
    provenance: ProvenanceLevel = "ids"


class Shaped(Warned):
    """What shaping adds to an answer.

    ``provenance_observations`` has the observations that ``provenance`` names, by id, where the request asks
    for them. ``warnings`` proposes the field that was probably meant where no entity has a requested one.
    """

    provenance_observations: NotRequired[dict[str, answers.Observation]]


class OneEntity(answers.Entity, Shaped, Budgeted):
    """An entity, alone in its answer."""


def shaped(*members: str) -> Callable[[Answering[A, T]], Answering[A, T]]:
    """Decorate an operation that answers entities.

    ``members`` hold an entity, or a list of entities or relationships; without any, the answer is an entity.
    ``provenance: none`` is true for relationships too; their metadata stays whole.
    """

    def decorate(function: Answering[A, T]) -> Answering[A, T]:
        @functools.wraps(function)
        async def run(context: Context, arguments: A) -> T:
            answer = await function(context, arguments)
            await _shape(context, cast("Answer", answer), members, arguments)
            return answer

        return run

    return decorate


async def _shape(context: Context, answer: Answer, members: Sequence[str], arguments: Arguments) -> None:
    """Shape an answer in place; raises InvalidInput: the provenance of a list has too many observations."""
    fields, provenance = requested(arguments)
    parts = [answer[name] for name in members if name in answer] if members else [answer]
    items: list[Answer] = [item for part in parts for item in (part if isinstance(part, list) else [part])]
    if fields:
        entities = [item for item in items if "entity_id" in item and "snapshot" in item]
        unknown = _keep(entities, fields)
        if unknown and entities:
            types = {entity["entity_type"] for entity in entities}
            warned = await names_in_use.warned(context, (), types, unknown)
            if warnings := warned.get("warnings"):
                answer["warnings"] = [*answer.get("warnings", ()), *warnings]
    if provenance == "none":
        for item in items:
            item.pop("provenance", None)
    elif provenance == "full":
        named = (ids for item in items if "entity_id" in item for ids in item.get("provenance", {}).values())
        winners = {winner for ids in named for winner in ids.split(",")}
        if members and len(winners) > OBSERVATIONS_LIMIT:
            message = (
                f"full would answer {len(winners):,} observations, and a list holds at most "
                f"{OBSERVATIONS_LIMIT:,}: give a lower limit, some `fields`, or ids"
            )
            raise InvalidInput.at("$.provenance", message)
        answer["provenance_observations"] = await observations(context, winners)


def requested(arguments: Any) -> tuple[list[str], str]:
    """Return the fields and the provenance that a request asks for. ``expand_provenance`` is the older name
    of ``provenance: full``."""
    sent: set[str] = arguments.model_fields_set
    is_expanded = "expand_provenance" in sent and "provenance" not in sent and arguments.expand_provenance
    return arguments.fields, "full" if is_expanded else arguments.provenance


def _keep(entities: Iterable[Answer], fields: Sequence[str]) -> list[str]:
    """Leave only some fields in snapshots and their provenance; return the fields that no entity has."""
    names, known = set(fields), {CANONICAL_NAME}
    for entity in entities:
        known |= names & entity["snapshot"].keys()
        for part in ("snapshot", "provenance"):
            if part in entity:
                entity[part] = {name: value for name, value in entity[part].items() if name in names}
    return sorted(names - known)


async def observations(context: Context, observation_ids: set[str]) -> dict[str, answers.Observation]:
    """Return some observations by their ids, those of deleted entities too."""
    stored = await answers.stored_observations(context, observation_ids)
    rows = await answers.with_withdrawals(context, stored)
    return {each["id"]: each for each in sorted(rows, key=lambda each: each["id"])}

"""Listing contested values: fields of which another value was observed, not older than the shown one."""

from typing import Annotated, Any, Final

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import EntityType, NoBool
from graphmem.budgets import Budgeted, Sized
from graphmem.context import Context
from graphmem.reading import answers, cursors
from graphmem.reading.entity_pages import EntityRequest, Order, page
from graphmem.reading.pages import LeavesOut
from graphmem.registry import Scope, operation
from graphmem.search.context.context_lines import contested_lines

SCANNED_LIMIT: Final = 200  # entities that one call looks at, the newest ones
_CHUNK: Final = 50


class FindContested(Sized):
    entity_type: EntityType | None = None
    limit: Annotated[int, Field(ge=1, le=SCANNED_LIMIT), NoBool] = 20


class ObservedValue(TypedDict):
    """A value, when it was observed, and by which observation."""

    value: Any
    observed_at: str | None
    observation_id: str


class ContestedField(ObservedValue):
    """A field with the value that is shown, and the values that contest it, the newest first."""

    field: str
    contested: list[ObservedValue]


class ContestedEntity(answers.EntityName):
    """An entity with its contested fields."""

    fields: list[ContestedField]


class ContestedValues(LeavesOut, Budgeted):
    """Entities with contested fields, the last observed first.

    ``scanned`` entities were looked at; ``truncated`` is true if there are more.
    """

    entities: list[ContestedEntity]
    scanned: int
    truncated: bool


@operation("entities.contested", Scope.READ)
async def find_contested(context: Context, arguments: FindContested) -> ContestedValues:
    """List fields with another value that is not older than the shown one.

    Of the 200 entities observed last, and the newest 50 observations of each.
    """
    types = [arguments.entity_type] if arguments.entity_type else []
    request = EntityRequest(types, Order.of("last_observation_at", "desc"), SCANNED_LIMIT, 0)
    newest = await page(context, request, cursors.fingerprint(context, "entities.contested", arguments), None)
    entity_ids = [row.id for row in newest.items]
    entities: dict[str, ContestedEntity] = {}
    scanned = 0
    while scanned < len(entity_ids) and len(entities) < arguments.limit:
        looked, lines = await contested_lines(context, entity_ids[scanned : scanned + _CHUNK])
        scanned += looked
        for line in lines:
            about = line.about
            entities.setdefault(about.id, {
                "entity_id": about.id,
                "entity_type": about.type,
                "canonical_name": about.name,
                "fields": [],
            })["fields"].append({
                "field": line.field,
                **_observed(line.value, line.observed_at, line.observation_id),
                "contested": [
                    _observed(each.text, each.observed_at, each.observation_id) for each in line.contested
                ],
            })  # fmt: skip
    listed = list(entities.values())
    more = len(listed) > arguments.limit or scanned < len(entity_ids) or newest.place is not None
    return {"entities": listed[: arguments.limit], "scanned": scanned, "truncated": more}


def _observed(text: str, observed_at: int | None, observation_id: str) -> ObservedValue:
    return {
        "value": answers.stored_json(text),
        "observed_at": answers.when(observed_at),
        "observation_id": observation_id,
    }

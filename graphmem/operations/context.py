"""Context for an agent: lines about a question or an entity, within a budget."""

from __future__ import annotations

import asyncio
import functools
from typing import Annotated, Literal

from pydantic import Field

from graphmem.arguments import Arguments, EntityId, EntityType, NoBool, Spelled, Text, invalid
from graphmem.errors import InvalidCursor, NotFound
from graphmem.matching import context_ranking as lines_of
from graphmem.matching.context_ranking import Unit
from graphmem.reading import answers, cursors
from graphmem.reading.budgets import MaxCharacters, size
from graphmem.reading.context_lines import known_lines
from graphmem.reading.context_page import ContextPage, fitted
from graphmem.reading.cursors import Cursor
from graphmem.reading.fresh import read_fresh
from graphmem.reading.lookup import ExactHits
from graphmem.reading.search_engine import search
from graphmem.reading.shaping import EVERY_FIELD, FieldNames
from graphmem.reading.shared_rows import EntityResult
from graphmem.registry import Context, Scope, operation
from graphmem.text import identifiers, words

BUDGET_MINIMUM = 500
BUDGET_MAXIMUM = 200_000
HINT_LIMIT = 300
ENTITIES_LIMIT = 20
"""Entities that answer one question."""


class RetrieveContext(Arguments):
    """What ``context.retrieve`` takes."""

    question: Annotated[
        Annotated[Text, Field(min_length=1)] | None,
        Spelled(option="question"),
        Field(description="The question, in words: a sentence, a name or a topic."),
    ] = None
    entity_id: Annotated[EntityId | None, Field(description="The entity that the lines are about.")] = None
    entity_type: EntityType | None = None
    budget: Annotated[
        int,
        Field(
            ge=BUDGET_MINIMUM,
            le=BUDGET_MAXIMUM,
            description=f"Size of the whole answer at most, {BUDGET_MINIMUM:,} to {BUDGET_MAXIMUM:,}.",
        ),
        NoBool,
    ] = 2_000
    unit: Annotated[Unit, Field(description="Unit of the budget; tokens are estimated from above.")] = (
        "tokens"
    )
    cursor: Cursor = None
    max_characters: MaxCharacters = None
    fields: Annotated[
        FieldNames, Field(description="Only lines of these fields or relationship types; all if empty.")
    ] = EVERY_FIELD
    provenance: Annotated[Literal["none", "ids"], Field(description="ids: also each line's observation.")] = (
        "ids"
    )


@operation(
    "context.retrieve",
    "POST /retrieve_context",
    tool="retrieve_context",
    command="context",
    scope=Scope.READ,
    heavy=True,
    errors=(NotFound, InvalidCursor),
    example={"question": "where does Ada work", "budget": 1000},
)
@read_fresh
async def retrieve_context(context: Context, arguments: RetrieveContext) -> ContextPage:
    """Return what is known about a question or an entity, most useful first, within a budget.

    Each line is a current value or a relationship, with its entity, its time and its observation. Superseded
    values are left out. A line names the values that contest it: they are not older and did not win. The same
    state gives the same lines. `next_cursor` answers the lines after the budget.
    """
    if arguments.question is None and arguments.entity_id is None:
        raise invalid([{"path": "$.question", "message": "give a question, an entity_id, or both"}])
    question_words = frozenset(words.tokens(arguments.question or ""))
    # Other fields are other lines: a cursor counts lines, so it is bound to the fields.
    name = ":".join(["context.retrieve", *sorted(set(arguments.fields))])
    query = cursors.fingerprint(context, name, arguments, apart={"budget", "unit"})
    skip = _skipped(query, arguments.cursor)
    entity_ids, hint = await _about(context, arguments)
    known = await known_lines(context, entity_ids)
    wanted = [line for line in known if not arguments.fields or line.field in arguments.fields]
    lines = lines_of.ordered(wanted, question_words)
    fit = functools.partial(
        fitted, lines, skip, question_words, query=query, with_ids=arguments.provenance == "ids"
    )
    page = fit(arguments.budget, arguments.unit)
    if arguments.max_characters is not None and size(page) > arguments.max_characters:
        page = fit(arguments.max_characters, "characters")
    if not page["lines"] and skip < len(lines):
        page["hint"] = "the next line alone exceeds the budget: raise the budget"
    elif not lines and known:
        names = ", ".join(sorted({line.field for line in known}))
        page["hint"] = f"no line is of these fields; there are lines of {names}"[:HINT_LIMIT]
    elif not lines and hint:
        page["hint"] = hint[:HINT_LIMIT]
    return page


def _skipped(query: str, cursor: str | None) -> int:
    """Return the number of lines on earlier pages.

    Raises:
        InvalidCursor: the cursor belongs to another query.
    """
    if cursor is None:
        return 0
    skip = cursors.decode(query, cursor, {"answered": int})["answered"]
    if not 0 <= skip <= cursors.ANSWERED_LIMIT:
        raise cursors.refused()
    return skip


async def _about(context: Context, arguments: RetrieveContext) -> tuple[list[str], str]:
    """Return the ids of the entities to tell about, closest first, and a hint for an empty answer.

    Raises:
        NotFound: there is no entity with the given id.
    """
    entity_ids: list[str] = []
    if arguments.entity_id is not None:
        row = await context.graph.one(
            "entity.get", EntityResult, entity_id=arguments.entity_id, include_deleted=False
        )
        if row is None:
            raise answers.no_entity(arguments.entity_id)
        entity_ids.append(row.entity.id)
    if arguments.question is None:
        return entity_ids, ""
    types = [arguments.entity_type] if arguments.entity_type else []
    named, results = await asyncio.gather(
        _named(context, arguments.question, types),
        search(context, arguments.question, types=types, limit=ENTITIES_LIMIT),
    )
    entity_ids += [*named, *(hit.id for hit in results.ranked)]
    hint = "; ".join(["no name, no words and no meaning of any entity fit the question", *results.notes])
    return list(dict.fromkeys(entity_ids))[:ENTITIES_LIMIT], hint


async def _named(context: Context, question: str, types: list[str]) -> list[str]:
    """Return the ids of entities whose name or identifier occurs in a question, the longest name first."""
    region = context.services.settings.phone_region
    pairs = {pair for phrase in lines_of.phrases(question) for pair in identifiers.candidates(phrase, region)}
    row = await context.graph.only(
        "entity.find",
        ExactHits,
        pairs=sorted(map(list, pairs)),
        kinds=list(identifiers.KINDS),
        types=types,
        limit=ENTITIES_LIMIT,
    )
    entities = sorted((hit.entity for hit in row.hits), key=lambda entity: (-len(entity.name), entity.id))
    return [entity.id for entity in entities]

"""Context for an agent: lines about a question or an entity, within a budget."""

import asyncio
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from graphmem.arguments import EntityId, EntityType, NoBool, ReadAs, Spelled, Text
from graphmem.budgets import MaxCharacters, size
from graphmem.context import Context
from graphmem.errors import InvalidInput
from graphmem.reading import answers, as_of, cursors
from graphmem.reading.as_of import AsOfArguments
from graphmem.reading.cursors import Cursor
from graphmem.reading.shaping import EVERY_FIELD, FieldNames
from graphmem.receipts.collected import tell
from graphmem.registry import Scope, operation
from graphmem.search.context import context_page
from graphmem.search.context import context_ranking as lines_of
from graphmem.search.context.context_lines import Subjects, known_lines
from graphmem.search.context.context_page import AboutSearch, ContextPage, Format, fitted, with_hint
from graphmem.search.context.context_ranking import Focus, Line
from graphmem.search.context.context_sheets import FieldsSheet, TextSheet, View
from graphmem.search.context.token_counts import Unit
from graphmem.search.questions import naming
from graphmem.search.search_engine import OF_NOW, search
from graphmem.search.search_results import NEWEST_FIRST, Results, Search
from graphmem.text import words

BUDGET_MINIMUM = 500
BUDGET_MAXIMUM = 200_000
BUDGET_IN_LOOP = 10_000  # the tokens of a larger answer are counted in a thread
HINT_LIMIT = 300
ENTITIES_LIMIT = 30  # entities that answer one question


class RetrieveContext(AsOfArguments):
    question: Annotated[
        Annotated[Text, Field(min_length=1)] | None,
        Spelled("query", "text", option="question"),
        ReadAs("words"),
    ] = None
    entity_id: EntityId | None = None
    entity_type: EntityType | None = None
    budget: Annotated[int, Field(ge=BUDGET_MINIMUM, le=BUDGET_MAXIMUM), NoBool] = 2_000
    unit: Unit = "tokens"
    cursor: Cursor = None
    max_characters: MaxCharacters = None
    fields: FieldNames = EVERY_FIELD
    format: Format = "text"
    newest_first: Annotated[bool, Field(description=NEWEST_FIRST)] = False
    provenance: Literal["none", "ids"] | None = None


@operation("context.retrieve", Scope.READ)
async def retrieve_context(context: Context, arguments: RetrieveContext) -> ContextPage:
    """Return what is known about a question or an entity, most useful first, within a budget.

    A line has an entity with its current values and relationships; `formerly` begins one that has ended. A
    value that another contests says so; one that replaced another says which, and until when. A question for
    the past ("before Bremen", "in 2023") is answered by earlier values.
    `at` and `at_ingested` answer what was true at that time. `next_cursor` answers what follows the budget.
    """
    if arguments.question is None and arguments.entity_id is None:
        raise InvalidInput.at("$.question", "give a question, an entity_id, or both")
    # Other fields are other lines: a cursor counts lines, so it is bound to the fields.
    name = ":".join(["context.retrieve", *sorted(set(arguments.fields))])
    query = cursors.fingerprint(context, name, arguments, apart={"budget", "unit", "format"})
    skip = 0
    if arguments.cursor is not None:
        skip = cursors.decode(query, arguments.cursor, {"answered": int})["answered"]
    subjects, hint = await _subjects(context, arguments)
    known, focus = await known_lines(context, subjects, words.tokens(arguments.question or ""))
    chosen = [line for line in known if not arguments.fields or line.field in arguments.fields]
    lines = lines_of.ordered(chosen, focus)
    page = await _page(arguments, lines, skip, focus, query, subjects)
    if page["lines"] or "passages" in page:
        return page
    if skip < len(lines):
        hint = "the next line alone exceeds the budget: raise the budget"
    elif known and not lines:
        names = ", ".join(sorted({line.field for line in known}))
        hint = f"no line is of these fields; there are lines of {names}"
    return with_hint(page, hint[:HINT_LIMIT]) if hint else page


async def _page(
    arguments: RetrieveContext, lines: list[Line], skip: int, focus: Focus, query: cursors.Query,
    subjects: Subjects,
) -> ContextPage:  # fmt: skip
    """Return the lines and the passages that fit into the budgets of the request."""
    with_ids = arguments.provenance == "ids" or (
        arguments.provenance is None and arguments.format == "fields"
    )
    question = words.tokens(arguments.question or "")
    beside = context_page.not_in_lines(subjects.passages, lines)
    are_first = context_page.come_first(beside, question, focus, lines, subjects.names)

    def fit(budget: int, unit: Unit) -> ContextPage:
        passages = context_page.fitting(beside.passages, budget, unit, alone=not lines)
        about: AboutSearch = subjects.about
        if arguments.format == "fields":
            about = {**about, "passages": passages} if passages else about
            sheet: FieldsSheet | TextSheet = FieldsSheet(View(focus.around, with_ids))
        else:
            texts = list(map(context_page.as_text, passages))
            above, below = (texts, []) if are_first else ([], texts)
            sheet = TextSheet(View(focus.around, with_ids, above, below))
        page = fitted(lines, skip, sheet, budget, unit, query, about)
        tell(lambda collected: context_page.facts_of(sheet.told, passages, collected))
        return page

    # The tokens of a large answer are counted beside the event loop.
    in_thread = arguments.budget > BUDGET_IN_LOOP
    budget_and_unit = arguments.budget, arguments.unit
    page = await asyncio.to_thread(fit, *budget_and_unit) if in_thread else fit(*budget_and_unit)
    if arguments.max_characters is not None and size(page) > arguments.max_characters:
        page = fit(arguments.max_characters, "characters")
    return page


async def _subjects(context: Context, arguments: RetrieveContext) -> tuple[Subjects, str]:
    """Return the entities to answer about, and a hint for an empty answer. Raises NotFound: no such
    entity."""
    entity_ids: list[str] = []
    clocks = arguments.clocks
    if arguments.entity_id is not None:
        row = await as_of.entity(context, arguments.entity_id, clocks)
        if not row.observation_count:
            raise answers.no_entity(arguments.entity_id)
        entity_ids.append(row.id)
    if arguments.question is None:
        return Subjects(entity_ids, [], about={**clocks.answered}, clocks=clocks), ""
    types = [arguments.entity_type] if arguments.entity_type else []
    query = Search(
        arguments.question, types, ENTITIES_LIMIT, strict=True, bare=True,
        newest_first=arguments.newest_first,
        passages=0 if arguments.cursor or arguments.fields else context_page.PASSAGES_LIMIT,
        clocks=clocks,
    )  # fmt: skip
    results = await search(context, query)
    # A context answers what was before itself.
    results = replace(results, notes=[each for each in results.notes if each != OF_NOW])
    # Lines about what is named tell what it is related to.
    of_kind = {each.id for each in results.named if each.kind == naming.KIND}
    by_name = [each for each in results.named if each.related_to is None and each.id not in of_kind]
    past = results.past if clocks.now else None
    # The end of a chain of relationships first, then the entities by which it leads there.
    named = [*results.way, *(hit.id for hit in results.ranked if hit.id in of_kind)]
    named += [each.id for each in sorted(by_name, key=lambda each: (each.kind, -len(each.words), each.id))]
    hint = "; ".join(["no name, no words and no meaning of any entity fit the question", *results.notes])
    named_ids = list(dict.fromkeys([*entity_ids, *named]))[:ENTITIES_LIMIT]
    resembling = [hit.id for hit in results.ranked if hit.id not in named_ids]
    resembling = resembling[: ENTITIES_LIMIT - len(named_ids)]
    about: AboutSearch = {**_about(results, is_named=bool(named_ids)), **clocks.answered}
    is_newest_first, has_way = arguments.newest_first, bool(results.way)
    former = {each.id: each.words for each in results.named if each.is_former}
    subjects = Subjects(
        named_ids, resembling, frozenset(of_kind), about, is_newest_first, has_way, past, clocks, former,
        [each.words for each in by_name], results.passages,
    )  # fmt: skip
    return subjects, hint


def _about(results: Results, *, is_named: bool) -> AboutSearch:
    about: AboutSearch = {}
    if results.notes and results.ranked:
        about["hint"] = "; ".join(results.notes)[:HINT_LIMIT]
    if (not is_named or any(each.unsure for each in results.named)) and results.ranked:
        about["match"] = naming.RESEMBLANCE
    elif results.named and all(each.kind == naming.NEAR_NAME for each in results.named):
        about["match"] = naming.NEAR
    if results.is_cut:
        about["exact"] = False
    if "meaning" in results.ran and results.semantic != "ready":
        about["semantic"] = results.semantic
    if results.understood is not None:
        about["understood"] = results.understood
    return about

"""Interpretations: what was read from a source, by whom, and how."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from graphmem.arguments import NotBlank, Spelled
from graphmem.budgets import Budgeted, Sized
from graphmem.context import Context
from graphmem.errors import InvalidInput, StoreRefused
from graphmem.interpretation import interpret
from graphmem.model import canonical, items, times
from graphmem.model.items import Item, ItemReader
from graphmem.operations.sources import SourceId
from graphmem.operations.store import ENTITY_LIMIT, RELATIONSHIP_LIMIT, NewRelationship, WithItems, read_links
from graphmem.reading import cursors, source_answers
from graphmem.reading.pages import IndexedPageEnvelope, Paged, newest_page, newest_window
from graphmem.reading.source_answers import (
    KEYS,
    Interpretation,
    InterpretationPage,
    as_interpretation,
    read_places,
    read_source,
)
from graphmem.registry import Scope, operation
from graphmem.storing import acceptance
from graphmem.writing import Receipt
from graphmem.writing.new_interpretation import ENDED, PRIORITY, SPECIFICITY
from graphmem.writing.new_interpretation import Interpretation as NewInterpretation
from graphmem.writing.withdrawing import withdrawn_message

RUN_ATTEMPTS: Final = 5
"""How often a run is numbered again while others write interpretations of the same source."""
BY_AGENT: Final = "agent"  # the interpreter of what a caller read itself and gives no other name

InterpretationId = Annotated[
    str,
    Field(
        min_length=1, max_length=200, description="Id of the interpretation: int_ and 24 hexadecimal digits."
    ),
]
InterpreterName = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[a-z][a-z0-9_.-]*$")]


class CreateInterpretation(WithItems, acceptance.Writing, Sized):
    source_id: SourceId
    entities: list[Any] = Field(
        min_length=1, max_length=ENTITY_LIMIT, json_schema_extra={"items": {"type": "object"}}
    )
    relationships: list[NewRelationship] = Field(default=[], max_length=RELATIONSHIP_LIMIT)
    interpreter: InterpreterName = BY_AGENT
    interpreter_version: Annotated[str, Field(min_length=1, max_length=64), NotBlank] = "1"
    model: str | None = Field(default=None, max_length=255)
    interpretation_config: dict[str, Any] = Field(default={})


class CreatedInterpretation(acceptance.WrittenItems, Budgeted):
    """The receipt of an interpretation; its items are as in the answer of a store."""

    interpretation_id: str
    source_id: str
    transaction_id: str
    recorded_at: str
    entities: list[acceptance.StoredEntity]
    relationships_created: list[acceptance.StoredRelationship]


@operation("interpretations.create", Scope.WRITE)
async def create_interpretation(context: Context, arguments: CreateInterpretation) -> CreatedInterpretation:
    """Store what you read in a source: entities, relationships, and the place of each field in the file.

    Items are as in `store`. `spans` gives the place of each field, `span` that of the item; `quote` is the
    text there. What an interpretation says counts less than what callers store: its priority is 0, its
    specificity 0.5, and its time, where an item states none, is when the source was stored first. Under
    `last_write` the newest value wins, whoever read it.
    """
    source = await read_source(context, arguments.source_id)
    defaults = items.Defaults(observed_at=source.created_at, priority=PRIORITY, specificity=SPECIFICITY)
    interpretation = NewInterpretation(
        owner=context.actor.owner, source_id=source.source_id, interpreter=arguments.interpreter,
        version=arguments.interpreter_version, config=canonical.encode(arguments.interpretation_config),
        model=arguments.model, started_at=times.now(),
    )  # fmt: skip
    receipt = await _with_number(context, arguments, interpretation, defaults)
    return {
        **acceptance.receipt_of(CreatedInterpretation, receipt),
        "interpretation_id": receipt.result["interpretation_id"],
        "source_id": source.source_id,
        "entities": acceptance.entries(receipt),
        "relationships_created": acceptance.links(receipt),
    }


async def _with_number(
    context: Context,
    arguments: CreateInterpretation,
    interpretation: NewInterpretation,
    defaults: items.Defaults,
) -> Receipt:
    """Write an interpretation as the next run of its interpreter over its source."""
    types = [link.relationship_type for link in arguments.relationships]
    for attempt in range(RUN_ATTEMPTS):
        runs = await source_answers.read_runs(context, interpretation.source_id)
        run = source_answers.next_run(runs, interpretation)
        try:
            return await acceptance.accept(
                context, "interpretations.create", arguments, _parts(arguments), types=types,
                defaults=defaults, interpretation=replace(interpretation, run=run),
            )  # fmt: skip
        except StoreRefused as exc:
            if exc.details["issues"][0]["code"] != ENDED or attempt == RUN_ATTEMPTS - 1:
                raise
    raise AssertionError


def _parts(arguments: CreateInterpretation) -> Callable[[ItemReader], acceptance.Parts]:
    """Return what reads the items of a request with their places, and its relationships."""

    def item(reader: ItemReader, index: int, raw: Any) -> Item | None:
        if not isinstance(raw, dict):
            return reader.item(index, raw)
        path = f"$.entities[{index}]"
        places = read_places(reader, index, path, raw)
        read = reader.item(index, {name: value for name, value in raw.items() if name not in KEYS})
        return None if read is None else replace(read, places=places)

    def parts(reader: ItemReader) -> acceptance.Parts:
        read = [item(reader, index, raw) for index, raw in enumerate(arguments.entities)]
        return read, read_links(reader, arguments.relationships, len(read))

    return parts


class ListInterpretations(Paged):
    source_id: SourceId | None = None
    status: Literal["pending", "running", "completed", "failed"] | None = None


class Interpretations(IndexedPageEnvelope):
    """A page of interpretations, the newest first. ``next_cursor`` stands where more follow."""

    interpretations: list[Interpretation]


@operation("interpretations.list", Scope.READ)
async def list_interpretations(context: Context, arguments: ListInterpretations) -> Interpretations:
    """List interpretations, the newest first: of all sources, or of one; also those that wait or run.

    Give `next_cursor` as `cursor` for the next page; `include_total_count` adds `total`.
    """
    query = cursors.fingerprint(context, "interpretations.list", arguments)
    window = {"status": arguments.status, **newest_window(arguments, query)}
    if arguments.source_id is None:
        interpretations, total = await context.graph.only("interpretation.page", InterpretationPage, **window)
    else:
        interpretations, total = await context.graph.only(
            "interpretation.page_by_source", InterpretationPage, source_id=arguments.source_id, **window
        )
    page = newest_page(
        arguments, interpretations, total, lambda each: (each.created_at, each.interpretation_id)
    )
    return {
        "interpretations": [as_interpretation(each) for each in page.items],
        **page.envelope(arguments, query),
    }


class GetInterpretation(Sized):
    interpretation_id: Annotated[InterpretationId, Spelled("id")]


class OneInterpretation(Interpretation, Budgeted):
    """One interpretation."""


@operation("interpretations.get", Scope.READ)
async def get_interpretation(context: Context, arguments: GetInterpretation) -> OneInterpretation:
    """Return one interpretation: its interpreter, how far it is, and what it made."""
    row = await source_answers.read_interpretation(context, arguments.interpretation_id)
    return {**as_interpretation(row)}


class Reinterpret(acceptance.Writing, Sized):
    source_id: SourceId | None = None
    interpretation_id: InterpretationId | None = None
    interpreter: InterpreterName | None = None
    interpretation_config: dict[str, Any] = Field(default={})
    force: bool = False


class Reinterpreted(Interpretation, acceptance.Written, Budgeted):
    """The interpretation; ``unchanged`` is true if the same interpreter had read the same bytes before."""

    unchanged: bool


@operation("interpretations.run", Scope.WRITE)
async def reinterpret(context: Context, arguments: Reinterpret) -> Reinterpreted:
    """Interpret a file by rule: again, by another interpreter, or for the first time.

    `interpretation_id` in place of `source_id` repeats an interpretation with its configuration.

    What the same interpreter, in the same version and with the same configuration, has read changes nothing,
    unless `force` is true. A large file is interpreted after the answer: `status` is pending then, and
    `list_interpretations` says when it is completed or failed.
    """
    if (arguments.source_id is None) == (arguments.interpretation_id is None):
        raise InvalidInput.at("$.source_id", "give a source_id or an interpretation_id")
    source_id, interpreter = arguments.source_id or "", arguments.interpreter
    config = arguments.interpretation_config
    if arguments.interpretation_id is not None:
        earlier = await source_answers.read_interpretation(context, arguments.interpretation_id)
        source_id, interpreter = earlier.source_id, interpreter or earlier.interpreter
        config = config or canonical.decode(earlier.config)
    source = await read_source(context, source_id)
    row, unchanged, replayed = await interpret(
        context, source, interpreter, config, again=arguments.force, key=arguments.idempotency_key
    )
    answer = as_interpretation(row)
    if source.withdrawn:
        answer["warnings"] = [*answer["warnings"], withdrawn_message(source.source_id)]
    return {"success": row.status != "failed", "unchanged": unchanged, "replayed": replayed, **answer}

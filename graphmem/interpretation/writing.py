"""Writing what an interpreter proposes: in one transaction, or in several that can be repeated.

Each observation has the time that the file states, else that of the first store of its source: never that of
the transaction. So a run that is repeated makes the same observations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from graphmem.context import Context
from graphmem.errors import StoreRefused
from graphmem.ingest.document import FileSpan
from graphmem.ingest.proposal import Proposal, ProposedEntity, ProposedRelationship
from graphmem.interpretation.readings import Reading
from graphmem.model import canonical, identity, items, times
from graphmem.model.items import Item, ItemReader
from graphmem.model.links import Link
from graphmem.model.ranks import ObservationSource
from graphmem.reading.source_answers import QUOTE_LIMIT, SourceRow
from graphmem.storing.acceptance import Parts, Writing, accept
from graphmem.writing import Receipt
from graphmem.writing.new_interpretation import PRIORITY, SPECIFICITY, Interpretation

OPERATION: Final = "interpretations.run"  # the operation of the transactions of an interpreter
CHUNK: Final = 500  # observations of one transaction of a large interpretation
WARNINGS_LIMIT: Final = 50
QUOTED_CHARACTERS: Final = 300


def size(proposal: Proposal) -> int:
    """Return how many observations a proposal makes."""
    return len(proposal.entities) + len(proposal.relationships)


async def end(context: Context, interpretation: Interpretation) -> Receipt:
    """End an interpretation with a transaction of its own; raises StoreRefused: it has ended."""
    return await accept(context, OPERATION, Writing(), lambda reader: ([], []), interpretation=interpretation)


async def keep_key(context: Context, interpretation: Interpretation, key: str) -> Receipt:
    """Write an empty transaction that keeps an idempotency key for an interpretation, or read that one again.
    Raises IdempotencyMismatch: another request had the key."""
    return await accept(
        context, OPERATION, Writing(idempotency_key=key), lambda reader: ([], []),
        interpretation=interpretation, ends_interpretation=False,
    )  # fmt: skip


async def write(
    context: Context, source: SourceRow, interpretation: Interpretation, reading: Reading
) -> None:
    """Write what was read, and end the interpretation. Raises StoreRefused: it cannot be stored, or has
    ended."""
    proposal = reading.proposal
    kind: ObservationSource = "import" if reading.reader.model is None else "llm_summary"
    writer = _ObservationWriter(context, source, interpretation, reading.document.text, kind)
    entities, relationships = proposal.entities, proposal.relationships
    if size(proposal) <= CHUNK:
        await writer.write(entities, relationships, ends=True)
        return
    ids: list[str] = []
    for start in range(0, len(entities), CHUNK):
        part = entities[start : start + CHUNK]
        receipt = await writer.write(part, (), ends=False)
        # Behind its own items the receipt has those that reference fields made.
        ids += [item.home_entity_id or item.entity_id for item in receipt.items[: len(part)]]
    assert len(ids) == len(entities)
    for start in range(0, len(relationships), CHUNK):
        await writer.write((), relationships[start : start + CHUNK], ids, ends=False)
    await end(context, replace(interpretation, made=writer.made).warned(writer.warnings))


class _ObservationWriter:
    """Writes parts of a proposal, and counts what they make."""

    def __init__(
        self, context: Context, source: SourceRow, interpretation: Interpretation, text: str,
        observation_source: ObservationSource,
    ) -> None:  # fmt: skip
        self._context, self._interpretation, self._text = context, interpretation, text
        self._defaults = items.Defaults(
            observed_at=source.created_at,
            priority=PRIORITY,
            specificity=SPECIFICITY,
            observation_source=observation_source,
        )
        self.warnings: list[dict[str, Any]] = []
        self._made: dict[str, set[str]] = {"observations": set(), "entities": set(), "relationships": set()}

    @property
    def made(self) -> Mapping[str, int]:
        """How many observations, entities and relationships were written so far."""
        return {name: len(made) for name, made in self._made.items()}

    async def write(
        self, entities: Sequence[ProposedEntity], relationships: Sequence[ProposedRelationship],
        ids: Sequence[str] = (), *, ends: bool,
    ) -> Receipt:  # fmt: skip
        """Write some entities and relationships in one transaction, with which the interpretation may end.
        ``ids``: the ids of all entities of the proposal, if earlier transactions wrote them."""

        def parts(reader: ItemReader) -> Parts:
            return (
                [self._item(reader, index, proposed) for index, proposed in enumerate(entities)],
                [
                    self._link(reader, index, proposed, ids, len(entities))
                    for index, proposed in enumerate(relationships)
                ],
            )

        try:
            receipt = await accept(
                self._context, OPERATION, Writing(), parts,
                types={proposed.relationship_type for proposed in relationships}, defaults=self._defaults,
                interpretation=self._interpretation, ends_interpretation=ends,
            )  # fmt: skip
        except StoreRefused as exc:
            issues = exc.details["issues"]
            loops = {issue["index"] for issue in issues if "index" in issue}
            if not loops or any(issue["code"] != "ERR_RELATIONSHIP_TO_ITSELF" for issue in issues):
                raise
            # A registered identity rule or a merge makes one entity of what the file has as two.
            others = [each for index, each in enumerate(relationships) if index not in loops]
            return await self.write(entities, others, ids, ends=ends)
        self.warnings += receipt.warnings
        self._made["observations"].update(part.observation_id for part in (*receipt.items, *receipt.links))
        self._made["entities"].update(item.entity_id for item in receipt.items)
        self._made["relationships"].update(link.relationship_key for link in receipt.links)
        return receipt

    def _item(self, reader: ItemReader, index: int, proposed: ProposedEntity) -> Item | None:
        about: dict[str, Any] = {"entity_type": proposed.entity_type, **(proposed.stored_as or {})}
        kind = about.pop("kind", "value")
        if _time(proposed.observed_at) is not None:
            about["observed_at"] = proposed.observed_at
        fields = dict(proposed.fields)
        if proposed.canonical_name is not None:
            fields["canonical_name"] = proposed.canonical_name
        path = f"$.entities[{index}]"
        item = reader.observation(index, path, path, about, fields, kind)
        if item is None:
            return None
        identifying = proposed.identifying
        if identifying is not None:
            texts = {name: canonical.encode(value) for name, value in identifying.items()}
            item = replace(item, identifying=texts)
            item = item.identified(reader.owner, reader.transaction_id, item.entity_type, item.alternatives)
        if proposed.identified_by is not None and item.alternatives is None:
            known = fields if identifying is None else identifying
            who = identity.identify(reader.owner, proposed.entity_type, known, proposed.identified_by)
            item = replace(item, entity_id=who.entity_id, basis=who.basis, stated=who.basis)
        places: dict[str, Any] = {} if proposed.span is None else proposed.span.as_dict()
        spans = {name: self._place(span, proposed.fields.get(name)) for name, span in proposed.spans.items()}
        places |= {"fields": spans} if spans else {}
        return replace(item, places=canonical.encode(places) if places else None)

    def _link(
        self, reader: ItemReader, index: int, proposed: ProposedRelationship, ids: Sequence[str], count: int
    ) -> Link | None:
        ends = {
            f"{side}_entity_id" if ids else f"{side}_index": ids[position] if ids else position
            for side, position in (("source", proposed.source), ("target", proposed.target))
        }
        raw = {"relationship_type": proposed.relationship_type, **ends, "metadata": dict(proposed.metadata)}
        link = reader.link(index, raw, count)
        if link is None:
            return None
        places = canonical.encode(self._place(proposed.span, None)) if proposed.span else None
        stated = _time(proposed.observed_at)
        return replace(link, places=places, observed_at=link.observed_at if stated is None else stated)

    def _place(self, span: FileSpan, value: Any) -> dict[str, Any]:
        """Return a place with the text there, unless that is the value itself."""
        place: dict[str, Any] = span.as_dict()
        if span.start is None or span.end is None:
            return place
        text = self._text[span.start : span.end]
        if text and text != value:
            place["quote"] = text if len(text) <= QUOTED_CHARACTERS else text[: QUOTED_CHARACTERS - 1] + "…"
        return place


def _time(text: str | None) -> int | None:
    """Return a time that a file states, in microseconds; ``None`` if it states none, or one in the future."""
    if text is None:
        return None
    try:
        micros = times.parse(text)
    except ValueError:
        return None
    return None if micros > times.now() else micros


assert QUOTED_CHARACTERS <= QUOTE_LIMIT

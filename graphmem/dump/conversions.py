"""The records of a dump as the writer expects them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from graphmem.dump import records
from graphmem.dump.batches import Part
from graphmem.dump.restore_request import DumpedTransaction, EndedInterpretation
from graphmem.model import canonical, discovery, facts, reduction
from graphmem.model.dismissals import Dismissal
from graphmem.model.identity import CANONICAL_NAME
from graphmem.model.membership import Exclusion
from graphmem.writing.new_interpretation import Interpretation
from graphmem.writing.new_source import NewSource

_PROPERTIES: Final = (
    "id", "recorded_at", "operation", "client", "idempotency_key", "request_hash", "answer",
)  # fmt: skip


def transaction_of(owner: str, part: Part, schema_versions: Sequence[Mapping[str, Any]]) -> DumpedTransaction:
    """Return a transaction with all that it recorded.

    Args:
        schema_versions: properties of the versions of schemas that the transaction recorded.
    """
    return DumpedTransaction(
        {name: getattr(part.transaction, name) for name in _PROPERTIES}
        | {"by": part.transaction.by and part.transaction.by.text},
        part.transaction.agent,
        tuple(_observation(record, part.transaction.id) for record in part.observations),
        tuple(schema_versions),
        tuple(_source(owner, record) for record in part.sources),
        tuple(_interpretation(owner, record) for record in part.interpretations),
        tuple(_exclusion(record, part.transaction) for record in part.exclusions),
        tuple(_dismissal(record, part.transaction) for record in part.dismissals),
        tuple(record.id for record in part.repeats),
    )


def _source(owner: str, record: records.Source) -> NewSource:
    return NewSource(
        owner=owner,
        content_hash=record.content_hash,
        size=record.size,
        mime_type=record.mime_type,
        name=record.name,
        declared_type=record.declared_type,
        file_key=record.file_key,
    )


def _exclusion(record: records.Exclusion, transaction: records.Transaction) -> Exclusion:
    return Exclusion(
        record.id,
        record.kind,
        record.subject_kind,
        record.subject,
        transaction.recorded_at,
        transaction.id,
        record.reason,
    )


def _dismissal(record: records.Dismissal, transaction: records.Transaction) -> Dismissal:
    return Dismissal(
        record.id,
        record.kind,
        record.entity_a,
        record.entity_b,
        transaction.recorded_at,
        transaction.id,
        record.reason,
    )


def _interpretation(owner: str, record: records.Interpretation) -> EndedInterpretation:
    interpretation = Interpretation(
        owner=owner,
        source_id=record.source_id,
        interpreter=record.interpreter,
        version=record.version,
        config=record.config,
        run=record.run,
        model=record.model,
        parser=record.parser,
        created_at=record.created_at,
        started_at=record.started_at,
        error=record.error,
        warnings=tuple(record.warnings),
    )
    return EndedInterpretation(
        interpretation,
        {name: getattr(record, name) for name in ("observations", "entities", "relationships")},
    )


def _observation(record: records.Observation, transaction_id: str) -> reduction.Observation:
    fields = dict(zip(record.fields, record.values, strict=True))
    shapes: dict[str, str | None] = {}
    if record.entity_type is not None and record.kind in facts.VALUE_KINDS:
        decoded = ((name, canonical.decode(text)) for name, text in fields.items() if name != CANONICAL_NAME)
        shapes = {name: discovery.shape_of(value) for name, value in decoded}
    return reduction.Observation(
        id=record.id,
        subject_id=record.subject_id,
        entity_type=record.entity_type or "",
        kind=record.kind,
        observed_at=record.observed_at,
        recorded_at=record.recorded_at,
        fields=fields,
        transaction_id=transaction_id,
        priority=record.priority,
        specificity=record.specificity,
        observation_source=record.observation_source,
        agent=record.agent,
        basis=record.identity_basis,
        shapes=shapes,
        source_id=record.source_id,
        interpretation_id=record.interpretation_id,
        places=record.places,
    )

"""The table of facts: what each kind of fact of an owner is, said once.

A fact is written by one transaction and never changes. Its fields are those of its record class
(:mod:`graphmem.model.fact_records`). The look, the state and the draft of a turn, the rows that a turn
writes, dumps, restores and the erasing of an owner take from here what else they need. Queries are files of
their own: ``tests/unit/test_fact_table.py`` holds that each kind has them, and that their columns fit.

What an observation of each kind says of its subject is in :mod:`graphmem.model.facts`.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Final, Literal

from graphmem.model import fact_records as records


@dataclass(frozen=True)
class DeclaredKind:
    """What one kind of fact is, beside the fields that its record class declares."""

    record: type[records.Record]
    plural: str  # what dumps call many of them; so do the rows of a turn, unless ``rows`` says otherwise
    _: KW_ONLY
    format: int = 1  # the format of dumps that has them first
    label: str | None = None  # of its nodes; a repeat is an edge
    erased_by: str = "owner.erase_names"  # the query that erases them with their owner
    is_counted: bool = True  # whether the manifest of a dump counts them even if there are none
    rows: str | None = None
    form: Literal["plain", "sourced", "whole", "exclude"] | None = None  # the least form of a turn with it
    is_subject: bool = False  # whether it can be withdrawn

    @cached_property
    def name(self) -> str:
        """What a dump calls one of them."""
        return self.record.model_fields["record"].default

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of its fields in a dump: queries of dumps read them in this order."""
        return records.columns(self.record)

    @cached_property
    def parameter(self) -> str:
        """The parameter of ``write.turn`` that has their rows, and what :class:`Additions` call them."""
        return self.rows or self.plural


SCHEMA: Final = DeclaredKind(
    records.SchemaRecord, "schemas", label="Schema", rows="versions", form="whole",
)  # fmt: skip
TRANSACTION: Final = DeclaredKind(
    records.TransactionRecord, "transactions", label="Transaction", erased_by="owner.erase_transactions"
)
SOURCE: Final = DeclaredKind(
    records.SourceRecord, "sources", format=2, label="Source", form="sourced", is_subject=True
)
INTERPRETATION: Final = DeclaredKind(
    records.InterpretationRecord, "interpretations", format=2, label="Interpretation", form="sourced",
    is_subject=True,
)  # fmt: skip
# Code and answers say withdrawal; what is stored keeps the name that it had first.
WITHDRAWAL: Final = DeclaredKind(
    records.Withdrawal, "exclusions", format=2, label="Exclusion", form="exclude",
)  # fmt: skip
DISMISSAL: Final = DeclaredKind(
    records.Dismissal, "dismissals", format=2, label="Dismissal", form="whole", is_counted=False,
)  # fmt: skip
OBSERVATION: Final = DeclaredKind(
    records.ObservationRecord, "observations", label="Observation", erased_by="owner.erase_transactions",
)  # fmt: skip
REPEAT: Final = DeclaredKind(
    records.Repeat, "repeats", format=2, erased_by="owner.erase_transactions", is_counted=False,
    rows="repeated",
)  # fmt: skip
SPLIT: Final = DeclaredKind(
    records.Split, "splits", format=3, label="Split", form="exclude", is_counted=False,
)  # fmt: skip

RENAMING: Final = DeclaredKind(
    records.Renaming, "renamings", format=3, label="Renaming", form="whole", is_counted=False
)

PARTS: Final = (SOURCE, INTERPRETATION, WITHDRAWAL, DISMISSAL, OBSERVATION, REPEAT, SPLIT, RENAMING)
"""What belongs to a transaction, in the order in which a dump has it: a new kind comes last."""
TABLE: Final = (SCHEMA, TRANSACTION, *PARTS)
BY_RECORD: Final[Mapping[type[records.Record], DeclaredKind]] = {kind.record: kind for kind in TABLE}
BY_NAME: Final[Mapping[str, DeclaredKind]] = {kind.name: kind for kind in TABLE}
SUBJECTS: Final = tuple(kind.plural for kind in TABLE if kind.is_subject)
"""The columns of ``write.look`` with what can be withdrawn, and the sets of what requests touch."""
WRITTEN: Final = {kind.parameter: kind.form for kind in TABLE if kind.form is not None}
"""By parameter of ``write.turn``, the least form that writes such facts."""
NO_ROWS: Final[Mapping[str, tuple[()]]] = dict.fromkeys(WRITTEN, ())
"""The rows of a turn that adds none of these facts."""
DUMP_FORMAT: Final = max(kind.format for kind in TABLE)
"""The format of dumps that is written: the newest kind of fact decides."""


def no_counts(dump_format: int) -> dict[str, int]:
    """Return what the manifest of a dump in some format counts of an owner without facts."""
    return {kind.plural: 0 for kind in TABLE if kind.is_counted and kind.format <= dump_format}

"""Notes, tasks, activity and bookings of other programs: one entity for each record.

Each is identified as its program tells its records apart. What lay in the trash there is deleted.
"""

from __future__ import annotations

from typing import NamedTuple

from graphmem.ingest.document import ParsedDocument
from graphmem.ingest.interpreters.interpreter_table import InterpreterOptions
from graphmem.ingest.interpreters.labels import LabelledMember, fields_by_name, text_of
from graphmem.ingest.interpreters.proposal_draft import ProposalDraft, moment
from graphmem.ingest.proposal import Proposal
from graphmem.model import identity

NAME_CHARACTERS_LIMIT = 80
NO_FIELDS = ("parent",)
OBSERVED = ("updated_at", "created_at")


class Kind(NamedTuple):
    """The entity type of a record, the fields that name it, and the alternatives that identify it."""

    entity_type: str
    names: tuple[str, ...]
    identified_by: identity.Alternatives


_NOTE = Kind("note", ("title", "content"), (("created_at", "title"), ("created_at",), ("title",)))
_BOOKING = Kind(
    "transaction", ("counterparty", "description"),
    (("account", "external_id", "date", "amount"), ("external_id", "date", "amount")),
)  # fmt: skip
KINDS = {
    "keep": _NOTE,
    "enex": _NOTE,
    "google_tasks": Kind("task", ("title",), (("external_id",), ("title",))),
    "google_activity": Kind("event", ("title",), (("title", "date_start"), ("title",))),
    "ofx": _BOOKING,
    "camt": _BOOKING,
}


def propose(document: ParsedDocument, options: InterpreterOptions) -> Proposal:
    draft = ProposalDraft()
    kind = KINDS[document.format]
    by_id: dict[str, int | None] = {}
    parents: list[tuple[int | None, str]] = []
    for part in document.parts:
        fields = fields_by_name(part.fields)
        members = [LabelledMember(*field) for name, field in fields.items() if name not in NO_FIELDS]
        observed_at = next(filter(None, (moment(text_of(fields.get(name))) for name in OBSERVED)), None)
        texts = (" ".join((text_of(fields.get(name)) or "").split()) for name in kind.names)
        name = next(filter(None, texts), "")[:NAME_CHARACTERS_LIMIT]
        record = draft.entity(
            kind.entity_type, members, part.span, canonical_name=name, observed_at=observed_at,
            identified_by=kind.identified_by,
        )  # fmt: skip
        if record is not None and "deleted" in fields:
            who = (kind.identified_by, draft.entities[record].fields)
            stored_as = {"kind": "delete"}
            draft.observation(kind.entity_type, {}, part.span, who, stored_as, observed_at)
            draft.warn("What lay in the trash there is deleted.")
        by_id[text_of(fields.get("external_id")) or ""] = record
        parent = text_of(fields.get("parent"))
        parents += [(record, parent)] if parent else []
    for record, parent in parents:
        draft.relate("PART_OF", record, by_id.get(parent), None)
    return draft.proposal()

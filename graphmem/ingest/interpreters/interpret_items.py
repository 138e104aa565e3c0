"""Notes, tasks, activity and bookings of other programs: one entity for each record.

Each is identified as its program tells its records apart. What lay in the trash there is deleted.
"""

from __future__ import annotations

from graphmem.ingest.document import ParsedDocument, PartField
from graphmem.ingest.interpreters.interpreter_table import InterpreterOptions
from graphmem.ingest.interpreters.labels import fields_by_name, text_of
from graphmem.ingest.interpreters.proposal_draft import OCCURRENCE, ProposalDraft, moment
from graphmem.ingest.proposal import Proposal
from graphmem.ingest.tables import table

NAME_CHARACTERS_LIMIT = 80
NO_FIELDS = ("parent",)
OBSERVED = ("updated_at", "created_at")


def propose(document: ParsedDocument, options: InterpreterOptions) -> Proposal:
    draft, kind = ProposalDraft(), table("field_names")["records"][document.format]
    identified_by = tuple(map(tuple, kind["identified_by"]))
    by_id: dict[str, int | None] = {}
    parents: list[tuple[int | None, str]] = []
    for part in document.parts:
        fields = fields_by_name(part.fields)
        members = [field for name, field in fields.items() if name not in NO_FIELDS]
        if kind["type"] == "transaction" and "external_id" not in fields:
            count = draft.occurrence(kind["type"], members)
            members += [PartField(OCCURRENCE, count)] if count > 1 else []
        observed_at = next(filter(None, (moment(text_of(fields.get(name))) for name in OBSERVED)), None)
        texts = (" ".join((text_of(fields.get(name)) or "").split()) for name in kind["names"])
        name = next(filter(None, texts), "")[:NAME_CHARACTERS_LIMIT]
        record = draft.entity(
            kind["type"], members, part.span, canonical_name=name, observed_at=observed_at,
            identified_by=identified_by,
        )  # fmt: skip
        if record is not None and "deleted" in fields:
            who = (identified_by, draft.entities[record].fields)
            draft.observation(kind["type"], {}, part.span, who, {"kind": "delete"}, observed_at)
            draft.warn("What lay in the trash there is deleted.")
        by_id[text_of(fields.get("external_id")) or ""] = record
        parent = text_of(fields.get("parent"))
        parents += [(record, parent)] if parent else []
    for record, parent in parents:
        draft.relate("PART_OF", record, by_id.get(parent), None)
    return draft.proposal()

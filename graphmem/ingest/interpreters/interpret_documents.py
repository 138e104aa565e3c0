"""Any other file: one document, by which it is found: its title and what it says of itself.

A record of a PDF is an invoice that is attached to it.

Its text is no field; the span of the document is that of the whole text. What comes from metadata has no
place in the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graphmem.ingest.building import iso
from graphmem.ingest.document import ParsedDocument, PartField
from graphmem.ingest.interpreters.interpreter_table import InterpreterOptions
from graphmem.ingest.interpreters.labels import configured_type, members_of
from graphmem.ingest.interpreters.proposal_draft import ProposalDraft, heading, moment, whole_text
from graphmem.ingest.proposal import Proposal
from graphmem.ingest.tables import object_of, table

GENERAL_TYPE = "document"
DATES = ("created", "date")


def propose(document: ParsedDocument, options: InterpreterOptions) -> Proposal:
    """Return the document, if it has a title or a name by which it can be found."""
    draft = ProposalDraft()
    title = document.title or options.file_name
    if title is None or not title.strip():
        draft.drop("The document has neither a title nor a name: it is left out.")
        return draft.proposal()
    members = [
        PartField("title", title, heading(document, title)),
        *_from_metadata(document.metadata, draft),
        PartField("media_type", document.media_type),
    ]
    draft.entity(configured_type(options.configuration) or GENERAL_TYPE, members, whole_text(document))
    for part in document.parts if document.format == "pdf" else ():
        if part.kind == "record":
            draft.entity("invoice", members_of(part.fields), part.span)
    return draft.proposal()


def _from_metadata(metadata: Mapping[str, Any], draft: ProposalDraft) -> Iterator[PartField]:
    exif = object_of(metadata.get("exif"))
    for values, names in ((metadata, "metadata"), (exif, "exif")):
        named = table("field_names")[names].items()
        yield from (PartField(name, values[key]) for key, name in named if key in values)
    written = next((metadata[key] for key in DATES if metadata.get(key)), exif.get("DateTimeOriginal"))
    if written:
        date = moment(iso(str(written)))
        if date is None:
            draft.drop("The date of the document is left out: it cannot be read.")
        yield PartField("date", date)
    for name, key in (("latitude", "GPSLatitude"), ("longitude", "GPSLongitude")):
        yield PartField(name, _degrees(exif.get(key), exif.get(f"{key}Ref")))


def _degrees(value: Any, reference: Any) -> float | None:
    numbers = value if isinstance(value, list) else []
    if len(numbers) != 3 or not all(type(number) in (int, float) for number in numbers):
        return None
    degrees, minutes, seconds = (float(number) for number in numbers)
    sign = {"N": 1, "E": 1, "S": -1, "W": -1}.get(reference if isinstance(reference, str) else "")
    amount = degrees + minutes / 60 + seconds / 3600
    return round(sign * amount, 6) if sign is not None and 0 <= amount <= 180 else None

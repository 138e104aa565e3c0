"""The `memory.jsonl` of the MCP memory server: entities and relations, one JSON object per line.

A line is `{"type": "entity", "name", "entityType", "observations"}` or
`{"type": "relation", "from", "to", "relationType"}`; each is a record with these fields.
"""

from __future__ import annotations

from graphmem.ingest.document import DocumentLimits, ParsedDocument
from graphmem.ingest.format_table import BY_NAME
from graphmem.ingest.formats.json_values import parse_lines


def parse(data: bytes, name: str, limits: DocumentLimits) -> ParsedDocument:
    """Return the entities and relations."""
    return parse_lines(data, limits, BY_NAME["memory"])

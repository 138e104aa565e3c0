"""JSON Lines: one JSON value per line, one record each."""

from __future__ import annotations

from graphmem.ingest.document import DocumentLimits, ParsedDocument
from graphmem.ingest.format_table import BY_NAME
from graphmem.ingest.formats.json_values import parse_lines


def parse(data: bytes, name: str, limits: DocumentLimits) -> ParsedDocument:
    """Return the records of the lines."""
    return parse_lines(data, limits, BY_NAME["jsonl"])

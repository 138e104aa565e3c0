"""Mailboxes (mbox): messages between lines that begin with `From `.

The library of the same name in Python reads paths only, so the messages are parted here, by its rule.
"""

from __future__ import annotations

import re

from graphmem.ingest.building import Builder
from graphmem.ingest.document import DocumentLimits, ParsedDocument, ParseFailed
from graphmem.ingest.format_table import BY_NAME
from graphmem.ingest.formats.mail import add_message

SEPARATOR = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From [^\n]*\n")
QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)


def parse(data: bytes, name: str, limits: DocumentLimits) -> ParsedDocument:
    """Return the messages of a mailbox."""
    builder = Builder(limits)
    places = [match.span() for match in SEPARATOR.finditer(data)]
    if not places:
        raise ParseFailed("The mailbox has no line that begins with From.", "damaged")
    ends = [start for start, _ in places[1:]] + [len(data)]
    for number, ((_, start), end) in enumerate(zip(places, ends, strict=True), 1):
        try:
            add_message(builder, QUOTED_FROM.sub(rb"\1", data[start:end]), number)
        except ParseFailed as exc:
            if exc.code != "damaged":
                raise
            builder.warn(exc.reason)
    if builder.position == 0:
        raise ParseFailed("The mailbox has no message.", "empty")
    builder.title = None
    builder.metadata["messages"] = len(places)
    return builder.document(BY_NAME["mbox"])

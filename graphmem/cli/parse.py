"""``graphmem parse``: the text of a file, without a database."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from pathlib import Path

from graphmem.cli.session import tell_progress
from graphmem.errors import FileNotParsed
from graphmem.ingest.document import ParsedDocument, ParseFailed, text_page
from graphmem.ingest.own_files import read_file
from graphmem.ingest.parsing import parsed


def run(path: str, mime_type: str | None, offset: int, limit: int | None, as_json: bool) -> None:
    """Print the text of a file, or as JSON what `POST /parse_file` answers."""
    data = read_file(path)
    page = text_page(_parsed(path, mime_type), hashlib.sha256(data).hexdigest(), len(data), offset, limit)
    if as_json:
        sys.stdout.write(json.dumps(page, ensure_ascii=False) + "\n")
        return
    for warning in page["warnings"]:
        tell_progress(f"warning: {warning}")
    text = page["text"]
    if sys.stdout.isatty():
        # The text of a file must not steer the terminal.
        text = "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)
    sys.stdout.write(text)
    if page["text"] and not page["text"].endswith("\n"):
        sys.stdout.write("\n")
    if "next_offset" in page:
        tell_progress(f"the text goes on: --offset {page['next_offset']}")


def _parsed(path: str, mime_type: str | None) -> ParsedDocument:
    file = Path(path).expanduser()
    try:
        return asyncio.run(parsed(file, mime_type, file.name))
    except ParseFailed as exc:
        raise FileNotParsed(f"{path} cannot be read: {exc.reason}", reason=exc.code, file=path) from None

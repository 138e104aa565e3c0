"""``graphmem parse``: the text of a file, without a database."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from graphmem.cli.session import Draw, Session, tell_progress
from graphmem.errors import FileNotParsed


def parse(
    session: Session, file: str, mime_type: str | None = None, encoding: str | None = None, offset: int = 0,
    limit: int | None = None,
) -> tuple[dict[str, Any], Draw]:  # fmt: skip
    import asyncio
    import hashlib

    from graphmem.ingest.decoding import with_charset
    from graphmem.ingest.document import ParseFailed, text_page
    from graphmem.ingest.own_files import read_file
    from graphmem.ingest.parsing import Terms, parsed

    data = read_file(file)
    path = Path(file).expanduser()
    try:
        terms = Terms(confine=session.settings().confine)
        document = asyncio.run(parsed(path, with_charset(mime_type, encoding), path.name, terms=terms))
    except ParseFailed as exc:
        raise FileNotParsed(f"{file} cannot be read: {exc.reason}", reason=exc.code, file=file) from None
    page = text_page(document, hashlib.sha256(data).hexdigest(), len(data), offset, limit)

    def draw() -> None:
        for warning in page["warnings"]:
            tell_progress(f"warning: {warning}")
        text = page["text"]
        if sys.stdout.isatty():
            # The text of a file must not steer the terminal.
            text = "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)
        sys.stdout.write(text if not text or text.endswith("\n") else f"{text}\n")
        if "next_offset" in page:
            tell_progress(f"the text goes on: --offset {page['next_offset']}")

    return dict(page), draw

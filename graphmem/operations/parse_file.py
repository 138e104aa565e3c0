"""The text of a file that is not stored."""

from __future__ import annotations

import asyncio
import tempfile
from typing import BinaryIO, cast

from graphmem.arguments import invalid
from graphmem.context import Context
from graphmem.database.jobs import caller_is_gone
from graphmem.errors import FileNotParsed, ParserUnconfined
from graphmem.ingest.document import ParseFailed, TextPage, text_page
from graphmem.ingest.parsing import Terms, parsed
from graphmem.reading.source_answers import TextWindow
from graphmem.registry import Scope, operation
from graphmem.storing.received_files import FILE_ERRORS, FileArguments, Limited, digested, opened


class ParseFile(TextWindow, FileArguments):
    """The arguments of ``files.parse``."""


@operation(
    "files.parse", "POST /parse_file", tool="parse_file", scope=Scope.READ, statements=0, heavy=True,
    takes_file=True, command=None, reason="graphmem parse reads a file without a database",
    errors=(FileNotParsed, ParserUnconfined, *FILE_ERRORS),
    example={"file_content": "RGVhciBBZGE=", "original_filename": "letter.txt"},
)  # fmt: skip
async def parse_file(context: Context, arguments: ParseFile) -> TextPage:
    """Return the text of a file, and store nothing.

    The formats are those of stored files. For the next page of a long text, send the same file with
    `next_offset` as `offset`.
    """
    if not arguments.has_file:
        raise invalid(
            [{"path": "$.file_content", "message": "there is no file: give file_content or file_path"}]
        )
    file, limit = await opened(context, arguments), context.services.settings.max_file_bytes
    # The parser is a process of its own, which reads an open file. It has no name: a kill leaves nothing.
    with tempfile.TemporaryFile() as temporary:
        copy = cast("BinaryIO", temporary)
        try:
            limited = cast("BinaryIO", Limited(file, limit))
            stored = await asyncio.to_thread(digested, limited, copy)
        finally:
            file.close()
        try:
            terms = Terms(context.actor.owner, context.services.settings.confine, caller_is_gone)
            document = await parsed(copy, arguments.mime_type, arguments.file_name or "", terms=terms)
        except ParseFailed as exc:
            raise FileNotParsed(f"the file cannot be read: {exc.reason}", reason=exc.code) from None
    # A large document is put together beside the requests of others.
    return await asyncio.to_thread(
        text_page, document, stored.sha256, stored.size, arguments.offset, arguments.limit
    )

"""Files alone: the text of one that is not stored, and one that is stored as a source."""

import asyncio
import tempfile
from typing import BinaryIO, cast

from graphmem.arguments import invalid
from graphmem.context import Context
from graphmem.database.jobs import caller_is_gone
from graphmem.errors import FileNotParsed
from graphmem.ingest.document import ParseFailed, TextPage, text_page
from graphmem.ingest.parsing import Terms, parsed
from graphmem.interpretation import InterpretedFile, interpret_stored
from graphmem.reading.source_answers import TextWindow
from graphmem.registry import Scope, operation
from graphmem.storing import received_files
from graphmem.storing.acceptance import WrittenItems, accept, receipt_of

_NO_FILE = [{"path": "$.file_content", "message": "there is no file: give file_content or file_path"}]


class ParseFile(TextWindow, received_files.FileArguments):
    """The arguments of ``files.parse``."""


@operation("files.parse", Scope.READ)
async def parse_file(context: Context, arguments: ParseFile) -> TextPage:
    """Return the text of a file, and store nothing.

    The formats are those of stored files. For the next page of a long text, send the same file with
    `next_offset` as `offset`.
    """
    if not arguments.has_file:
        raise invalid(_NO_FILE)
    file, limit = await received_files.opened(context, arguments), context.services.settings.max_file_bytes
    # The parser is a process of its own, which reads an open file. It has no name: a kill leaves nothing.
    with tempfile.TemporaryFile() as temporary:
        copy = cast("BinaryIO", temporary)
        try:
            limited = cast("BinaryIO", received_files.Limited(file, limit))
            stored = await asyncio.to_thread(received_files.digested, limited, copy)
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


class StoreUnstructured(received_files.WithFile):
    interpret: bool = True


class StoredAlone(received_files.StoredFile, InterpretedFile, WrittenItems):
    """The receipt of a file that was stored alone, with the members that `store` answers for a file.

    ``store_warnings`` are as those of `store`.
    """

    transaction_id: str
    recorded_at: str


@operation("store.unstructured", Scope.WRITE)
async def store_unstructured(context: Context, arguments: StoreUnstructured) -> StoredAlone:
    """Store a file alone.

    The same bytes are one source, under every name that they are stored with. `POST /store` stores a file
    together with what is known from it, and takes the same `idempotency_key` for the same request.
    """
    file = await received_files.received(context, arguments)
    if file is None:
        raise invalid(_NO_FILE)
    # The operation is part of what an idempotency key stands for: a store of a file alone is this one.
    receipt = await accept(context, "store", arguments, lambda reader: ([], []), source=file)
    return {
        **receipt_of(StoredAlone, receipt),
        **received_files.stored_file(receipt),
        **(await interpret_stored(context, receipt) if arguments.interpret else InterpretedFile()),
    }

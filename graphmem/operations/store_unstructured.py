"""Files alone: stored as sources."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from graphmem.arguments import invalid
from graphmem.context import Context
from graphmem.errors import ObjectStoreUnavailable
from graphmem.interpretation import InterpretedFile, interpret_stored
from graphmem.model import times
from graphmem.registry import Scope, operation
from graphmem.storing.acceptance import accept
from graphmem.storing.received_files import FILE_ERRORS, StoredFile, WithFile, received, stored_file


class StoreUnstructured(WithFile):
    interpret: Annotated[
        bool, Field(description="Whether the file is read now; POST /reinterpret reads it later.")
    ] = True


class StoredAlone(StoredFile, InterpretedFile):
    """The receipt of a file that was stored alone, with the members that `store` answers for a file.

    ``store_warnings`` are as those of `store`.
    """

    success: bool
    replayed: bool
    transaction_id: str
    recorded_at: str
    entities_created: int
    observations_created: int
    store_warnings: list[dict[str, Any]]


@operation(
    "store.unstructured", "POST /store/unstructured", scope=Scope.WRITE, statements=7, withheld=True,
    command=None, reason="the tool store and the commands store and upload store a file alone",
    takes_file=True, errors=(ObjectStoreUnavailable, *FILE_ERRORS),
    example={"file_content": "RGVhciBBZGE=", "mime_type": "text/plain", "original_filename": "letter.txt"},
)  # fmt: skip
async def store_unstructured(context: Context, arguments: StoreUnstructured) -> StoredAlone:
    """Store a file alone.

    The same bytes are one source, under every name that they are stored with. `POST /store` stores a file
    together with what is known from it, and takes the same `idempotency_key` for the same request.
    """
    file = await received(context, arguments)
    if file is None:
        raise invalid(
            [{"path": "$.file_content", "message": "there is no file: give file_content or file_path"}]
        )
    # The operation is part of what an idempotency key stands for: a store of a file alone is this one.
    receipt = await accept(context, "store", arguments, lambda reader: ([], []), source=file)
    return {
        "success": True,
        "replayed": receipt.replayed,
        "transaction_id": receipt.transaction_id,
        "recorded_at": times.render(receipt.recorded_at),
        "entities_created": 0,
        "observations_created": 0,
        "store_warnings": receipt.warnings,
        **stored_file(receipt),
        **(await interpret_stored(context, receipt) if arguments.interpret else InterpretedFile()),
    }

"""What copies ask of each other: pages of facts, and bytes of files."""

import asyncio
import base64
from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import Arguments, NoBool
from graphmem.changes.change import END, cursor_at_end, place_of
from graphmem.changes.change_feed import ChangeFeed
from graphmem.context import Context
from graphmem.copies import exchanging, stored_copies
from graphmem.copies.stored_copies import Copy, CopyId, CopySet
from graphmem.dump import pages
from graphmem.errors import CursorOfAnotherDatabase, InvalidInput, PageDamaged
from graphmem.model import times
from graphmem.model.fact_table import BY_NAME
from graphmem.registry import Scope, operation
from graphmem.storing.received_files import FileArguments, opened


class GetFacts(Arguments):
    copy_id: CopyId
    after: str = Field(default="", max_length=100)


class FactPage(TypedDict):
    """A page of facts: ``data`` is base64 of lines of the dump format, compressed by Zstandard; ``sha256`` is
    over the lines. ``more``: ask again with ``cursor``. ``kinds`` are the kinds of facts that can be sent."""

    data: str
    sha256: str
    transactions: int
    cursor: str
    more: bool
    set_id: str
    kinds: list[str]


async def _calling(context: Context, copy_id: str) -> tuple[CopySet, Copy]:
    own = await stored_copies.of_account(context.services, context.actor)
    return own, own.calling(copy_id)


@operation("copies.facts", Scope.COPY)
async def get_facts(context: Context, arguments: GetFacts) -> FactPage:
    """Return facts in the order of this database, for another copy: what came by that copy is left out."""
    own, calling = await _calling(context, arguments.copy_id)
    services, owner = context.services, context.actor.owner
    place = await place_of(context, arguments.after)
    if place.part != END:
        raise CursorOfAnotherDatabase
    head = await services.of(ChangeFeed).head(owner, settled=False)
    page = await pages.read_page(services.database, owner, place.sequence, head.sequence, calling.peer)
    cursor = arguments.after
    if page.last > place.sequence:
        cursor = await cursor_at_end(context, page.last)
    return {
        "data": page.data, "sha256": page.sha256, "transactions": page.transactions, "cursor": cursor,
        "more": page.last < head.sequence, "set_id": own.set_id or "", "kinds": sorted(BY_NAME),
    }  # fmt: skip


class TakeFacts(Arguments):
    copy_id: CopyId
    data: str
    sha256: str = Field(min_length=64, max_length=64)


class TakenFacts(TypedDict):
    """What of a page was missing here. ``refused`` names kinds of facts that this version does not know;
    ``missing_files`` are files whose bytes are not here."""

    transactions: int
    observations: int
    conflicts: int
    refused: list[str]
    missing_files: list[str]


@operation("copies.take", Scope.COPY)
async def take_facts(context: Context, arguments: TakeFacts) -> TakenFacts:
    """Take a page of facts of another copy: what is missing here is written, as a restore writes it.

    The page may be sent again. Who has the scope `copy` may write all that the account may, and say who wrote
    it: each transaction names the copy by which it came.
    """
    _, calling = await _calling(context, arguments.copy_id)
    services, owner = context.services, context.actor.owner
    page = await asyncio.to_thread(pages.read, owner, arguments.data, arguments.sha256)
    result = await exchanging.unite(services, owner, page, calling.peer)
    total = calling.taken + result.transactions
    await stored_copies.link(services, context.actor, calling.id, exchanged_at=times.now(), taken=total)
    return {
        "transactions": result.transactions, "observations": result.observations,
        "conflicts": result.conflict_count, "refused": page.refused, "missing_files": result.missing_hashes,
    }  # fmt: skip


Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$", description="The SHA-256 of its bytes.")]


class GetFile(Arguments):
    copy_id: CopyId
    content_hash: Hash
    start: Annotated[int, NoBool] = Field(default=0, ge=0)


class CopiedFile(TypedDict):
    """A file with its size in bytes; of one that is read, ``data`` has 4 MB at most in base64."""

    size: int
    data: NotRequired[str]


@operation("copies.file", Scope.COPY)
async def get_file(context: Context, arguments: GetFile) -> CopiedFile:
    """Return some bytes of a file, for another copy."""
    await _calling(context, arguments.copy_id)
    objects, owner = context.services.objects, context.actor.owner
    size = await objects.size(owner, arguments.content_hash)
    start, end = min(size, arguments.start), min(size, arguments.start + exchanging.FILE_PIECE_BYTES)
    chunks = [chunk async for chunk in objects.read(owner, arguments.content_hash, start, end)]
    return {"data": base64.b64encode(b"".join(chunks)).decode(), "size": size}


class TakeFile(FileArguments):
    copy_id: CopyId
    content_hash: Hash


@operation("copies.take_file", Scope.COPY)
async def take_file(context: Context, arguments: TakeFile) -> CopiedFile:
    """Take the bytes of a file of another copy, whose facts came before it."""
    await _calling(context, arguments.copy_id)
    if arguments.file_content is None:
        raise InvalidInput.at("$.file_content", "send the bytes of the file")
    with await opened(context, arguments) as file:
        stored = await context.services.objects.put(context.actor.owner, file)
    if stored.sha256 != arguments.content_hash:
        raise PageDamaged("the bytes of the file are not those that were announced: it stays without a name")
    return {"size": stored.size}

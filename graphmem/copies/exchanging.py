"""The exchange with other copies: what is new here is sent, what is new there is taken, page by page.

A process has a copy for a lease, which each page renews. How far both sides are is noted after each page, so
that a kill repeats one page at most, which changes nothing. What fails is tried again later.
"""

import asyncio
import base64
import contextlib
import uuid
from collections.abc import AsyncIterator
from typing import Any, Final, NamedTuple

import structlog
from typing_extensions import TypedDict

from graphmem import auth
from graphmem.changes.change_feed import ChangeFeed
from graphmem.context import Services
from graphmem.copies.folder import SCHEME, Folder
from graphmem.copies.remote_copy import FACTS, RemoteCopy
from graphmem.copies.stored_copies import Copy
from graphmem.dump import pages, uniting
from graphmem.dump.pages import ReadPage
from graphmem.dump.restoring import RestoreResult
from graphmem.errors import (
    AuthInvalid,
    CopyRefused,
    CopyWaits,
    CursorOfAnotherDatabase,
    GraphmemError,
    ObjectDamaged,
    ObjectMissing,
    PageDamaged,
)
from graphmem.model import times
from graphmem.model.fact_table import BY_NAME
from graphmem.settings import LOCAL_ACCOUNT

NOTED_SECONDS: Final = (60, 5)
"""Seconds after which an exchange without news is noted; of a copy that only reads it says how old it is."""
LEASE_SECONDS: Final = 90.0
BACKOFF_SECONDS: Final = (5, 15, 30, 60)
"""Seconds before what failed is tried again; the last ones again and again."""
LONGEST_SECONDS: Final = 300  # what is due later was noted before the clock was set back
CONCURRENT_LIMIT: Final = 8  # copies with which a process exchanges facts at once
MEET, FILES = "/copies/meet", "/copies/files"
FILE_PIECE_BYTES: Final = 4 << 20

_ENDED: Final = (
    " The key was revoked there, or the data erased: make a new key and join again, or erase it here too "
    "(`graphmem account delete NAME --with-data`)"
)
_log = structlog.get_logger("graphmem.copies")


class Exchanged(TypedDict):
    """What an exchange with a copy did: it counts transactions. ``error`` says why it ended early."""

    copy_id: str
    sent: int
    taken: int
    files: int
    conflicts: int
    error: str | None


class _Claimed(NamedTuple):
    copy: Copy
    set_id: str
    copy_id: str
    source: str | None


class _Waiting(NamedTuple):
    """A copy that is due. ``has_news``: something was written here since the last exchange."""

    copy: Copy
    copy_id: str
    source: str | None
    has_news: bool


async def exchange_waiting(services: Services) -> int:
    """Exchange facts with all copies that are due; return how many transactions were sent and taken."""
    copies, local_owner = await services.database.reads(None).only(
        "copy.waiting", tuple[list[_Waiting], str], now=_in(0), latest=_in(LONGEST_SECONDS),
        account_id=LOCAL_ACCOUNT,
    )  # fmt: skip
    if local_owner != LOCAL_ACCOUNT:
        auth.take_over(local_owner)
    done = 0
    for start in range(0, len(copies), CONCURRENT_LIMIT):
        part = copies[start : start + CONCURRENT_LIMIT]
        for each in await asyncio.gather(*(_exchange_with_news(services, copy) for copy in part)):
            done += each["sent"] + each["taken"] if each else 0
    return done


async def _exchange_with_news(services: Services, waiting: _Waiting) -> Exchanged | None:
    """Exchange facts if either side has new ones, or the last time is long ago. So two copies that have
    nothing to say write nothing."""
    copy = waiting.copy
    noted = 0 if copy.exchanged_at is None else copy.exchanged_at
    is_noted = times.now() - noted < NOTED_SECONDS[waiting.source is not None] * times.SECOND
    asked_at = times.now()
    if is_noted and not waiting.has_news and copy.status == "active" and not copy.failures:
        try:
            async with _reached(services, copy, waiting.copy_id) as remote:
                answer = await remote.ask("GET", FACTS, copy_id=waiting.copy_id, after=copy.cursor)
            if not answer["transactions"] and not answer["more"]:
                if waiting.source is not None:
                    services.read_as_of[copy.owner] = asked_at
                return None
        except GraphmemError:
            pass  # The exchange meets it too, and notes it.
    return await exchange(services, copy.id)


async def exchange(services: Services, link_id: str) -> Exchanged:
    """Exchange facts with one copy until neither side has more, unless another process does so."""
    token = uuid.uuid4().hex
    done: Exchanged = {"copy_id": link_id, "sent": 0, "taken": 0, "files": 0, "conflicts": 0, "error": None}
    claimed = await services.database.writes(None).one(
        "copy.claim", _Claimed, id=link_id, now=_in(0), latest=_in(LONGEST_SECONDS),
        until=_in(LEASE_SECONDS), token=token,
    )  # fmt: skip
    if claimed is None:
        return {**done, "error": "another process exchanges facts with it at this moment, or it is paused"}
    work, asked_at = _Exchange(services, claimed, token, done), times.now()
    noted: dict[str, Any] = {"status": "active", "last_error": None, "failures": 0}
    pause = 0.0
    try:
        async with _reached(services, claimed.copy, claimed.copy_id) as remote:
            await work.run(remote)
        for kinds, which in ((work.unsent, "the other"), (work.refused, "this")):
            if kinds:
                names = ", ".join(sorted(kinds))
                noted["last_error"] = f"update {which} copy: it cannot take facts of the kinds {names}"
    except CopyRefused as exc:
        waits = exc.details.get("copy_status") == "asks"
        noted = {"status": "asked" if waits else "refused", "last_error": str(exc)[:500], "failures": 1}
        pause, done["error"] = BACKOFF_SECONDS[0] if waits else BACKOFF_SECONDS[-1], str(exc)
    except Exception as exc:  # whatever it is, the claim ends and the copy is tried again
        failures = claimed.copy.failures + 1
        done["error"] = f"{exc.code}: {exc}" if isinstance(exc, GraphmemError) else type(exc).__name__
        if isinstance(exc, AuthInvalid):
            done["error"] += _ENDED
        noted = {"last_error": done["error"][:500], "failures": failures}
        pause = BACKOFF_SECONDS[min(failures, len(BACKOFF_SECONDS)) - 1]
        unexpected = None if isinstance(exc, GraphmemError) else exc
        _log.warning(
            "copies exchange facts later", copy=link_id, reason=done["error"][:99], exc_info=unexpected
        )
    if done["error"] is None:
        noted["exchanged_at"] = asked_at
    if claimed.source is not None:
        services.read_as_of[claimed.copy.owner] = noted.get("exchanged_at", claimed.copy.exchanged_at or 0)
    await work.note(token=None, due_at=_in(pause), **noted)
    return done


def _reached(services: Services, copy: Copy, own_id: str) -> RemoteCopy:
    url, key = copy.url or "", copy.copy_key or ""
    if url.startswith(SCHEME):
        return Folder(url, key, services, copy.owner, own_id, copy.files)
    return RemoteCopy(url, key, copy.peer)


class _Exchange:
    """One exchange with a copy that this process has claimed by a token."""

    def __init__(self, services: Services, claimed: _Claimed, token: str, done: Exchanged) -> None:
        self._services, self._copy, self._token = services, claimed.copy, token
        self._own_id, self._set_id, self._reads = claimed.copy_id, claimed.set_id, bool(claimed.source)
        self.done, self.refused, self.unsent = done, set(self._copy.refused), set(self._copy.unsent)
        self._sends_again = False

    async def run(self, remote: RemoteCopy) -> None:
        """Take what is new there, then send what is new here: what was taken is passed over."""
        await self._take(remote)
        if not self._reads:
            await self._send(remote)
        self.done["files"] += remote.files
        if remote.problem:
            raise CopyWaits(remote.problem)

    async def note(self, **properties: Any) -> None:
        """Note how far the exchange is. Raises CopyRefused: another process has it, or it was removed."""
        noted = await self._services.database.writes(self._copy.owner).only(
            "copy.note", int, id=self._copy.id, token=self._token, set_id=self._set_id,
            properties={"due_at": _in(LEASE_SECONDS), **properties},
        )  # fmt: skip
        if not noted:
            raise CopyRefused("the exchange was ended by hand, or by another process")

    async def _send(self, remote: RemoteCopy) -> None:
        owner, copy = self._copy.owner, self._copy
        head = await self._services.of(ChangeFeed).head(owner, settled=False)
        # Another node of the owner is another order: it is sent from the beginning.
        pushed = copy.pushed if copy.node_key == head.node_key and not self._sends_again else 0
        after, without = await remote.resume(pushed, head.node_key)
        while after < head.sequence:
            page = await pages.read_page(self._services.database, owner, after, head.sequence, without)
            after = page.last
            if page.transactions:
                answer = await remote.give(self._own_id, self._set_id, page)
                for content_hash in answer["missing_files"]:
                    await self._send_file(remote, content_hash)
                self.unsent.update(answer["refused"])
                self.done["sent"] += page.transactions
                after, without = await remote.resume(max(pushed, after), head.node_key)
            remote.noted |= {"sent": copy.sent + self.done["sent"], "unsent": sorted(self.unsent)}
            await self.note(pushed=after, node_key=head.node_key, **remote.noted)
        if copy.node_key != head.node_key:
            await self.note(pushed=after, node_key=head.node_key)

    async def _send_file(self, remote: RemoteCopy, content_hash: str) -> None:
        objects, owner = self._services.objects, self._copy.owner
        if not await objects.exists(owner, content_hash):
            return
        content = b"".join([chunk async for chunk in objects.read(owner, content_hash)])
        data = base64.b64encode(content).decode()
        await remote.ask("POST", FILES, copy_id=self._own_id, content_hash=content_hash, file_content=data)
        self.done["files"] += 1
        await self.note()

    async def _take(self, remote: RemoteCopy) -> None:
        # After an update, all is asked for again, or sent, and what is known is passed over.
        cursor = "" if self.refused & BY_NAME.keys() else self._copy.cursor
        self.refused -= BY_NAME.keys()
        joins = self._copy.joins
        if not cursor and not joins:
            # What has no facts yet takes along when the other copy learned of them, also after a cut.
            head = await self._services.of(ChangeFeed).head(self._copy.owner, settled=False)
            joins = not head.sequence
            await self.note(joins=joins or None)
        while True:
            try:
                answer = await remote.ask("GET", FACTS, copy_id=self._own_id, after=cursor)
            except CursorOfAnotherDatabase:
                if not cursor:
                    raise
                # The other database was put in place of the one before: what is known is passed over.
                cursor = ""
                continue
            if answer["transactions"]:
                page = await asyncio.to_thread(pages.read, self._copy.owner, answer["data"], answer["sha256"])
                result = await unite(self._services, self._copy.owner, page, self._copy.peer, joins=joins)
                self.done["taken"] += result.transactions
                self.done["conflicts"] += result.conflict_count
                self.refused.update(page.refused)
                for content_hash in result.missing_hashes if self._copy.files == "now" else ():
                    await self._take_file(remote, content_hash)
            self._set_id = min(self._set_id, str(answer["set_id"]))
            self._sends_again |= not self.unsent.isdisjoint(answer.get("kinds", ()))
            self.unsent.difference_update(answer.get("kinds", ()))
            cursor = str(answer["cursor"])
            if cursor != self._copy.cursor or not answer["more"]:
                taken, joins = self._copy.taken + self.done["taken"], joins and answer["more"]
                noted = {"refused": sorted(self.refused), "joins": joins or None}
                await self.note(cursor=cursor, taken=taken, **noted)
            if not answer["more"]:
                return

    async def _take_file(self, remote: RemoteCopy, content_hash: str) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            start, size = 0, 1
            while start < size:
                place = {"content_hash": content_hash, "start": start}
                answer = await remote.ask("GET", FILES, copy_id=self._own_id, **place)
                piece, size = base64.b64decode(answer["data"]), int(answer["size"])
                if not piece and size:
                    raise PageDamaged(f"the file {content_hash} was cut off")
                yield piece
                start += len(piece)
                await self.note()

        # What the other copy lacks too may come later.
        with contextlib.suppress(ObjectMissing, ObjectDamaged):
            stored = await self._services.objects.put(self._copy.owner, pieces())
            if stored.sha256 != content_hash:
                raise PageDamaged(f"the bytes of the file {content_hash} are not those that were stored")
            self.done["files"] += 1


async def unite(
    services: Services, owner: str, page: ReadPage, by_copy: str, *, joins: bool = False
) -> RestoreResult:
    """Take a page of another copy; see :func:`graphmem.dump.uniting.unite`."""
    to = services.database, services.vocabulary, services.writers, services.objects
    result = await uniting.unite(*to, owner, page, by_copy, joins=joins)
    services.type_aliases.forget(owner)
    return result


def _in(seconds: float) -> int:
    return times.now() + int(seconds * times.SECOND)

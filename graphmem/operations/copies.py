"""Copies of the caller's data on other machines: joining them, what they exchange, and how that goes."""

import platform
from typing import Annotated, Any, Final, NotRequired

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from graphmem import auth
from graphmem.arguments import Arguments, Nothing
from graphmem.auth import Method
from graphmem.context import Context
from graphmem.copies import exchanging, stored_copies
from graphmem.copies.exchanging import Exchanged
from graphmem.copies.folder import SCHEME, Folder
from graphmem.copies.remote_copy import RemoteCopy, checked_url
from graphmem.copies.stored_copies import Copy, CopyId, CopyStatus, Files
from graphmem.errors import (
    CopyRefused,
    Forbidden,
)
from graphmem.model import times
from graphmem.model.state_hash import EMPTY
from graphmem.reading import answers, cursors
from graphmem.reading.pages import Paged, PageEnvelope, newest_page, newest_window, page_of
from graphmem.registry import Scope, operation
from graphmem.settings import LOCAL_ACCOUNT

_ERASED: Final = (
    "the data was erased there, and not here: `graphmem account delete NAME --with-data` erases it here too, "
    "`graphmem copies leave` keeps it"
)
_HINTS: Final[dict[CopyStatus | None, str]] = {
    None: "are both one memory? Then add `confirm`",
    "active": "facts are exchanged while a service runs here: `graphmem copies list` says how far it is",
    "asked": "a person there accepts: `graphmem copies list`, then `graphmem copies accept ID`",
}


class Memory(TypedDict):
    """How much a copy has, and the names of three of its entities."""

    transactions: int
    entities: int
    names: list[str]


class Met(TypedDict):
    """What a copy says of itself to another one. ``accepted``: they may exchange facts."""

    owner: str
    set_id: str
    copy_id: str
    accepted: bool
    memory: Memory


class Meet(Arguments):
    copy_id: CopyId
    set_id: str = Field(default="", max_length=100)
    name: str = Field(default="", max_length=200)
    joins: bool = False
    looks: bool = False
    erased: bool = False


def _refused(reason: str) -> CopyRefused:
    return CopyRefused(f"the two are no copies of each other: {reason}", reason=reason)


async def _memory(context: Context) -> Memory:
    transactions, entities, names = await context.graph.only(
        "copy.examples", tuple[int, int, list[tuple[str, str]]]
    )
    return {"transactions": transactions, "entities": entities, "names": [name for _, name in names][:3]}


@operation("copies.meet", Scope.COPY)
async def meet(context: Context, arguments: Meet) -> Met:
    """Make this copy known to another one, which asks to exchange facts.

    One that has no facts yet, or is of the same set, is accepted. Of another one a person decides here:
    `graphmem copies accept` after a look at `graphmem copies list`.
    """
    services, actor = context.services, context.actor
    set_id, own_id = await stored_copies.begin(services, actor)
    before = (await stored_copies.of_account(services, actor)).of_peer(arguments.copy_id)
    is_new = before is None or before.status == "asks"
    if before is not None and arguments.erased:
        before = await stored_copies.link(
            services, actor, before.id, status="refused", last_error=_ERASED, due_at=None, token=None
        )
    accepted = is_new and (arguments.joins or arguments.set_id == set_id)
    if is_new and not arguments.looks:
        status: CopyStatus = "active" if accepted else "asks"
        more = {"peer_set": arguments.set_id} if arguments.set_id else {}
        await stored_copies.link_new(
            services, actor, before, arguments.copy_id, arguments.name, status, **more
        )
    return {
        "owner": actor.owner, "set_id": set_id, "copy_id": own_id, "memory": await _memory(context),
        "accepted": accepted or (before is not None and before.status == "active"),
    }  # fmt: skip


def _address(url: str) -> str:
    return url if url.startswith(SCHEME) else checked_url(url)


class Connect(Arguments):
    url: Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(_address)]
    key: str = Field(default="", max_length=500, pattern="^[!-~]*$")
    name: str = Field(default="", max_length=200)
    files: Files = "now"


class Join(Connect):
    read_only: bool = False


class OtherCopy(TypedDict):
    """Another copy. ``status``: active, paused, refused (``last_error`` says why), ``asks`` (accept it here)
    or ``asked`` (it is to be accepted there). ``sent`` and ``taken`` count transactions. One without a
    ``url`` calls this one."""

    id: str
    peer: str
    peer_name: str
    url: NotRequired[str]
    status: CopyStatus
    files: Files
    last_error: str | None
    exchanged_at: str | None
    created_at: str
    sent: int
    taken: int


def _shown(copy: Copy) -> OtherCopy:
    return answers.without_empty(answers.of_row(OtherCopy, copy), "url")


class Connected(TypedDict):
    """What this copy and the other one have, the other one once facts are to be exchanged with it, and the
    ``key`` of a folder that was made, which is shown once."""

    here: Memory
    there: Memory
    copy: NotRequired[OtherCopy]
    key: NotRequired[str]
    hint: str


def _require_person_for_folder(context: Context, url: str) -> None:
    if url.startswith(SCHEME) and context.actor.method not in (Method.PROCESS, Method.SOCKET):
        raise Forbidden("only a person at the machine itself names a folder of it: run the command there")


async def _meet(context: Context, arguments: Connect, **about: Any) -> tuple[str, str, Met]:
    """Return address and key of another copy, and what it says of itself; without a key, make a folder."""
    if not arguments.url.startswith(SCHEME):
        name = arguments.name or platform.node()
        async with RemoteCopy(arguments.url, arguments.key) as remote:
            return arguments.url, arguments.key, await remote.ask("POST", exchanging.MEET, name=name, **about)
    folder, new = Folder(arguments.url, arguments.key, context.services, context.actor.owner), None
    if not arguments.key and "joins" not in about:
        shown = {"owner": context.actor.owner, "copy_id": folder.id, "memory": await _memory(context)}
        new = {**shown, "set_id": about["set_id"], "accepted": True}
    return folder.url, folder.key, await folder.about(new)


@operation("copies.join", Scope.ADMIN)
async def join(context: Context, arguments: Join) -> Connected:
    """Make this machine a copy of an account of another service; the caller's account must have no facts.

    It takes over the id of the owner, and all facts and files, and exchanges what is new from then on, both
    ways. The key stays in this instance. Restart what runs on this machine, such as agents: they take the
    owner over when they start.
    """
    _require_person_for_folder(context, arguments.url)
    services, actor = context.services, context.actor
    own_id = stored_copies.new_id("copy")
    if (await stored_copies.of_account(services, actor)).sequence:
        raise _refused("this account has facts already: `graphmem copies add` is for that")
    url, key, met = await _meet(context, arguments, copy_id=own_id, joins=True)
    joined = await services.database.writes(None).one(
        "copy.join", bool, account_id=actor.account, owner_id=met["owner"], set_id=met["set_id"],
        copy_id=own_id, source=url if arguments.read_only else "", state_hash=EMPTY,
    )  # fmt: skip
    if joined is None:
        raise _refused(f"another account here has the owner {met['owner']}")
    if actor.account == LOCAL_ACCOUNT:
        auth.take_over(met["owner"])
    return await _linked(context, arguments, url, key, met, "active")


async def _linked(
    context: Context, arguments: Connect, url: str, key: str, met: Met, status: CopyStatus | None
) -> Connected:
    """Keep the copy that was met; without a status it is only shown."""
    shown: Connected = {"here": await _memory(context), "there": met["memory"], "hint": _HINTS[status]}
    if status is None:
        return shown
    services, actor = context.services, context.actor
    before = (await stored_copies.of_account(services, actor)).of_peer(met["copy_id"])
    copy = await stored_copies.link_new(
        services, actor, before, met["copy_id"], url, status, url=url, copy_key=key or None,
        peer_set=met["set_id"], files=arguments.files, due_at=0,
    )  # fmt: skip
    return {**shown, "copy": _shown(copy)}


class Add(Connect):
    confirm: bool = False


@operation("copies.add", Scope.ADMIN)
async def add(context: Context, arguments: Add) -> Connected:
    """Put two memories that both have facts together, or connect two copies of one set.

    Both have the same owner: without `confirm`, it shows how much each has and three names, and sends
    nothing. Then a person at the other machine accepts it too, unless both are of one set already.
    `graphmem copies add file:DIR` makes a folder for the exchange, such as a synchronised one, and its key.
    """
    _require_person_for_folder(context, arguments.url)
    actor = context.actor
    set_id, own_id = await stored_copies.begin(context.services, actor)
    about = {"copy_id": own_id, "set_id": set_id, "looks": not arguments.confirm}
    url, key, met = await _meet(context, arguments, **about)
    if met["owner"] != actor.owner:
        raise _refused("its data is of another owner: join it with an account that has no facts")
    status: CopyStatus = "active" if met["accepted"] else "asked"
    is_sure = arguments.confirm or (url.startswith(SCHEME) and met["set_id"] == set_id)
    linked = await _linked(context, arguments, url, key, met, status if is_sure else None)
    return linked if key == arguments.key else {**linked, "key": key}


class OneCopy(Arguments):
    copy_id: CopyId


@operation("copies.accept", Scope.WRITE)
async def accept(context: Context, arguments: OneCopy) -> OtherCopy:
    """Let another copy that asks exchange facts with this one, or one that is paused go on.

    Both memories become one, for good: `graphmem copies list` says who asks.
    """
    return await _with_status(context, arguments.copy_id, "active")


async def _with_status(context: Context, copy_id: str, status: CopyStatus) -> OtherCopy:
    services, actor = context.services, context.actor
    copy = (await stored_copies.of_account(services, actor)).one(copy_id)
    due = {} if copy.url is None else {"due_at": 0 if status == "active" else None}
    return _shown(await stored_copies.link(services, actor, copy.id, status=status, token=None, **due))


class CopyPage(PageEnvelope):
    """The other copies, in the order in which they came.

    ``reads_from``: this copy only reads, from there. ``waiting`` is how many transactions other copies do not
    have yet; ``as_of`` and ``behind_seconds`` say when all active copies that have an address answered last.
    """

    copies: list[OtherCopy]
    set_id: str | None
    copy_id: str | None
    reads_from: str | None
    waiting: int
    as_of: str | None
    behind_seconds: int | None


@operation("copies.list", Scope.READ)
async def list_copies(context: Context, arguments: Paged) -> CopyPage:
    """List the other copies of the caller's data, those that ask to be one, and how far the exchange is."""
    own = await stored_copies.of_account(context.services, context.actor)
    page, envelope = page_of(context, "copies.list", arguments, own.copies, lambda each: each.id)
    called = [each for each in own.copies if each.status == "active" and each.url is not None]
    at = min((each.exchanged_at or 0 for each in called), default=0) or None
    pushed = [each.pushed if each.node_key == own.node_key else 0 for each in called if not own.source]
    return {
        "copies": [_shown(each) for each in page], "set_id": own.set_id, "copy_id": own.copy_id,
        "reads_from": own.source, "waiting": own.sequence - min(pushed, default=own.sequence),
        "as_of": answers.when(at),
        "behind_seconds": None if at is None else (times.now() - at) // times.SECOND, **envelope,
    }  # fmt: skip


class SyncedCopies(TypedDict):
    """The exchanges with all copies that this one calls, one after the other."""

    exchanges: list[Exchanged]


@operation("copies.sync", Scope.WRITE)
async def sync(context: Context, arguments: Nothing) -> SyncedCopies:
    """Exchange facts with all copies now, and say what came of it. A service does so by itself."""
    own = await stored_copies.of_account(context.services, context.actor)
    called = [each.id for each in own.copies if each.url is not None and each.status != "paused"]
    return {"exchanges": [await exchanging.exchange(context.services, copy_id) for copy_id in called]}


@operation("copies.pause", Scope.WRITE)
async def pause(context: Context, arguments: OneCopy) -> OtherCopy:
    """Pause the exchange with another copy: `graphmem copies accept` goes on with it where it was."""
    return await _with_status(context, arguments.copy_id, "paused")


class Leave(Arguments):
    copy_id: str = Field(default="", max_length=100)


class Left(TypedDict):
    """How many other copies are known here no more. All facts stay."""

    removed: int


@operation("copies.leave", Scope.WRITE)
async def leave(context: Context, arguments: Leave) -> Left:
    """Exchange no more facts with another copy, or with any. What was exchanged stays on both sides."""
    removed = await context.services.database.writes(None).one(
        "copy.remove", int, account_id=context.actor.account, id=arguments.copy_id
    )
    return {"removed": removed or 0}


class Lost(TypedDict):
    """A fact that contradicts another one, which was recorded first and counts.

    ``what`` is schema (``name``: the type and the version), idempotency_key, type_alias or expected_version
    (``name``: the entity). ``winner`` is the transaction that counts, or came before the version that was
    expected, or the type that an alias means. ``settle`` says how to have it otherwise.
    """

    id: str
    what: str
    name: str
    transaction_id: str
    recorded_at: str
    winner: str
    settle: str


class LostPage(PageEnvelope):
    """A page of facts that do not count, newest first."""

    conflicts: list[Lost]


_SETTLE: Final = {
    "schema": "register the document that is to hold as a new version: POST /register_schema",
    "idempotency_key": "nothing was lost: both transactions count, and the key answers the first one",
    "expected_version": "both count: `graphmem observations list --entity-id NAME` shows both, and "
    "`graphmem undo --transaction-id ID` takes one back",
    "type_alias": "take the name from the type that has it, then give it to the other",
}
_LostRow = tuple[str, str, str, str, int, str]


@operation("copies.conflicts", Scope.READ)
async def list_conflicts(context: Context, arguments: Paged) -> LostPage:
    """List facts of which two copies have different ones, with what settles each.

    Values of one field that contradict are no such facts: both are kept, and contested values list them.
    """
    query = cursors.fingerprint(context, "copies.conflicts", arguments)
    facts, total = await context.graph.only(
        "copy.lost", tuple[list[_LostRow], int], **newest_window(arguments, query)
    )
    page = newest_page(arguments, facts, total, lambda row: (row[4], row[0]))
    rows: list[Lost] = [
        {
            "id": lost_id, "what": kind, "name": name, "transaction_id": transaction,
            "recorded_at": times.render(recorded_at), "winner": winner, "settle": _SETTLE[kind],
        }
        for lost_id, kind, name, transaction, recorded_at, winner in page.items
    ]  # fmt: skip
    return {"conflicts": rows, **page.envelope(arguments, query)}

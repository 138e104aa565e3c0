"""The wipe of a public sandbox: the data goes, and the seed world is stored.

Its steps are noted in the database (:mod:`graphmem.auth.shared_account`), so that the next process goes on
where one was killed. The first step takes one statement: afterwards nobody reaches anything of before. The
seed is stored by requests with idempotency keys, so that a part of it that is stored twice changes nothing.
"""

import asyncio
import hashlib
import secrets
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import structlog

import graphmem
from graphmem.auth import Actor, erasing
from graphmem.auth.shared_account import ACCOUNT_NAME, REMEMBERED_SECONDS, SharedAccount
from graphmem.context import Context, Services
from graphmem.database.jobs import renewed
from graphmem.errors import ConfigurationInvalid, NotFound
from graphmem.ingest.own_files import read_request
from graphmem.model import times
from graphmem.reading.snapshot_check import audit
from graphmem.registry import REGISTRY
from graphmem.sandbox.reports import Reports, keyed_hash
from graphmem.sandbox.terms import last_wipe_time
from graphmem.search.search_copies import SearchCopies

LEASE_SECONDS: Final = 120.0
"""Seconds for which a process has the work. If it is killed, another one goes on after them."""
AUDITS_LIMIT: Final = 2
"""How often the counters are corrected after a reset of an entity, while visitors write meanwhile."""
_HOLDER: Final = secrets.token_hex(8)


class ErasedEntity(NamedTuple):
    """The row of ``owner/erase_entity.cypher``.

    ``entities`` counts the entity and those merged with it, ``contents`` are hashes of files that are gone,
    and ``kept_sources`` the ids of files that say something about others as well.
    """

    entities: int
    contents: list[str]
    kept_sources: list[str]


_log = structlog.get_logger("graphmem.sandbox")


async def look_after(services: Services, now: int | None = None) -> int:
    """Wipe the sandbox if it is time (``now``: microseconds), and go on with a wipe that began; return 0."""
    if not services.settings.sandbox:
        return 0
    now = times.now() if now is None else now
    account = SharedAccount(services.database)
    state = await account.state()
    if state.wiped_at < last_wipe_time(now) and await account.wipe(last_wipe_time(now), now):
        _log.info("the sandbox is wiped", owner=state.owner)
        await Reports(services.database).drop_old(now)
        state = await account.state()
    if (state.retired or not state.is_seeded) and await account.lease(_HOLDER, LEASE_SECONDS):
        await _finish(services, account)
    return 0


async def wipe_now(services: Services, now: int | None = None) -> int:
    """Wipe the sandbox at once; return how many earlier owners were erased. When this returns, nothing of
    before is left, and the seed is stored."""
    now = times.now() if now is None else now
    account = SharedAccount(services.database)
    await account.state()
    await account.wipe(times.LATEST, now)
    _log.info("the sandbox is wiped by hand")
    return await _finish_in_turn(services, account)


async def reset_entity(services: Services, entity_id: str) -> ErasedEntity:
    """Erase an entity with all that is stored about it, and store what the seed says of it again.

    Raises NotFound: there is no such entity. Raises DatabaseFull: too much is stored about it for one
    transaction.
    """
    account, now = SharedAccount(services.database), times.now()
    owner = (await account.state()).owner
    erased = await services.database.writes(owner).one(
        "owner.erase_entity", ErasedEntity, entity_id=entity_id, name=ACCOUNT_NAME
    )
    if erased is None:
        raise NotFound(
            f"there is no entity {entity_id}: confirm with --everything to wipe all, or reject the report",
            id=entity_id,
        )
    _log.info("an entity is erased", owner=owner, entity_id=entity_id)
    for content in erased.contents:
        await services.objects.delete(owner, content, modified_before=now)
    await _finish_in_turn(services, account)
    await _correct(services, await account.actor("seed"))
    return erased


async def _finish_in_turn(services: Services, account: SharedAccount) -> int:
    while not await account.lease(_HOLDER, LEASE_SECONDS):  # noqa: ASYNC110 - of another process
        await asyncio.sleep(1)
    return await _finish(services, account)


async def _finish(services: Services, account: SharedAccount) -> int:
    """Store the seed, if it is not stored, and erase what is left of earlier owners; return how many."""
    state = await account.state()
    if not state.is_seeded:
        await _seed(services, account)
        await services.database.write("sandbox.seeded", None, name=ACCOUNT_NAME, owner_id=state.owner)
    if state.retired:
        # Reads of a process that has not looked again yet would meet half of the data.
        await asyncio.sleep(REMEMBERED_SECONDS)
    for owner in state.retired:
        async with renewed(partial(account.lease, _HOLDER), LEASE_SECONDS):
            erased = await erasing.erase_closed(
                services.database, owner, objects=services.objects, keys=services.keys
            )
        await services.of(SearchCopies).erase(owner)
        await services.database.write("sandbox.erased", None, name=ACCOUNT_NAME, owner_id=owner)
        _log.info("the data before a wipe is erased", owner=owner, entities=erased.entities)
    await account.lease(_HOLDER, 0)
    return len(state.retired)


async def _correct(services: Services, actor: Actor) -> None:
    for _ in range(AUDITS_LIMIT):
        if (await audit(Context(actor, services), fix=True, deep=True)).settled:
            return
    _log.warning("visitors write too often to correct the counters", owner=actor.owner)


async def _seed(services: Services, account: SharedAccount) -> None:
    """Store the files of the seed in the order of their names. Raises ConfigurationInvalid: the folder has
    none. Raises GraphmemError: a file is no valid request."""
    # In a checkout ``graphmem/examples`` is a link to the examples; a package has them there.
    folder = services.settings.sandbox_seed or Path(graphmem.__file__).parent / "examples"
    files = sorted(folder.glob("*.json"))
    if not files:
        raise ConfigurationInvalid(
            f"{folder} has no .json files to seed the sandbox with: correct GRAPHMEM_SANDBOX_SEED"
        )
    actor = await account.actor("seed")
    for file in files:
        data = await asyncio.to_thread(file.read_bytes)
        request = read_request(data, file.name)
        # Nobody can guess the key, and store something else by it first.
        digest = f"{actor.owner} {hashlib.sha256(data).hexdigest()}"
        request["idempotency_key"] = "seed-" + await keyed_hash(services.database.writes(None), digest)
        await REGISTRY["store"].run(services, actor, request)

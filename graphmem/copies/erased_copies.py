"""Tells the other copies of an account's data that it is being erased here."""

import asyncio
from typing import Final

from graphmem.copies.exchanging import MEET
from graphmem.copies.remote_copy import RemoteCopy
from graphmem.copies.stored_copies import Copy, CopySet
from graphmem.database.driver import Database

TELLING_SECONDS: Final = 5.0


async def tell_copies(database: Database, account_id: str) -> dict[str, list[str]]:
    """Tell the copies that have an address; return the names of those that were told, and of the others."""
    own = await database.reads(None).one("copy.of_account", CopySet, account_id=account_id)
    copies, copy_id = (own.copies, own.copy_id) if own else ([], None)

    async def tell(copy: Copy) -> bool:
        if copy.url is None:
            return False
        try:
            async with asyncio.timeout(TELLING_SECONDS), RemoteCopy(copy.url, copy.copy_key) as remote:
                await remote.ask("POST", MEET, copy_id=copy_id, looks=True, erased=True)
        except Exception:  # whatever it is, the erasure goes on
            return False
        return True

    names: dict[str, list[str]] = {"copies_told": [], "copies_not_told": []}
    for copy, was_told in zip(copies, await asyncio.gather(*map(tell, copies)), strict=True):
        names["copies_told" if was_told else "copies_not_told"].append(copy.peer_name)
    return names

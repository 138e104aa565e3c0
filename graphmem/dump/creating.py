"""Making a dump: what an owner has recorded up to the moment of the dump, streamed into a file."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

from graphmem.database.driver import Database
from graphmem.dump import container, records
from graphmem.errors import DatabaseFull, DumpRefused
from graphmem.model.schema import version_order

TRANSACTIONS: Final = 500
"""Transactions that are read at once; fewer where their values are large."""
OWNERS: Final = 1_000
"""Owners that are read at once."""
LEFT: Final = 86_400.0
"""Seconds after which a file that nobody writes to is no backup under way any more."""
_TYPE: Final = ("name", "inverse", "description", "registered_at", "agent")
_OBSERVATION: Final = (
    "id", "home", "kind", "entity_type", "identity_basis", "observed_at", "recorded_at", "fields", "values",
    "priority", "specificity", "observation_source", "agent",
)  # fmt: skip
_TRANSACTION: Final = (
    "id", "recorded_at", "operation", "client", "agent", "idempotency_key", "request_hash", "answer",
)  # fmt: skip

Progress = Callable[[int, int | None], None]
"""Is told how much was done since it was told last, and how much there is where that is known."""


@dataclass(slots=True)
class Contents:
    """What of one owner is in a dump; ``recorded_at`` (microseconds) is that of its newest transaction."""

    owner: str
    recorded_at: int = 0
    schemas: int = 0
    transactions: int = 0
    observations: int = 0

    def said(self) -> dict[str, Any]:
        """Return it as a manifest holds it."""
        return {
            "owner": self.owner,
            "recorded_at": self.recorded_at,
            "schemas": self.schemas,
            "transactions": self.transactions,
            "observations": self.observations,
        }


@dataclass(slots=True)
class Created:
    """A dump that was made; ``size`` is that of its file in bytes."""

    path: Path
    size: int
    manifest: container.Manifest
    owners: list[Contents] = field(default_factory=list)
    relationship_types: int = 0


async def create(
    database: Database,
    path: Path,
    owners: Sequence[str] = (),
    *,
    force: bool = False,
    here: str = "this database",
    progress: Progress | None = None,
) -> Created:
    """Write the facts of some owners, or of all, into a file.

    Each owner's are those of one moment: what is written meanwhile is left out. The file appears under its
    name once it is complete and on disk, readable by its owner alone. What another backup to the same name,
    killed a day ago or earlier, left of its own is removed.

    Args:
        here: how a message names the database.
        owners: none means every owner, and every registered relationship type; else the types are those that
            their relationships have.

    Raises:
        DumpRefused: the file is there already, and ``force`` is not given or nobody has stored anything here;
            it cannot be written; or an owner has nothing.
        Unavailable: the database failed.
    """
    with _file(path, force) as file:
        made = await _Maker(database, container.Writer(file), progress or (lambda done, total: None)).run(
            owners
        )
        if not made.owners:
            _replace_nothing(path, here)
        made.path, made.size = path, file.tell()
    return made


class _Maker:
    def __init__(self, database: Database, writer: container.Writer, progress: Progress) -> None:
        self._database, self._writer, self._progress = database, writer, progress

    async def run(self, asked: Sequence[str]) -> Created:
        owners = sorted(set(asked) or [owner async for owner in self._owners()])
        cuts = {owner: await self._cut(owner) for owner in owners}
        for owner in asked:
            if not cuts[owner]["sequence"]:
                raise DumpRefused(f"the owner {owner} has stored nothing here", owner=owner)
        self._progress(0, sum(cut["observations"] for cut in cuts.values()))
        types = {kind for cut in cuts.values() for kind in cut["relationship_types"]} if asked else None
        made = Created(Path(), 0, self._writer.manifest)
        made.relationship_types = await self._relationship_types(types)
        for owner in owners:
            made.owners.append(await self._owner(owner, cuts[owner]["sequence"]))
        self._writer.finish({
            "owners": [one.said() for one in made.owners], "relationship_types": made.relationship_types,
        })  # fmt: skip
        return made

    async def _cut(self, owner: str) -> dict[str, Any]:
        """Return where an owner's dump ends: at a write that is seen whole, which the lock waits for."""
        locked = await self._database.write("owner.lock", owner)
        (row,) = await self._database.read("dump.cut", owner)
        return {"sequence": locked[0]["sequence"] if locked else 0, **row}

    async def _owners(self) -> AsyncIterator[str]:
        after: str | None = ""
        while after is not None:
            (row,) = await self._database.read("dump.owners", None, after=after, limit=OWNERS)
            for owner in row["owners"]:
                yield owner
            after = row["last"]

    async def _relationship_types(self, wanted: set[str] | None) -> int:
        (row,) = await self._database.read("dump.relationship_types", None)
        found = [one for one in row["types"] if wanted is None or one[0] in wanted]
        for one in found:
            self._add("relationship_type", dict(zip(_TYPE, one, strict=True)))
        return len(found)

    async def _owner(self, owner: str, sequence: int) -> Contents:
        contents = Contents(owner)
        self._add("owner", {"id": owner})
        async for kind, versions in self._schemas(owner, sequence):
            for version, document, change, recorded_at, transaction in versions:
                self._add("schema", {
                    "entity_type": kind, "version": version, "document": document, "change": change,
                    "recorded_at": recorded_at, "transaction": transaction,
                })  # fmt: skip
                contents.schemas += 1
        async for one in self._transactions(owner, sequence):
            *said, observations = one
            self._add("transaction", dict(zip(_TRANSACTION, said, strict=True)))
            for observed in observations:
                self._add("observation", dict(zip(_OBSERVATION, observed, strict=True)))
            contents.transactions += 1
            contents.observations += len(observations)
            contents.recorded_at = said[1]
            self._progress(len(observations), None)
        return contents

    async def _schemas(self, owner: str, sequence: int) -> AsyncIterator[tuple[str, list[Any]]]:
        after = ""
        while after is not None:
            (row,) = await self._database.read("dump.schemas", owner, after=after, sequence=sequence)
            after = row["type"]
            if after is not None:
                yield after, sorted(row["versions"], key=lambda one: version_order(one[0]))

    async def _transactions(self, owner: str, sequence: int) -> AsyncIterator[list[Any]]:
        """Yield an owner's transactions in their order; the next ones are read while these are written."""
        reading = asyncio.create_task(self._page(owner, sequence, -(1 << 62), "", TRANSACTIONS))
        try:
            while True:
                found, more = await reading
                if more:
                    reading = asyncio.create_task(
                        self._page(owner, sequence, found[-1][1], found[-1][0], TRANSACTIONS)
                    )
                for one in found:
                    yield one
                if not more:
                    return
        finally:
            reading.cancel()

    async def _page(
        self, owner: str, sequence: int, since: int, after: str, limit: int
    ) -> tuple[list[list[Any]], bool]:
        """Return a stretch of transactions; a shorter one where the database cannot hold it."""
        try:
            (row,) = await self._database.read(
                "dump.page", owner, since=since, after=after, sequence=sequence, limit=limit
            )
        except DatabaseFull:
            if limit == 1:
                raise
            return await self._page(owner, sequence, since, after, max(1, limit // 8))
        return row["transactions"], row["more"]

    def _add(self, record: str, said: dict[str, Any]) -> None:
        given = {name: value for name, value in said.items() if value is not None}
        self._writer.add(records.line({"record": record, **given}))


@contextlib.contextmanager
def _file(path: Path, force: bool) -> Iterator[BinaryIO]:
    """Yield a file that appears under its name once it is complete; else nothing is left of it."""
    # Unlike Path's own, these raise nothing for a path that cannot be used: writing there tells why.
    if os.path.isdir(path):
        raise DumpRefused(f"{path} is a directory: give the name of a file in it", path=str(path))
    if os.path.exists(path) and not force:
        raise DumpRefused(
            f"{path} is there already: give another name, or --force to replace it", path=str(path)
        )
    growing = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        _sweep(path)
        number = os.open(growing, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(number, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            _appear(growing, path, force)
        finally:
            growing.unlink(missing_ok=True)
    except OSError as exc:
        raise DumpRefused(f"{path} cannot be written: {exc.strerror or exc}", path=str(path)) from exc


def _replace_nothing(path: Path, here: str) -> None:
    """Refuse to put a dump of nothing in the place of another one: it may be all that is left."""
    if os.path.exists(path):
        raise DumpRefused(
            f"nobody has stored anything in {here}, and {path} is not replaced by a dump of nothing: "
            "see that this is the database that you mean, or give another name",
            path=str(path),
        )


def _sweep(path: Path) -> None:
    """Remove what backups to this name left that were killed: what nobody has written to for a day."""
    ours = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}")
    for one in os.scandir(path.parent):
        with contextlib.suppress(OSError):
            if ours.fullmatch(one.name) and time.time() - one.stat(follow_symlinks=False).st_mtime > LEFT:
                os.unlink(one.path)


def _appear(growing: Path, path: Path, force: bool) -> None:
    """Give a complete file its name; one that came to be there meanwhile is not replaced unasked."""
    if not force and path.exists():
        raise DumpRefused(f"{path} has come to be there meanwhile: give another name", path=str(path))
    growing.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

"""Writes receipts: they wait in memory for a few seconds, and many are written by one statement.

The process that answered writes them. One that is killed loses those of its last :data:`FLUSH_SECONDS`.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import hashlib
import secrets
import time
import zlib
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import orjson
import structlog

import graphmem
from graphmem.auth import Actor
from graphmem.database.driver import Database
from graphmem.errors import DataDamaged, GraphmemError, Unavailable
from graphmem.model import canonical, times
from graphmem.model.attribution import writers_of
from graphmem.receipts.collected import BY_HOOK, Collected, Fact
from graphmem.settings import Settings

FLUSH_SECONDS: Final = 3.0  # for which a receipt waits; with the statement that writes it less than 5 s
BATCH: Final = 100  # receipts of one statement
WAITING_CHARACTERS: Final = 64_000_000  # of answers that wait to be written; beyond it receipts are left out
DROPPED_AT_ONCE: Final = 200
DROP_SECONDS: Final = 600.0  # between two looks of a worker for receipts that are too old, or too many
NODE_BYTES, EDGE_BYTES = 700, 70  # of a receipt in the database beside what was told, and of an edge of it
_ROOMS: Final = ("search", "text", "cypher/search", "cypher/context")  # what chooses and orders answers

_log = structlog.get_logger("graphmem.receipts")


Kept = tuple[dict[str, Any], list[Fact], bytes]
"""What a receipt keeps: the arguments as they were sent, what the answer tells, and the answer."""


def packed(sent: Mapping[str, Any], facts: list[Fact], text: bytes) -> bytes:
    # JSON has no line break, so that the first one ends what is before the answer.
    return zlib.compress(orjson.dumps([dict(sent), [*map(tuple, facts)]], default=str) + b"\n" + text, 6)


def unpacked(packed: bytes) -> Kept:
    try:
        head, _, text = zlib.decompress(packed).partition(b"\n")
        sent, facts = orjson.loads(head)
        return sent, [Fact(*each) for each in facts], text
    except (zlib.error, ValueError, TypeError) as exc:
        raise DataDamaged from exc


@cache
def ranking() -> str:
    """Return the version of what chooses and orders answers."""
    package = Path(graphmem.__file__).parent
    files = sorted(each for room in _ROOMS for each in (package / room).rglob("*.[pct]*") if each.is_file())
    code = b"".join(each.read_bytes() for each in files if each.suffix in (".py", ".toml", ".cypher"))
    return f"{graphmem.__version__}+{hashlib.sha256(code).hexdigest()[:8]}"


def asker(actor: Actor) -> str:
    """Return a digest that all requests of one credential and agent share."""
    return canonical.digest([actor.account, actor.credential, actor.agent])[:24]


class Receipts:
    """The receipts of one process that wait to be written, each with its owner."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.mode = "off" if settings.sandbox else settings.receipts
        self._database, self._settings = database, settings
        self._waiting: list[tuple[str, Callable[[], dict[str, Any]]]] = []
        self._characters, self._drop_at = 0, 0.0
        self._task: asyncio.Task[None] | None = None
        self._flushing = asyncio.Lock()

    def leaves(self, face: str) -> bool:
        return self.mode == "all" or (self.mode == "mcp" and (face == "mcp" or BY_HOOK.get()))

    def add(
        self, collected: Collected, actor: Actor, operation: str, face: str, question: str,
        sent: Mapping[str, Any], text: bytes,
    ) -> None:  # fmt: skip
        """Keep the receipt of an answer until it is written. ``sent``: the arguments as they came."""
        if self._characters + len(text) > WAITING_CHARACTERS:
            _log.warning("a receipt is left out: too many wait for the database")
            return
        known = {
            "id": f"rcp_{secrets.token_hex(16)}", "at": times.now(), "operation": operation,
            "face": "hook" if BY_HOOK.get() else face, "question": question,
        }  # fmt: skip
        self._waiting.append((actor.owner, partial(_row, known, collected, actor, sent, text)))
        self._characters += len(text)
        if self._task is None or self._task.done():
            # Its statements are not those of the request that comes first.
            self._task = asyncio.create_task(self._flush_later(), context=contextvars.Context())

    async def _flush_later(self) -> None:
        while self._waiting:
            await asyncio.sleep(FLUSH_SECONDS)
            try:
                await self.flush()
            except GraphmemError as exc:
                _log.warning("receipts are written later", reason=str(exc)[:500])

    async def flush(self) -> None:
        """Write what waits. Raises Unavailable where the database does not answer: the rest waits on."""
        async with self._flushing:
            while self._waiting:
                owner = self._waiting[0][0]
                batch = [each for each in self._waiting if each[0] == owner][:BATCH]
                try:
                    rows = await asyncio.to_thread(lambda batch=batch: [make() for _, make in batch])
                    await self._database.writes(owner).only("receipt.store", int, receipts=rows)
                except Unavailable:
                    raise
                except Exception:  # what cannot be written must not keep others waiting for ever
                    _log.exception("unexpected fault: receipts are lost", count=len(batch))
                self._waiting = [each for each in self._waiting if each not in batch]
            self._characters = 0

    async def drop(self) -> int:
        """Drop some receipts that are too old, or too many for their owner; return how many."""
        if time.monotonic() < self._drop_at:
            return 0
        dropped = await self._database.writes(None).only(
            "receipt.drop", int, before=times.now() - self._settings.receipts_days * times.DAY,
            bytes=self._settings.receipts_mb * 1_000_000, limit=DROPPED_AT_ONCE,
        )  # fmt: skip
        self._drop_at = 0.0 if dropped else time.monotonic() + DROP_SECONDS
        return dropped

    async def close(self) -> None:
        """Write what waits, as far as the database can."""
        if self._task is not None:
            self._task.cancel()
        with contextlib.suppress(GraphmemError):
            await self.flush()


def _row(
    known: dict[str, Any], collected: Collected, actor: Actor, sent: Mapping[str, Any], text: bytes
) -> dict[str, Any]:
    """Return the parameters of the node of a receipt."""
    facts = collected.facts(canonical.decode(text))
    behind = sorted({each for fact in facts for each in fact.behind})
    answer = packed(sent, facts, text)
    return known | {
        "told": answer, "ranking": ranking(), "behind": behind, "agent": actor.agent, "client": actor.client,
        "by": actor.by, "asker": asker(actor), "size": len(answer) + NODE_BYTES + EDGE_BYTES * len(behind),
        "writers": writers_of(actor.owner, actor.agent, actor.client, actor.by),
    }  # fmt: skip

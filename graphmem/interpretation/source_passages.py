"""The passages of sources: derived from the bytes by a reader, and made anew by another one.

A *reader* is a parser in its version, with the version of the division and the model of the vectors. A file
that is interpreted at once has its passages at once; the worker makes those of all other sources.
"""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any, Final, NamedTuple

import structlog

from graphmem.auth import Actor, Scope
from graphmem.database.halving import in_halves
from graphmem.embedding import meaning
from graphmem.embedding.meaning import Embedder, Vector
from graphmem.errors import EmbeddingRefused, GraphmemError
from graphmem.ingest import format_table
from graphmem.ingest.document import ParsedDocument, ParseFailed
from graphmem.ingest.passages import DIVISION, TEXT_CHARACTERS, divided, key_of
from graphmem.interpretation.readings import document_of
from graphmem.model import times
from graphmem.reading.source_answers import read_sources
from graphmem.registry import Context, Services

WAITING_LIMIT: Final = 500
"""Sources of which a pass chooses some at random, so that those that always fail keep no other waiting."""
READ_AT_ONCE: Final = 8
"""Sources whose passages one pass makes."""
PROMPT_SECONDS: Final = 10
"""Seconds after the first store of a source in which only the call that stored it makes its passages."""
EMBEDDED_AT_ONCE: Final = 64
"""Passages whose vectors one call of a remote service makes."""

_log = structlog.get_logger("graphmem.interpretation.source_passages")


def _reader(parser: str, embedder: Embedder) -> str:
    return f"{parser}, division {DIVISION}, {embedder.model}"


def _readers(embedder: Embedder) -> tuple[list[str], str]:
    """Return the readers of now, and the one that stands for a file that no parser reads."""
    parsers = sorted({f"{row.parser} {row.parser_version}" for row in format_table.FORMATS})
    # Once a parser changes, what none could read is read again.
    none = f"none {meaning.key(' '.join(parsers))}"
    return [_reader(parser, embedder) for parser in (*parsers, none)], _reader(none, embedder)


async def store(context: Context, source_id: str, document: ParsedDocument | ParseFailed) -> int:
    """Store the passages of a source, made of its document; return how many there are.

    Args:
        document: the fault if the file cannot be read: then there are none.

    Raises:
        EmbeddingUnavailable: the service that makes vectors does not answer.
    """
    embedder = context.services.embedder
    row: dict[str, Any] = {"reader": _readers(embedder)[1], "title": None, "is_cut": False, "places": []}
    texts: list[str] = []
    if isinstance(document, ParsedDocument):
        passages = divided(document)
        texts = [document.text[each.start : each.end] for each in passages]
        row = {
            "reader": _reader(f"{document.parser} {document.parser_version}", embedder),
            "title": document.title,
            "is_cut": len(document.text) > TEXT_CHARACTERS,
            "places": [number for each in passages for number in each],
        }
    reason = document.reason if isinstance(document, ParseFailed) else None
    packed = await _vectors(texts, embedder)
    row["key"] = key_of(texts, row["places"])
    await context.services.database.write(
        "passages.set",
        context.actor.owner,
        source_id=source_id,
        texts=texts,
        packed=packed,
        reason=reason,
        **row,
    )
    return len(texts)


async def _vectors(texts: list[str], embedder: Embedder) -> bytes:
    """Return the vectors of some texts, ``DIMENSIONS`` signed bytes each; zeros where there is none."""

    async def embed(some: list[str]) -> list[Vector | None]:
        try:
            return await embedder.embed(some)
        except EmbeddingRefused:
            if len(some) > 1:
                raise
            return [None]

    step = max(len(texts), 1) if embedder.at_once else EMBEDDED_AT_ONCE
    vectors: list[Vector | None] = []
    for start in range(0, len(texts), step):
        parts = await in_halves(texts[start : start + step], embed, (EmbeddingRefused,))
        vectors += [vector for part in parts for vector in part]
    return b"".join(each or bytes(meaning.DIMENSIONS) for each in meaning.packed(vectors))


async def store_at_once(context: Context, source_id: str, document: ParsedDocument) -> int:
    """Store the passages of a source that was just read, or leave them to the worker if that fails.

    Returns:
        How many there are, 0 if they are left.
    """
    if not context.services.embedder.at_once:
        return 0
    try:
        return await store(context, source_id, document)
    except GraphmemError as exc:
        _log.warning("the passages of a source are made later", id=source_id, reason=str(exc)[:500])
        return 0


class _Waiting(NamedTuple):
    owner: str
    source_id: str


async def make_passages(services: Services, only_owner: str | None = None) -> int:
    """Make the passages of some sources, of all owners or of one; return of how many."""
    readers = sorted(_readers(services.embedder)[0])
    waiting = await services.database.reads(None).only(
        "passages.waiting",
        list[_Waiting],
        gaps=[list(gap) for gap in pairwise(["", *readers, "\uffff"])],
        only=only_owner,
        before=times.now() - (0 if only_owner else PROMPT_SECONDS * 1_000_000),
        limit=WAITING_LIMIT,
    )
    done = 0
    for owner, source_id in random.sample(waiting, min(len(waiting), READ_AT_ONCE)):
        context = Context(Actor(owner, frozenset({Scope.READ})), services)
        try:
            for source in await read_sources(context, [source_id]):
                try:
                    document = await document_of(context, source)
                except ParseFailed as exc:
                    document = exc
                await store(context, source.id, document)
                done += 1
        except GraphmemError as exc:
            _log.warning("the passages of a source are made later", id=source_id, reason=str(exc)[:500])
    return done

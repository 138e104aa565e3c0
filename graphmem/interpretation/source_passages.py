"""The passages of sources: derived from the bytes by a reader, and made anew by another one.

A *reader* is a parser in its version, with the version of the division and the model of the vectors. A file
that is interpreted at once has its passages at once; the worker makes those of all other sources.
"""

import random
from functools import cache
from itertools import pairwise
from typing import Final

import structlog

from graphmem.auth import Actor, Scope
from graphmem.context import Context, Services
from graphmem.embedding import meaning
from graphmem.embedding.meaning import Embedder
from graphmem.errors import GraphmemError
from graphmem.ingest import format_table
from graphmem.ingest.document import ParsedDocument, ParseFailed
from graphmem.ingest.passages import DIVISION, TEXT_CHARACTERS, Passage, divided, key_of
from graphmem.interpretation.readings import document_of
from graphmem.model import times
from graphmem.reading.source_answers import read_sources
from graphmem.writing import vectors

WAITING_LIMIT: Final = 500
"""Sources of which a pass chooses some at random, so that those that always fail keep no other waiting."""
READ_AT_ONCE: Final = 8  # sources whose passages one pass makes
FACTS: Final = {"graphmem"}  # formats of facts that are stored as such: their text says nothing else
PROMPT_SECONDS: Final = 10
"""Seconds after the first store of a source in which only the call that stored it makes its passages."""

_log = structlog.get_logger("graphmem.interpretation.source_passages")


def _reader(parser: str, embedder: Embedder) -> str:
    return f"{parser}, division {DIVISION}, {embedder.model}"


@cache
def _parsers() -> tuple[str, ...]:
    """Return the parsers of now with their versions; the last one stands for a file that none of them reads.
    Once a parser changes, what none could read is read again."""
    parsers = sorted({f"{row.parser} {row.parser_version}" for row in format_table.FORMATS})
    return *parsers, f"none {meaning.key(' '.join(parsers))}"


async def store(context: Context, source_id: str, document: ParsedDocument | None) -> None:
    """Store the passages of a source, made of its document; none if no parser reads the file. Raises
    EmbeddingUnavailable: the service that makes vectors does not answer."""
    embedder = context.services.embedder
    parser, title, text, passages = _parsers()[-1], None, "", list[Passage]()
    if document is not None:
        parser, title, text = f"{document.parser} {document.parser_version}", document.title, document.text
        passages = [] if document.format in FACTS else divided(document)
    texts = [text[each.start : each.end] for each in passages]
    places = [number for each in passages for number in each]
    await context.services.database.write(
        "passages.set", context.actor.owner, source_id=source_id, reader=_reader(parser, embedder),
        title=title, key=key_of(texts, places), texts=texts, places=places,
        packed=await vectors.of_passages(texts, embedder), is_cut=len(text) > TEXT_CHARACTERS,
    )  # fmt: skip


async def store_at_once(context: Context, source_id: str, document: ParsedDocument) -> None:
    """Store the passages of a source that was just read, or leave them to the worker. They are left where a
    remote service makes the vectors, and where that fails."""
    if context.services.embedder.at_once:
        try:
            await store(context, source_id, document)
        except GraphmemError as exc:
            _log_delay(source_id, exc)


def _log_delay(source_id: str, exc: GraphmemError) -> None:
    _log.warning("the passages of a source are made later", id=source_id, reason=str(exc)[:500])


async def make_passages(services: Services, only_owner: str | None = None) -> int:
    """Make the passages of some sources, of all owners or of one; return of how many."""
    readers = sorted(_reader(parser, services.embedder) for parser in _parsers())
    waiting = await services.database.reads(None).only(
        "passages.waiting", list[tuple[str, str]],
        gaps=[list(gap) for gap in pairwise(["", *readers, "\uffff"])], only=only_owner,
        before=times.now() - (0 if only_owner else PROMPT_SECONDS * 1_000_000),
        limit=WAITING_LIMIT,
    )  # fmt: skip
    done = 0
    for owner, source_id in random.sample(waiting, min(len(waiting), READ_AT_ONCE)):
        context = Context(Actor(owner, frozenset({Scope.READ})), services)
        try:
            for source in await read_sources(context, [source_id]):
                try:
                    document = await document_of(context, source)
                except ParseFailed:
                    document = None
                await store(context, source.source_id, document)
                done += 1
        except GraphmemError as exc:
            _log_delay(source_id, exc)
    return done

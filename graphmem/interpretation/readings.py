"""Readings: a source as text, and what an interpreter proposes of it."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Final, cast

from graphmem.context import Context
from graphmem.database.jobs import caller_is_gone
from graphmem.ingest import InterpretationFailed, Proposal, interpreter_for, parsing, propose
from graphmem.ingest.decoding import charset_of
from graphmem.ingest.document import ParsedDocument, ParseFailed
from graphmem.interpretation import language_model
from graphmem.interpretation.model_prompt import known_types
from graphmem.model import schema
from graphmem.reading import schema_rows
from graphmem.reading.source_answers import SourceRow

PROSE: Final = frozenset({"text", "html", "pdf", "docx", "pptx", "odt", "rtf"})
"""Formats of texts, of which rules know the title and the metadata alone. A language model reads them."""
SCHEMAS_AT_ONCE: Final = 500  # schemas that one query reads
UNKNOWN = "unknown"  # the interpreter of a file that none could read


class ReadingFailed(Exception):
    """A source could not be read or interpreted. ``reason`` is a sentence for people."""

    def __init__(self, reason: str, reader: SourceReader) -> None:
        super().__init__(reason)
        self.reason = reason
        self.reader = reader


@dataclass(frozen=True, slots=True)
class SourceReader:
    """The interpreter of a source, its version, and the parser that made text of the bytes. A language model
    has a name, and a configuration of its own."""

    interpreter: str
    version: str
    parser: str = ""
    model: str | None = None
    config: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What an interpreter proposes of a source; the places point into the text of ``document``."""

    reader: SourceReader
    proposal: Proposal
    document: ParsedDocument
    warnings: tuple[str, ...]


async def reader_of(context: Context, source: SourceRow, interpreter: str | None) -> SourceReader:
    """Return who would read a source; only its format is looked for. Raises ReadingFailed: nobody reads it.
    ParserUnconfined, ObjectStoreUnavailable, ObjectMissing, ObjectDamaged: its bytes cannot be had."""
    try:
        async with _file(context, source) as file:
            name = await parsing.format_of(file, source.declared_type, source.name or "", _terms(context))
        if _asks_model(context, name, interpreter):
            return _model_reader(context, await known_schemas(context))
        return _reader(source, name, interpreter)
    except (ParseFailed, InterpretationFailed) as exc:
        raise ReadingFailed(exc.reason, SourceReader(interpreter or UNKNOWN, "0")) from exc


async def document_of(
    context: Context, source: SourceRow, is_gone: Callable[[], Awaitable[bool]] = caller_is_gone
) -> ParsedDocument:
    """Return the text and the parts of a source, for a caller that waits. ParseFailed: it cannot be parsed.
    ParserUnconfined, ObjectStoreUnavailable, ObjectMissing, ObjectDamaged: its bytes cannot be had."""
    async with _file(context, source) as file:
        terms = replace(_terms(context), is_gone=is_gone)
        return await parsing.parsed(file, source.declared_type, source.name or "", terms=terms)


def _terms(context: Context) -> parsing.Terms:
    return parsing.Terms(context.actor.owner, context.services.settings.confine)


async def read(
    context: Context, source: SourceRow, interpreter: str | None, config: Mapping[str, Any]
) -> Reading:
    """Parse a source and let an interpreter, by default that of its format, propose what it says. Raises
    ReadingFailed: it cannot be parsed or interpreted; the other errors of :func:`document_of`."""
    reader = SourceReader(interpreter or UNKNOWN, "0")
    try:
        # What is stored of the file is of use to others than the caller.
        document = await document_of(context, source, parsing.never)
        parser = f"{document.parser} {document.parser_version}"
        if _asks_model(context, document.format, interpreter):
            schemas = await known_schemas(context)
            settings, tracer = context.services.settings, context.services.tracer
            chosen = _model_reader(context, schemas, parser)
            proposal = await language_model.propose(document, schemas, settings, config, tracer)
        else:
            chosen = reader = _reader(source, document.format, interpreter, parser)
            proposal = await asyncio.to_thread(
                propose, document, reader.interpreter, file_name=source.name or None, configuration=config
            )
        return Reading(chosen, proposal, document, (*document.warnings, *proposal.warnings))
    except (ParseFailed, InterpretationFailed) as exc:
        raise ReadingFailed(exc.reason, reader) from exc


def may_ask_model(context: Context, interpreter: str | None) -> bool:
    configured = context.services.settings.llm_url is not None
    return interpreter == language_model.NAME or (interpreter is None and configured)


def _asks_model(context: Context, format: str, interpreter: str | None) -> bool:
    """Whether a source is read by a language model: if it is named, or configured and the format is prose."""
    if not may_ask_model(context, interpreter):
        return False
    return interpreter is not None or format in PROSE


def _model_reader(context: Context, schemas: list[schema.SchemaDocument], parser: str = "") -> SourceReader:
    settings = context.services.settings
    config = language_model.configuration(known_types(schemas), settings)
    return SourceReader(language_model.NAME, language_model.VERSION, parser, settings.llm_model, config)


def _reader(source: SourceRow, format: str, interpreter: str | None, parser: str = "") -> SourceReader:
    chosen = interpreter_for(format, interpreter)
    # What was read by another encoding is another reading.
    charset = charset_of(source.declared_type)
    version = str(chosen.version) if charset in (None, "utf-8") else f"{chosen.version} {charset}"
    return SourceReader(chosen.name, version, parser)


@contextlib.asynccontextmanager
async def _file(context: Context, source: SourceRow) -> AsyncIterator[BinaryIO]:
    """Yield an open file with the bytes of a source. It has no name, so a kill leaves nothing of it."""
    owner, objects = context.actor.owner, context.services.objects
    with tempfile.TemporaryFile() as file:
        async for chunk in objects.read(owner, source.content_hash, size=source.file_size):
            await asyncio.to_thread(file.write, chunk)
        await asyncio.to_thread(file.flush)
        yield cast("BinaryIO", file)


async def known_schemas(context: Context) -> list[schema.SchemaDocument]:
    """Return the schemas that a language model is shown: the registered ones, and the shipped of other types.

    What graphmem discovered is left out. Its names come from what was stored, and each interpretation may
    add some: the same file would never be known as interpreted.
    """
    documents = {name: schema.shipped(name) for name in schema.shipped_types()}
    after, more = "", True
    every = {"keyword": None, "type": None, "named": [], "shipped": []}
    while more:
        page, _, more, _ = await context.graph.only(
            "schema.page", schema_rows.SchemaPage, after=after, offset=0, limit=SCHEMAS_AT_ONCE, **every
        )
        registered = {each.entity_type: each.document for each in page if each.document is not None}
        documents |= {name: schema.SchemaDocument.read(text) for name, text in registered.items()}
        after, more = (page[-1].entity_type, more) if page else ("", False)
    return [document for document in documents.values() if document is not None]

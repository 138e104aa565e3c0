"""Sources: the files that were stored, and where each came from."""

import asyncio
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Annotated, Final, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import Arguments, EntityId, NoBool, NotBlank, ReadAs, Spelled, Text
from graphmem.auth.file_urls import SECONDS_DEFAULT, SECONDS_MAX, FileUrls
from graphmem.budgets import Budgeted, Sized, size
from graphmem.budgets.shortening import greatest
from graphmem.context import Context
from graphmem.errors import FileNotParsed, InvalidInput, NotFound, SourceAmbiguous
from graphmem.ingest.document import ParsedDocument, ParseFailed, TextPage, text_page
from graphmem.interpretation.readings import document_of
from graphmem.model import times
from graphmem.model.ids import SOURCE_ID
from graphmem.reading import answers, as_of, cursors, source_answers
from graphmem.reading.as_of import NOW, AsOf, AsOfArguments
from graphmem.reading.pages import (
    ByWriter,
    IndexedPageEnvelope,
    LeavesOut,
    Paged,
    newest_page,
    newest_window,
    written,
)
from graphmem.registry import Scope, operation
from graphmem.search import passage_search, written_identifiers
from graphmem.search.passage_search import FoundPassage
from graphmem.search.questions import mentions
from graphmem.search.questions.pieces import WordRun
from graphmem.text import identifiers

PAIRS_LIMIT: Final = 6_000  # names and identifiers that are looked up for one answer


class MentionedEntity(answers.EntityName):
    """An entity that a passage mentions, and the words that name it there."""

    words: str


_Named = tuple[str, str, str, list[tuple[str, str]]]
"""An entity, by its id, type and name, and the names and identifiers that it has."""


async def mentioned(context: Context, texts: Sequence[str]) -> list[list[MentionedEntity]]:
    """Return the entities that each of some texts mentions, in its order; of each place the longest name. A
    name has a capital letter somewhere, in scripts that have these."""
    region = context.services.settings.phone_region
    runs = [mentions.names_in(text, region, is_prose=True).runs for text in texts]
    pairs = {pair: None for each in runs for run in each for pair in sorted(run.pairs)}
    if not pairs:
        return [[] for _ in texts]
    rows = await context.graph.only(
        "passages.named", list[_Named], pairs=[list(pair) for pair in list(pairs)[:PAIRS_LIMIT]],
        kinds=list(identifiers.KINDS), types=[],
    )  # fmt: skip
    by_pair: dict[tuple[str, str], list[_Named]] = {}
    for row in rows:
        for kind, key in row[-1]:
            by_pair.setdefault((kind, key), []).append(row)
    return [_of_text(each, by_pair) for each in runs]


def _of_text(runs: Sequence[WordRun], by_pair: dict[tuple[str, str], list[_Named]]) -> list[MentionedEntity]:
    naming = [run for run in runs if not by_pair.keys().isdisjoint(run.pairs)]
    spans = mentions.longest((run.start, run.end) for run in naming)
    mentioned: dict[str, MentionedEntity] = {}
    for run in sorted(naming, key=lambda run: run.start):
        if (run.start, run.end) in spans:
            for entity_id, entity_type, name, _ in (
                row for pair in sorted(run.pairs) for row in by_pair.get(pair, ())
            ):
                mentioned.setdefault(entity_id, {
                    "entity_id": entity_id, "entity_type": entity_type, "canonical_name": name,
                    "words": run.text,
                })  # fmt: skip
    return list(mentioned.values())


CANDIDATES_LIMIT: Final = 10  # files of one name that a refusal lists
SourceId = Annotated[str, Field(min_length=1, max_length=200, description="Id of the source.")]


class ListSources(Paged, ByWriter):
    search: Annotated[str, Field(min_length=1, max_length=200), NotBlank] | None = None
    mime_type: Annotated[str, Field(min_length=1, max_length=200), NotBlank] | None = None
    interpreted: bool | None = None


class SourcePage(IndexedPageEnvelope):
    """A page of sources, the last stored first. ``next_cursor`` stands where more follow."""

    sources: list[source_answers.Source]


@operation("sources.list", Scope.READ)
async def list_sources(context: Context, arguments: ListSources) -> SourcePage:
    """List the files that were stored, the newest first, by their names and texts, or by mime type.

    The order is by the time of the first store, then by id.
    """
    query = cursors.fingerprint(context, "sources.list", arguments)
    name, by = written("source.page", arguments.writers)
    search = arguments.search.lower() if arguments.search else None
    fitting: list[str] = []
    if arguments.search and search:
        by_text = await passage_search.sources_saying(context, arguments.search)
        by_name = await source_answers.sealed_sources_named(context, lambda name: search in name.lower())
        fitting = [*by_text, *by_name]
    sources, total = await context.graph.only(
        name, tuple[list[source_answers.SourceRow], int], **by, search=search, said=fitting,
        mime_type=arguments.mime_type.lower() if arguments.mime_type else None,
        interpreted=arguments.interpreted, **newest_window(arguments, query),
    )  # fmt: skip
    page = newest_page(arguments, sources, total, lambda source: (source.created_at, source.source_id))
    return {
        "sources": [source_answers.as_source(each) for each in page.items],
        **page.envelope(arguments, query),
    }


class SearchSources(AsOfArguments, Sized):
    search: Annotated[Text | None, Spelled("query", option="search"), ReadAs("words")] = None
    entity_id: EntityId | None = None
    limit: Annotated[int, Field(ge=1, le=50), NoBool] = 10


class MentioningPassage(FoundPassage):
    """A passage, and the entities that it mentions by a whole name or an identifier of now."""

    mentions: list[MentionedEntity]


class FoundInSources(AsOf, LeavesOut, Budgeted):
    """The passages of files, best first; at most ``total`` fit. ``hint`` says what was left out."""

    passages: list[MentioningPassage]
    total: int
    hint: NotRequired[str]


@operation("sources.search", Scope.READ)
async def search_sources(context: Context, arguments: SearchSources) -> FoundInSources:
    """Search the text of files: answer passages with file, page or line, a quotation, and what they mention.

    `entity_id` answers what files say about an entity, by the names and identifiers that it has now.
    """
    if arguments.search is None and arguments.entity_id is None:
        raise InvalidInput.at("$.search", "give a search, an entity_id, or both")
    about: list[str] = []
    if arguments.entity_id is not None:
        rows = await as_of.entities(context, [arguments.entity_id], NOW)
        if not rows:
            raise answers.no_entity(arguments.entity_id)
        about = [rows[0].id]
    clocks = arguments.clocks
    region = context.services.settings.phone_region
    search = arguments.search or ""
    identifies = written_identifiers.sought(search, region) is not None
    request = passage_search.PassageRequest(
        search, identifies, about=about, only_about=bool(about), floor=0.0, limit=arguments.limit,
        clocks=clocks,
    )  # fmt: skip
    hits = await passage_search.find(context, request)
    mentions = await mentioned(context, hits.texts)
    answer: FoundInSources = {
        "passages": [
            {**passage, "mentions": each} for passage, each in zip(hits.passages, mentions, strict=True)
        ],
        "total": hits.total,
        **clocks.answered,
    }
    if notes := [*hits.notes, *([] if hits.passages else ["no passage of a file fits"])]:
        answer["hint"] = "; ".join(notes)
    return answer


class GetSource(source_answers.TextWindow, Sized):
    source_id: Annotated[SourceId, Spelled("id")]
    include_text: bool = False


class OneSource(source_answers.Source, Budgeted):
    """One source, and a page of its text, if that is wanted."""

    document: NotRequired[TextPage]


@operation("sources.get", Scope.READ)
async def get_source(context: Context, arguments: GetSource) -> OneSource:
    """Return what is known of one file: its hash, size and mime type, and the names it was stored under.

    With `include_text` it answers the text that was read from the file as `document.text`, a page at a time:
    `document.next_offset` as `offset` answers the next one.
    """
    row = await source_answers.read_source(context, arguments.source_id)
    answer: OneSource = {**source_answers.as_source(row)}
    if arguments.include_text:
        try:
            document = await document_of(context, row)
        except ParseFailed as exc:
            raise FileNotParsed(f"the file cannot be read: {exc.reason}", reason=exc.code) from None
        await asyncio.to_thread(_add_text, answer, document, row, arguments)
    return answer


def _add_text(
    answer: OneSource, document: ParsedDocument, row: source_answers.SourceRow, arguments: GetSource
) -> None:
    """Add the page of the text that fits into the answer, so that `next_offset` goes on after its end."""

    def is_within(limit: int) -> bool:
        answer["document"] = text_page(document, row.content_hash, row.file_size, arguments.offset, limit)
        return arguments.max_characters is None or size({**answer}) <= arguments.max_characters

    if not is_within(arguments.limit):
        is_within(greatest(1, arguments.limit, is_within))


class GetFileUrl(Arguments):
    path: Annotated[Annotated[str, Field(min_length=1, max_length=1_000), NotBlank], Spelled("file_path")]
    expires_in: Annotated[
        int, Field(ge=1, le=SECONDS_MAX, description=f"Seconds until it expires, 1 to {SECONDS_MAX}."), NoBool
    ] = SECONDS_DEFAULT


async def _named_source(context: Context, path: str) -> source_answers.SourceRow:
    """Return the source of an id, a `storage_url`, or a name under which the caller stored it. Raises
    NotFound: there is none. Raises SourceAmbiguous: several files were stored under the name."""
    source_id = path.removeprefix(source_answers.URL_SCHEME)
    if SOURCE_ID.fullmatch(source_id):
        return await source_answers.read_source(context, source_id)
    rows: list[source_answers.SourceRow] = []
    # What was stored by its file_path has the last part of that as its name.
    for name in dict.fromkeys((path, PurePosixPath(path).name)):
        rows = rows or await source_answers.read_sources_named(context, name, CANDIDATES_LIMIT)
    if len(rows) > 1:
        raise SourceAmbiguous(candidates=[source_answers.as_reference(row) for row in rows])
    if not rows:
        raise NotFound(f"no file was stored under the name {path}: GET /sources lists them", path=path)
    return rows[0]


class FileUrl(TypedDict):
    """A URL that needs no credential, and when it expires."""

    url: str
    expires_at: str


@operation("sources.url", Scope.READ)
async def get_file_url(context: Context, arguments: GetFileUrl) -> FileUrl:
    """Return a URL of a file: whoever has it may fetch the file until it expires, without a credential."""
    source = await _named_source(context, arguments.path)
    second = 1_000_000
    expires_at = (times.now() // second + arguments.expires_in) * second
    path = await FileUrls(context.services.database).signed(context.actor.owner, source.source_id, expires_at)
    return {
        "url": f"{context.services.settings.advertised_url()}{path}",
        "expires_at": times.render(expires_at),
    }

"""Sources, and interpretations of them, as answers show them."""

from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, Final, NamedTuple, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from graphmem.arguments import Arguments, NoBool
from graphmem.context import Context
from graphmem.database.left_out import Json
from graphmem.errors import NotFound, validation_message
from graphmem.ingest.document import CHARACTERS_DEFAULT, CHARACTERS_LIMIT
from graphmem.model import canonical, identity, times
from graphmem.model.items import ItemReader
from graphmem.objects.keys import SHA256
from graphmem.reading import answers
from graphmem.writing.new_interpretation import Interpretation as NewInterpretation

URL_SCHEME = "graphmem://"
"""A source's ``storage_url`` is this and its id. It names the source, and no place where its bytes are."""


class TextWindow(Arguments):
    offset: Annotated[int, Field(ge=0), NoBool] = 0
    limit: Annotated[int, Field(ge=1, le=CHARACTERS_LIMIT), NoBool] = CHARACTERS_DEFAULT


class StoredName(TypedDict):
    """A name that a store gave a file, the mime type that it declared, and who stored it."""

    name: str | None
    mime_type: str | None
    stored_at: str
    transaction_id: str
    client: str
    provenance: answers.Writer


class SourceReference(TypedDict):
    """A file, as what was stored with it names it: the newest of its names, and its first store."""

    source_id: str
    content_hash: str
    mime_type: str
    original_filename: str | None
    created_at: str


class Source(SourceReference):
    """A file. The same bytes are one source, however often and under whatever names they were stored.

    ``content_hash`` is the SHA-256 of the bytes, ``file_size`` their number, ``mime_type`` what they are.
    ``names`` are those of the last 20 stores, newest first; ``original_filename`` is the newest name.
    ``observation_count`` counts the observations that were stored with the file. If the file is
    ``withdrawn``, none of them counts. ``id`` is ``source_id``.
    """

    id: str
    file_size: int
    names: list[StoredName]
    storage_url: str
    observation_count: int
    withdrawn: bool


class NameRow(NamedTuple):
    """A store of a file, as ``source/_row.cypher`` reads it; times are microseconds."""

    name: str | None
    mime_type: str | None
    stored_at: int
    transaction_id: str
    client: str
    agent: str
    by: Json | None


class SourceRow(NamedTuple):
    """The columns of ``source/_row.cypher``. ``created_at``: microseconds, of the first store."""

    source_id: str
    content_hash: str
    file_size: int
    mime_type: str
    created_at: int
    observation_count: int
    withdrawn: bool
    names: list[NameRow]

    @property
    def fault(self) -> str | None:
        return None if SHA256.fullmatch(self.content_hash) else "its hash is no SHA-256"

    @property
    def name(self) -> str | None:
        return next((each.name for each in self.names if each.name is not None), None)

    @property
    def declared_type(self) -> str | None:
        return next((each.mime_type for each in self.names if each.mime_type is not None), None)


async def sealed_sources_named(context: Context, fits: Callable[[str], bool]) -> list[str]:
    """Return the ids of the sources of which a sealed name fits, the newest first; none in clear are read."""
    if not context.services.database.is_sealed:
        return []
    sources = await context.graph.only("source.names", list[tuple[str, list[str]]])
    return [source_id for source_id, names in sources if any(map(fits, names))]


async def read_sources(context: Context, ids: Collection[str]) -> list[SourceRow]:
    """Return those of some sources that the caller's owner has, by id."""
    return await context.graph.only("source.by_id", list[SourceRow], ids=sorted(ids)) if ids else []


async def read_sources_named(context: Context, name: str, limit: int) -> list[SourceRow]:
    """Return the newest sources of the caller's owner that were stored under a name."""
    if context.services.database.is_sealed:
        ids = await sealed_sources_named(context, lambda stored: stored == name)
        return await read_sources(context, ids[:limit])
    return await context.graph.only("source.by_name", list[SourceRow], name=name, limit=limit)


async def read_source(context: Context, source_id: str) -> SourceRow:
    """Return one source; raises NotFound: the caller's owner has no such source."""
    rows = await read_sources(context, [source_id])
    if not rows:
        raise NotFound(f"there is no source {source_id}: GET /sources lists them", source_id=source_id)
    return rows[0]


def as_reference(row: SourceRow) -> SourceReference:
    return {**answers.of_row(SourceReference, row), "original_filename": row.name}


def as_source(row: SourceRow) -> Source:
    return {
        **answers.of_row(Source, row),
        "original_filename": row.name,
        "id": row.source_id,
        "names": [
            {
                **answers.of_row(StoredName, each),
                "provenance": answers.writer(each.agent, each.client, each.by),
            }
            for each in row.names
        ],
        "storage_url": f"{URL_SCHEME}{row.source_id}",
    }


RUNS_LIMIT: Final = 500  # interpretations of one source that are read to number the next run


class Interpretation(TypedDict):
    """One run of one interpreter over one source.

    ``status`` is pending, running, completed or failed. ``error_message`` says why it failed, or, while it is
    pending, why the last of its ``attempts`` failed. What is ``withdrawn`` does not count.
    ``interpreter_version`` and ``interpretation_config`` are what the run depends on beside the bytes,
    ``parser`` and its version what made text of them, ``model`` the language model. ``run`` counts the
    repeats from 0. The counts are of what it made.
    """

    interpretation_id: str
    id: str
    source_id: str
    interpreter: str
    interpreter_version: str
    interpretation_config: Any
    config_hash: str
    run: int
    model: NotRequired[str]
    parser: NotRequired[str]
    status: str
    withdrawn: bool
    error_message: str | None
    warnings: list[str]
    attempts: int
    created_at: str | None
    started_at: str | None
    completed_at: str | None
    observations_created: int
    entities_created: int
    relationships_created: int
    transaction_id: str | None


class InterpretationRow(NamedTuple):
    """An interpretation as ``interpretation/_row.cypher`` reads it; times are microseconds."""

    interpretation_id: str
    source_id: str
    interpreter: str
    interpreter_version: str
    config: Json
    config_hash: str
    run: int
    model: str | None
    parser: str | None
    status: str
    error_message: str | None
    warnings: list[str]
    attempts: int
    created_at: int
    started_at: int | None
    completed_at: int | None
    observations_created: int
    entities_created: int
    relationships_created: int
    replaces: list[str] | None
    withdrawn: bool
    transaction_id: str | None

    @property
    def key(self) -> tuple[str, str, str]:
        """What the runs of one reading share: interpreter, version and hash of the configuration."""
        return self.interpreter, self.interpreter_version, self.config_hash


InterpretationPage = tuple[list[InterpretationRow], int]  # a page of interpretations, and their total


async def read_interpretation(context: Context, interpretation_id: str) -> InterpretationRow:
    """Return one interpretation; raises NotFound: the caller's owner has no such interpretation."""
    row = await context.graph.one(
        "interpretation.by_id", InterpretationRow, interpretation_id=interpretation_id
    )
    if row is None:
        raise NotFound(
            f"there is no interpretation {interpretation_id}: GET /interpretations lists them",
            interpretation_id=interpretation_id,
        )
    return row


async def read_runs(context: Context, source_id: str) -> list[InterpretationRow]:
    interpretations, _ = await context.graph.only(
        "interpretation.page_by_source", InterpretationPage, source_id=source_id, at=times.LATEST, after="",
        status=None, offset=0, limit=RUNS_LIMIT, counted=False,
    )  # fmt: skip
    return interpretations


def as_interpretation(row: InterpretationRow) -> Interpretation:
    answer: Interpretation = {
        **answers.of_row(Interpretation, row),
        "id": row.interpretation_id,
        "interpretation_config": canonical.decode(row.config),
    }
    return answers.without_empty(answer, "model", "parser")


def next_run(runs: list[InterpretationRow], interpretation: NewInterpretation) -> int:
    return max((row.run + 1 for row in runs if row.key == interpretation.key), default=0)


QUOTE_LIMIT: Final = 1_000  # characters of a quoted text
KEYS: Final = ("span", "spans")
"""The keys of an item that are places: its own, and those of its fields by name."""

_Number = Annotated[int, Field(ge=1, le=2**53)]
_Offset = Annotated[int, Field(ge=0, le=2**53)]


class FilePlace(TypedDict, total=False):
    """A place in a file. ``start`` and ``end`` are offsets in characters into its parsed text, end exclusive.

    The other numbers count from 1: ``row`` the records of a table with its header, ``line`` the lines of the
    text. ``cell`` is an address in a sheet, such as B7. ``quote`` is the text at the place.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)  # pyright: ignore

    page: _Number
    line: _Number
    row: _Number
    cell: Annotated[str, Field(pattern=r"^[A-Z]{1,3}[1-9][0-9]{0,6}$")]
    message: _Number
    start: _Offset
    end: _Offset
    quote: Annotated[str, Field(max_length=QUOTE_LIMIT)]


_PLACE: Final = TypeAdapter(FilePlace)


def read_places(reader: ItemReader, index: int, path: str, raw: Mapping[str, Any]) -> str | None:
    """Return the places of an item as they are stored, ``None`` if it has none. Faults become issues."""
    places: dict[str, Any] = {}
    if raw.get("span") is not None:
        places |= _read(reader, index, f"{path}.span", raw["span"])
    of_fields = raw.get("spans")
    if isinstance(of_fields, Mapping):
        fields: dict[str, Any] = {}
        for name, place in of_fields.items():
            where = f"{path}.spans.{str(name)[: identity.NAME_LIMIT]}"
            if name not in raw or name in KEYS:
                reader.refuse("ERR_SPAN", where, "the item has no field of this name", index)
            else:
                fields[name] = _read(reader, index, where, place)
        if fields:
            places["fields"] = fields
    elif of_fields is not None:
        reader.refuse(
            "ERR_SPAN", f"{path}.spans", "spans are an object: a place by the name of each field", index
        )
    return canonical.encode(places) if places else None


def place_of(places: Mapping[str, Any], field: str, value: Any) -> dict[str, Any]:
    """Return the place of one field, with its text as ``quote`` where that is known; empty without place. A
    field without a place of its own has the place of its observation."""
    own = places.get("fields", {}).get(field)
    if own is None:
        return {name: part for name, part in places.items() if name != "fields"}
    if "quote" not in own and isinstance(value, str):
        return {**own, "quote": value[:QUOTE_LIMIT]}
    return own


def _read(reader: ItemReader, index: int, path: str, raw: Any) -> dict[str, Any]:
    try:
        place = _PLACE.validate_python(raw)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False, include_context=False)[0]
        where = "".join(f".{part}" for part in first["loc"])
        reader.refuse("ERR_SPAN", f"{path}{where}", validation_message(first["msg"]), index)
        return {}
    if place.get("end", 2**53) < place.get("start", 0):
        reader.refuse("ERR_SPAN", f"{path}.end", "the end is before the start", index)
    return dict(place)

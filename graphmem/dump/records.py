"""The records of a dump: facts, one a line, in canonical JSON. A dump holds nothing that is derived.

A dump is written from rows of the database and read through these classes, which refuse anything that they do
not declare. Values stay the canonical JSON texts that the database holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Final, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from graphmem.dump.file_chunks import FileOrder
from graphmem.errors import validation_message
from graphmem.model import canonical, facts, ids, times
from graphmem.model.dismissals import DismissalKind
from graphmem.model.membership import SubjectKind
from graphmem.model.schema import Document, version_order

_ENTITY_TYPE: Final = r"^[a-z][a-z0-9_]{0,63}$"
_TYPE_NAME: Final = r"^[A-Z][A-Z0-9_]{0,63}$"
_ACCOUNT_NAME: Final = r"^[a-z0-9][a-z0-9._@+-]{0,63}$"
_SCRYPT: Final = r"^scrypt\$[1-9][0-9]{1,6}\$[1-9][0-9]?\$[1-9]\$([0-9a-f]{2}){8,32}\$([0-9a-f]{2}){32,64}$"
SCRYPT_BYTES_LIMIT: Final = 48 << 20
"""Memory that one comparison of a password may take; :mod:`graphmem.auth.passwords` gives it 64 MiB."""
_VERSION: Final = r"^(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})$"

ShortText = Annotated[str, Field(max_length=255)]
AttributedText = Annotated[str, Field(max_length=2_000)]
Micros = Annotated[int, Field(ge=times.EARLIEST, le=times.LATEST)]
RecordedAt = Annotated[int, Field(ge=times.EARLIEST, le=times.LATEST // 2)]
"""When a fact was recorded, in microseconds. The limit leaves room for the writes that come after it."""


class _Record(BaseModel):
    """The base of all records: values are not converted, and unknown members are refused."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, populate_by_name=True)

    def line(self) -> bytes:
        """Return the record as a line of a dump."""
        return line(self.model_dump(by_alias=True, exclude_none=True))


class RelationshipType(_Record):
    """A registered relationship type; ``registered_at`` is microseconds."""

    record: Literal["relationship_type"] = "relationship_type"
    name: Annotated[str, Field(pattern=_TYPE_NAME)]
    inverse: Annotated[str, Field(pattern=_TYPE_NAME)] | None = None
    description: str | None = None
    registered_at: RecordedAt
    agent: ShortText

    @property
    def place(self) -> tuple[Any, ...]:
        """The sort key among the records before the first owner."""
        return (0, self.name)


class Account(_Record):
    """An account of the instance, in a dump of all owners.

    ``scopes`` are those that its keys and tokens can have at most. ``password`` is its hash by scrypt, as
    :mod:`graphmem.auth.passwords` makes it. Keys, codes, grants and tokens are in no dump.
    """

    record: Literal["account"] = "account"
    id: Annotated[str, Field(min_length=1, max_length=255)]
    name: Annotated[str, Field(pattern=_ACCOUNT_NAME)]
    owner: Annotated[str, Field(min_length=1, max_length=255)]
    scopes: list[Literal["admin", "read", "write"]]
    password: Annotated[str, Field(pattern=_SCRYPT)] | None = None
    disabled: bool

    def model_post_init(self, context: Any, /) -> None:
        """Refuse scopes out of order, and a hash that would cost a login more than those of this version."""
        if self.scopes != sorted(set(self.scopes)):
            raise ValueError("the scopes are not in their order")
        if self.password is not None:
            n, r, p = map(int, self.password.split("$")[1:4])
            if n & (n - 1) or 128 * n * r * p > SCRYPT_BYTES_LIMIT:
                raise ValueError("the hash of the password has other parameters than this version can check")

    @property
    def place(self) -> tuple[Any, ...]:
        """The sort key among the records before the first owner."""
        return (1, self.name)


class Owner(_Record):
    """The owner of all records up to the next one."""

    record: Literal["owner"] = "owner"
    id: Annotated[str, Field(min_length=1, max_length=255)]


class Schema(_Record):
    """A registered version of the schema of an entity type; ``transaction`` is the one that registered it."""

    record: Literal["schema"] = "schema"
    entity_type: Annotated[str, Field(pattern=_ENTITY_TYPE)]
    version: Annotated[str, Field(pattern=_VERSION)]
    document: str
    change: str
    recorded_at: RecordedAt
    transaction: ShortText

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a document that is not a schema."""
        try:
            Document.read(self.document).rules()
        except (KeyError, ValueError, TypeError, AttributeError) as exc:
            raise ValueError("the document is not a schema") from exc

    @property
    def place(self) -> tuple[Any, ...]:
        """The sort key among the records of an owner."""
        return (0, self.entity_type, *version_order(self.version))


class Attribution(BaseModel):
    """Who signed a transaction, and how far its writer was verified. No agent signs yet.

    The database has it as one text of canonical JSON: it is kept as it is, and no query looks into it.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    thumbprint: AttributedText | None = None
    algorithm: AttributedText | None = None
    tier: AttributedText | None = None
    issuer: AttributedText | None = None
    subject: AttributedText | None = None
    token_id: AttributedText | None = None
    client: AttributedText | None = None
    client_version: AttributedText | None = None

    @property
    def text(self) -> str:
        """Its canonical JSON, as the database has it."""
        return canonical.encode(self.model_dump(exclude_none=True))


class Transaction(_Record):
    """An accepted write request. The observations that follow it belong to it."""

    record: Literal["transaction"] = "transaction"
    id: ShortText
    recorded_at: RecordedAt
    operation: ShortText
    client: str
    agent: ShortText
    by: Attribution | None = None
    idempotency_key: ShortText | None = None
    request_hash: ShortText
    answer: str

    def model_post_init(self, context: Any, /) -> None:
        """Refuse an answer that cannot be replayed."""
        canonical.decode(self.answer)

    @property
    def place(self) -> tuple[Any, ...]:
        """The sort key among the records of an owner."""
        return (1, self.recorded_at, self.id)


class Source(_Record):
    """A file that the transaction before it stored, under the name that the transaction gave it.

    ``mime_type`` is what the bytes are, ``declared_type`` what the caller said; ``size`` is in bytes.
    ``file_key`` is the idempotency key of the file.
    """

    record: Literal["source"] = "source"
    id: Annotated[str, Field(pattern=f"^{ids.SOURCE_ID.pattern}$")]
    content_hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    size: Annotated[int, Field(ge=0)]
    mime_type: ShortText
    name: str | None = None
    declared_type: ShortText | None = None
    file_key: ShortText | None = None


class FileChunk(_Record):
    """Some bytes of the file that the source before it names, in base64; ``offset`` is in bytes."""

    record: Literal["file"] = "file"
    content_hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    offset: Annotated[int, Field(ge=0)]
    data: str

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.data) // 4 * 3 - self.data[-2:].count("=")


class Interpretation(_Record):
    """An interpretation that ended with the transaction before it: one run of one interpreter over a source.

    ``config`` is canonical JSON; times are microseconds. ``error`` says why it failed. The counts are of what
    it made.
    """

    record: Literal["interpretation"] = "interpretation"
    id: Annotated[str, Field(pattern=f"^{ids.INTERPRETATION_ID.pattern}$")]
    source_id: Annotated[str, Field(pattern=f"^{ids.SOURCE_ID.pattern}$")]
    interpreter: ShortText
    version: ShortText
    config: str
    run: Annotated[int, Field(ge=0)]
    model: ShortText | None = None
    parser: ShortText
    created_at: Micros
    started_at: Micros
    error: str | None = None
    warnings: list[str]
    observations: Annotated[int, Field(ge=0)]
    entities: Annotated[int, Field(ge=0)]
    relationships: Annotated[int, Field(ge=0)]

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a configuration that is no canonical JSON, or an id that is not that of the run."""
        if canonical.encode(canonical.decode(self.config)) != self.config:
            raise ValueError("the configuration is not canonical JSON")
        config_hash = canonical.digest(canonical.decode(self.config))
        run = self.source_id, self.interpreter, self.version, config_hash, self.run
        if ids.interpretation_id(*run) != self.id:
            raise ValueError("the id is not that of the interpretation")


class Exclusion(_Record):
    """An exclusion by the transaction before it, or its end.

    The observations of ``subject`` do not count from then on, or count again.
    """

    record: Literal["exclusion"] = "exclusion"
    id: Annotated[str, Field(pattern=f"^{ids.EXCLUSION_ID.pattern}$")]
    kind: Literal["exclude", "include"]
    subject_kind: SubjectKind
    subject: ShortText
    reason: str | None = None


class Dismissal(_Record):
    """Two entities are two by the transaction before it, or (``undo``) may be one again."""

    record: Literal["dismissal"] = "dismissal"
    id: Annotated[str, Field(pattern=f"^{ids.DISMISSAL_ID.pattern}$")]
    kind: DismissalKind
    entity_a: Annotated[str, Field(pattern=f"^{ids.ENTITY_ID.pattern}$")]
    entity_b: Annotated[str, Field(pattern=f"^{ids.ENTITY_ID.pattern}$")]
    reason: str | None = None

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a pair that is not in its order."""
        if self.entity_a >= self.entity_b:
            raise ValueError("entity_a is not less than entity_b")


class Observation(_Record):
    """An observation of one subject, an entity or a relationship.

    ``fields`` and ``values`` are parallel lists: names in canonical order, and canonical JSON. A dump and the
    database call ``subject_id`` ``home``. ``places`` is canonical JSON: where in its file it stands.
    """

    record: Literal["observation"] = "observation"
    id: Annotated[str, Field(pattern=f"^{ids.OBSERVATION_ID.pattern}$")]
    subject_id: Annotated[
        str, Field(alias="home", pattern=f"^({ids.ENTITY_ID.pattern}|{ids.RELATIONSHIP_KEY.pattern})$")
    ]
    kind: facts.Kind
    entity_type: Annotated[str, Field(pattern=_ENTITY_TYPE)] | None = None
    identity_basis: str | None = None
    observed_at: Micros
    recorded_at: RecordedAt
    fields: list[str]
    values: list[str]
    priority: float
    specificity: float
    observation_source: ShortText
    agent: ShortText
    source_id: Annotated[str, Field(pattern=f"^{ids.SOURCE_ID.pattern}$")] | None = None
    interpretation_id: Annotated[str, Field(pattern=f"^{ids.INTERPRETATION_ID.pattern}$")] | None = None
    places: str | None = None

    def model_post_init(self, context: Any, /) -> None:
        """Refuse an observation that the database could not hold."""
        if len(self.fields) != len(self.values) or len(set(self.fields)) != len(self.fields):
            raise ValueError("fields and values do not fit each other")
        if (self.entity_type is None) is not (":" in self.subject_id):
            raise ValueError("an observation has an entity_type if its subject is an entity, and only then")
        for value in (*self.values, *filter(None, [self.places])):
            # Answers contain the text of a value without parsing it.
            canonical.encode(canonical.decode(value))


class Repeat(_Record):
    """An observation that the transaction before it recorded as well; another one wrote it first.

    ``id`` is that of the observation.
    """

    record: Literal["repeat"] = "repeat"
    id: Annotated[str, Field(pattern=f"^{ids.OBSERVATION_ID.pattern}$")]


Record = (
    RelationshipType
    | Account
    | Owner
    | Schema
    | Transaction
    | Source
    | FileChunk
    | Interpretation
    | Exclusion
    | Dismissal
    | Observation
    | Repeat
)
_READ: Final = TypeAdapter(Annotated[Record, Field(discriminator="record")])


def read(text: bytes) -> Record:
    """Return the record of a line.

    Raises:
        ValueError: the line is no record.
    """
    try:
        return _READ.validate_json(text)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        message = validation_message(first["msg"])
        raise ValueError(f"{where}: {message}" if where else message) from exc


def line(members: Mapping[str, Any]) -> bytes:
    """Return the canonical JSON of a record.

    The text equals that of :func:`graphmem.model.canonical.encode`, and is made faster: names are ASCII.
    """
    exact = {name: _float(value) if isinstance(value, float) else value for name, value in members.items()}
    return orjson.dumps(exact, option=orjson.OPT_SORT_KEYS)


@lru_cache(maxsize=1024)
def _float_text(value: float, negative: bool) -> str:
    return canonical.encode(value)


def _float(value: float) -> orjson.Fragment:
    # The cache must tell 0.0 from -0.0, which are equal.
    return orjson.Fragment(_float_text(value, str(value).startswith("-")))


_PARTS: Final = (Source, Interpretation, Exclusion, Dismissal, Observation, Repeat)
"""The parts of a transaction, in their order."""
_ARTICLES: Final = {"interpretation": "an", "exclusion": "an", "observation": "an"}


class RecordOrder:
    """Checks the order of the records of a dump.

    Relationship types come by name, then accounts by name, then owners by id. An owner has its schema
    versions, then its transactions. Each transaction has its sources, interpretations, exclusions,
    dismissals, observations and repeats, in this order, each by id. So the order does not depend on the
    database. The chunks of a file follow the first source of an owner that names its content.

    ``missing_files``: how many files the records so far name without their bytes.
    """

    def __init__(self) -> None:
        self._files = FileOrder()
        self.missing_files = 0
        self._place: tuple[Any, ...] = (-1,)
        self._owner: str | None = None
        self._transaction: str | None = None
        self._part: tuple[int, str] = (-1, "")

    def check(self, record: Record) -> None:
        """Check the next record.

        Raises:
            ValueError: the record is out of order, or a file is not the one that was stored.
        """
        if isinstance(record, FileChunk):
            self.missing_files -= self._files.add(record)
            return
        self._files.end()
        if isinstance(record, _PARTS):
            place = _PARTS.index(type(record)), record.id
            if self._transaction is None or place <= self._part:
                raise ValueError(f"{_ARTICLES.get(record.record, 'a')} {record.record} is out of order")
            self._part = place
            if isinstance(record, Source):
                self._check_source(record)
            return
        self._transaction, self._part = None, (-1, "")
        if isinstance(record, Owner):
            if self._owner is not None and record.id <= self._owner:
                raise ValueError("an owner is out of order")
            self._owner, self._place, self._files = record.id, (-1,), FileOrder()
            return
        is_of_instance = isinstance(record, RelationshipType | Account)
        if is_of_instance is not (self._owner is None) or record.place <= self._place:
            raise ValueError(f"a {record.record} is out of order")
        self._place = record.place
        if isinstance(record, Transaction):
            self._transaction = record.id

    def end(self) -> None:
        """Check that the dump may end here.

        Raises:
            ValueError: the bytes of the last file are cut off.
        """
        self._files.end()

    def _check_source(self, record: Source) -> None:
        assert self._owner is not None
        if ids.source_id(self._owner, record.content_hash) != record.id:
            raise ValueError("the id is not that of a source with this content and owner")
        self.missing_files += self._files.begin(record)

"""The records of an owner's facts: the fields of each kind with their types, for dumps and for the writer.

A record is one line of a dump, in canonical JSON, and is read strictly. Values stay the canonical JSON texts
that the database holds. What else a kind of fact is, :mod:`graphmem.model.fact_table` says.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, NamedTuple, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field

from graphmem.model import canonical, facts, ids, times
from graphmem.model.attribution import Attribution
from graphmem.model.membership import SubjectKind
from graphmem.model.schema import SchemaDocument, version_order

DismissalKind = Literal["dismiss", "undo"]
Pair = tuple[str, str]  # the ids of two entities, the lesser first


class DatedDismissal(NamedTuple):
    """Two entities are two from ``recorded_at`` (microseconds) on, or (``undo``) may be one again."""

    id: str
    kind: DismissalKind
    entity_a: str
    entity_b: str
    recorded_at: int


def pair_of(entity_id: str, other_id: str) -> Pair:
    return (entity_id, other_id) if entity_id <= other_id else (other_id, entity_id)


ENTITY_TYPE: Final = r"^[a-z][a-z0-9_]{0,63}$"
SUBJECT_ID: Final = f"^({ids.ENTITY_ID.pattern}|{ids.RELATIONSHIP_KEY.pattern})$"
"""The id of an entity, or the key of a relationship."""
_VERSION: Final = r"^(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})$"

ShortText = Annotated[str, Field(max_length=255)]
Micros = Annotated[int, Field(ge=times.EARLIEST, le=times.LATEST)]
RecordedAt = Annotated[int, Field(ge=times.EARLIEST, le=times.LATEST // 2)]
"""When a fact was recorded, in microseconds. The limit leaves room for the writes that come after it."""


_EXPECTED: Final = f"^{ids.ENTITY_ID.pattern} [0-9]{{1,15}}$"
_RELATIONSHIP_TYPE: Final = f"^{ids.RELATIONSHIP_TYPE}$"


class Record(BaseModel):
    """The base of all records of a dump: values are not converted, and unknown members are refused."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, populate_by_name=True)

    def line(self) -> bytes:
        return line(self.model_dump(by_alias=True, exclude_none=True))

    @property
    def place(self) -> tuple[Any, ...]:
        """The sort key of what no transaction has, among the records of its owner or of the instance."""
        return ()


class RecordedPart(Record):
    id: str


class Fact(RecordedPart):
    """A part that is a node of its own; a turn writes it from its row."""

    @property
    def named(self) -> tuple[str, ...]:
        """The entities and relationships that it says something about: its turn reads these."""
        return ()

    def row(self, owner: str, transaction_id: str, recorded_at: int) -> dict[str, Any]:
        properties = {**self.members, "owner": owner, "recorded_at": recorded_at}
        return {"transaction_id": transaction_id, "properties": properties}

    @property
    def members(self) -> dict[str, Any]:
        return {name: value for name, value in self if name != "record"}


class SchemaRecord(Record):
    """A registered version of the schema of an entity type; ``transaction`` is the one that registered it."""

    record: Literal["schema"] = "schema"
    entity_type: Annotated[str, Field(pattern=ENTITY_TYPE)]
    version: Annotated[str, Field(pattern=_VERSION)]
    document: str
    change: str
    recorded_at: RecordedAt
    transaction: ShortText

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a document that is not a schema."""
        try:
            _ = SchemaDocument.read(self.document).rules
        except (KeyError, ValueError, TypeError, AttributeError) as exc:
            raise ValueError("the document is not a schema") from exc

    @property
    def place(self) -> tuple[Any, ...]:
        return (0, self.entity_type, *version_order(self.version))

    def row(self, owner: str, transaction_id: str, recorded_at: int) -> dict[str, Any]:
        schema_id = ids.schema_id(owner, self.entity_type, self.version)
        members = {name: value for name, value in self if name not in ("record", "transaction")}
        return {
            "transaction_id": transaction_id, "properties": {**members, "id": schema_id, "owner": owner}
        }  # fmt: skip


class TransactionRecord(Record):
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
    expected: list[Annotated[str, Field(pattern=_EXPECTED)]] | None = None
    """Entities with the versions that they had to have."""
    learned_at: RecordedAt | None = None  # when this copy learned of it from another one, if that was later

    def model_post_init(self, context: Any, /) -> None:
        """Refuse an answer that cannot be replayed."""
        canonical.decode(self.answer)

    @property
    def stored(self) -> dict[str, Any]:
        """Its members as queries of dumps read them."""
        return {name: value for name, value in self if name != "record"} | {"by": self.by and self.by.text}

    @property
    def place(self) -> tuple[Any, ...]:
        return (1, self.recorded_at, self.id)


class SourceRecord(Fact):
    """A file that the transaction before it stored, under the name that the transaction gave it."""

    record: Literal["source"] = "source"
    id: Annotated[str, Field(pattern=f"^{ids.SOURCE_ID.pattern}$")]
    content_hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    size: Annotated[int, Field(ge=0)]  # bytes
    mime_type: ShortText  # what the bytes are
    name: str | None = None
    declared_type: ShortText | None = None  # what the caller said
    file_key: ShortText | None = None  # the idempotency key of the file

    @classmethod
    def of(
        cls, owner: str, content_hash: str, size: int, mime_type: str, name: str | None = None,
        declared_type: str | None = None, file_key: str | None = None,
    ) -> Self:  # fmt: skip
        """Return the source of some bytes: one for an owner."""
        return cls.model_construct(
            id=ids.source_id(owner, content_hash), content_hash=content_hash, size=size, mime_type=mime_type,
            name=name, declared_type=declared_type, file_key=file_key,
        )  # fmt: skip

    def row(self, owner: str, transaction_id: str, recorded_at: int) -> dict[str, Any]:
        # The index of keys holds only the stores that have one.
        key = {} if self.file_key is None else {"owner": owner, "file_key": self.file_key}
        stored = {"name": self.name, "declared_type": self.declared_type, "recorded_at": recorded_at, **key}
        properties = {
            "owner": owner, "content_hash": self.content_hash, "size": self.size,
            "mime_type": self.mime_type, "recorded_at": recorded_at,
        }  # fmt: skip
        return {"id": self.id, "transaction_id": transaction_id, "properties": properties, "stored": stored}


class InterpretationRecord(Fact):
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
        run = self.source_id, self.interpreter, self.version, self.config_hash, self.run
        if ids.interpretation_id(*run) != self.id:
            raise ValueError("the id is not that of the interpretation")

    @property
    def config_hash(self) -> str:
        return canonical.digest(canonical.decode(self.config))

    def row(self, owner: str, transaction_id: str, recorded_at: int) -> dict[str, Any]:
        """Return the row of ``write.turn``, which ends it."""
        # Without ``created_at``, that of the queue stays.
        members = {name: value for name, value in self.members.items() if name != "id"}
        properties = {
            **members, "owner": owner, "config_hash": self.config_hash, "recorded_at": recorded_at,
            "status": "completed" if self.error is None else "failed",
            # It is in the queue no more.
            "due_at": None, "token": None, "replaces": None,
        }  # fmt: skip
        return {
            "id": self.id, "transaction_id": transaction_id, "source_id": self.source_id,
            "properties": properties,
        }  # fmt: skip


class Withdrawal(Fact):
    """What is stored with ``subject`` does not count from the transaction before it on, or again."""

    record: Literal["exclusion"] = "exclusion"
    id: Annotated[str, Field(pattern=f"^{ids.WITHDRAWAL_ID.pattern}$")]
    kind: Literal["exclude", "include"]
    subject_kind: SubjectKind
    subject: ShortText
    reason: str | None = None


class Dismissal(Fact):
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

    @property
    def named(self) -> tuple[str, ...]:
        return self.entity_a, self.entity_b


class Renaming(Fact):
    """A relationship type of the owner's own has another name as well."""

    record: Literal["renaming"] = "renaming"
    id: Annotated[str, Field(pattern=f"^{ids.RENAMING_ID.pattern}$")]
    relationship_type: Annotated[str, Field(pattern=_RELATIONSHIP_TYPE)]
    name: Annotated[str, Field(pattern=_RELATIONSHIP_TYPE)]


class ObservationRecord(RecordedPart):
    """An observation of one subject, an entity or a relationship."""

    record: Literal["observation"] = "observation"
    id: Annotated[str, Field(pattern=f"^{ids.OBSERVATION_ID.pattern}$")]
    subject_id: Annotated[str, Field(alias="home", pattern=SUBJECT_ID)]  # a dump says ``home``
    kind: facts.Kind
    entity_type: Annotated[str, Field(pattern=ENTITY_TYPE)] | None = None
    identity_basis: str | None = None
    observed_at: Micros
    recorded_at: RecordedAt
    fields: list[str]  # names in canonical order
    values: list[str]  # canonical JSON, parallel to ``fields``
    priority: float
    specificity: float
    observation_source: ShortText
    agent: ShortText
    source_id: Annotated[str, Field(pattern=f"^{ids.SOURCE_ID.pattern}$")] | None = None
    interpretation_id: Annotated[str, Field(pattern=f"^{ids.INTERPRETATION_ID.pattern}$")] | None = None
    places: str | None = None  # canonical JSON: where in its file it stands

    def model_post_init(self, context: Any, /) -> None:
        """Refuse an observation that the database could not hold."""
        if len(self.fields) != len(self.values) or len(set(self.fields)) != len(self.fields):
            raise ValueError("fields and values do not fit each other")
        if (self.entity_type is None) is not (":" in self.subject_id):
            raise ValueError("an observation has an entity_type if its subject is an entity, and only then")
        for value in (*self.values, *filter(None, [self.places])):
            # Answers contain the text of a value without parsing it.
            canonical.encode(canonical.decode(value))


class Repeat(RecordedPart):
    """An observation that the transaction before it recorded as well; another one wrote it first."""

    record: Literal["repeat"] = "repeat"
    id: Annotated[str, Field(pattern=f"^{ids.OBSERVATION_ID.pattern}$")]


class Split(Fact):
    """Observations count for other subjects from the transaction before it on, until the split is undone.

    ``observations`` and ``subjects`` are parallel lists: each observation counts for its subject, the entity
    ``target`` by id or a relationship of it by key. Before, it counted for the entity ``source``, or a
    relationship of that.
    """

    record: Literal["split"] = "split"
    id: Annotated[str, Field(pattern=f"^{ids.SPLIT_ID.pattern}$")]
    source: Annotated[str, Field(pattern=f"^{ids.ENTITY_ID.pattern}$")]
    target: Annotated[str, Field(pattern=f"^{ids.ENTITY_ID.pattern}$")]
    observations: list[Annotated[str, Field(pattern=f"^{ids.OBSERVATION_ID.pattern}$")]]
    subjects: list[Annotated[str, Field(pattern=SUBJECT_ID)]]
    reason: str | None = None

    def model_post_init(self, context: Any, /) -> None:
        """Refuse lists that are not parallel."""
        if len(self.observations) != len(self.subjects):
            raise ValueError("observations and subjects do not fit each other")

    @property
    def named(self) -> tuple[str, ...]:
        return self.source, self.target, *sorted({each for each in self.subjects if ":" in each})


def columns(record: type[Record]) -> tuple[str, ...]:
    """Return the names of the fields of a record as a dump has them, in order."""
    fields = record.model_fields.items()
    return tuple(field.alias or name for name, field in fields if name != "record")


def members(record: str, names: Iterable[str], values: Iterable[Any]) -> dict[str, Any]:
    """Return the members of a record as a dump has them; ``record`` is its name. A null has no member."""
    present = {name: value for name, value in zip(names, values, strict=True) if value is not None}
    return {"record": record, **present}


def line(members: Mapping[str, Any]) -> bytes:
    """Return the canonical JSON of a record: faster than ``canonical.encode``, as names are ASCII."""
    exact = {name: _float(value) if isinstance(value, float) else value for name, value in members.items()}
    return orjson.dumps(exact, option=orjson.OPT_SORT_KEYS)


@lru_cache(maxsize=1024)
def _float_text(value: float, negative: bool) -> str:
    return canonical.encode(value)


def _float(value: float) -> orjson.Fragment:
    # The cache must tell 0.0 from -0.0, which are equal.
    return orjson.Fragment(_float_text(value, str(value).startswith("-")))

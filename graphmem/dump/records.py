"""The records of a dump: facts, one a line, in canonical JSON. What is derived of them is in no dump.

Each record is said twice on purpose: as the line that is written, and as the class that is read, which takes
nothing else. Values are the canonical JSON texts that the graph holds, and travel as such.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Final, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from graphmem.errors import validation_message
from graphmem.model import canonical, facts, ids, times
from graphmem.model.schema import Document, version_order

_NAME: Final = r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"
_ENTITY_TYPE: Final = r"^[a-z][a-z0-9_]{0,63}$"
_TYPE_NAME: Final = r"^[A-Z][A-Z0-9_]{0,63}$"
_VERSION: Final = r"^(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})$"

Text = Annotated[str, Field(max_length=255)]
Micros = Annotated[int, Field(ge=times.EARLIEST, le=times.LATEST)]
Recorded = Annotated[int, Field(ge=times.EARLIEST, le=times.LATEST // 2)]
"""When something was recorded, in microseconds: what an owner writes next comes after it, and needs room."""


class _Record(BaseModel):
    """What all records share: nothing is converted, and nothing that is not known is taken."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, populate_by_name=True)

    def line(self) -> bytes:
        """Return the line that says it: its canonical JSON."""
        return line(self.model_dump(by_alias=True, exclude_none=True))


class RelationshipType(_Record):
    """A relationship type that was registered in the database; ``registered_at`` is microseconds."""

    record: Literal["relationship_type"] = "relationship_type"
    name: Annotated[str, Field(pattern=_TYPE_NAME)]
    inverse: Annotated[str, Field(pattern=_TYPE_NAME)] | None = None
    description: str | None = None
    registered_at: Recorded
    agent: Text

    @property
    def place(self) -> tuple[Any, ...]:
        """Its place in the order of records."""
        return (0, self.name)


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
    recorded_at: Recorded
    transaction: Text

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a document that is none."""
        try:
            Document.read(self.document).rules()
        except (KeyError, ValueError, TypeError, AttributeError) as exc:
            raise ValueError("its document is that of no schema") from exc

    @property
    def place(self) -> tuple[Any, ...]:
        """Its place in the order of an owner's records."""
        return (0, self.entity_type, *version_order(self.version))


class Transaction(_Record):
    """An accepted write request; the observations that follow it are its own."""

    record: Literal["transaction"] = "transaction"
    id: Text
    recorded_at: Recorded
    operation: Text
    client: str
    agent: Text
    idempotency_key: Text | None = None
    request_hash: Text
    answer: str

    def model_post_init(self, context: Any, /) -> None:
        """Refuse an answer that could not be given again."""
        canonical.decode(self.answer)

    @property
    def place(self) -> tuple[Any, ...]:
        """Its place in the order of an owner's records."""
        return (1, self.recorded_at, self.id)


class Observation(_Record):
    """What was observed of one subject, an entity or a relationship, at one time.

    ``fields`` and ``values`` are parallel lists: names in canonical order, canonical JSON. ``subject_id`` is
    called ``home`` in a dump and in the database.
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
    recorded_at: Recorded
    fields: list[str]
    values: list[str]
    priority: float
    specificity: float
    observation_source: Text
    agent: Text

    def model_post_init(self, context: Any, /) -> None:
        """Refuse what the graph could not hold."""
        if len(self.fields) != len(self.values) or len(set(self.fields)) != len(self.fields):
            raise ValueError("fields and values do not fit each other")
        if (self.entity_type is None) is not (":" in self.subject_id):
            raise ValueError(
                "an observation of an entity says the entity's type, one of a relationship does not"
            )
        for value in self.values:
            # Answers take it in without looking at it.
            canonical.encode(canonical.decode(value))

    @property
    def said(self) -> tuple[Any, ...]:
        """What it says, whoever brought it and when it was recorded: what one id stands for."""
        return (
            self.subject_id, self.kind, self.observed_at, tuple(self.fields), tuple(self.values),
            self.priority,
            self.specificity, self.observation_source, self.agent,
        )  # fmt: skip


Record = RelationshipType | Owner | Schema | Transaction | Observation
_READ: Final = TypeAdapter(Annotated[Record, Field(discriminator="record")])


def read(text: bytes) -> Record:
    """Return the record of a line.

    Raises:
        ValueError: it is none.
    """
    try:
        return _READ.validate_json(text)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        said = validation_message(first["msg"])
        raise ValueError(f"{where}: {said}" if where else said) from exc


def line(said: Mapping[str, Any]) -> bytes:
    """Return the canonical JSON of a record.

    It is what :func:`graphmem.model.canonical.encode` gives, made faster: names are ASCII and numbers few.
    """
    exact = {name: _float(value) if isinstance(value, float) else value for name, value in said.items()}
    return orjson.dumps(exact, option=orjson.OPT_SORT_KEYS)


@lru_cache(maxsize=1024)
def _float_text(value: float, negative: bool) -> str:
    return canonical.encode(value)


def _float(value: float) -> orjson.Fragment:
    # 0.0 and -0.0 are equal, and not the same number.
    return orjson.Fragment(_float_text(value, str(value).startswith("-")))


class Order:
    """Checks that records come in the one order in which a dump has them.

    Relationship types by name; then owners by id, each with its schema versions and its transactions, each
    with its observations by id. So nothing hangs on the order in which a database came to know them.
    """

    def __init__(self) -> None:
        self._place: tuple[Any, ...] = (-1,)
        self._owner: str | None = None
        self._transaction: str | None = None
        self._observation = ""

    def take(self, record: Record) -> None:
        """Take the next record.

        Raises:
            ValueError: it cannot come here.
        """
        if isinstance(record, Observation):
            if self._transaction is None or record.id <= self._observation:
                raise ValueError("an observation is not where it belongs")
            self._observation = record.id
            return
        self._transaction, self._observation = None, ""
        if isinstance(record, Owner):
            if self._owner is not None and record.id <= self._owner:
                raise ValueError("an owner is not where it belongs")
            self._owner, self._place = record.id, (-1,)
            return
        if isinstance(record, RelationshipType) is not (self._owner is None) or record.place <= self._place:
            raise ValueError(f"a {record.record} is not where it belongs")
        self._place = record.place
        if isinstance(record, Transaction):
            self._transaction = record.id

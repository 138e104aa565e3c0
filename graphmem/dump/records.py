"""The records of a dump: facts, one a line, in canonical JSON. A dump holds nothing that is derived.

A dump is written from rows of the database and read through these classes, which refuse anything that they do
not declare. Values stay the canonical JSON texts that the database holds.
"""

import base64
import binascii
import hashlib
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Annotated, Any, Final, Literal, NamedTuple, cast

from pydantic import Field, TypeAdapter, ValidationError

from graphmem.errors import validation_message
from graphmem.model import fact_records, fact_table, ids

_TYPE_NAME: Final = r"^[A-Z][A-Z0-9_]{0,63}$"
_ACCOUNT_NAME: Final = r"^[a-z0-9][a-z0-9._@+-]{0,63}$"
_SCRYPT: Final = r"^scrypt\$[1-9][0-9]{1,6}\$[1-9][0-9]?\$[1-9]\$([0-9a-f]{2}){8,32}\$([0-9a-f]{2}){32,64}$"
SCRYPT_BYTES_LIMIT: Final = 48 << 20
"""Memory that one comparison of a password may take; :mod:`graphmem.auth.passwords` gives it 64 MiB."""
FILE_CHUNK_BYTES: Final = 3 << 18
"""Bytes of a file in one record: 1 MiB in base64. Never change it: it decides the lines of a dump."""
LISTED_FILES_LIMIT: Final = 200  # missing files that a result lists; all are counted


@dataclass(frozen=True, slots=True)
class MissingFile:
    owner: str
    source_id: str
    content_hash: str
    name: str | None
    reason: str


@dataclass(slots=True)
class MissingFiles:
    count: int = 0
    listed: list[MissingFile] = field(default_factory=list)

    def add(self, file: MissingFile) -> None:
        self.count += 1
        if len(self.listed) < LISTED_FILES_LIMIT:
            self.listed.append(file)


class Contents:
    """Which contents of one owner were met: 16 bytes of each hash, so that millions fit in memory."""

    def __init__(self) -> None:
        self._met: set[bytes] = set()

    def meet(self, content_hash: str) -> bool:
        size = len(self._met)
        self._met.add(bytes.fromhex(content_hash[:32]))
        return len(self._met) > size


def decoded(data: str) -> bytes:
    """Return the bytes of a chunk. Raises ValueError: it is no base64 in its canonical form."""
    try:
        chunk = base64.b64decode(data, validate=True)
    except binascii.Error as exc:
        raise ValueError("the bytes of a file are no base64") from exc
    if base64.b64encode(chunk).decode() != data:
        raise ValueError("the bytes of a file are not in canonical base64")
    return chunk


class RelationshipTypeRecord(fact_records.Record):
    """A registered relationship type; ``registered_at`` is microseconds."""

    record: Literal["relationship_type"] = "relationship_type"
    name: Annotated[str, Field(pattern=_TYPE_NAME)]
    inverse: Annotated[str, Field(pattern=_TYPE_NAME)] | None = None
    description: str | None = None
    registered_at: fact_records.RecordedAt
    agent: fact_records.ShortText

    @property
    def place(self) -> tuple[Any, ...]:
        """The sort key among the records before the first owner."""
        return (0, self.name)


class AccountRecord(fact_records.Record):
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


class StoredAccount(NamedTuple):
    """An account as ``account/_record.cypher`` reads it; a dump has the same names."""

    id: str
    name: str
    owner: str
    scopes: list[str]
    password: str | None
    disabled: bool


class Owner(fact_records.Record):
    record: Literal["owner"] = "owner"
    id: Annotated[str, Field(min_length=1, max_length=255)]


class FileChunk(fact_records.Record):
    """Some bytes of the file that the source before it names, in base64; ``offset`` is in bytes."""

    record: Literal["file"] = "file"
    content_hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    offset: Annotated[int, Field(ge=0)]
    data: str

    @property
    def size(self) -> int:
        return len(self.data) // 4 * 3 - self.data[-2:].count("=")


KINDS: Final = (RelationshipTypeRecord, AccountRecord, Owner, FileChunk, *fact_table.BY_RECORD)
_UNION: Final = cast("Any", Annotated)[reduce(or_, KINDS), Field(discriminator="record")]
_READ: Final[TypeAdapter[fact_records.Record]] = TypeAdapter(_UNION)


def read(text: bytes) -> fact_records.Record:
    """Return the record of a line. Raises ValueError: the line is no record."""
    try:
        return _READ.validate_json(text)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        message = validation_message(first["msg"])
        raise ValueError(f"{where}: {message}" if where else message) from exc


_PLACES: Final = {kind.record: place for place, kind in enumerate(fact_table.PARTS)}


class RecordOrder:
    """Checks the order of the records of a dump.

    Relationship types come by name, then accounts by name, then owners by id. An owner has its schema
    versions, then its transactions. Each transaction has its parts in the order of
    :data:`graphmem.model.fact_table.PARTS`, each by id. So the order does not depend on the database. The
    chunks of a file follow the first source of an owner that names its content, in order and without a gap.
    All but the last have the same size. A file has all of its chunks, or none.

    ``missing_files``: how many files the records so far name without their bytes.
    """

    def __init__(self) -> None:
        self.missing_files = 0
        self._place: tuple[Any, ...] = (-1,)
        self._owner: str | None = None
        self._transaction: str | None = None
        self._part: tuple[int, str] = (-1, "")
        self._contents = Contents()
        self._source: fact_records.SourceRecord | None = None
        """The source whose file may follow, or goes on."""
        self._offset = 0
        self._digest = hashlib.sha256()

    def check(self, record: fact_records.Record) -> None:
        """Check the next record.

        Raises:
            ValueError: the record is out of order, or a file is not the one that was stored.
        """
        if isinstance(record, FileChunk):
            self._check_chunk(record)
            return
        self.end()
        if isinstance(record, fact_records.RecordedPart):
            place = _PLACES[type(record)], record.id
            if self._transaction is None or place <= self._part:
                raise _out_of_order(record)
            self._part = place
            if isinstance(record, fact_records.SourceRecord):
                assert self._owner is not None
                if ids.source_id(self._owner, record.content_hash) != record.id:
                    raise ValueError("the id is not that of a source with this content and owner")
                is_new = self._contents.meet(record.content_hash)
                self._source, self._digest = record if is_new else None, hashlib.sha256()
                self.missing_files += is_new
            return
        self._transaction, self._part = None, (-1, "")
        if isinstance(record, Owner):
            if self._owner is not None and record.id <= self._owner:
                raise _out_of_order(record)
            self._owner, self._place, self._contents = record.id, (-1,), Contents()
            return
        is_of_instance = isinstance(record, RelationshipTypeRecord | AccountRecord)
        if is_of_instance is not (self._owner is None) or record.place <= self._place:
            raise _out_of_order(record)
        self._place = record.place
        if isinstance(record, fact_records.TransactionRecord):
            self._transaction = record.id

    def end(self) -> None:
        """Check that a dump may end here. Raises ValueError: the bytes of the last file are cut off."""
        if self._offset:
            raise ValueError("the bytes of a file are cut off")
        self._source = None

    def _check_chunk(self, chunk: FileChunk) -> None:
        source = self._source
        if source is None or (chunk.content_hash, chunk.offset) != (source.content_hash, self._offset):
            raise ValueError("a chunk of a file is out of order")
        data = decoded(chunk.data)
        if len(data) != min(FILE_CHUNK_BYTES, source.size - self._offset) or not data:
            raise ValueError("a chunk of a file has a wrong size")
        self._digest.update(data)
        self._offset += len(data)
        if self._offset == source.size:
            if self._digest.hexdigest() != source.content_hash:
                raise ValueError("the bytes of a file are not those that were stored: their hash differs")
            self._source, self._offset = None, 0
            self.missing_files -= 1


def _out_of_order(record: fact_records.Record) -> ValueError:
    name = type(record).model_fields["record"].default
    return ValueError(f"{'an' if name[0] in 'aeio' else 'a'} {name} is out of order")

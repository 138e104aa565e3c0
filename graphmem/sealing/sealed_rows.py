"""Seals what queries write into the database.

The parameters of a query pass through :meth:`RowSealer.seal`, its rows through :meth:`RowSealer.open`
(:mod:`graphmem.sealing.opened_rows`). What is sealed is declared here, by the parameters that have it.

A sealed text stands in the place of a text: :data:`MARK`, a mark of the instance, and in base64 the id of
the data key and what AES-SIV (RFC 5297) made of the text. It opens only beside the id of the node that it
was written to: in the same row, or in a list of it. AES-SIV needs no nonce: a text that is written again to
the same node is equal to the earlier one.

A node has several values of one kind (:data:`_FIELD_OF`, :data:`_TRANSACTION_OF`). Such a value opens only
where the text is that says which of them it is: at the same place of another list, or beside the value.

What queries look up by equality (:data:`_PAIRS`, :data:`_KEYS`), or answer without the id of its node
(:data:`_KEYED`), is bound to its kind instead. It is sealed with the first key of its owner, so that it is
found while newer keys seal the rest anew.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from graphmem.errors import InvalidInput
from graphmem.model import ids
from graphmem.sealing.instance_keys import INSTANCE, KEY_ID_BYTES, InstanceKeys, OwnerKey
from graphmem.sealing.opened_rows import (
    BOUND,
    KEY,
    MARK,
    NUMBER,
    PART,
    TEXT,
    Above,
    LenientOpening,
    RowOpening,
    encoded,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

LOOK_SECONDS: Final = 0.05
"""How long a process may use a key that another one destroys."""
_OF_NODES: Final = TEXT, BOUND, NUMBER

_PLACED: Final[Mapping[str, frozenset[str]]] = {
    "entities": frozenset({"canonical_name", "name", "values", "own", "evidence", "text", "check"}),
    "relationships": frozenset({"values", "own", "check"}),
    "observations": frozenset({"values", "places"}),
    "transactions": frozenset({"answer", "request_hash"}),
    "events": frozenset({"text"}),
    "sources": frozenset({"name", "declared_type"}),
    "interpretations": frozenset({"error", "warnings", "model", "interpreter", "version", "config"}),
    "interpretation": frozenset({"error", "warnings", "model", "interpreter", "version", "config"}),
    "exclusions": frozenset({"reason"}),
    "dismissals": frozenset({"reason"}),
    "splits": frozenset({"reason"}),
    "meaning": frozenset({"of", "packed", "vector", "fresh"}),
    "rows": frozenset({"of", "was", "packed", "vector"}),
    "subscription": frozenset({"webhook_url", "secret", "last_error", "query"}),
}
"""The properties that are sealed, by the parameter or the member whose rows have them."""
_KEYED: Final = {
    "name_key": "name", "idempotency_key": "key", "file_key": "file", "client": "client", "by": "by",
    "writers": "writer",
}  # fmt: skip
"""Properties that are looked up, or answered without the id of their node, each with its kind."""
_FIELD_OF: Final = frozenset({("observations", "values")})
"""Lists of values of which each is bound to its field."""
_TRANSACTION_OF: Final = frozenset({("sources", "name"), ("sources", "declared_type")})
"""Values that each transaction gives anew, which are bound to it."""
_UNINDEXED: Final[Mapping[str, Mapping[str, str | None]]] = {
    "entities": {"text": "sealed_text"},
    "meaning": {"vector": None, "fresh": None},
    "rows": {"vector": None},
}
"""Properties that an index of words or of vectors would read, and under what name they are written."""
_SEALED_NAMES: Final = {name: member for each in _UNINDEXED.values() for member, name in each.items() if name}
_PAIRS: Final = frozenset(
    {"identifiers_added", "identifiers_removed", "former_added", "former_removed", "values", "pairs",
     "exact", "beside", "names", "borne", "near"}
)  # fmt: skip
"""Lists of pairs of a kind and of what is looked up, which a row may go on behind."""
_OF_QUERIES: Final[Mapping[str, frozenset[str]]] = {
    "passages.set": frozenset({"title", "key", "texts", "packed"}),
    "interpretation.postpone": frozenset({"error"}),
}
"""Parameters of single queries that are sealed; each of these queries says of which node by an id."""
_KEYS: Final[Mapping[str, Mapping[str, str]]] = {
    "write.look": {"keys": "key", "file_keys": "file"},
    "dump.present": {"keys": "key"},
    "entity.named": {"name": "name"},
    "oauth.create_client": {"metadata": "client"},
    "oauth.create_request": {"client_name": "client"},
    "account.create_key": {"name": "client"},
    "account.create_agent_grant": {"label": "client"},
    "secret.make": {"proposed": "secret"},
}
"""Parameters of single queries that are looked up, each with its kind."""


class RowSealer:
    """Seals and opens the rows of one instance. ``near``: the beginning of the kinds of names near a name."""

    def __init__(self, keys: InstanceKeys, near: str) -> None:
        self._keys, self._near = keys, near
        # No text that somebody stores begins like this, so that what begins like this is sealed.
        self._mark = MARK + keys.first_of(INSTANCE).mark
        self._record, self._look_at = keys.record(), 0.0
        self._ciphers: dict[bytes, tuple[str, AESSIV]] = {}
        self._sealings: dict[str, _Sealing] = {}

    def seal(self, name: str, params: Mapping[str, Any], owner: str | None) -> dict[str, Any]:
        """Return the parameters of a query, with what it writes or looks up sealed.

        Raises:
            EncryptionKeyInvalid, DataDirectoryRefused: the key file cannot be used.
        """
        self._forget_changed()
        if name == "meaning.set":
            # The worker writes the vectors of all owners.
            rows = [self._sealing(row["owner"]).row(row, "rows") for row in params["rows"]]
            return {**params, "rows": rows}
        return self._sealing(owner or INSTANCE).params(name.partition("[")[0], params)

    def _sealing(self, owner: str) -> _Sealing:
        if (known := self._sealings.get(owner)) is None:
            # A key is made where there is something to seal.
            keys = partial(self._keys.of, owner), partial(self._keys.first_of, owner)
            known = self._sealings[owner] = _Sealing(*keys, self._mark, self._near)
        return known

    def _forget_changed(self) -> None:
        """Forget all keys once the key file has changed: some may have been destroyed."""
        if (now := time.monotonic()) < self._look_at and self._keys.known is self._record:
            return
        self._look_at = now + LOOK_SECONDS
        if (record := self._keys.record()) is not self._record:
            self._record, self._ciphers, self._sealings = record, {}, {}

    def open(
        self,
        rows: Sequence[dict[str, Any]],
        owner: str | None,
        *,
        names_nodes: bool = False,
        is_lenient: bool = False,
    ) -> list[dict[str, Any]]:
        """Return the rows of a query, opened.

        Args:
            names_nodes: the query writes the id of its node before a value, as ``entity/_placed.cypher``
                does. No stored value may do so.
            is_lenient: the error of a value that does not open stands in its place.

        Raises:
            DecryptionFailed: a sealed value was changed, cut, or belongs to another node or owner.
            KeyDestroyed: its key was destroyed before the parameters of the query were sealed.
        """
        kind = LenientOpening if is_lenient else RowOpening
        opening = kind(self._mark, self._cipher, owner, _SEALED_NAMES, names_nodes=names_nodes)
        return [opening.value(row) for row in rows]

    def anew(self, properties: Mapping[str, Any], places: Sequence[str]) -> dict[str, Any]:
        """Return those properties of a node that older keys sealed, sealed with the newest key of the owner.

        Args:
            places: the ids that the node may have.

        Raises:
            DecryptionFailed: a value was changed, cut, or belongs to another node.
            KeyDestroyed: its key was destroyed.
        """
        self._forget_changed()
        opening = RowOpening(self._mark, self._cipher, None, _SEALED_NAMES)
        changed: dict[str, Any] = {}
        for name, value in properties.items():
            values = value if type(value) is list else [value]
            above = values, (list(properties.values()), (places, None))
            sealed = [self._anew(each, above, opening) for each in values]
            if (new := sealed if type(value) is list else sealed[0]) != value:
                changed[name] = new
        return changed

    def key_of(self, value: Any) -> bytes | None:
        """Return the id of the key that sealed a value of a node; None: it is looked up, or in clear."""
        if type(value) is bytes and value.startswith(mark := self._mark.encode()):
            return value[len(mark) :][:KEY_ID_BYTES]
        if type(value) is str and value.startswith(tuple(self._mark + kind for kind in _OF_NODES)):
            return base64.b64decode(value[len(self._mark) + 1 :][:12])[:KEY_ID_BYTES]
        return None

    def _anew(self, value: Any, above: Above, opening: RowOpening) -> Any:
        if (key_id := self.key_of(value)) is None:
            return value
        sealing = self._sealing(self._cipher(key_id)[0])
        if sealing.newest[0] == key_id:
            return value
        opened = opening.value(value, above)
        return sealing.placed(opened, *opening.opened_beside)

    def _cipher(self, key_id: bytes) -> tuple[str, AESSIV]:
        """Return the owner of a data key, and what it opens."""
        if (known := self._ciphers.get(key_id)) is None:
            key = self._keys.find(key_id.hex())
            known = self._ciphers[key_id] = key.owner, key.rows
        return known


class _Sealing:
    """The sealing of the parameters of one query."""

    def __init__(
        self, newest: Callable[[], OwnerKey], first: Callable[[], OwnerKey], mark: str, near: str
    ) -> None:
        self._newest_of, self._first_of, self._mark, self._near = newest, first, mark, near

    @cached_property
    def newest(self) -> tuple[bytes, AESSIV]:
        """The id and the cipher of the key that seals the values of nodes."""
        return _cipher_of(self._newest_of())

    @cached_property
    def _first(self) -> tuple[bytes, AESSIV]:
        return _cipher_of(self._first_of())

    def params(self, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
        own, keys = _OF_QUERIES.get(name), _KEYS.get(name)
        place = params.get("id") or params.get("source_id") or ""
        sealed: dict[str, Any] = {}
        for member, value in params.items():
            if own is not None and member in own:
                sealed[member] = self.placed(value, place)
            elif keys is not None and member in keys:
                sealed[member] = self._looked_up(value, keys[member])
            elif member == "writers":
                sealed[member] = self._looked_up(value, _KEYED[member])
            elif name == "entity.by_value" and member == "values":
                sealed[member] = self._looked_up(value, params["field"])
            elif isinstance(value, list) and value:
                sealed[member] = self._rows(member, value)
            elif isinstance(value, dict):
                sealed[member] = self.row(value, name.partition(".")[0], place)
            else:
                sealed[member] = self._in_clear(value)
        return sealed

    def _rows(self, member: str, rows: list[Any]) -> list[Any]:
        if isinstance(rows[0], list | tuple) and member in _PAIRS:
            return [self._pair(each) for each in rows]
        if isinstance(rows[0], dict):
            return [self.row(each, member) for each in rows]
        return rows if isinstance(rows[0], float) else [self._in_clear(each) for each in rows]

    def _in_clear(self, value: Any) -> Any:
        """Return what is not sealed; of the id of a writing, the writer is."""
        if type(value) is str and value[:4] == ids.WRITING and ids.WRITING_ID.fullmatch(value):
            times, writer = value[: ids.WRITER_AT], value[ids.WRITER_AT :]
            return times + self._looked_up(writer, _KEYED["writers"])
        return [self._in_clear(each) for each in value] if isinstance(value, list | tuple) else value

    def row(
        self, row: Mapping[str, Any], group: str, above: str = "", transaction: str | None = None
    ) -> dict[str, Any]:
        """Return a row of a parameter, sealed.

        Args:
            above: the id of the row that it is in.
            transaction: the transaction of that row.
        """
        place = row.get("subject_id") or above or row.get("id", "")
        transaction = row.get("transaction_id", transaction)
        placed = frozenset[str]() if "properties" in row else _PLACED.get(group, frozenset())
        sealed: dict[str, Any] = {}
        for member, value in row.items():
            if member == "fields":
                sealed[member] = self._names(value)
            elif member in placed and member in (other := _UNINDEXED.get(group, {})):
                sealed[member] = None
                if (name := other[member]) is not None:
                    sealed[name] = self.placed(value, place)
            elif member in placed:
                sealed[member] = self.placed(value, place, _bound(group, member, row, transaction))
            elif member in _KEYED:
                sealed[member] = self._looked_up(value, _KEYED[member])
            elif isinstance(value, dict):
                sealed[member] = self.row(value, member if member in _PLACED else group, place, transaction)
            elif isinstance(value, list) and value:
                sealed[member] = self._rows(member, value)
            else:
                sealed[member] = self._in_clear(value)
        return sealed

    def _names(self, names: Any) -> Any:
        """Return names of fields, which stay in clear; InvalidInput: one is like a sealed value."""
        if any(type(name) is str and self._mark in name for name in names or ()):
            raise InvalidInput("a field is named as this instance marks what is sealed: give it another name")
        return names

    def _pair(self, pair: Sequence[Any]) -> Sequence[Any]:
        kind, value, *rest = pair
        if ids.ENTITY_ID.fullmatch(value):
            # Queries look for the entity too; ids are in clear.
            return pair
        if kind.startswith(self._near):
            # Names that are near each other have the same beginning, which is looked up by itself.
            beginning, part, end = value.partition(PART)
            group = self._looked_up(beginning + part, kind) + PART
            return [kind, group + self._looked_up(value, kind) if end else group, *rest]
        return [kind, self._looked_up(value, kind), *rest]

    def _looked_up(self, value: Any, kind: str) -> Any:
        if isinstance(value, list):
            return [self._looked_up(each, kind) for each in value]
        if value is None:
            return None
        return self._token(KEY, encoded(f"{kind}\x00{value}"), self._first, "")

    def placed(self, value: Any, place: str, bound: str | Sequence[str] | None = None) -> Any:
        """Return the value of a node, sealed.

        Args:
            place: the id of the node.
            bound: what says which of the values of the node it is; of a list, of each of its values.
        """
        if isinstance(value, str):
            data, kind = value.encode("utf-8", "surrogatepass"), TEXT if bound is None else BOUND
            return self._token(kind, data, self.newest, place, *([] if bound is None else [str(bound)]))
        if isinstance(value, list):
            if bound is None:
                return [self.placed(each, place) for each in value]
            return [self.placed(each, place, of) for each, of in zip(value, bound, strict=True)]
        if isinstance(value, bytes):
            key_id, cipher = self.newest
            return self._mark.encode() + key_id + cipher.encrypt(value, [b"b", place.encode()])
        return None if value is None else self._token(NUMBER, b"%d" % value, self.newest, place)

    def _token(self, kind: str, data: bytes, key: tuple[bytes, AESSIV], *beside: str) -> str:
        key_id, cipher = key
        body = key_id + cipher.encrypt(data, [kind.encode(), *map(encoded, beside)])
        return self._mark + kind + base64.b64encode(body).decode()


def _bound(
    group: str, member: str, row: Mapping[str, Any], transaction: str | None
) -> str | Sequence[str] | None:
    """Return what says which of the values of its node a value is; for a list, which each value is."""
    if (group, member) in _FIELD_OF:
        return row["fields"]
    return transaction if (group, member) in _TRANSACTION_OF else None


def _cipher_of(key: OwnerKey) -> tuple[bytes, AESSIV]:
    return bytes.fromhex(key.id), key.rows

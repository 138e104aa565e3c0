"""Seals what queries write into the database.

The parameters of a query pass through :meth:`RowSealer.seal`, its rows through :meth:`RowSealer.open`
(:mod:`graphmem.sealing.opened_rows`). Each query declares how its parameters are written, and which of its
columns are opened (:mod:`graphmem.cypher.declared_sealing`).

A sealed text stands in the place of a text: :data:`MARK`, a mark of the instance, and in base64 the id of
the data key and what AES-SIV (RFC 5297) made of the text. It opens only beside the id of the node that it
was written to: in the same row, or in a list of it. AES-SIV needs no nonce: a text that is written again to
the same node is equal to the earlier one.

A node may have several values of one kind. Such a value opens only where the text is that says which of them
it is: at the same place of another list, or beside the value.

What queries look up by equality, or answer without the id of its node, is bound to its kind instead. It is
sealed with the first key of its owner, so that it is found while newer keys seal the rest anew.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from graphmem import cypher
from graphmem.cypher.declared_sealing import CLEAR, Treatment, shape_of, written_names
from graphmem.errors import InvalidInput
from graphmem.model import ids
from graphmem.sealing import opened_rows
from graphmem.sealing.instance_keys import INSTANCE, KEY_ID_BYTES, InstanceKeys, OwnerKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

LOOK_SECONDS: Final = 0.05  # how long a process may use a key that another one destroys
_OF_NODES: Final = opened_rows.TEXT, opened_rows.BOUND, opened_rows.NUMBER
_WRITER: Final = "writer"  # the kind of the key of a writer in the id of a writing


class RowSealer:
    """Seals and opens the rows of one instance. ``near``: the beginning of the kinds of names near a name."""

    def __init__(self, keys: InstanceKeys, near: str) -> None:
        self._keys, self._near = keys, near
        # No text that somebody stores begins like this, so that what begins like this is sealed.
        self._mark = opened_rows.MARK + keys.first_of(INSTANCE).mark
        self._record, self._look_at = keys.record(), 0.0
        self._ciphers: dict[bytes, tuple[str, AESSIV]] = {}
        self._sealings: dict[str, _Sealing] = {}
        self.has_sealed_accounts = False
        """Whether what earlier versions wrote of accounts was seen to."""

    def seal(self, name: str, params: Mapping[str, Any], owner: str | None) -> dict[str, Any]:
        """Return the parameters of a query, with what it writes or looks up sealed."""
        self._forget_changed()
        return self._sealing(owner or INSTANCE).params(cypher.query(name).sealing.params, params)

    def _sealing(self, owner: str) -> _Sealing:
        if (known := self._sealings.get(owner)) is None:
            known = _Sealing(self._keys, owner, self._mark, self._near, self._sealing)
            self._sealings[owner] = known
        return known

    def _forget_changed(self) -> None:
        """Forget all keys once the key file has changed: some may have been destroyed."""
        if (now := time.monotonic()) < self._look_at and self._keys.known is self._record:
            return
        self._look_at = now + LOOK_SECONDS
        if (record := self._keys.record()) is not self._record:
            self._record, self._ciphers, self._sealings = record, {}, {}

    def open(
        self, rows: Sequence[dict[str, Any]], owner: str | None, *, names_nodes: bool = False,
        is_lenient: bool = False, columns: frozenset[str] | None = None,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Return the rows of a query, opened: those ``columns``, or all.

        Args:
            names_nodes: the query writes the id of its node before a value, as ``entity/_placed.cypher``
                does. No stored value may do so.
            is_lenient: the error of a value that does not open stands in its place.

        Raises:
            DecryptionFailed: a sealed value was changed, cut, or belongs to another node or owner.
            KeyDestroyed: its key was destroyed before the parameters of the query were sealed.
        """
        kind = opened_rows.LenientOpening if is_lenient else opened_rows.RowOpening
        opening = kind(self._mark, self._cipher, owner, written_names(), names_nodes=names_nodes)
        return [opening.row(row, columns) for row in rows]

    def anew(
        self, properties: Mapping[str, Any], places: Sequence[Any], bounds: Sequence[str]
    ) -> dict[str, Any]:
        """Return those properties of a node that older keys sealed, sealed with the newest key of the owner.

        The first text of ``places`` in clear is the id of the node. ``bounds`` has what else its values are
        bound to, by their places in their list. It raises as :meth:`open`.
        """
        self._forget_changed()
        opening = opened_rows.RowOpening(self._mark, self._cipher, None, written_names())
        changed: dict[str, Any] = {}
        for name, value in properties.items():
            values = value if type(value) is list else [value]
            above = values, ([*places, bounds], None)
            sealed = [self._anew(each, above, opening) for each in values]
            if (new := sealed if type(value) is list else sealed[0]) != value:
                changed[name] = new
        return changed

    def as_declared(
        self, owner: str, properties: Mapping[str, Any], declared: Mapping[str, Treatment], place: str
    ) -> dict[str, Any]:
        """Return the properties of a node that are not sealed as declared, sealed for its owner."""
        self._forget_changed()
        if not any(each.owner == owner for each in self._record.keys) and not any(
            str(each).startswith(self._mark) for each in properties.values()
        ):
            # This instance has written nothing of the owner.
            return {}
        opening = opened_rows.RowOpening(self._mark, self._cipher, None, written_names())
        sealing, changed = self._sealing(owner), dict[str, Any]()
        for name, value in properties.items():
            if (how := declared.get(name, CLEAR)).kind in ("sealed", "equal"):
                opened = opening.value(value, ([place], None))
                # What is sealed so already is sealed equally.
                if (new := sealing._treated(how, opened, place, how.of)) != value:
                    changed[name] = new
        return changed

    def key_of(self, value: Any) -> bytes | None:
        """Return the id of the key that sealed a value of a node; None: it is looked up, or in clear."""
        if type(value) is bytes and value.startswith(mark := self._mark.encode()):
            return value[len(mark) :][:KEY_ID_BYTES]
        if type(value) is str and value.startswith(tuple(self._mark + kind for kind in _OF_NODES)):
            return base64.b64decode(value[len(self._mark) + 1 :][:12])[:KEY_ID_BYTES]
        return None

    def _anew(self, value: Any, above: opened_rows.Above, opening: opened_rows.RowOpening) -> Any:
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
        self, keys: InstanceKeys, owner: str, mark: str, near: str, of: Callable[[str], _Sealing]
    ) -> None:
        self._keys, self._owner, self._mark, self._near, self._of = keys, owner, mark, near, of

    # A key is made where there is something to seal.
    @cached_property
    def newest(self) -> tuple[bytes, AESSIV]:
        """The id and the cipher of the key that seals the values of nodes."""
        return _cipher_of(self._keys.of(self._owner))

    @cached_property
    def _first(self) -> tuple[bytes, AESSIV]:
        return _cipher_of(self._keys.first_of(self._owner))

    def params(self, declared: Mapping[str, Treatment], params: Mapping[str, Any]) -> dict[str, Any]:
        sealed: dict[str, Any] = {}
        for name, value in params.items():
            how = declared[name]
            place = params[how.at] if how.at else ""
            kind = params[how.of[1:]] if how.of[:1] == "$" else how.of
            sealed[name] = self._treated(how, value, place, kind)
        return sealed

    def row(
        self, row: Mapping[str, Any], name: str, above: str = "", around: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return a map of a parameter, sealed; raises ValueError: nothing declares how a member is written.

        Args:
            name: what its members are declared under.
            above: the id of the node of the map ``around`` it.
        """
        shape = shape_of(name)
        if shape.owner is not None and (other := self._of(row[shape.owner])) is not self:
            return other.row(row, name, above, around)
        place = row[shape.at] if shape.at else above
        members = shape.members
        sealed: dict[str, Any] = {}
        for member, value in row.items():
            how = members.get(member)
            if how is CLEAR:
                sealed[member] = value if type(value) in opened_rows.IN_CLEAR else self._in_clear(value)
            elif how is None:
                raise ValueError(f"nothing declares whether {member} of {name} is sealed (sealing.toml)")
            elif how.kind == "map":
                sealed[member] = self._maps(value, how.of, place, row)
            elif how.written_as is not None:
                sealed[member] = None
                sealed[how.written_as] = self.placed(value, place)
            elif how.by is not None:
                bound = row[how.by] if how.by in row else (around or {})[how.by]
                sealed[member] = self.placed(value, place, bound)
            else:
                sealed[member] = self._treated(how, value, place, how.of)
        return sealed

    def _maps(self, value: Any, name: str, place: str, around: Mapping[str, Any] | None = None) -> Any:
        if isinstance(value, Mapping):
            return self.row(value, name, place, around)
        # Maps of a list have ids of their own.
        return value and [self.row(each, name) for each in value]

    def _treated(self, how: Treatment, value: Any, place: str, kind: str) -> Any:
        match how.kind:
            case "sealed":
                return self.placed(value, place)
            case "equal":
                return self._looked_up(value, kind)
            case "pairs":
                return value and [self._pair(each) for each in value]
            case "fields":
                return self._names(value)
            case "map":
                return self._maps(value, kind, place)
            case _:
                return value if type(value) in opened_rows.IN_CLEAR else self._in_clear(value)

    def _in_clear(self, value: Any) -> Any:
        """Return what is not sealed; of the id of a writing, the writer is."""
        if type(value) is str and value[:4] == ids.WRITING and ids.WRITING_ID.fullmatch(value):
            times, writer = value[: ids.WRITER_AT], value[ids.WRITER_AT :]
            return times + self._looked_up(writer, _WRITER)
        if not isinstance(value, list | tuple) or (value and isinstance(value[0], float)):
            return value
        return [self._in_clear(each) for each in value]

    def _names(self, names: Any) -> Any:
        """Return names of fields, which stay in clear; raises InvalidInput: one is like a sealed value."""
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
            beginning, part, end = value.partition(opened_rows.PART)
            group = self._looked_up(beginning + part, kind) + opened_rows.PART
            return [kind, group + self._looked_up(value, kind) if end else group, *rest]
        return [kind, self._looked_up(value, kind), *rest]

    def _looked_up(self, value: Any, kind: str) -> Any:
        if isinstance(value, list):
            return [self._looked_up(each, kind) for each in value]
        if value is None:
            return None
        return self._token(opened_rows.KEY, opened_rows.encoded(f"{kind}\x00{value}"), self._first, "")

    def placed(self, value: Any, place: str, bound: str | Sequence[str] | None = None) -> Any:
        """Return the value of the node with the id ``place``, sealed. ``bound`` says which of the values of
        the node it is; of a list, of each of its values."""
        if isinstance(value, str):
            data, kind = (
                value.encode("utf-8", "surrogatepass"),
                opened_rows.TEXT if bound is None else opened_rows.BOUND,
            )
            return self._token(kind, data, self.newest, place, *([] if bound is None else [str(bound)]))
        if isinstance(value, list):
            if bound is None:
                return [self.placed(each, place) for each in value]
            return [self.placed(each, place, of) for each, of in zip(value, bound, strict=True)]
        if isinstance(value, bytes):
            key_id, cipher = self.newest
            return self._mark.encode() + key_id + cipher.encrypt(value, [b"b", place.encode()])
        return None if value is None else self._token(opened_rows.NUMBER, b"%d" % value, self.newest, place)

    def _token(self, kind: str, data: bytes, key: tuple[bytes, AESSIV], *beside: str) -> str:
        key_id, cipher = key
        body = key_id + cipher.encrypt(data, [kind.encode(), *map(opened_rows.encoded, beside)])
        return self._mark + kind + base64.b64encode(body).decode()


def _cipher_of(key: OwnerKey) -> tuple[bytes, AESSIV]:
    return bytes.fromhex(key.id), key.rows

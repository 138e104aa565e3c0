"""Opens the sealed values of rows that queries read (:mod:`graphmem.sealing.sealed_rows` seals them).

A value opens beside the id of its node alone. This is the first text of the list of the value, or of the
nearest list around it that has a text; of a map, its first member of :data:`NODE_IDS`. A query whose rows
have it elsewhere writes it before the value (``entity/_placed.cypher``).
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from graphmem.errors import DecryptionFailed
from graphmem.model import facts, ids
from graphmem.sealing.instance_keys import INSTANCE, KEY_ID_BYTES

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

MARK: Final = facts.SEALED_MARK
TEXT, BOUND, NUMBER, KEY = "t", "f", "n", "k"
"""What a sealed text is: a text of a node, one of several, a number, or what is looked up."""
IN_CLEAR: Final = frozenset({int, float, bool, type(None)})
"""Types of which no value is sealed: a number that is sealed is a text."""
_ELSEWHERE: Final = "@"  # begins the id of the node of a sealed text, as ``entity/_placed.cypher`` writes it
NODE_IDS: Final = "key", "id", "entity_id", "source_id"
"""The properties that may be the id to which values of a node are bound: the first that it has in clear."""
PART: Final = "|"
"""Ends the beginning by which names near a name are looked up (:mod:`graphmem.model.person_names`)."""

Above: TypeAlias = "tuple[Iterable[Any], Above] | None"
"""The values beside one, and what is above the list or the map that has them."""


class RowOpening:
    """The opening of the rows of one query, which have values of one owner, or of all (None).

    Args:
        mark: begins every sealed text of the instance.
        cipher: returns the owner of a data key, and what it opens.
        names: names of properties, by those under which they are written sealed.
        names_nodes: the query writes the id of its node before a value.
    """

    def __init__(
        self, mark: str, cipher: Callable[[bytes], tuple[str, AESSIV]], owner: str | None,
        names: Mapping[str, str], *, names_nodes: bool = False,
    ) -> None:  # fmt: skip
        from cryptography.exceptions import InvalidTag

        self._mark, self._bytes_mark, self._cipher_of, self._owner = mark, mark.encode(), cipher, owner
        self._names = names
        self._elsewhere = MARK + _ELSEWHERE if names_nodes else None
        self._refusals = InvalidTag, ValueError
        self.opened_beside: Sequence[str] = ()
        """The id, and what else a value is bound to, beside which the last one opened."""
        self._place_above: Above = None
        self._place = ""
        # What was bound last is at this place of its list.
        self._bound_above: Above = None
        self._bound_at = -1

    def row(self, row: Mapping[str, Any], columns: frozenset[str] | None) -> dict[str, Any]:
        """Return a row, with those columns opened that are named, or all."""
        here = row.values(), None
        return {
            name: self.value(each, here) if columns is None or name in columns else each
            for name, each in row.items()
        }

    def value(self, value: Any, above: Above = None) -> Any:
        kind = type(value)
        if kind is str:
            if value.startswith(self._mark):
                return self._text(value, value, above)
            if self._elsewhere is not None and value.startswith(self._elsewhere):
                # The query wrote the id of its node, which the row does not have. A field may begin like it.
                place, _, token = value.removeprefix(self._elsewhere).partition(self._mark)
                return self._text(self._mark + token, value, above, place.split(" ", 1)) if token else value
            return self._writing(value) if value[:4] == ids.WRITING else value
        if kind is list:
            here = value, above
            return [each if type(each) in IN_CLEAR else self.value(each, here) for each in value]
        if kind is dict:
            here = [value.get(name) for name in (*NODE_IDS, "fields")], above
            return {self._names.get(name, name): self.value(each, here) for name, each in value.items()}
        if kind is bytes and value.startswith(self._bytes_mark):
            return self._opened(b"b", value[len(self._bytes_mark) :], [self._place_of(above)])
        return value

    def _writing(self, writing_id: str) -> str:
        writer = writing_id[ids.WRITER_AT :]
        if not writer.startswith(self._mark):
            return writing_id
        return f"{writing_id[: ids.WRITER_AT]}{self._text(writer, writing_id, None)}"

    def _text(self, token: str, text: str, above: Above, beside: Sequence[str] = ()) -> str | int:
        """Open a sealed text, of what the row has there. ``beside``: the id beside which it opens, instead of
        that of the row, and what else it is bound to."""
        if PART in token:
            # Of a name that is near others, the last part is the name.
            token = token.removesuffix(PART).rpartition(PART)[2]
        coded = token[len(self._mark) :]
        kind = coded[:1]
        try:
            body = binascii.a2b_base64(coded[1:], strict_mode=True)
        except (binascii.Error, ValueError):
            raise _damaged(beside[0] if beside else self._place_of(above)) from None
        if kind == KEY:
            return self._opened(b"k", body, [""]).decode(errors="surrogatepass").partition("\x00")[2]
        beside = beside or [self._place_of(above)]
        if kind == BOUND and len(beside) == 1:
            beside = [*beside, self._bound_to(text, above)]
        opened = self._opened(kind.encode(), body, beside)
        return int(opened) if kind == NUMBER else opened.decode("utf-8", "surrogatepass")

    def _place_of(self, above: Above) -> str:
        """Return the id beside which a value opens."""
        if above is not self._place_above:
            self._place_above, self._place = above, ""
            while above is not None and not self._place:
                values, above = above
                for each in values:
                    if type(each) is str and each and not each.startswith(self._mark):
                        self._place = each
                        break
            if self._place[:4] == ids.WRITING:
                self._place = self._writing(self._place)
        return self._place

    def _bound_to(self, text: str, above: Above) -> str:
        """Return what else a value is bound to: the text at its place of another list, or the first text."""
        if above is not None and type(values := above[0]) is list and above[1] is not None:
            self._bound_at = at = values.index(text, self._bound_at + 1 if above is self._bound_above else 0)
            self._bound_above = above
            for each in above[1][0]:
                name = each[at] if type(each) is list and at < len(each) else None
                if type(name) is str and self._mark not in name:
                    return name
        return self._place_of(above)

    def _opened(self, kind: bytes, body: bytes, beside: Sequence[str]) -> bytes:
        """Open what is bound to some texts, of which the first is the id of its node."""
        if len(body) <= KEY_ID_BYTES:
            raise _damaged(beside[0])
        owner, cipher = self._cipher_of(body[:KEY_ID_BYTES])
        if self._owner is not None and owner not in (self._owner, INSTANCE):
            raise _damaged(beside[0])
        self.opened_beside = beside
        try:
            return cipher.decrypt(body[KEY_ID_BYTES:], [kind, *map(encoded, beside)])
        except self._refusals:
            raise _damaged(beside[0]) from None


class LenientOpening(RowOpening):
    """An opening that has, in the place of a value that does not open, the error of it."""

    def value(self, value: Any, above: Above = None) -> Any:
        """Return a value of a row, opened, or the error."""
        try:
            return super().value(value, above)
        except DecryptionFailed as exc:
            return exc


def _damaged(place: str) -> DecryptionFailed:
    """Return the error of a value that does not open beside an id."""
    where = f"of {place}" if place else "that is looked up"
    return DecryptionFailed(
        f"a sealed value {where} does not open: it was changed, or moved from elsewhere. Restore a backup",
        place=place or None,
    )


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")

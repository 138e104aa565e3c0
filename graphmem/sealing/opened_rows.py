"""Opens the sealed values of rows that queries read (:mod:`graphmem.sealing.sealed_rows` seals them).

A value opens beside the id of its node alone. The id is looked for beside the value and above it, in lists
that have the list of the value.
"""

from __future__ import annotations

import binascii
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
_ID: Final = re.compile(r"[a-z]{3}_[0-9a-f]{24}")
_ELSEWHERE: Final = "@"
"""Begins the id of the node of a sealed text, as ``entity/_placed.cypher`` writes it."""
PART: Final = "|"
"""Ends the beginning by which names near a name are looked up (:mod:`graphmem.model.person_names`)."""

Above: TypeAlias = "tuple[Iterable[Any], Above] | None"
"""The values beside one, and what is above the list or the map that has them."""


class RowOpening:
    """The opening of the rows of one query.

    Args:
        mark: begins every sealed text of the instance.
        cipher: returns the owner of a data key, and what it opens.
        owner: whose values may be opened; None: those of all owners.
        names: names of properties, by those under which they are written sealed.
        names_nodes: the query writes the id of its node before a value.
    """

    def __init__(
        self,
        mark: str,
        cipher: Callable[[bytes], tuple[str, AESSIV]],
        owner: str | None,
        names: Mapping[str, str],
        *,
        names_nodes: bool = False,
    ) -> None:
        from cryptography.exceptions import InvalidTag

        self._mark, self._bytes_mark, self._cipher_of, self._owner = mark, mark.encode(), cipher, owner
        self._names = names
        self._elsewhere = MARK + _ELSEWHERE if names_nodes else None
        self._refusals = InvalidTag, ValueError
        self.opened_beside: tuple[str, ...] = ()
        """The id, and what else a value is bound to, beside which the last one opened."""
        # What was opened last is there.
        self._last_above: Above = None
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
                return self._of_named_node(value, above)
            return self._writing(value) if value[:4] == ids.WRITING else value
        if kind is list:
            here = value, above
            return [each if type(each) in IN_CLEAR else self.value(each, here) for each in value]
        if kind is dict:
            here = value.values(), above
            return {self._names.get(name, name): self.value(each, here) for name, each in value.items()}
        if kind is bytes and value.startswith(self._bytes_mark):
            return self._beside(b"b", value[len(self._bytes_mark) :], value, above)
        return value

    def _writing(self, writing_id: str) -> str:
        writer = writing_id[ids.WRITER_AT :]
        if not writer.startswith(self._mark):
            return writing_id
        return f"{writing_id[: ids.WRITER_AT]}{self._text(writer, writing_id, None)}"

    def _of_named_node(self, text: str, above: Above) -> str | int:
        """Return a text before which the query wrote the id of its node, which the row does not have.

        A field may have a name that begins like this.
        """
        place, _, token = text.removeprefix(self._elsewhere or "").partition(self._mark)
        return self._text(self._mark + token, text, above, place.split(" ")) if token else text

    def _text(self, token: str, text: str, above: Above, places: Sequence[str] | None = None) -> str | int:
        """Open a sealed text.

        Args:
            text: what the row has there.
            places: the ids beside which it opens, instead of those of the row.
        """
        if PART in token:
            # Of a name that is near others, the last part is the name.
            token = token.removesuffix(PART).rpartition(PART)[2]
        coded = token[len(self._mark) :]
        kind = coded[:1]
        try:
            body = binascii.a2b_base64(coded[1:], strict_mode=True)
        except (binascii.Error, ValueError):
            raise _damaged(self._places(above) if places is None else places) from None
        if kind == KEY:
            looked_up = self._opened(b"k", body, [("",)])
            if looked_up is None:
                raise _damaged([])
            return looked_up.decode(errors="surrogatepass").partition("\x00")[2]
        opened = self._beside(kind.encode(), body, text, above, places)
        return int(opened) if kind == NUMBER else opened.decode("utf-8", "surrogatepass")

    def _places(self, above: Above) -> Iterator[str]:
        """Yield the texts beside and above a value that may be the id of its node, the nearest first."""
        while above is not None:
            values, above = above
            for each in values:
                if type(each) is str and not each.startswith(self._mark):
                    yield self._writing(each) if each[:4] == ids.WRITING else each

    def _beside(
        self, kind: bytes, body: bytes, text: Any, above: Above, places: Sequence[str] | None = None
    ) -> bytes:
        """Open what opens beside one of the ids above it, first beside that of the value before it there."""
        bounds = self._bounds(text, above, places) if kind == BOUND.encode() else None
        opened = None
        if above is not None and above is self._last_above and places is None:
            opened = self._opened(kind, body, _pairs(self.opened_beside[:1], bounds))
        if opened is None:
            near = self._places(above) if places is None else places
            opened = self._opened(kind, body, _pairs(near, bounds))
        if opened is None:
            raise _damaged(self._places(above) if places is None else places)
        self._last_above = above
        return opened

    def _bounds(self, text: str, above: Above, places: Sequence[str] | None) -> Sequence[str]:
        """Return what a value may be bound to: texts at its place of other lists, else texts beside it.

        A query that writes the id of a node before a value may write this behind the id.
        """
        if places is not None and len(places) > 1:
            return places[1:]
        if above is not None and type(values := above[0]) is list and above[1] is not None:
            self._bound_at = at = values.index(text, self._bound_at + 1 if above is self._bound_above else 0)
            self._bound_above = above
            others = (each[at] for each in above[1][0] if type(each) is list and at < len(each))
            if texts := [each for each in others if type(each) is str and self._mark not in each]:
                return texts
        return [*(places or ()), *self._places(above)]

    def _opened(self, kind: bytes, body: bytes, beside: Iterable[tuple[str, ...]]) -> bytes | None:
        """Return what opens beside one of some ids, each with what else it may be bound to; None: nothing."""
        if len(body) <= KEY_ID_BYTES:
            return None
        owner, cipher = self._cipher_of(body[:KEY_ID_BYTES])
        if self._owner is not None and owner not in (self._owner, INSTANCE):
            return None
        data = body[KEY_ID_BYTES:]
        for each in beside:
            try:
                opened = cipher.decrypt(data, [kind, *map(encoded, each)])
            except self._refusals:
                continue
            self.opened_beside = each
            return opened
        return None


class LenientOpening(RowOpening):
    """An opening that has, in the place of a value that does not open, the error of it."""

    def value(self, value: Any, above: Above = None) -> Any:
        """Return a value of a row, opened, or the error."""
        try:
            return super().value(value, above)
        except DecryptionFailed as exc:
            return exc


def _pairs(places: Iterable[str], bounds: Sequence[str] | None) -> Iterable[tuple[str, ...]]:
    """Return each id with each text that a value may be bound to; without such texts, the ids alone."""
    return zip(places) if bounds is None else itertools.product(places, bounds)


def _damaged(places: Iterable[str]) -> DecryptionFailed:
    """Return the error of a value that opens beside none of some texts; it names the nearest id."""
    texts = list(places)
    place = next((each for each in texts if _ID.match(each)), texts[0] if texts else "")
    where = f"of {place}" if place else "that is looked up"
    return DecryptionFailed(
        f"a sealed value {where} does not open: it was changed, or moved from elsewhere. Restore a backup",
        place=place or None,
    )


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")

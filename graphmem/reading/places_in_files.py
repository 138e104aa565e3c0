"""Places in files: where an observation, and each of its fields, stands in the file it was read from.

An observation keeps its places as one JSON object: those of the observation itself, and under ``fields``
those of its fields by name. ``quote`` is the text at the place, where that is not the value itself.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from graphmem.errors import validation_message
from graphmem.model import canonical, identity
from graphmem.model.items import ItemReader

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
    field without a place of its own has that of its observation."""
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

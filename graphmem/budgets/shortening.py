"""Making one answer shorter: its longest values are cut. If that is not enough, lists lose their ends."""

import bisect
from collections.abc import Callable, Collection, Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any, Final, cast

import orjson

from graphmem.model import canonical

TEXTS: Final = frozenset({"canonical_name", "entity_name", "text"})
"""Members that are stored texts. Values are known by their type: they are JSON texts from the database."""
EXTRAS: Final = ("entity_snapshot_after", "duplicate_candidates")
"""Members of stored items that may be left out. They go first."""
LISTS: Final = (
    "provenance_observations", "observations", "events", "sources", "paths", "hubs", "outgoing", "incoming",
    "related_entities", "relationships", "versions", "seen", "field_names", "fields", "snapshot",
    "candidates", "recommendations", "stale_snapshots",
    "observations_by_type", "relationships_by_type", "entities_by_type", "types_pending",
)  # fmt: skip
"""Lists and objects that may lose members, in the order in which they do."""
LEAST_CHARACTERS: Final = 20  # characters that remain of a value at least
NAMES_LIMIT: Final = 20  # names of shortened values that are collected

Json = MutableMapping[str, Any]
Size = Callable[[Any], int]


@dataclass(frozen=True, slots=True)
class PlacedValue:
    """A value of an answer: where it stands, and its JSON text."""

    place: Json
    name: str
    text: str

    def cut(self, characters: int) -> str:
        """Return the value as a text of some characters, followed by a mark with the number of all. What is
        no text is cut as JSON."""
        whole = canonical.decode(self.text) if self.text.startswith('"') else self.text
        return cut_text(whole, characters)

    def cut_size(self, characters: int) -> int:
        """Return the size of the cut value; a value that would not become shorter is left as it is."""
        if len(self.text) <= characters:
            return len(self.text)
        return min(len(self.text), len(orjson.dumps(self.cut(characters)).decode()))


def shorten(answer: Json, budget: int, size: Size, names: list[str]) -> None:
    """Cut the longest values of an answer to one length, the greatest that fits; collect their names."""
    values = list(_values(answer))
    rest = size(answer) - sum(len(value.text) for value in values)
    # The names are part of the answer.
    by_length = sorted(values, key=lambda value: len(value.text), reverse=True)
    rest += sum(len(name) + 3 for name in {value.name for value in by_length[:NAMES_LIMIT]})
    longest = max((len(value.text) for value in values), default=0)
    characters = greatest(
        LEAST_CHARACTERS,
        longest,
        lambda length: rest + sum(value.cut_size(length) for value in values) <= budget,
    )
    for value in values:
        if value.cut_size(characters) < len(value.text):
            value.place[value.name] = value.cut(characters)
            if value.name not in names and len(names) < NAMES_LIMIT:
                names.append(value.name)


def cut_text(text: str, characters: int) -> str:
    """Return a text of some characters, followed by a mark with the number of all."""
    return f"{text[:characters]}… [{len(text)} characters]"


def greatest(least: int, most: int, fits: Callable[[int], bool]) -> int:
    """Return the greatest number up to ``most`` that fits, else ``least``; what is less than it fits too."""
    return least + bisect.bisect_left(range(least + 1, most + 1), True, key=lambda number: not fits(number))


def _values(part: Any) -> Iterator[PlacedValue]:
    """Yield the values of a part of an answer; what stands in two places of the answer, once."""
    seen: set[int] = set()
    parts = [part]
    while parts:
        part = parts.pop()
        if isinstance(part, list):
            parts += cast("list[Any]", part)
        if not isinstance(part, dict) or id(cast("Json", part)) in seen:
            continue
        place = cast("Json", part)
        seen.add(id(place))
        for name, member in place.items():
            if isinstance(member, orjson.Fragment) or (name in TEXTS and isinstance(member, str)):
                yield PlacedValue(place, name, orjson.dumps(member).decode())
            else:
                parts.append(member)


def drop(answer: Json, budget: int, size: Size, kept: Collection[str]) -> dict[str, int]:
    """Take members from the ends of lists of an answer until it fits; return how many each list lost."""
    dropped: dict[str, int] = {}
    for name in EXTRAS:
        places = list(_places(answer, name)) if size(answer) > budget else []
        for place in places:
            del place[name]
            dropped[name] = dropped.get(name, 0) + 1
    for name in LISTS:
        if name in kept:
            continue
        for place in list(_places(answer, name)):
            while place[name] and size(answer) > budget:
                count = (len(place[name]) + 1) // 2
                rest = len(place[name]) - count
                place[name] = _first(place[name], rest)
                dropped[name] = dropped.get(name, 0) + count
                if name == "snapshot" and "provenance" in place:
                    place["provenance"] = _first(place["provenance"], rest)
    return dropped


def _first(members: Any, count: int) -> Any:
    if isinstance(members, list):
        return cast("list[Any]", members)[:count]
    return dict(list(members.items())[:count])


def _places(part: Any, name: str) -> Iterator[Json]:
    """Yield the objects of an answer that have a list or an object of this name."""
    return (place for place in canonical.objects(part) if isinstance(place.get(name), (list, dict)))

"""The answer of a context: as many lines as fit into the budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NotRequired, Protocol, cast

import orjson
from typing_extensions import TypedDict

from graphmem.embedding import token_counts
from graphmem.embedding.token_counts import Unit
from graphmem.model import times
from graphmem.reading import cursors
from graphmem.reading.pages import Indexed
from graphmem.search.context import context_ranking as lines_of
from graphmem.search.context.context_ranking import About, Contest, Line
from graphmem.search.search_results import Semantic, Understood
from graphmem.text import words

Format = Literal["text", "fields"]
UNDERSTOOD_SHARE: Final = 4
"""How a question was read takes at most one of so many parts of a budget."""
CONTEST_LIMIT: Final = 200
"""Characters of a contesting value; a longer one is cut."""


class Contested(TypedDict):
    """A value that did not win although it is not older than the winner."""

    value: Any
    observed_at: str
    observation_id: NotRequired[str]
    observation_source: str


class ContextLine(TypedDict):
    """One line of the format fields: a value of an entity, or a relationship of it.

    ``entity`` is its number in ``entities``. ``observation_id`` is the provenance; of a union of lists it is
    the newest observation. ``cut`` is true if the stored value is longer: ask for the entity. Of a
    relationship, ``field`` is the type, ``value`` the name of the entity at the other end,
    ``related_entity`` its number, and ``ended`` the value of ``metadata`` that ended it.
    """

    entity: int
    entity_name: str
    field: str
    value: Any
    observed_at: str
    observation_id: NotRequired[str]
    direction: NotRequired[str]
    related_entity: NotRequired[int]
    metadata: NotRequired[dict[str, Any]]
    ended: NotRequired[Any]
    cut: NotRequired[bool]
    contested: NotRequired[list[Contested]]


class Mentioned(TypedDict):
    """An entity that lines name, and its number."""

    entity: int
    entity_id: str
    entity_type: str
    canonical_name: str


class AboutSearch(TypedDict):
    """What an answer says of the search for its entities."""

    match: NotRequired[str]
    exact: NotRequired[bool]
    semantic: NotRequired[Semantic]
    understood: NotRequired[Understood]


class ContextPage(Indexed, AboutSearch):
    """Lines, most useful first, within the budget.

    A line of the format text is all that the page has of an entity; the format fields has ``entities``.
    ``total`` counts the fields and relationships of all pages, ``used`` is the size of this answer.
    ``hint`` says why there are no lines. ``understood`` says how a question was read that asks for a kind; an
    answer that would have little room beside it leaves it out. ``match`` is ``resemblance`` where the
    question names nothing: the entities resemble it by their words or their meaning. ``exact`` is false if
    the indexes of the database answered, which may miss some; ``semantic`` says why meaning was not compared
    with all entities.
    """

    lines: list[str] | list[ContextLine]
    entities: NotRequired[list[Mentioned]]
    total: int
    used: int
    budget: int
    unit: str
    next_cursor: NotRequired[str]
    hint: NotRequired[str]


@dataclass(frozen=True, slots=True)
class View:
    """How lines are shown.

    Attributes:
        question_words: a long value is cut to the part around these.
        with_ids: whether lines name their observations.
    """

    question_words: frozenset[str]
    with_ids: bool


class Sheet(Protocol):
    """What shows lines in one format."""

    def cost(self, line: Line, limit: int, unit: Unit) -> int:
        """Return what a line adds to the answer; values and names have at most ``limit`` characters."""
        ...

    def add(self, line: Line, limit: int) -> None:
        """Add a line."""
        ...

    def remove_last(self) -> None:
        """Remove the line that was added last."""
        ...

    @property
    def members(self) -> dict[str, Any]:
        """What the answer holds of the added lines."""
        ...


def fitted(
    lines: list[Line],
    skip: int,
    make_sheet: Callable[[], Sheet],
    budget: int,
    unit: Unit,
    query: cursors.Query,
    about: AboutSearch | None = None,
) -> ContextPage:
    """Return the answer with the lines that fit into the budget.

    If the first line does not fit, its values are cut to fewer characters. If it still does not fit, the
    answer has no lines.

    Args:
        skip: how many lines earlier pages have.
        query: the fingerprint that binds the cursor to its query.
        about: what the answer says of the search.
    """
    sheet = make_sheet()
    beside: dict[str, Any] = {**about} if about is not None else {}
    if _cost(beside.get("understood"), unit) * UNDERSTOOD_SHARE > budget:
        del beside["understood"]
    page = {**beside, **sheet.members, "total": len(lines), "used": 0, "budget": budget, "unit": unit}
    # The parts beside the lines are counted at their longest, so that lines never exceed the budget.
    longest = {
        **page,
        "used": budget,
        "next_cursor": cursors.encode(query, {"answered": cursors.ANSWERED_LIMIT}),
    }
    left = budget - _cost(longest, unit)
    count = 0
    for line in lines[skip:]:
        limit, shown = lines_of.VALUE_LIMIT, line
        if (spent := sheet.cost(shown, limit, unit)) > left and not count:
            limit, shown = lines_of.MIN_VALUE_CHARACTERS, replace(line, contested=line.contested[:1])
            spent = sheet.cost(shown, limit, unit)
        if spent > left:
            break
        left -= spent
        sheet.add(shown, limit)
        count += 1
    while True:
        page |= sheet.members
        if skip + count < len(lines):
            page["next_cursor"] = cursors.encode(query, {"answered": skip + count})
        # The tokens of a whole may be more than those of its parts.
        if _counted(page, unit) <= budget or not count:
            return cast("ContextPage", page)
        sheet.remove_last()
        count -= 1


def with_hint(page: ContextPage, hint: str) -> ContextPage:
    """Return an answer without lines that says why, if the budget has room for it."""
    hinted: dict[str, Any] = {**page, "hint": hint}
    return cast("ContextPage", hinted) if _counted(hinted, page["unit"]) <= page["budget"] else page


def _counted(page: dict[str, Any], unit: str) -> int:
    """Return the size of an answer, and write it into the answer."""
    while (used := _cost(page, cast("Unit", unit))) != page["used"]:
        page["used"] = used
    return used


class FieldsSheet:
    """Each value and each relationship is a line of its own."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._parts: list[tuple[dict[str, Any], list[Mentioned]]] = []
        self._numbers: dict[str, int] = {}

    def cost(self, line: Line, limit: int, unit: Unit) -> int:
        """Return the cost of a line and of the entities that come with it, with a comma before each."""
        shown, mentioned = self._shown(line, limit)
        return _cost(shown, unit) + 1 + sum(_cost(entity, unit) + 1 for entity in mentioned)

    def add(self, line: Line, limit: int) -> None:
        """Add a line."""
        shown, mentioned = self._shown(line, limit)
        self._parts.append((shown, mentioned))
        self._numbers |= {entity["entity_id"]: entity["entity"] for entity in mentioned}

    def remove_last(self) -> None:
        """Remove the line that was added last."""
        _, mentioned = self._parts.pop()
        for entity in mentioned:
            del self._numbers[entity["entity_id"]]

    @property
    def members(self) -> dict[str, Any]:
        """The lines, and the entities that they name."""
        return {
            "lines": [shown for shown, _ in self._parts],
            "entities": [entity for _, mentioned in self._parts for entity in mentioned],
        }

    def _shown(self, line: Line, limit: int) -> tuple[dict[str, Any], list[Mentioned]]:
        return _parts(line, self._view, limit, self._numbers)


def _parts(
    line: Line, view: View, limit: int, numbers: dict[str, int]
) -> tuple[dict[str, Any], list[Mentioned]]:
    """Return the answer for a line and for the entities that no earlier line names.

    Args:
        limit: characters of a value or a name; a longer one is cut.
        numbers: the numbers of the entities that earlier lines name.
    """
    new: dict[str, Mentioned] = {}

    def number(about: About) -> int:
        known = numbers.get(about.id)
        if known is None and about.id not in new:
            new[about.id] = {
                "entity": len(numbers) + len(new) + 1,
                "entity_id": about.id,
                "entity_type": about.type,
                "canonical_name": about.name[:limit],
            }
        return new[about.id]["entity"] if known is None else known

    value, is_cut = lines_of.excerpt(line.value, view.question_words, limit, words.tokens)
    shown: dict[str, Any] = {
        "entity": number(line.about),
        "entity_name": line.about.name[:limit],
        "field": line.field,
        "value": orjson.Fragment(value),
        "observed_at": times.render(line.observed_at),
        "observation_id": line.observation_id,
    }
    if line.related is not None:
        shown |= {"direction": line.direction, "related_entity": number(line.related)}
    if line.metadata:
        shown["metadata"] = {
            name: orjson.Fragment(text) for name, text in line.metadata[: lines_of.METADATA_FIELDS]
        }
    if line.ended is not None:
        shown["ended"] = orjson.Fragment("true" if line.ended == "false" else line.ended)
    if is_cut:
        shown["cut"] = True
    if line.contested:
        shown["contested"] = [
            _contested(contest, view.question_words, min(limit, CONTEST_LIMIT)) for contest in line.contested
        ]
    if not view.with_ids:
        for part in (shown, *shown.get("contested", ())):
            del part["observation_id"]
    return shown, list(new.values())


def _contested(contest: Contest, question_words: frozenset[str], limit: int) -> dict[str, Any]:
    return {
        "value": orjson.Fragment(lines_of.excerpt(contest.value, question_words, limit, words.tokens)[0]),
        "observed_at": times.render(contest.observed_at),
        "observation_id": contest.observation_id,
        "observation_source": contest.observation_source,
    }


def _cost(value: Any, unit: Unit) -> int:
    return token_counts.cost(orjson.dumps(value).decode(), unit)

"""The answer of a context: as many lines as fit into the budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NotRequired, cast

import orjson
from typing_extensions import TypedDict

from graphmem.matching import context_ranking as lines_of
from graphmem.matching.context_ranking import About, Contest, Line, Unit
from graphmem.model import times
from graphmem.reading import cursors
from graphmem.reading.pages import Indexed
from graphmem.text import words

CONTEST_LIMIT: Final = 200
"""Characters of a contesting value; a longer one is cut."""


class Contested(TypedDict):
    """A value that did not win although it is not older than the winner."""

    value: Any
    observed_at: str
    observation_id: NotRequired[str]
    observation_source: str


class ContextLine(TypedDict):
    """One line: a value of an entity, or a relationship of it.

    ``entity`` is the number of the entity in ``entities``. ``observation_id`` is the provenance; of a union
    of lists it is the newest observation. ``cut`` is true if the stored value is longer: ask for the entity.
    For a relationship, ``field`` is its type, ``value`` the name of the entity at the other end, and
    ``related_entity`` the number of that entity.
    """

    entity: int
    entity_name: str
    field: str
    value: Any
    observed_at: str
    observation_id: NotRequired[str]
    direction: NotRequired[str]
    related_entity: NotRequired[int]
    cut: NotRequired[bool]
    contested: NotRequired[list[Contested]]


class Mentioned(TypedDict):
    """An entity that lines name, and its number."""

    entity: int
    entity_id: str
    entity_type: str
    canonical_name: str


class ContextPage(Indexed):
    """Lines, most useful first, within the budget.

    ``total`` counts all lines, ``used`` is the size of this answer. ``next_cursor`` stands where more lines
    follow. ``hint`` says why there are no lines.
    """

    lines: list[ContextLine]
    entities: list[Mentioned]
    total: int
    used: int
    budget: int
    unit: str
    next_cursor: NotRequired[str]
    hint: NotRequired[str]


def fitted(
    lines: list[Line],
    skip: int,
    question_words: frozenset[str],
    budget: int,
    unit: Unit,
    query: str,
    *,
    with_ids: bool = True,
) -> ContextPage:
    """Return the answer with the lines that fit into the budget.

    If the first line does not fit, its values are cut to fewer characters. If it still does not fit, the
    answer has no lines.

    Args:
        skip: how many lines earlier pages have.
        query: the fingerprint that binds the cursor to its query.
        with_ids: whether lines name their observations.
    """
    page: ContextPage = {
        "lines": [], "entities": [], "total": len(lines), "used": 0, "budget": budget, "unit": unit,
    }  # fmt: skip
    # The parts beside the lines are counted at their longest, so that lines never exceed the budget.
    longest = {
        **page,
        "used": budget,
        "next_cursor": cursors.encode(query, {"answered": cursors.ANSWERED_LIMIT}),
    }
    left = budget - _cost(longest, unit)
    numbers: dict[str, int] = {}
    for line in lines[skip:]:
        parts = _parts(line, question_words, lines_of.VALUE_LIMIT, numbers, with_ids)
        if _spent(parts, unit) > left and not page["lines"]:
            shortened = replace(line, contested=line.contested[:1])
            parts = _parts(shortened, question_words, lines_of.MIN_VALUE_CHARACTERS, numbers, with_ids)
        if (spent := _spent(parts, unit)) > left:
            break
        left -= spent
        shown, mentioned = parts
        page["lines"].append(cast("ContextLine", shown))
        for entity in mentioned:
            numbers[entity["entity_id"]] = entity["entity"]
            page["entities"].append(entity)
    end = skip + len(page["lines"])
    if end < len(lines):
        page["next_cursor"] = cursors.encode(query, {"answered": end})
    while (used := _cost(page, unit)) != page["used"]:
        page["used"] = used
    return page


def _parts(
    line: Line, question_words: frozenset[str], limit: int, numbers: dict[str, int], with_ids: bool
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

    value, is_cut = lines_of.excerpt(line.value, question_words, limit, words.tokens)
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
    if is_cut:
        shown["cut"] = True
    if line.contested:
        shown["contested"] = [
            _contested(contest, question_words, min(limit, CONTEST_LIMIT)) for contest in line.contested
        ]
    if not with_ids:
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


def _spent(parts: tuple[dict[str, Any], list[Mentioned]], unit: Unit) -> int:
    """Return the cost of a line and of the entities that come with it, with a comma before each."""
    shown, mentioned = parts
    return _cost(shown, unit) + 1 + sum(_cost(entity, unit) + 1 for entity in mentioned)


def _cost(value: Any, unit: Unit) -> int:
    return lines_of.cost(orjson.dumps(value).decode(), unit)

"""Lines of context put into an answer, as many as its budget has room for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NotRequired, cast

import orjson
from typing_extensions import TypedDict

from graphmem.matching import context_ranking as lines_of
from graphmem.matching.context_ranking import About, Contest, Line, Unit
from graphmem.model import times
from graphmem.reading import cursors
from graphmem.text import words

CONTEST_LIMIT: Final = 200
"""Characters of a value that contests another."""


class Contested(TypedDict):
    """Another value, not older than the one that holds the field, that did not win."""

    value: Any
    observed_at: str
    observation_id: str
    observation_source: str


class ContextLine(TypedDict):
    """One thing that is known: a value of an entity, or a relationship of it.

    ``entity`` is the number of the entity among those of the answer. ``observation_id`` is the provenance,
    of a union of lists the newest that it comes from. ``cut``: the value is longer, ask for its entity. Of a
    relationship ``field`` is the type, ``value`` the name of the other entity, ``related_entity`` its number.
    """

    entity: int
    entity_name: str
    field: str
    value: Any
    observed_at: str
    observation_id: str
    direction: NotRequired[str]
    related_entity: NotRequired[int]
    cut: NotRequired[bool]
    contested: NotRequired[list[Contested]]


class Mentioned(TypedDict):
    """An entity that lines are about, and the number by which they name it."""

    entity: int
    entity_id: str
    entity_type: str
    canonical_name: str


class ContextPage(TypedDict):
    """What is known, most useful first, never over the budget.

    ``total`` counts the lines that there are, ``used`` is what this answer costs. With ``next_cursor`` the
    following lines are answered. ``hint`` says what was tried where nothing was found.
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
    lines: list[Line], skip: int, asked: frozenset[str], budget: int, unit: Unit, query: str
) -> ContextPage:
    """Return the lines from a place on that fit into the budget: one at least, cut as far as it must be.

    Args:
        skip: how many lines were answered before.
        asked: the words of the question.
        query: what binds the cursor to its query.
    """
    page: ContextPage = {
        "lines": [], "entities": [], "total": len(lines), "used": 0, "budget": budget, "unit": unit,
    }  # fmt: skip
    # The rest of the answer at its longest is kept free: its lines never push it over.
    longest = {
        **page,
        "used": budget,
        "next_cursor": cursors.encode(query, {"answered": cursors.ANSWERED_LIMIT}),
    }
    left = budget - _cost(longest, unit)
    numbers: dict[str, int] = {}
    for line in lines[skip:]:
        parts = _parts(line, asked, lines_of.VALUE_LIMIT, numbers)
        if _spent(parts, unit) > left and not page["lines"]:
            least = replace(line, contested=line.contested[:1])
            parts = _parts(least, asked, lines_of.MIN_VALUE_CHARACTERS, numbers)
        if (spent := _spent(parts, unit)) > left:
            break
        left -= spent
        shown, mentioned = parts
        page["lines"].append(cast("ContextLine", shown))
        for one in mentioned:
            numbers[one["entity_id"]] = one["entity"]
            page["entities"].append(one)
    end = skip + len(page["lines"])
    if end < len(lines):
        page["next_cursor"] = cursors.encode(query, {"answered": end})
    while (used := _cost(page, unit)) != page["used"]:
        page["used"] = used
    return page


def _parts(
    line: Line, asked: frozenset[str], limit: int, numbers: dict[str, int]
) -> tuple[dict[str, Any], list[Mentioned]]:
    """Return a line as it is answered, its values cut at a limit, and the entities that it names first."""
    fresh: dict[str, Mentioned] = {}

    def number(about: About) -> int:
        known = numbers.get(about.id)
        if known is None and about.id not in fresh:
            fresh[about.id] = {
                "entity": len(numbers) + len(fresh) + 1,
                "entity_id": about.id,
                "entity_type": about.type,
                "canonical_name": about.name[:limit],
            }
        return fresh[about.id]["entity"] if known is None else known

    value, is_cut = lines_of.excerpt(line.value, asked, limit, words.tokens)
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
        shown["contested"] = [_contest(one, asked, min(limit, CONTEST_LIMIT)) for one in line.contested]
    return shown, list(fresh.values())


def _contest(one: Contest, asked: frozenset[str], limit: int) -> dict[str, Any]:
    return {
        "value": orjson.Fragment(lines_of.excerpt(one.value, asked, limit, words.tokens)[0]),
        "observed_at": times.render(one.observed_at),
        "observation_id": one.observation_id,
        "observation_source": one.observation_source,
    }


def _spent(parts: tuple[dict[str, Any], list[Mentioned]], unit: Unit) -> int:
    """Return what a line costs with the entities that come with it, and the commas before each."""
    shown, mentioned = parts
    return _cost(shown, unit) + 1 + sum(_cost(one, unit) + 1 for one in mentioned)


def _cost(value: Any, unit: Unit) -> int:
    return lines_of.cost(orjson.dumps(value).decode(), unit)

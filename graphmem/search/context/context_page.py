"""The answer of a context: as many lines as fit into the budget."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, NotRequired, cast

from typing_extensions import TypedDict

from graphmem.model import canonical, times
from graphmem.reading import cursors
from graphmem.reading.as_of import AsOf
from graphmem.reading.pages import Indexed
from graphmem.receipts.collected import Collected, Fact, cut, of_passages
from graphmem.search import passage_search
from graphmem.search.context import context_ranking as lines_of
from graphmem.search.context.context_ranking import Focus, Line
from graphmem.search.context.context_sheets import EarlierValue, FieldsSheet, Mentioned, TextSheet, cost
from graphmem.search.context.token_counts import Unit
from graphmem.search.passage_search import FoundPassage, FoundPassages
from graphmem.search.questions import question_words
from graphmem.search.search_results import SearchNotes
from graphmem.text import words

Format = Literal["text", "fields"]
UNDERSTOOD_SHARE: Final = 4  # how a question was read takes at most one of so many parts of a budget


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
    ``related_entity`` its number, and ``ended`` the value of ``metadata`` that ended it. ``earlier`` has the
    latest values that a field had before. Where the question asks for the past, ``since`` says since when a
    value is known, an earlier value is a line of its own with ``until``, and ``note`` says which time is
    meant, or that nothing is known of it.
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
    since: NotRequired[str]
    until: NotRequired[str]
    note: NotRequired[str]
    earlier: NotRequired[list[EarlierValue]]
    cut: NotRequired[bool]
    match: NotRequired[str]
    contested: NotRequired[list[Contested]]


class AboutSearch(SearchNotes, AsOf):
    """What an answer says of the search for its entities."""

    match: NotRequired[str]


class ContextPage(Indexed, AboutSearch):
    """Lines, most useful first, within the budget.

    A line of the format text is all that the page has of an entity; the format fields has ``entities``.
    ``total`` counts the fields and relationships of all pages, ``used`` is the size of this answer.
    ``hint`` says why there are no lines, or what the search left out. ``understood`` says how a question was
    read that asks for a kind; an answer that would have little room beside it leaves it out. ``match`` is
    ``resemblance`` where the question names nothing: the entities resemble it by their words or their
    meaning. It is that too where nothing says that who is found is meant: a sister, of a sibling.
    It is ``near_name`` where their names differ by one slip of the pen. What only resembles a question that
    names something stands last, below a line that says so; in the format fields its lines have ``match``.
    ``passages`` of files answer the question beside entities. In the format text each is a line with its file
    and a quotation, above those of entities where it says more of what is asked. ``exact`` is false if not
    all entities were compared that may have an identifier; ``semantic`` says why meaning was not compared
    with all entities.
    """

    lines: list[str] | list[ContextLine]
    entities: NotRequired[list[Mentioned]]
    total: int
    used: int
    budget: int
    unit: str
    next_cursor: NotRequired[str]


def fitted(
    lines: list[Line], skip: int, sheet: FieldsSheet | TextSheet, budget: int, unit: Unit,
    query: cursors.Query, about: AboutSearch,
) -> ContextPage:  # fmt: skip
    """Return the answer with the lines that fit into the budget.

    If the first line does not fit, its values are cut to fewer characters. If it still does not fit, the
    answer has no lines.

    Args:
        skip: how many lines earlier pages have.
    """
    beside: dict[str, Any] = {**about}
    if cost(beside.get("understood"), unit) * UNDERSTOOD_SHARE > budget:
        del beside["understood"]
    page = {**beside, **sheet.members, "total": len(lines), "used": 0, "budget": budget, "unit": unit}
    # The parts beside the lines are counted at their longest, so that lines never exceed the budget.
    longest = {
        **page,
        "used": budget,
        "next_cursor": cursors.encode(query, {"answered": cursors.ANSWERED_LIMIT}),
    }
    left = budget - cost(longest, unit)
    count = 0
    for line in lines[skip:]:
        if (spent := sheet.add(line, lines_of.VALUE_LIMIT, unit)) > left and not count:
            sheet.remove_last()
            shorter = replace(line, contested=line.contested[:1], earlier=())
            spent = sheet.add(shorter, lines_of.MIN_VALUE_CHARACTERS, unit)
        if spent > left:
            sheet.remove_last()
            break
        left -= spent
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


def facts_of(lines: Sequence[Line], passages: Sequence[FoundPassage], collected: Collected) -> list[Fact]:
    """Return what lines and passages tell; of the names of entities, who set them."""
    facts = of_passages(passages)
    for about in (about for line in lines for about in (line.about, line.related)):
        if about is not None and about.id in collected.rows:
            facts += collected.of(about.id, (), about.name, {})
        elif about is not None and about.named_by:
            name, set_by = about.named_by
            facts.append(Fact(about.id, name, "", cut(canonical.encode(about.name)), set_by.split(","), []))
    for line in lines:
        beside = [each.observation_id for each in (*line.contested, *line.earlier)]
        key = line.about.id, line.field, "" if line.until is None else times.render(line.until)
        value = line.value
        if line.related is not None:
            key, fields = (line.key, "", ""), {name: canonical.decode(each) for name, each in line.metadata}
            relationship = [line.field, line.direction, line.related.id, fields, line.ended]
            value = canonical.encode(relationship)
        facts.append(
            Fact(*key, cut(value), [*filter(None, (line.set_by or line.observation_id).split(","))], beside)
        )
    return facts


def with_hint(page: ContextPage, hint: str) -> ContextPage:
    """Return an answer without lines that says why, if the budget has room for it."""
    hinted: dict[str, Any] = {**page, "hint": hint}
    return cast("ContextPage", hinted) if _counted(hinted, page["unit"]) <= page["budget"] else page


def _counted(page: dict[str, Any], unit: str) -> int:
    """Return the size of an answer, and write it into the answer. Each digit is a token, so numbers of equal
    length cost the same: a large answer is counted once."""
    page["used"] = page["budget"]
    while len(str(used := cost(page, cast("Unit", unit)))) != len(str(page["used"])):
        page["used"] = used
    page["used"] = used
    return used


PASSAGES_LIMIT: Final = 3  # passages in one context
LONG_VALUE: Final = 60  # characters by which a passage is known in a value of an entity
BUDGET_SHARE: Final = 3  # beside lines of entities, passages take at most one of so many parts of a budget


def not_in_lines(hits: FoundPassages, lines: Iterable[Line]) -> FoundPassages:
    """Return the passages without those that are a part of a value which lines tell."""
    values = [line.value for line in lines if len(line.value) >= LONG_VALUE] if hits.texts else []
    kept = [
        (passage, text)
        for passage, text in zip(hits.passages, hits.texts, strict=True)
        if not any(canonical.encode(text[:LONG_VALUE])[1:-1] in value for value in values)
    ]
    return hits._replace(passages=[each for each, _ in kept], texts=[text for _, text in kept])


def come_first(
    hits: FoundPassages, question: Sequence[str], focus: Focus, lines: Iterable[Line], names: Sequence[str]
) -> bool:
    """Return whether passages stand above the lines of entities: they say more, or are asked for.

    Args:
        names: the words by which the question names entities. A passage without any of these is about others.
    """
    if not hits.texts or not passage_search.FILES.isdisjoint(question):
        return True
    of_entities: dict[str, set[str]] = {}
    for line in lines:
        of_entities.setdefault(line.about.id, set()).update(line.words)
    most = max((question_words.shared(focus.words, each) for each in of_entities.values()), default=0)
    of_names = set(words.tokens(" ".join(names)))
    for text in hits.texts:
        of_text = frozenset(words.tokens(text))
        if (not of_names or of_names & of_text) and question_words.shared(focus.words, of_text) > most:
            return True
    return not of_entities


def fitting(passages: Sequence[FoundPassage], budget: int, unit: Unit, *, alone: bool) -> list[FoundPassage]:
    """Return the passages that fit into their part of a budget.

    Args:
        alone: there are no lines of entities.
    """
    left, fit = budget // (2 if alone else BUDGET_SHARE), list[FoundPassage]()
    for passage in passages:
        left -= cost(passage, unit)
        if left < 0:
            break
        fit.append(passage)
    return fit


def as_text(passage: FoundPassage) -> str:
    place = f"page {passage['page']}" if "page" in passage else f"line {passage['line']}"
    name = " ".join((passage["original_filename"] or passage.get("title") or passage["source_id"]).split())
    return (
        f"{name}, {place} (file, {passage['source_id']}, {passage['created_at'][:10]}): “{passage['quote']}”"
    )

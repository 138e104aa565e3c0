"""Parts of names: the people and organisations of a copy that a question calls by a part of a name.

People are called by any part of their name or of an alias, organisations only where the question writes that
part as a name. The names of other things are words as any: "buy" names no task.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from graphmem.search.entity_copy import IN_ALIAS, IN_NAME, SearchCopy
from graphmem.search.questions import question_words
from graphmem.search.questions.mentions import Part, Question, Run

ENTITIES_LIMIT: Final = 100
"""Entities that one question calls by parts of their names."""


class PartlyNamed(NamedTuple):
    """An entity, and the first part of a name of it in the question."""

    id: str
    part: Part


def partly_named(
    copy: SearchCopy, question: Question, taken: Iterable[Run], types: Collection[str]
) -> list[PartlyNamed]:
    """Return the entities that a question calls by parts of their names, in the order of their ids.

    Of two entities that have the same part, the one with more parts of the question is meant.

    Args:
        taken: the runs of the question that are whole names.
        types: only entities of these types; all types if empty.
    """
    among = [name for name in copy.types if not types or name in types]
    people = [name for name in among if question_words.is_person(name)]
    organisations = [name for name in among if question_words.is_organisation(name)]
    name_words = question.name_words
    if not name_words or not (people or organisations):
        return []
    written = question.written_names
    documents: dict[str, set[int]] = {}
    for word, posting in zip(name_words, copy.postings([[word] for word in name_words]), strict=True):
        named = posting.documents[(posting.counts & (IN_NAME | IN_ALIAS)) > 0]
        called = people + organisations if word in written else people
        if called and len(named):
            documents[word] = set(named[copy.of_types(called)[named]].tolist())
    parts = question.parts({word for word, numbers in documents.items() if numbers}, taken)
    of_part = {part: set.intersection(*(documents[word] for word in part.words)) for part in parts}
    counts: dict[int, int] = {}
    for numbers in of_part.values():
        for number in numbers:
            counts[number] = counts.get(number, 0) + 1
    chosen: dict[str, Part] = {}
    for part, numbers in of_part.items():
        most = max((counts[number] for number in numbers), default=0)
        for number in numbers:
            if counts[number] == most:
                chosen.setdefault(copy.ids[number], part)
    return [PartlyNamed(entity_id, chosen[entity_id]) for entity_id in sorted(chosen)[:ENTITIES_LIMIT]]

"""Passages of files in a context: whether they stand above the lines of entities, and as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from graphmem.model import canonical
from graphmem.search import passage_search
from graphmem.search.context.context_ranking import Focus, Line
from graphmem.search.context.context_sheets import cost
from graphmem.search.context.token_counts import Unit
from graphmem.search.passage_search import FoundPassage, FoundPassages
from graphmem.search.questions import question_words
from graphmem.text import words

PASSAGES_LIMIT: Final = 3
"""Passages in one context."""
LONG_VALUE: Final = 60
"""Characters by which a passage is known in a value of an entity."""
BUDGET_SHARE: Final = 3
"""Beside lines of entities, passages take at most one of so many parts of a budget."""


def not_in_lines(hits: FoundPassages, lines: Iterable[Line]) -> FoundPassages:
    """Return the passages without those that are a part of a value which lines tell."""
    values = [line.value for line in lines if len(line.value) >= LONG_VALUE] if hits.texts else []
    kept = [
        place
        for place, text in enumerate(hits.texts)
        if not any(canonical.encode(text[:LONG_VALUE])[1:-1] in value for value in values)
    ]
    return hits._replace(
        passages=[hits.passages[place] for place in kept], texts=[hits.texts[place] for place in kept]
    )


def come_first(
    hits: FoundPassages, question: Sequence[str], focus: Focus, lines: Iterable[Line], names: Sequence[str]
) -> bool:
    """Return whether passages stand above the lines of entities: they say more, or are asked for.

    Args:
        names: the words by which the question names entities. A passage without any of these is about others.
    """
    if not hits.texts or passage_search.asks_for_files(question):
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
    """Return a passage as one line of text: its file with the page or the line, and what it says."""
    place = f"page {passage['page']}" if "page" in passage else f"line {passage['line']}"
    name = " ".join((passage["original_filename"] or passage.get("title") or passage["source_id"]).split())
    return (
        f"{name}, {place} (file, {passage['source_id']}, {passage['created_at'][:10]}): “{passage['quote']}”"
    )

"""The past in a context: earlier values of a field, and which of them a question asks for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from graphmem.model import times
from graphmem.search.asked_times import AskedPast
from graphmem.search.context.context_ranking import Focus, Line, Observed
from graphmem.text import words

BESIDE_FACTOR: Final = 0.5
"""Weight of a value of now where an earlier one is asked for, as a factor."""
VALUE_WORDS: Final = 8
"""Most words of a value before which another one may be asked for."""
NONE_EARLIER: Final = "no earlier value is known"


def successive(earlier: Iterable[Observed], current: Observed) -> list[Observed]:
    """Return the values that a field had, one after the other; the last one is the current one."""
    field_values: list[Observed] = []
    for row in [*sorted(earlier, key=lambda row: (row.observed_at, row.observation_id)), current]:
        # Values may differ by their type alone, as a schema may have converted one.
        if field_values and field_values[-1].text.strip('"') == row.text.strip('"'):
            continue
        if field_values:
            field_values[-1] = field_values[-1]._replace(until=row.observed_at)
        field_values.append(row)
    return [each for each in field_values if each.until != each.observed_at]


def values_for_line(values: Iterable[Observed]) -> tuple[Observed, ...]:
    """Return those of some earlier values that a line can tell, the latest first."""
    return tuple(each for each in values if each.value not in (None, "null"))[::-1]


def former_lines(line: Line, values: Sequence[Observed]) -> list[Line]:
    return [
        replace(
            line, value=each.text, observed_at=each.observed_at, observation_id=each.observation_id,
            since=each.observed_at, until=each.until, contested=(), earlier=(),
        )
        for each in values_for_line(values)
    ]  # fmt: skip


def as_asked(
    lines: Iterable[Line], past: AskedPast, focus: Focus, subject_ids: Collection[str], *, is_named: bool
) -> list[Line]:
    """Return lines, those of the past that a question asks for marked, without other earlier values.

    Where nothing of that time is known, the line of now says so.

    Args:
        lines: with a line for each earlier value.
        subject_ids: the entities whose past may be asked for.
        is_named: whether the question names them; else nothing is said of what is not known.
    """
    groups: dict[tuple[str, str, str], list[Line]] = {}
    every = list(lines)
    for line in every:
        if line.about.id in subject_ids:
            groups.setdefault(line.sort, []).append(line)
    asked_groups = [sort for sort, group in groups.items() if any(each.is_asked(focus) for each in group)]
    if anchored := [sort for sort in groups if any(_has_any(each, past.before) for each in groups[sort])]:
        asked_groups = [sort for sort in anchored if sort in asked_groups] or anchored
    elif past.before and past.is_past_tense:
        # "Before the wedding": what was before the value of now is the best guess, with its dates.
        past = past._replace(before=frozenset())
    chosen = {sort: _chosen(groups[sort], past) for sort in asked_groups or groups}
    # A value that has no other one beside it stands where it stood.
    chosen = {
        sort: chosen_lines
        for sort, chosen_lines in chosen.items()
        if (len(groups[sort]) > 1 or chosen_lines[0].is_over if chosen_lines else is_named)
    }
    return [line for each in every if (line := _as_chosen(each, chosen.get(each.sort), past)) is not None]


def _chosen(group: Iterable[Line], past: AskedPast) -> list[Line]:
    """Return the lines of one field, or of one sort of relationship, that a question asks for."""
    if past.end:
        return [
            each for each in group
            if (each.since is not None or each.until is not None)
            and (each.since or times.EARLIEST) < past.end and (each.until or times.LATEST) > past.start
        ]  # fmt: skip
    order = sorted(group, key=lambda each: (each.until or times.LATEST, each.since or times.LATEST))
    if past.before:
        places = [place for place, each in enumerate(order) if _has_any(each, past.before)]
        return order[max(places[-1] - 1, 0) : places[-1]] if places else []
    return [each for each in order if each.is_over][-1:]


def _as_chosen(line: Line, chosen: list[Line] | None, past: AskedPast) -> Line | None:
    """Return a line as an answer has it, ``None`` if it is of an earlier value that nobody asks for."""
    is_former = line.related is None and line.until is not None
    if chosen and line in chosen:
        note = past.words if past.end and is_former else ""
        return replace(line, is_then=True, note=note)
    if is_former:
        return None
    if chosen is None:
        return line
    if chosen:
        return replace(line, weight=line.weight * BESIDE_FACTOR)
    return replace(line, note=f"not known {past.words}" if past.end or past.before else NONE_EARLIER)


def _has_any(line: Line, expected: frozenset[str]) -> bool:
    """Return whether the value of a line has one of some words, and is no text in which they merely occur."""
    texts = [words.tokens(text) for text in words.strings_of(line.value)]
    return any(len(tokens) <= VALUE_WORDS and not expected.isdisjoint(tokens) for tokens in texts)

"""Folds of what observations say with dates: each period is folded by itself, and one of them is shown.

The observations of one subject with equal dates are a *part*, and so are those without dates. The fold that
is shown is put together from the parts, whatever arrived first (:meth:`PeriodFold.shown`):

- A relationship shows its part without dates, and those of the period without an end; where all have
  ended, of the one that ended last. If there are several periods, ``periods`` lists them.
- An entity shows of each field the value whose period ends last. A value without dates that was observed
  after that end is newer. Dates are those of the period that ends last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from graphmem.model import canonical, ending, facts, merged_arrays, ranks, reduction, times, valid_time
from graphmem.model.identity import squeezed
from graphmem.model.reduction import Fold, Observation, Winner, greatest
from graphmem.model.rules import PLAIN, Rules
from graphmem.model.valid_time import Dated

PARTS_LIMIT: Final = 200  # parts with dates that one subject keeps: the latest

Parts = Mapping[str, Fold]  # folds by their dates, as :func:`part_key` has them


class PeriodFold(Mapping[str, Winner]):
    """The fold that is shown of a subject with dates; ``parts`` are the folds that it is made of."""

    def __init__(self, parts: Parts, *, is_relationship: bool) -> None:
        self.is_relationship = is_relationship
        self.parts = {key: part for key, part in parts.items() if part}
        if len(self.parts) > PARTS_LIMIT:
            latest = sorted(self.parts, key=_order)[-PARTS_LIMIT:]
            self.parts = {key: self.parts[key] for key in latest}

    def __getitem__(self, name: str) -> Winner:
        return self.shown[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.shown)

    def __len__(self) -> int:
        return len(self.shown)

    @cached_property
    def shown(self) -> Fold:
        spans = _spans(self.parts, is_relationship=self.is_relationship)
        last = max(end for _, end in spans.values())
        shown, ends = dict[str, Winner](), dict[str, int]()
        for key in sorted(spans, key=lambda key: spans[key][1], reverse=True):
            end = spans[key][1]
            for name, winner in self.parts[key].items():
                is_of_last = end == last or not (self.is_relationship or squeezed(name) in valid_time.NAMES)
                is_known = name in shown and not merged_arrays.is_union(winner.rank)
                if is_of_last and (not is_known or ends[name] == end):
                    shown[name] = greatest(shown.get(name), winner)
                    ends.setdefault(name, end)
        for name, winner in self.parts.get("", {}).items():
            has_ended = (
                not self.is_relationship and name in shown and _has_ended(shown[name], ends[name], winner)
            )
            shown[name] = winner if has_ended else greatest(shown.get(name), winner)
        return listed(shown, self.parts) if self.is_relationship else shown

    @property
    def text(self) -> str | None:
        """The parts as canonical JSON; ``None`` where what is shown says the same."""
        if (
            len(self.parts) == 1
            and part_key_of(self.shown, is_relationship=self.is_relationship) in self.parts
        ):
            return None
        return canonical.encode([
            [key, [[name, *winner] for name, winner in sorted(self.parts[key].items())]]
            for key in sorted(self.parts)
        ])  # fmt: skip

    @classmethod
    def of_text(cls, text: str, *, is_relationship: bool) -> PeriodFold:
        """Return the fold whose :attr:`text` this is."""
        return cls(
            {key: {name: Winner(*winner) for name, *winner in rows} for key, rows in canonical.decode(text)},
            is_relationship=is_relationship,
        )


def fold(known: Fold, observation: Observation, rules: Rules = PLAIN) -> Fold:
    if observation.kind not in facts.VALUE_KINDS:
        return known
    is_relationship = ":" in observation.subject_id
    key = part_key(observation.fields, observation.kind == "correction", is_relationship=is_relationship)
    parts = known.parts if isinstance(known, PeriodFold) else {}
    if not parts and known:
        parts = {part_key_of(known, is_relationship=is_relationship): known}
    parts = {**parts, key: reduction.fold(parts.get(key, {}), observation, rules)}
    return of_parts(parts, is_relationship=is_relationship)


def of_parts(parts: Parts, *, is_relationship: bool) -> Fold:
    """Return the fold that is shown of some parts; those without dates alone are a plain one."""
    if not any(parts[key] for key in parts if key):
        return parts.get("", {})
    return PeriodFold(parts, is_relationship=is_relationship)


def listed(shown: Fold, parts: Parts) -> Fold:
    """Return the fold of a relationship with the list of its periods, if there are several."""
    spans = _spans(parts, is_relationship=True)
    by_span: dict[tuple[int, int], dict[str, Winner]] = {}
    for key, span in spans.items():
        period = by_span.setdefault(span, {})
        period.update((name, greatest(period.get(name), each)) for name, each in parts[key].items())
    if len(by_span) < 2 or ending.PERIODS in shown:
        return shown
    values = [
        {name: canonical.decode(each.value) for name, each in by_span[span].items() if each.value != "null"}
        for span in sorted(by_span)
    ]
    newest = max(winner for period in by_span.values() for winner in period.values())
    return {**shown, ending.PERIODS: newest._replace(value=canonical.encode(values))}


def part_key(fields: Mapping[str, str], is_correction: bool, *, is_relationship: bool) -> str:
    """Return the dates that fields (canonical JSON) say, as canonical JSON; empty for none."""
    dates = valid_time.dates_of(fields)
    group = Dated(dates, is_correction, True, None, None)
    if not (group.is_dated if is_relationship else group.is_of_values):
        return ""
    return canonical.encode([sorted(dates), is_correction])


def part_key_of(known: Fold, *, is_relationship: bool) -> str:
    dates = valid_time.dates_of({name: winner.value for name, winner in known.items()})
    is_correction = any(known[name].corrected_at is not None for name, _ in dates)
    return part_key(dict(dates), is_correction, is_relationship=is_relationship)


def _spans(parts: Parts, *, is_relationship: bool) -> dict[str, tuple[int, int]]:
    """Return the period of each part with dates."""
    keys = [key for key in parts if key]
    groups = [_dated(key, parts[key].values()) for key in keys]
    return dict(zip(keys, valid_time.periods(groups, is_relationship=is_relationship), strict=True))


def _dated(key: str, winners: Iterable[Winner]) -> Dated:
    dates, is_correction = canonical.decode(key)
    newest = max((_time(each.rank), each.observation_id) for each in winners)
    return Dated(dates, is_correction, True, newest[0], newest)


def _order(key: str) -> tuple[bool, bool, int, str]:
    """Return the order in which parts are kept: the one without dates, corrections, then the latest dates."""
    dates, is_correction = canonical.decode(key) if key else ([], False)
    spans = [span for _, value in dates if (span := ending.span_of(value))]
    return not key, is_correction, max((span.start for span in spans), default=times.EARLIEST), key


def _has_ended(winner: Winner, end: int, undated: Winner) -> bool:
    is_plain = winner.corrected_at is None and not merged_arrays.is_union(winner.rank)
    return is_plain and end <= _time(undated.rank)


def _time(rank: str) -> int:
    mark = rank.rpartition(";")[2].split(".")
    return ranks.time_of(mark[0] if merged_arrays.is_union(rank) else mark[-1])

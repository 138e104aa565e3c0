"""Histories of appends to lists and reads of them, and what cannot be where a database keeps its word.

Every value is appended once, so a list that was read tells which writes its reader saw, and in which order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

Outcome = Literal["ok", "failed", "unknown"]


@dataclass(frozen=True, slots=True)
class Append:
    """One transaction that appended ``value`` to each of some lists, and what its client heard of it.

    ``failed``: the answer said that nothing was written; ``unknown``: that it is in doubt.
    """

    value: str
    lists: tuple[str, ...]
    start: float
    end: float
    outcome: Outcome = "ok"


@dataclass(frozen=True, slots=True)
class Read:
    """One reading of a list."""

    name: str
    values: tuple[str, ...]
    start: float
    end: float


@dataclass(slots=True)
class History:
    """What clients did; ``final`` is what every list has once all have ended."""

    appends: list[Append] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    final: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def anomalies(self) -> list[str]:
        """Return what is wrong, each with the kind of anomaly first."""
        anomalies = [*self._updates(), *self._readings()]
        # Without those, every reading has a place in the order of writes, and the places must fit together.
        return anomalies or self._circle()

    def _updates(self) -> Iterable[str]:
        for name, values in self.final.items():
            if len(set(values)) != len(values):
                yield f"written twice: {name} {sorted(v for v in values if values.count(v) > 1)[:3]}"
        for append in self.appends:
            present = [name for name in append.lists if append.value in self.final[name]]
            if append.outcome == "ok" and len(present) < len(append.lists):
                yield f"lost update: {append.value} is in {present} and not in all of {append.lists}"
            if append.outcome == "unknown" and 0 < len(present) < len(append.lists):
                yield f"torn: {append.value} is in {present} and not in all of {append.lists}"

    def _readings(self) -> Iterable[str]:
        written = {(name, append.value): append for append in self.appends for name in append.lists}
        acknowledged = defaultdict[str, list[Append]](list)
        for append in self.appends:
            for name in append.lists if append.outcome == "ok" else ():
                acknowledged[name].append(append)
        last = [Read(name, values, float("inf"), float("inf")) for name, values in self.final.items()]
        for read in [*self.reads, *last]:
            for value in read.values:
                append = written.get((read.name, value))
                if append is None or append.outcome == "failed":
                    yield f"dirty read: {value} in {read.name} was refused, or nobody's"
                elif append.start > read.end:
                    yield f"read before it was written: {value}"
            missing = [
                append.value
                for append in acknowledged[read.name]
                if append.end < read.start and append.value not in read.values
            ]
            if missing:
                yield f"stale read: {read.name} at {read.start} without {missing[:3]}"
            if read.values != self.final[read.name][: len(read.values)]:
                yield f"no prefix: {read.values[-3:]} of {read.name} is in another order at the end"

    def _circle(self) -> list[str]:
        """Return what cannot be brought into one order: of every list, of what was read, and of the clock."""
        after = defaultdict[object, set[object]](set)
        by_value = {append.value: append for append in self.appends}
        for values in self.final.values():
            for earlier, later in pairwise(values):
                after[by_value[earlier]].add(by_value[later])
        for read in self.reads:
            final = self.final[read.name]
            if read.values:
                after[by_value[read.values[-1]]].add(read)
            if len(read.values) < len(final):
                after[read].add(by_value[final[len(read.values)]])
        self._add_clock(after)
        return ["in a circle: " + ", ".join(map(str, left[:4]))] if (left := _circular(after)) else []

    def _add_clock(self, after: dict[object, set[object]]) -> None:
        """Add that an event that ended before another began comes before it, by one node for each end."""
        done = [event for event in self.appends if event.outcome == "ok"]
        moments = sorted(
            [(event.end, 1, event) for event in [*done, *self.reads]]
            + [(event.start, 0, event) for event in [*self.appends, *self.reads]],
            key=lambda moment: moment[:2],
        )
        before: object = None
        for number, (_, ends, event) in enumerate(moments):
            if ends:
                moment = ("moment", number)
                after[event].add(moment)
                after[before].add(moment)
                before = moment
            else:
                after[before].add(event)


def _circular(after: dict[object, set[object]]) -> list[object]:
    """Return the nodes that are part of a circle, or come after one."""
    waits = defaultdict[object, int](int)
    for nodes in after.values():
        for node in nodes:
            waits[node] += 1
    ready = [node for node in after if not waits[node]]
    while ready:
        for node in after.get(ready.pop(), ()):
            waits[node] -= 1
            if not waits[node]:
                ready.append(node)
    return [node for node, count in waits.items() if count and not isinstance(node, tuple)]

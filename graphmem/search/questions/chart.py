"""A chart parser: the phrases that words make, by rules that are data (``rules.toml``).

A rule is a line of symbols, such as ``KIND = QUALIFIER before* KIND``: small letters are categories of
words (:mod:`graphmem.search.questions.lexicon`), capitals are phrases. ``?`` marks what may be missing and
``*`` what may stand any number of times. Between two words there is neither punctuation nor a possessive,
but behind ``,`` there may be punctuation, and behind ``'`` there is a possessive. ``-> name`` is the
function that makes the value of a phrase of the values of its parts, and the numbers behind it are the
parts that it takes; without it, the value is that of all parts in a row.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from graphmem import tables


class Edge(NamedTuple):
    """A phrase or a word of some category, from one place up to another, and what it means."""

    symbol: str
    start: int
    end: int
    value: Any = ()


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule: its parts, each with what stands behind it, and the parts that the action takes.

    ``following`` are the parts that may come first, then those that may come behind each part; the number of
    parts stands for the end.
    """

    symbol: str
    parts: tuple[tuple[str, str], ...]
    following: tuple[tuple[int, ...], ...]
    action: str
    taken: tuple[int, ...]


_PART = re.compile(r"(\w+)([',]?)([?*]?)")


def _rule(symbol: str, line: str) -> _Rule:
    pattern, _, action = line.partition("->")
    parts = _PART.findall(pattern)
    following: list[tuple[int, ...]] = []
    for place in range(-1, len(parts)):
        behind = [place] if place >= 0 and parts[place][2] == "*" else []
        for number in range(place + 1, len(parts) + 1):
            behind.append(number)
            if number == len(parts) or not parts[number][2]:
                break
        following.append(tuple(behind))
    name, *taken = action.split() or [""]
    bordered = tuple((part, border) for part, border, _ in parts)
    return _Rule(symbol, bordered, tuple(following), name, tuple(map(int, taken)))


def _grammar(table: Mapping[str, str]) -> Mapping[str, list[tuple[_Rule, int]]]:
    """Return the rules of which a symbol may be the first part, with the number of the part."""
    first: dict[str, list[tuple[_Rule, int]]] = {}
    for symbol, text in table.items():
        for rule in (_rule(symbol, line) for line in text.strip().splitlines()):
            for number in rule.following[0]:
                first.setdefault(rule.parts[number][0], []).append((rule, number))
    return first


_TABLES: Final = tables.read("search/questions/rules")
_RULES: Final = {
    "times": _grammar(_TABLES["times"]),
    "kinds": _grammar({**_TABLES["times"], **_TABLES["kinds"]}),
    "paths": _grammar(_TABLES["paths"]),
}
Action = Callable[..., Any]


class Chart:
    """The phrases of some words: whether punctuation follows each, and which have a possessive ending.

    Args:
        actions: the functions that rules name. Each takes the places at which a phrase begins and ends, and
            the values of its parts; it returns ``None`` where the parts make no such phrase.
    """

    def __init__(
        self, ends: Sequence[bool], possessives: Sequence[bool], actions: Mapping[str, Action]
    ) -> None:
        self._ends, self._possessives, self._actions = ends, possessives, actions
        self._edges: dict[Edge, None] = {}
        self._waiting: dict[tuple[int, str], list[tuple[_Rule, int, int, tuple[Edge, ...]]]] = {}

    def parse(self, grammar: str, words: Iterable[Edge]) -> list[Edge]:
        """Return the phrases and the words."""
        rules = _RULES[grammar]
        for word in sorted(words, key=lambda each: (each.end, -each.start)):
            new = [word]
            while new:
                edge = new.pop()
                if edge not in self._edges:
                    self._edges[edge] = None
                    new += self._completed(edge, rules)
        return list(self._edges)

    def _completed(self, edge: Edge, rules: Mapping[str, list[tuple[_Rule, int]]]) -> list[Edge]:
        """Return the phrases of which a phrase or a word is the last part."""
        new: list[Edge] = []
        parsed = [(rule, number, edge.start, (edge,)) for rule, number in rules.get(edge.symbol, ())]
        parsed += [
            (rule, number, start, (*parts, edge))
            for rule, number, start, parts in self._waiting.get((edge.start, edge.symbol), ())
        ]
        for rule, number, start, parts in parsed:
            for following in rule.following[number + 1]:
                if following == len(rule.parts):
                    value = self._value(rule, start, parts)
                    new += [Edge(rule.symbol, start, edge.end, value)] if value is not None else []
                    continue
                border, end = rule.parts[number][1], edge.end
                is_joined = border == "," or not self._ends[end - 1]
                if is_joined and self._possessives[end - 1] == (border == "'"):
                    place = (end, rule.parts[following][0])
                    self._waiting.setdefault(place, []).append((rule, following, start, parts))
        return new

    def _value(self, rule: _Rule, start: int, parts: tuple[Edge, ...]) -> Any:
        if not rule.action:
            return tuple(value for part in parts for value in part.value)
        values = [parts[number].value for number in rule.taken or range(len(parts))]
        return self._actions[rule.action](start, parts[-1].end, *values)

"""How a sealed instance writes what queries take: ``sealing.toml`` and the headers of queries declare it."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final, NamedTuple

_NUMBERS: Final = frozenset({"INTEGER", "BOOLEAN", "FLOAT", "LIST<INTEGER>", "LIST<FLOAT>"})
_MAPS: Final = frozenset({"MAP", "LIST<MAP>"})
_TEXTS: Final = frozenset({"STRING", "LIST<STRING>"})
_KINDS: Final = frozenset({"clear", "sealed", "equal", "pairs", "fields", "map"})
_WORDS: Final = frozenset({"at", "by", "as"})


class Treatment(NamedTuple):
    """How a value is written.

    Attributes:
        kind: the first word of its declaration; ``sealing.toml`` says what each means.
        of: the kind of what is found by equality, or the name of the parameter with it after ``$``; the map.
        at: the parameter with the id of its node.
        by: the member that it is bound to.
        written_as: the name under which it is written; None: its own.
    """

    kind: str
    of: str = ""
    at: str | None = None
    by: str | None = None
    written_as: str | None = None


class Shape(NamedTuple):
    """The members of a map. ``at``, ``owner``: those that have the id of the node, and whose key seals it."""

    members: Mapping[str, Treatment]
    at: str | None
    owner: str | None


class Declared(NamedTuple):
    """What a query declares: its parameters, and the columns that are opened."""

    params: Mapping[str, Treatment]
    opened: frozenset[str]


CLEAR: Final = Treatment("clear")


class _Table:
    """What ``sealing.toml`` declares."""

    def __init__(self, text: str) -> None:
        table = tomllib.loads(text)
        clear = dict.fromkeys(table["clear"].split(), CLEAR)
        self.names = clear | {name: _treatment(name, each) for name, each in table["names"].items()}
        self.names_in_reads = dict.fromkeys(table["clear_in_reads"].split(), CLEAR) | self.names
        self.shapes: dict[str, Shape] = {}
        for name, members in table["maps"].items():
            self._add(name, members)

    def _add(self, name: str, members: Mapping[str, Any]) -> None:
        treatments = dict(self.names)
        for member, declared in members.items():
            if isinstance(declared, dict):
                self._add(f"{name}.{member}", declared)
                treatments[member] = Treatment("map", f"{name}.{member}")
            elif member[0] != "_":
                treatments[member] = _treatment(f"{name}.{member}", declared)
        self.shapes[name] = Shape(treatments, members.get("_at"), members.get("_owner"))


@cache
def _table() -> _Table:
    return _Table(resources.files("graphmem.cypher").joinpath("sealing.toml").read_text(encoding="utf-8"))


def shape_of(name: str) -> Shape:
    return _table().shapes[name]


@cache
def written_names() -> dict[str, str]:
    """Return the names of members by those under which they are written sealed."""
    each = ((name, how.written_as) for map_ in _table().shapes.values() for name, how in map_.members.items())
    return {written: name for name, written in each if written is not None}


def declared(
    params: Mapping[str, str], returns: Mapping[str, str], mode: str, header: Mapping[str, str]
) -> Declared:
    """Return what a query declares.

    Args:
        params: its parameters, by name, with their types; ``returns``: its columns.
        header: the treatments that its header has.

    Raises:
        ValueError: nothing says how one is treated; the header has one that the query has not.
    """
    table = _table()
    own = {name: _treatment(name, text) for name, text in header.items()}
    if unknown := own.keys() - params.keys() - returns.keys():
        raise ValueError(f"the header seals what the query has not: {', '.join(sorted(unknown))}")
    names = (table.names_in_reads if mode == "read" else table.names) | own
    treatments = {
        name: own.get(name) or (CLEAR if kind in _NUMBERS else
              Treatment("map", name) if kind in _MAPS and name in table.shapes else names.get(name))
        for name, kind in params.items()
    }  # fmt: skip
    columns = {name: names.get(name) for name, kind in returns.items() if kind in _TEXTS}
    missing = sorted(name for name, how in [*treatments.items(), *columns.items()] if how is None)
    if missing:
        raise ValueError(f"nothing declares whether these are sealed (sealing.toml): {', '.join(missing)}")
    if wrong := sorted(
        name for name, how in treatments.items()
        if how is not None and (how.kind == "map") is not (params[name] in _MAPS)
    ):  # fmt: skip
        raise ValueError(
            f"a map is declared as a map of sealing.toml, and nothing else is: {', '.join(wrong)}"
        )
    if loose := sorted(
        name for name, how in treatments.items()
        if how and (how.at or how.kind == "sealed") and how.at not in params
    ):  # fmt: skip
        raise ValueError(f"of which node by `at`: {', '.join(loose)}")
    in_clear = {name for name, how in columns.items() if how is not None and how.kind == "clear"}
    in_clear |= {name for name, kind in returns.items() if kind in _NUMBERS}
    return Declared({name: how for name, how in treatments.items() if how}, frozenset(returns) - in_clear)


def _treatment(name: str, text: str) -> Treatment:
    """Read the declaration of a name; raises ValueError: it is none."""
    if text == CLEAR.kind:
        return CLEAR
    kind, *words = text.split()
    of = words.pop(0) if kind in ("equal", "map") and words else ""
    pairs = dict(zip(words[::2], words[1::2], strict=False))
    if (
        kind not in _KINDS
        or len(words) % 2
        or pairs.keys() - _WORDS
        or (kind in ("equal", "map")) is not bool(of)
    ):
        raise ValueError(f"{name}: {text!r} does not say how it is sealed")
    return Treatment(kind, of, pairs.get("at"), pairs.get("by"), pairs.get("as"))

"""Usual words for kinds of entities, and which of an owner's types some words of a question name.

A word names a type by the type's name in the singular or the plural, by another name that its schema
declares, by the last word of a longer name ("orders" for sales_order), or by a usual word for such things
("people" for person). Only types that the owner has are named.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from graphmem.search.questions import grammar
from graphmem.text import languages, words

TYPE_WORDS: Final = 3
"""Most words of a question that name one type."""
DEADLINES: Final = grammar.words("deadlines")
"""Words for what has a time at which it is due, of whatever type."""
_IRREGULAR: Final = grammar.meanings("irregular")
_USUAL: Final[Mapping[str, tuple[str, ...]]] = grammar.lists("usual_types")
"""The types that a usual word may mean beside the one of its name, best first."""
_SINGULAR_FOREIGN: Final = grammar.meanings("kinds_singular")
_FOREIGN: Final = grammar.meanings("kinds") | _SINGULAR_FOREIGN
_PLURAL_LEAST: Final = 4
"""Letters of a plural that a stem decides."""
LOOKUPS_LIMIT: Final = 32
"""Sets of types whose lookups are kept: those of the owners who search most."""


class KindName(NamedTuple):
    """The types that some words name.

    Attributes:
        types: of the owner; empty for deadlines, which may be of any type.
        singular: the last word in the singular.
        is_plural: whether the words are a plural for sure.
    """

    types: tuple[str, ...]
    singular: str
    is_plural: bool


class _Lookup(NamedTuple):
    """The types of an owner by what they are called.

    ``by_form`` has them by their names, in the singular and as they are written, and by their other names;
    ``by_ending`` by the last word of their names. Types are in the order of their names.
    """

    by_form: Mapping[str, tuple[str, ...]]
    by_ending: Mapping[str, tuple[str, ...]]

    def exact(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Return the types of which the words are a name, in the singular or the plural."""
        *first, last = tokens
        forms = {" ".join([*first, each]) for each in (last, _singular(last))}
        return tuple(sorted({name for form in forms for name in self.by_form.get(form, ())}))


def named_kind(tokens: Sequence[str], types: Collection[str], aliases: Mapping[str, str]) -> KindName | None:
    """Return the types that consecutive words name, ``None`` if they name none.

    Args:
        tokens: one to :data:`TYPE_WORDS` words, as search compares them.
    """
    if not all(tokens) or not all(token.isalnum() for token in tokens):
        return None
    lookup = _lookup(tuple(types), tuple(aliases.items()))
    exact = lookup.exact(tokens)
    if len(tokens) == 1 and tokens[0] in DEADLINES and not exact:
        return KindName((), "deadline", True)
    if not exact and len(tokens) > 1:
        return None
    word, singular = tokens[-1], _singular(tokens[-1])
    is_plural = word in _IRREGULAR or singular != word
    if word in _FOREIGN:
        is_plural = word not in _SINGULAR_FOREIGN
    if exact:
        return KindName(exact, singular, is_plural)
    for meant in (singular, *_USUAL.get(singular, ())):
        if usual := lookup.exact([meant]) or lookup.exact(meant.split("_")):
            return KindName(usual, singular, is_plural)
    ending = lookup.by_ending.get(singular, ())
    return KindName(ending, singular, is_plural) if ending and is_plural else None


@functools.lru_cache(maxsize=LOOKUPS_LIMIT)
def _lookup(types: tuple[str, ...], aliases: tuple[tuple[str, str], ...]) -> _Lookup:
    """Return the types of an owner by what they are called.

    It is made once for a set of types: 200 types take some milliseconds, and a question has dozens of words.
    """
    known = frozenset(types)
    forms = [(" ".join(words.tokens(name)), kind) for name, kind in aliases if kind in known]
    for name in types:
        parts = words.tokens(name)
        forms.append((" ".join(parts), name))
        forms.append((" ".join([*parts[:-1], *map(_singular, parts[-1:])]), name))
    return _Lookup(_grouped(forms), _grouped((name.split("_")[-1], name) for name in types))


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return the second ones of some pairs by the first, each once, sorted."""
    groups: dict[str, set[str]] = {}
    for first, second in pairs:
        groups.setdefault(first, set()).add(second)
    return {first: tuple(sorted(group)) for first, group in groups.items()}


def _singular(word: str) -> str:
    """Return the singular of a plural, else the word: English, and some words of other languages."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word in _FOREIGN:
        return _FOREIGN[word]
    if len(word) < _PLURAL_LEAST or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    candidates = [word[:-1]]
    if word.endswith("ies"):
        candidates = [f"{word[:-3]}y"]
    elif word.endswith(("sses", "shes", "ches", "xes", "zes")):
        candidates = [word[:-2]]
    (stem, *stems) = languages.stems("en", [word, *candidates])
    # The stems of "news" and "new" differ from each other as little as those of a plural and its singular.
    return next((each for each, other in zip(candidates, stems, strict=True) if other == stem), word)

"""Which types words name, and that it is looked up."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.search.kinds import kind_words
from graphmem.search.kinds.kind_words import DEADLINES, KindName, named_kind
from graphmem.text import words

WORDS = (
    "task", "tasks", "sales", "order", "orders", "invoice", "invoices", "person", "people", "bill", "bills",
    "action", "item", "items", "news", "new", "analysis", "analyses", "deadline", "deadlines", "rechnung",
    "rechnungen", "status", "address", "addresses", "company", "companies", "calendar", "event", "meetings",
    "Été", "to-do", "bus", "x",
)  # fmt: skip
NAMES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map("_".join)
TOKENS = st.lists(st.sampled_from([*WORDS, "", "ete"]), min_size=1, max_size=3)


def by_reading_all_types(
    tokens: Sequence[str], types: Collection[str], aliases: Mapping[str, str]
) -> KindName | None:
    """Return what words name, comparing them with each type."""
    if not all(tokens) or not all(token.isalnum() for token in tokens):
        return None

    def exact(listed: Sequence[str]) -> tuple[str, ...]:
        *first, last = listed
        forms = {" ".join([*first, each]) for each in (last, kind_words._singular(last))}
        named: set[str] = set()
        for name in types:
            parts = words.tokens(name)
            singular = [*parts[:-1], *(kind_words._singular(part) for part in parts[-1:])]
            if forms & {" ".join(parts), " ".join(singular)}:
                named.add(name)
        for name, kind in aliases.items():
            if kind in types and " ".join(words.tokens(name)) in forms:
                named.add(kind)
        return tuple(sorted(named))

    if len(tokens) == 1 and tokens[0] in DEADLINES and not exact(tokens):
        return KindName((), "deadline", True)
    singular = kind_words._singular(tokens[-1])
    is_plural = tokens[-1] in kind_words._IRREGULAR or singular != tokens[-1]
    if tokens[-1] in kind_words._FOREIGN:
        is_plural = tokens[-1] not in kind_words._SINGULAR_FOREIGN
    if named := exact(tokens):
        return KindName(named, singular, is_plural)
    if len(tokens) > 1:
        return None
    for meant in (singular, *kind_words._USUAL.get(singular, ())):
        if usual := exact([meant]) or exact(meant.split("_")):
            return KindName(usual, singular, is_plural)
    ending = tuple(sorted(name for name in types if name.split("_")[-1] == singular))
    return KindName(ending, singular, is_plural) if ending and is_plural else None


@given(
    tokens=TOKENS,
    types=st.lists(NAMES, max_size=8, unique=True),
    aliases=st.dictionaries(NAMES, NAMES, max_size=4),
)
def test_words_name_what_a_reading_of_all_types_finds(
    tokens: list[str], types: list[str], aliases: dict[str, str]
) -> None:
    aliases |= dict(zip(aliases, types, strict=False))
    assert named_kind(tokens, types, aliases) == by_reading_all_types(tokens, types, aliases)


def test_the_types_of_an_owner_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    types, aliases = [f"thing_{number}" for number in range(200)], {"gadget": "thing_7"}
    assert named_kind(["gadgets"], types, aliases) == KindName(("thing_7",), "gadget", True)
    monkeypatch.setattr(kind_words, "words", None)
    assert named_kind(["gadget"], list(types), dict(aliases)) == KindName(("thing_7",), "gadget", False)
    assert named_kind(["paper"], list(types), dict(aliases)) is None
    monkeypatch.undo()
    assert named_kind(["gadget"], types, {"gadget": "thing_8"}) == KindName(("thing_8",), "gadget", False)
    assert named_kind(["gadget"], types[:5], aliases) is None

"""The terms of an entity's text: those of its name, of its other names, and of its values."""

from __future__ import annotations

import pytest

from graphmem.search import terms
from graphmem.search.copy_arrays import COUNTED, IN_ALIAS, IN_NAME, EntityText
from graphmem.search.entity_copy import SearchCopy
from graphmem.text import words

Fields = list[tuple[str, str]]
ALIASES = frozenset({"aliases", "nickname"})


@pytest.mark.parametrize(
    ("name", "fields", "text"),
    [
        ("Tom Ek", [("note", '"a b"'), ("aliases", '["Tommy S."]')], "tom ek | a b ~ tommy s"),
        ("Tom Ek", [("aliases", '["Tom Ek"]'), ("name", '"Tom Ek"')], "tom ek"),
        ("Tom Ek", [("note", '"Tommy"'), ("nickname", '"Tommy"')], "tom ek ~ tommy"),
        ("Tom Ek", [("nickname", '"Tommy"'), ("note", '"Tommy"')], "tom ek ~ tommy"),
        ("~ a | b ~ c", [("note", '"~ x | y"')], "a b c | x y"),
        ("", [("nickname", '"Tommy"'), ("note", '"x"')], "tommy | x"),
    ],
)
def test_a_text_tells_other_names_from_other_values(name: str, fields: Fields, text: str) -> None:
    assert words.text_of(name, fields, ALIASES) == text
    assert words.text_of(name, fields) == text.replace("~", "|")


@pytest.mark.parametrize(
    ("text", "name", "aliases", "values"),
    [
        ("tom ek", "tom ek", "", ""),
        ("tom ek | a b | c", "tom ek", "", "a b c"),
        ("tom ek ~ tommy | a b ~ thomas e | c", "tom ek", "tommy thomas e", "a b c"),
        ("tom ek ~ tommy | 2024 05 08", "tom ek", "tommy", "2024 05 08 #m5 #d8 #2024-05-08"),
    ],
)
def test_the_terms_of_a_text(text: str, name: str, aliases: str, values: str) -> None:
    assert [" ".join(part) for part in terms.of_text(text)] == [name, aliases, values]


def test_a_copy_counts_a_term_wherever_it_is_and_says_where() -> None:
    copy = SearchCopy()
    copy.put([EntityText("ent_1", "person", 0, "tom ek ~ tom tom smith | tom smith x", None)])
    for compacted in (False, True):
        if compacted:
            copy.compact()
        postings = copy.postings([["tom"], ["smith"], ["x"], ["ek"]])
        counts = [int(count) for posting in postings for count in posting.counts]
        assert [count & COUNTED for count in counts] == [4, 2, 1, 1]
        assert [bool(count & IN_NAME) for count in counts] == [True, False, False, True]
        assert [bool(count & IN_ALIAS) for count in counts] == [True, True, False, False]

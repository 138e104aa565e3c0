"""Rows of queries as row classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from graphmem.database import left_out, typed_rows
from graphmem.errors import DataDamaged
from tests.support.walks import walk_over


class Item(NamedTuple):
    id: str
    total: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    page: list[Item]
    origin: Item | None
    last: list[Any]
    more: bool


class Shelf(NamedTuple):
    id: str
    first: Item | None
    others: list[Item] | None = None


def test_lists_become_row_classes_where_the_annotation_says_so() -> None:
    row = {"more": True, "last": [1, "a"], "origin": ["b", 2], "page": [["a", 1], ["c"]]}
    assert typed_rows.typed(Answer, row) == Answer([Item("a", 1), Item("c")], Item("b", 2), [1, "a"], True)
    assert typed_rows.typed(Answer, {**row, "origin": None}).origin is None


def test_row_classes_in_row_classes_are_made_as_well() -> None:
    row = {"shelves": [["s", ["a", 1], [["b", 2], ["c"]]], ["t", None]]}
    shelves = [Shelf("s", Item("a", 1), [Item("b", 2), Item("c")]), Shelf("t", None)]
    assert typed_rows.typed(list[Shelf], row) == shelves
    with pytest.raises(TypeError):
        typed_rows.typed(list[Shelf], {"shelves": [["s", ["a", 1], [], "too long"]]})


def test_lists_become_tuples_where_the_annotation_says_so() -> None:
    row = {"items": [["s", [["b", 2], ["c"]]], ["t", []]]}
    annotation = list[tuple[str, list[Item]]]
    assert typed_rows.typed(annotation, row) == [("s", [Item("b", 2), Item("c")]), ("t", [])]
    with pytest.raises(TypeError):
        typed_rows.typed(annotation, {"items": [["s", [], "too long"]]})
    damage = left_out.Damage(drops=True, is_checking=True)
    with left_out.noting(damage):
        typed_rows.typed(annotation, {"items": [["ent_00000000000000000000", 1], ["t", []]]})
        assert typed_rows.typed(list[tuple[str, int]], {"items": [["a", "b"], ["c", 1]]}) == [("c", 1)]
    assert [*damage.reasons] == ["ent_00000000000000000000", left_out.UNNAMED]
    # Lists without rows in them are unpacked as they are.
    assert typed_rows.typed(list[tuple[str, int]], {"items": [["c", 1]]}) == [["c", 1]]


def test_a_row_that_lacks_a_column_or_is_too_long_is_refused() -> None:
    with pytest.raises(KeyError, match="page"):
        typed_rows.typed(Answer, {"more": True, "last": [], "origin": None})
    with pytest.raises(TypeError):
        typed_rows.typed(Answer, {"more": True, "last": [], "origin": None, "page": [["a", 1, 2]]})


def test_the_only_column_of_a_row_needs_no_row_class() -> None:
    assert typed_rows.typed(list[Item], {"items": [["a", 1], ["b"]]}) == [Item("a", 1), Item("b")]
    assert typed_rows.typed(str, {"key": "a"}) == "a"
    assert typed_rows.typed(Item, {"item": ["a", 1]}) == Item("a", 1)
    assert typed_rows.typed(Item, {"item": None}) is None
    assert typed_rows.maker(str, [])[1] == typed_rows.maker(Item, [])[1] == []
    with pytest.raises(TypeError, match="no row class"):
        typed_rows.typed(str, {"key": "a", "total": 1})


def test_a_row_becomes_a_tuple_of_its_columns() -> None:
    row = {"page": [["a", 1], ["b"]], "total": 2}
    assert typed_rows.typed(tuple[list[Item], int], row) == ([Item("a", 1), Item("b")], 2)
    with pytest.raises(ValueError, match="zip"):
        typed_rows.typed(tuple[list[Item], int, int], row)
    with left_out.noting(left_out.Damage(drops=True, is_checking=True)), pytest.raises(DataDamaged):
        typed_rows.typed(tuple[list[Item], int], {**row, "total": "2"})


def test_what_is_no_row_class_is_refused() -> None:
    with pytest.raises(TypeError, match="no row class"):
        typed_rows.columns(dict)


@walk_over(
    "annotation, declared, fitting",
    [
        (str, "STRING", True), (str | None, "STRING", True), (int, "STRING", False), (Any, "INTEGER", True),
        (list[Item], "LIST<LIST>", True), (list[str], "LIST<LIST>", False), (Item, "LIST", True),
        (list[str], "LIST<STRING>", True), (list[int], "LIST<STRING>", False), (list[Any], "LIST", True),
        (dict[str, Any], "MAP", True), (str, "LIST", False), (list[list[str]], "LIST<LIST>", True),
        (list[tuple[str, int]], "LIST<LIST>", True), (tuple[str, int], "STRING", False),
    ],
)  # fmt: skip
def test_an_annotation_is_compared_with_a_header(annotation: Any, declared: str, fitting: bool) -> None:
    assert typed_rows.fits(annotation, declared) is fitting

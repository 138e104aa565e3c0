"""Graphs of the toolset memory within a number of characters."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.mcp.memory_arguments import size, within


def graph(observations: list[str], relations: int) -> dict[str, Any]:
    entities = [{"name": "Ada", "entityType": "person", "observations": observations}]
    links = [{"from": "Ada", "to": f"person {i}", "relationType": "knows"} for i in range(relations)]
    return {"entities": entities, "relations": links}


def test_a_graph_that_fits_is_left_as_it_is() -> None:
    whole = graph(["Likes tea"], 2)
    assert within(whole, size(whole)) is whole
    assert within(whole, None) is whole


@pytest.mark.parametrize("budget", [500, 2_000, 9_000])
@pytest.mark.parametrize(("count", "length", "relations"), [(1, 50_000, 0), (500, 40, 0), (3, 20, 400)])
def test_one_entity_loses_relations_then_its_earliest_texts(
    budget: int, count: int, length: int, relations: int
) -> None:
    whole = graph([f"{i:03} ".ljust(length, "x") for i in range(count)], relations)
    cut = within(whole, budget)
    assert budget // 4 < size(cut) <= budget
    texts = whole["entities"][0]["observations"]
    shown = cut["entities"][0]["observations"]
    if count == 1:
        assert shown[0].endswith("… [50000 characters]")
    else:
        assert shown == texts[len(texts) - len(shown) :]
    assert cut["relations"] == whole["relations"][: len(cut["relations"])]


def test_the_hint_says_that_the_graph_was_cut_before() -> None:
    cut = within({**graph(["x" * 900], 0), "hint": "the graph is larger"}, 700)
    assert cut["hint"].endswith("the graph is larger")

"""The kinds of facts are listed in one module: everything else takes them from there."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

import graphmem
from graphmem import cypher
from graphmem.model import facts

PACKAGE = Path(graphmem.__file__).parent
ADA = "ent_" + "a" * 24
KINDS = get_args(facts.Kind)


def test_the_table_has_a_row_for_each_kind() -> None:
    assert tuple(kind.name for kind in facts.TABLE) == KINDS


def test_kinds_are_grouped_as_stored_data_needs_them() -> None:
    assert facts.VALUE_KINDS == ("value", "correction", "create")
    assert facts.LIFECYCLE_KINDS == ("create", "delete", "restore")
    assert facts.MERGE_KINDS == ("merge", "unmerge")
    assert facts.STATE_KINDS == ("delete", "restore", "unmerge")
    assert [kind for kind in (None, *facts.LIFECYCLE_KINDS) if not facts.is_live(kind)] == ["delete"]


@pytest.mark.parametrize(
    ("kind", "fields", "target"),
    [
        ("merge", {"into": f'"{ADA}"', "reason": '"same"'}, ADA),
        ("merge", {"into": '"Ada"'}, None),
        ("merge", {"into": "1"}, None),
        ("merge", {}, None),
        ("unmerge", {"into": f'"{ADA}"'}, None),
        ("value", {"into": f'"{ADA}"'}, None),
    ],
)
def test_target_is_the_entity_that_a_merge_names(kind: str, fields: dict[str, str], target: str) -> None:
    assert facts.target(kind, fields) == target


def test_no_other_module_lists_kinds() -> None:
    texts = {file: file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py")}
    lists = [
        f"{file.relative_to(PACKAGE)}:{node.lineno}"
        for file, text in texts.items()
        # To read the code of all files takes long.
        if file.name != "facts.py" and sum(kind in text for kind in KINDS) > 1
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.List | ast.Tuple | ast.Set) and _are_kinds(node.elts)
    ]
    assert not lists


def test_no_query_lists_kinds() -> None:
    quoted = "|".join(KINDS)
    lists = [
        file.name
        for file in PACKAGE.rglob("*.cypher")
        if "migrations" not in file.parts
        if re.search(rf"\[\s*'(?:{quoted})'", file.read_text(encoding="utf-8"))
    ]
    assert not lists
    assert "IN ['value', 'correction', 'create']" in cypher.query("entity.replay").text


def _are_kinds(nodes: list[ast.expr]) -> bool:
    texts = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return len(texts) == len(nodes) > 1 and all(text in KINDS for text in texts)

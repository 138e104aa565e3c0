"""The table of facts: each kind has its queries, and the columns of these are the fields that it declares."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

import graphmem
from graphmem import cypher
from graphmem.auth import erasing
from graphmem.dump import records
from graphmem.model import fact_table
from graphmem.model.fact_records import Fact
from graphmem.model.fact_table import PARTS, TABLE, TRANSACTION, Declared
from graphmem.writing import forms
from graphmem.writing.draft import Draft
from graphmem.writing.state import Additions, LookRow, State
from graphmem.writing.write_requests import Touched

QUERIES = Path(graphmem.__file__).parent / "cypher"
WRITTEN = [kind for kind in TABLE if kind.form is not None]
READ = [kind for kind in (TRANSACTION, *PARTS) if (QUERIES / "dump" / f"_{kind.name}.cypher").exists()]


def name_of(kind: Declared) -> str:
    return kind.name


def columns_of(kind: Declared) -> list[str]:
    """Return the columns of the fragment that reads a kind for a dump."""
    text = (QUERIES / "dump" / f"_{kind.name}.cypher").read_text()
    body = " ".join(line for line in text.splitlines() if not line.startswith("//")).strip()
    columns, depth = [""], 0
    for character in body.removeprefix("[").removesuffix("]"):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            columns.append("")
        else:
            columns[-1] += character
    return [column.strip() for column in columns]


@pytest.mark.parametrize("kind", READ, ids=name_of)
def test_what_a_dump_reads_of_a_kind_are_its_fields_in_order(kind: Declared) -> None:
    columns = columns_of(kind)
    assert len(columns) == len(kind.columns)
    for column, name in zip(columns, kind.columns, strict=True):
        plain = re.fullmatch(r"\w+\.(\w+)", column)
        assert plain is None or plain[1] == name


def test_a_dump_reads_the_parts_of_a_transaction_in_their_order() -> None:
    text = (QUERIES / "dump" / "page.cypher").read_text()
    read = re.findall(r"RETURN (?:<dump\._(\w+)>|\[id\])", text)
    assert [name or "repeat" for name in read] == [kind.name for kind in PARTS]
    assert {kind.name for kind in PARTS if kind not in READ} == {"repeat"}


@pytest.mark.parametrize("kind", WRITTEN, ids=name_of)
def test_a_kind_is_written_by_the_least_form_that_it_declares_and_by_no_lesser_one(kind: Declared) -> None:
    if kind.form == "exclude":
        assert kind.parameter in cypher.query("write.exclude").params
        return
    order = ["plain", "linked", "sourced", "whole"]
    names = {form: "write.turn" if form == "whole" else f"write.turn[{form}]" for form in order}
    with_it = [form for form in order if kind.parameter in cypher.query(names[form]).params]
    assert with_it == order[order.index(kind.form or "") :]


@pytest.mark.parametrize("kind", [kind for kind in TABLE if kind.label], ids=name_of)
def test_a_kind_is_erased_by_the_query_that_it_declares(kind: Declared) -> None:
    assert re.search(rf":{kind.label}\b", cypher.query(kind.erased_by).text)
    assert kind.label in erasing.OWNED[kind.erased_by]


def test_the_look_reads_what_can_be_withdrawn() -> None:
    look = cypher.query("write.look")
    for name in fact_table.SUBJECTS:
        assert name in look.params
        assert name in look.returns
        assert name in LookRow._fields
        assert name in {field.name for field in dataclasses.fields(Touched)}


def test_the_audit_has_the_queries_that_the_table_names() -> None:
    assert {name for kind in TABLE for name in kind.audit} <= set(cypher.names())
    assert [kind.name for kind in TABLE if kind.derived and not kind.audit] == []


def test_every_kind_is_a_record_of_dumps_and_has_its_own_names() -> None:
    assert {kind.record for kind in TABLE} <= set(records.KINDS)
    for names in ([kind.name for kind in TABLE], [kind.plural for kind in TABLE]):
        assert len(set(names)) == len(names)
    facts = {kind.name for kind in PARTS if issubclass(kind.record, Fact)}
    assert facts | {"schema"} == {kind.name for kind in WRITTEN}


def test_a_new_format_of_dumps_is_meant() -> None:
    assert fact_table.DUMP_FORMAT == 2
    assert fact_table.no_counts(1) == {"schemas": 0, "transactions": 0, "observations": 0}
    new = {"sources": 0, "interpretations": 0, "exclusions": 0}
    assert fact_table.no_counts(2) == fact_table.no_counts(1) | new


@pytest.mark.parametrize("kind", WRITTEN, ids=name_of)
def test_a_turn_that_adds_a_kind_takes_two_statements_only_where_it_excludes(kind: Declared) -> None:
    both = Additions(facts={kind.parameter: [{}], "exclusions": [{}]})
    assert forms.takes_two(both) is (kind.form == "sourced")
    assert not forms.takes_two(Additions(facts={kind.parameter: [{}]}))


@pytest.mark.parametrize(("held", "limit"), [(State, 15), (Draft, 12)])
def test_no_part_of_a_turn_holds_everything(held: type[State] | type[Draft], limit: int) -> None:
    assert len(dataclasses.fields(held)) <= limit

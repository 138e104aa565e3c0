"""The table of facts: each kind has its queries, and the columns of these are the fields that it declares."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

import graphmem
from graphmem import cypher
from graphmem.dump import records
from graphmem.model import canonical, fact_table, ids, state_hash
from graphmem.model.fact_records import (
    Dismissal,
    Fact,
    InterpretationRecord,
    Renaming,
    SourceRecord,
    Split,
    Withdrawal,
)
from graphmem.model.fact_table import PARTS, TABLE, TRANSACTION, DeclaredKind
from graphmem.writing import RefoldRequest, forms, turn_rows
from graphmem.writing import state as states
from graphmem.writing.draft import Draft
from graphmem.writing.state import Additions, LookRow, State
from graphmem.writing.things import Thing
from graphmem.writing.write_requests import Touched
from tests.support.owned_labels import OWNED

ADA, BYRON = "ent_" + "a" * 24, "ent_" + "b" * 24
QUERIES = Path(graphmem.__file__).parent / "cypher"
WRITTEN = [kind for kind in TABLE if kind.form is not None]
READ = [kind for kind in (TRANSACTION, *PARTS) if (QUERIES / "dump" / f"_{kind.name}.cypher").exists()]


def name_of(kind: DeclaredKind) -> str:
    return kind.name


def columns_of(kind: DeclaredKind) -> list[str]:
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
def test_what_a_dump_reads_of_a_kind_are_its_fields_in_order(kind: DeclaredKind) -> None:
    columns = columns_of(kind)
    assert len(columns) == len(kind.columns)
    for column, name in zip(columns, kind.columns, strict=True):
        plain = re.fullmatch(r"\w+\.(\w+)", column)
        assert plain is None or plain[1] == name


def test_a_dump_reads_the_parts_of_a_transaction_in_their_order() -> None:
    text = (QUERIES / "dump" / "_stretch.cypher").read_text()
    read = re.findall(r"RETURN (?:<dump\._(\w+)>|\[id\])", text)
    assert [name or "repeat" for name in read] == [kind.name for kind in PARTS]
    assert {kind.name for kind in PARTS if kind not in READ} == {"repeat"}


@pytest.mark.parametrize("kind", WRITTEN, ids=name_of)
def test_a_kind_is_written_by_the_least_form_that_it_declares_and_by_no_lesser_one(
    kind: DeclaredKind,
) -> None:
    if kind.form == "exclude":
        assert kind.parameter in cypher.query("write.exclude").params
        return
    order = ["plain", "linked", "sourced", "whole"]
    names = {form: "write.turn" if form == "whole" else f"write.turn[{form}]" for form in order}
    with_it = [form for form in order if kind.parameter in cypher.query(names[form]).params]
    assert with_it == order[order.index(kind.form or "") :]


@pytest.mark.parametrize("kind", [kind for kind in TABLE if kind.label], ids=name_of)
def test_a_kind_is_erased_by_the_query_that_it_declares(kind: DeclaredKind) -> None:
    assert re.search(rf":{kind.label}\b", cypher.query(kind.erased_by).text)
    assert kind.label in OWNED[kind.erased_by]


def test_the_look_reads_what_can_be_withdrawn() -> None:
    look = cypher.query("write.look")
    for name in fact_table.SUBJECTS:
        assert name in look.params
        assert name in look.returns
        assert name in LookRow._fields
        assert name in {field.name for field in dataclasses.fields(Touched)}


def test_every_kind_is_a_record_of_dumps_and_has_its_own_names() -> None:
    assert {kind.record for kind in TABLE} <= set(records.KINDS)
    for names in ([kind.name for kind in TABLE], [kind.plural for kind in TABLE]):
        assert len(set(names)) == len(names)
    facts = {kind.name for kind in PARTS if issubclass(kind.record, Fact)}
    assert facts | {"schema"} == {kind.name for kind in WRITTEN}


def test_a_new_format_of_dumps_is_meant() -> None:
    assert fact_table.DUMP_FORMAT == 3
    assert fact_table.no_counts(1) == {"schemas": 0, "transactions": 0, "observations": 0}
    new = {"sources": 0, "interpretations": 0, "exclusions": 0}
    assert fact_table.no_counts(2) == fact_table.no_counts(1) | new
    assert fact_table.no_counts(3) == fact_table.no_counts(2)


@pytest.mark.parametrize("kind", WRITTEN, ids=name_of)
def test_a_turn_that_adds_a_kind_takes_two_statements_only_where_it_excludes(kind: DeclaredKind) -> None:
    both = Additions(facts={kind.parameter: [{}], "exclusions": [{}]})
    assert forms.takes_two(both) is (kind.form != "exclude")
    assert not forms.takes_two(Additions(facts={kind.parameter: [{}]}))


RUN = ("src_" + "0" * 24, "reader", "1", canonical.digest({}), 0)
EXAMPLES: dict[str, Fact] = {
    "source": SourceRecord.of("o", "0" * 64, 3, "text/plain", "a.txt", file_key="k"),
    "interpretation": InterpretationRecord(
        id=ids.interpretation_id(*RUN), source_id=RUN[0], interpreter="reader", version="1", config="{}",
        run=0, parser="", created_at=1, started_at=1, warnings=[], observations=0, entities=0,
        relationships=0,
    ),
    "exclusion": Withdrawal(id="exc_" + "0" * 24, kind="exclude", subject_kind="source", subject=RUN[0]),
    "dismissal": Dismissal(id="dis_" + "0" * 24, kind="dismiss", entity_a=ADA, entity_b=BYRON),
    "split": Split(
        id="spl_" + "0" * 24, source=ADA, target=BYRON, observations=["obs_" + "0" * 32], subjects=[BYRON]
    ),
    "renaming": Renaming(id="ren_" + "0" * 24, relationship_type="ADORES", name="LOVES"),
}  # fmt: skip


@pytest.mark.parametrize("kind", [kind for kind in WRITTEN if issubclass(kind.record, Fact)], ids=name_of)
def test_a_fact_of_a_request_is_a_row_of_its_turn_and_leaves_the_state_hash(kind: DeclaredKind) -> None:
    state = states.empty("o")
    for things in (state.entities, state.entities_before):
        for entity_id in (ADA, BYRON):
            things.put(Thing(entity_id, "person", version=1, observation_count=1))
    draft = Draft.of(state, RefoldRequest(owner="o", transaction_id="t", entity_ids=()), recorded_at=7)
    draft.add(EXAMPLES[kind.name], "t")
    assert turn_rows.parameters(state)[kind.parameter] == ()
    draft.accept(None)
    params = turn_rows.parameters(state)
    (row,) = params[kind.parameter]
    assert (row["transaction_id"], row["properties"]["owner"]) == ("t", "o")
    assert row["properties"]["recorded_at"] == 7
    assert params["state_hash"] == state_hash.EMPTY
    assert [name for name in fact_table.NO_ROWS if params[name]] == [kind.parameter]
    assert kind.is_subject is bool(state.known)


@pytest.mark.parametrize(("held", "limit"), [(State, 15), (Draft, 12)])
def test_no_part_of_a_turn_holds_everything(held: type[State] | type[Draft], limit: int) -> None:
    assert len(dataclasses.fields(held)) <= limit

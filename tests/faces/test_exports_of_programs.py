"""What other programs export, as it is found once it is stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faces.conftest import Command
from tests.faces.test_sources import with_file
from tests.ingest.goldens import FOLDER
from tests.support.faces import Call

pytestmark = pytest.mark.usefixtures("own_interpretations")


def stored(run: Call, file_name: str) -> dict[str, object]:
    answer = run("store", **with_file((FOLDER / "files" / file_name).read_bytes(), file_name))
    assert answer["interpretation"]["status"] == "completed"
    return answer["interpretation"]


def test_messages_of_slack_are_found_by_search_and_by_context_with_their_people(run: Call) -> None:
    assert "TEXT_NOT_READ" in str(stored(run, "slack.zip"))
    found = run("entities.query", search="crane booked")["entities"]
    assert "https://crane.example.org" in found[0]["snapshot"]["content"]
    (tove,) = run("entities.find", identifier="tove@nygaard.example")["entities"]
    context = run("context.retrieve", question="What is booked for the crane?")
    assert "the crane is booked for <9 am>" in str(context)
    (link,) = run(
        "relationships.list", relationship_type="CREATED_BY", source_entity_id=found[0]["entity_id"]
    )["relationships"]
    assert link["target_entity_id"] == tove["entity_id"]


def test_notes_in_the_trash_of_keep_are_deleted_and_bookings_keep_their_ids(run: Call) -> None:
    stored(run, "keep.json")
    assert run("entities.query", entity_type="note")["entities"] == []
    assert stored(run, "statement.ofx")["entities_created"] == 4
    assert stored(run, "camt.xml")["entities_created"] == 3
    found = run("entities.query", search="Havnekontoret dues")["entities"]
    assert (found[0]["snapshot"]["amount"], found[0]["snapshot"]["external_id"]) == (-312, "E2E-1")


def test_a_structure_that_is_not_read_is_told_by_the_command(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "family.ged"
    file.write_text("0 HEAD\n0 @I1@ INDI\n1 NAME Karen /Lind/\n0 TRLR\n")
    code, stdout, stderr = command("upload", str(file))
    assert (code, "STRUCTURE_NOT_READ" in stderr) == (0, True), stdout + stderr


def test_a_newer_version_of_a_table_changes_its_rows_and_names_what_it_lacks(run: Call) -> None:
    rows = [
        "Invoice No.,Supplier,Amount,Status",
        "INV-1,Tang,10,open",
        "INV-2,Tang,20,open",
        "INV-3,Tang,30,open",
    ]
    first = run("store", **with_file(("\n".join(rows) + "\n").encode(), "invoices.csv"))
    assert "warnings" not in first["interpretation"]
    newer = [rows[0], "INV-1,Tang,10,paid", "INV-2,Tang,20,open", "INV-4,Tang,40,open"]
    answer = run("store", **with_file(("\n".join(newer) + "\n").encode(), "invoices.csv"))
    (warning,) = answer["interpretation"]["warnings"]
    assert f"ROWS_MISSING: 1 of the rows of {first['source_id']}" in warning
    assert "INV-3" in warning
    entities = run("entities.query", entity_type="invoice")["entities"]
    states = {row["snapshot"]["invoice_no"]: row["snapshot"]["status"] for row in entities}
    assert states == {"INV-1": "paid", "INV-2": "open", "INV-3": "open", "INV-4": "open"}
    other = run("store", **with_file(b"Invoice No.,Supplier,Amount\nINV-9,Tang,1\n", "others.csv"))
    assert "warnings" not in other["interpretation"]

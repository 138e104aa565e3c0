"""Who signed a transaction: a dump's `by` is kept, dumped again as it is, and shown nowhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from graphmem.dump import CreateResult, records, verifying
from graphmem.model import fact_records
from graphmem.model.fact_records import Attribution, Record, TransactionRecord
from tests.support.dumps import Dumps, all_answers, forge, store_rich_example
from tests.support.faces import Call

MEMBERS = ("thumbprint", "algorithm", "tier", "issuer", "subject", "token_id", "client", "client_version")
BY = {name: f"canary {name} ☃" for name in MEMBERS}


def signed(made: CreateResult, **by: str) -> Any:
    """Return a dump in which two of three transactions are signed, one of them with all members."""
    count = 0

    def sign(record: Record) -> Record:
        nonlocal count
        if not isinstance(record, TransactionRecord):
            return record
        count += 1
        members = (None, BY | by, {"tier": "software"})[count % 3]
        return record.model_copy(update={"by": members and Attribution(**members)})

    return forge(made, sign)


def attributions(path: Any) -> list[dict[str, Any] | None]:
    with verifying.open_file(path) as file:
        lines = [json.loads(record.line()) for record in verifying.read(file)]
    return [line.get("by") for line in lines if line["record"] == "transaction"]


def test_who_signed_comes_back_as_it_was_and_is_in_no_answer(run: Call, dumps: Dumps) -> None:
    store_rich_example(run)
    before, unsigned = all_answers(run), dumps.create()
    path = signed(unsigned)
    root = verifying.verify(path).manifest.root
    assert root != unsigned.manifest.root
    dumped = attributions(path)
    assert BY in dumped
    assert None in dumped
    dumps.wipe()
    assert dumps.restore(path).conflict_count == 0
    after = all_answers(run)
    assert after == before
    assert "canary" not in json.dumps(after)
    run("server.check_snapshots", auto_fix=True)
    again = dumps.create("again")
    assert (again.manifest.root, attributions(again.path)) == (root, dumped)
    known = dumps.restore(path)
    assert (known.transactions, known.conflict_count) == (0, 0)


def test_another_signature_of_a_known_transaction_is_a_conflict(run: Call, dumps: Dumps) -> None:
    run("store", entities=[{"entity_type": "person", "name": "Ada"}])
    unsigned = dumps.create()
    path = signed(unsigned)
    conflict = dumps.restore(path).conflicts[0].report()
    assert (conflict["what"], conflict["here"]) == ("transaction", {"by": None})
    assert json.loads(conflict["dump"]["by"]) == BY
    assert attributions(dumps.create("again").path) == [None]
    dumps.wipe()
    dumps.restore(path)
    assert dumps.restore(unsigned).conflict_count == 1
    assert dumps.restore(signed(unsigned, tier="hardware")).conflict_count == 1
    assert attributions(dumps.create("again").path) == [BY]


def line(by: Any) -> bytes:
    """Return the record of a transaction with some `by`."""
    members = {
        "record": "transaction", "id": "t", "recorded_at": 1, "operation": "store", "client": "c",
        "agent": "anonymous", "request_hash": "h", "answer": "{}", "by": by,
    }  # fmt: skip
    return fact_records.line(members)


def test_members_that_are_null_are_left_out() -> None:
    assert records.read(line(BY)).line() == line(BY)
    assert records.read(line({"tier": None})).line() == line({})


@pytest.mark.parametrize("by", [[], "x", {"more": "x"}, {"tier": 1}, {"tier": "x" * 2_001}])
def test_what_is_no_signature_is_refused(by: Any) -> None:
    with pytest.raises(ValueError, match="by"):
        records.read(line(by))

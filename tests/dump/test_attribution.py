"""Who wrote a transaction: a dump's `by` is kept, dumped again as it is, and provenance says it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphmem.dump import CreateResult, records
from graphmem.model import fact_records
from graphmem.model.fact_records import Attribution, Record, TransactionRecord
from tests.support.dumps import Dumps, all_answers, store_rich_example
from tests.support.faces import Call

MEMBERS = ("thumbprint", "algorithm", "tier", "issuer", "subject", "token_id", "client", "client_version")
BY = {name: f"canary {name} ☃" for name in MEMBERS}


def signed(dumps: Dumps, made: CreateResult, **by: str) -> Path:
    """Return a dump in which two of three transactions are signed, one of them with all members."""
    count = 0

    def sign(record: Record) -> Record:
        nonlocal count
        if not isinstance(record, TransactionRecord):
            return record
        count += 1
        members = (None, BY | by, {"tier": "software"})[count % 3]
        return record.model_copy(update={"by": members and Attribution(**members)})

    return dumps.forge(made, sign)


def attributions(dumps: Dumps, path: Path) -> list[dict[str, Any] | None]:
    lines = [json.loads(record.line()) for record in dumps.records(path)]
    return [line.get("by") for line in lines if line["record"] == "transaction"]


def test_who_wrote_comes_back_as_it_was_and_provenance_says_it(run: Call, dumps: Dumps) -> None:
    store_rich_example(run)
    before, first = all_answers(run), dumps.create()
    path = signed(dumps, first)
    root = dumps.root(path)
    assert root != dumps.root(first)
    dumped = attributions(dumps, path)
    assert BY in dumped
    assert None in dumped
    dumps.wipe()
    assert dumps.restore(path).conflict_count == 0
    writers = [each["provenance"] for each in run("observations.query", limit=500)["observations"]]
    assert {json.dumps(each["by"]) for each in writers} == {json.dumps(by) for by in dumped}
    assert all((each["agent"] == "unattributed") is (each["by"] is None) for each in writers)
    totals = run("server.stats")["writers"]
    assert sum(each["transactions"] for each in totals) == len(dumped)
    # The token is part of a transaction, and no part of who wrote it.
    assert {"token_id": "canary token_id ☃"} not in [each["by"] for each in totals]
    after = all_answers(run)
    assert without_writers(after) == without_writers(before)
    run("server.check_snapshots", auto_fix=True)
    again = dumps.create("again")
    assert (dumps.root(again), attributions(dumps, again.path)) == (root, dumped)
    known = dumps.restore(path)
    assert (known.transactions, known.conflict_count) == (0, 0)


def without_writers(answer: Any) -> Any:
    """Return an answer without what says who wrote."""
    if isinstance(answer, dict):
        return {
            name: without_writers(part)
            for name, part in answer.items()
            if name not in ("writers", "provenance")
            or not isinstance(part, (list, dict))
            or "client" not in str(part)
        }
    return [without_writers(each) for each in answer] if isinstance(answer, list) else answer


def test_another_signature_of_a_known_transaction_is_a_conflict(run: Call, dumps: Dumps) -> None:
    run("store", entities=[{"entity_type": "person", "name": "Ada"}])
    unsigned = dumps.create()
    path = signed(dumps, unsigned)
    conflict = dumps.restore(path).conflicts[0].report()
    assert (conflict["what"], json.loads(conflict["here"]["by"])["method"]) == ("transaction", "none")
    assert json.loads(conflict["dump"]["by"]) == BY
    assert [each and each["method"] for each in attributions(dumps, dumps.create("again").path)] == ["none"]
    dumps.wipe()
    dumps.restore(path)
    assert dumps.restore(unsigned).conflict_count == 1
    assert dumps.restore(signed(dumps, unsigned, tier="hardware")).conflict_count == 1
    assert attributions(dumps, dumps.create("again").path) == [BY]


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

"""Whoever applies all changes in their order has what reads as of each time answer."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.registry import Services
from graphmem.writing import forms
from tests.reliability.test_withdrawals import FILES, HISTORY, Run, Step
from tests.support.event_loop import Loop
from tests.support.examples import examples
from tests.support.faces import Call, by_runner


def every_change(call: Call, page: int, start: str = "", **wanted: Any) -> list[dict[str, Any]]:
    """Return all changes after a cursor, read in pages of some size."""
    told, cursor, more = [], start, True
    while more:
        answer = call("changes.list", after=cursor, limit=page, values=True, **wanted)
        told += answer["changes"]
        cursor, more = answer["resume_cursor"], "more" in answer
        assert len(answer["changes"]) <= page
    return told


def applied(changes: list[dict[str, Any]], until: str = "9999") -> dict[str, dict[str, Any]]:
    """Return what the changes come to: by entity or relationship that is shown, its fields with winners."""
    shown: dict[str, dict[str, Any]] = {}
    for change in changes:
        subject = change.get("relationship_key") or change.get("entity_id")
        noun, _, action = change["event_type"].partition(".")
        if noun not in ("entity", "relationship") or change["timestamp"] > until:
            continue
        fields = shown.setdefault(subject, {})
        for name, sides in change.get("fields", {}).items():
            assert fields.get(name) == (sides["before"]["value"] if "before" in sides else None), change
            if "after" in sides:
                fields[name] = sides["after"]["value"]
            else:
                del fields[name]
        if action in ("deleted", "merged") or change.get("merged_into"):
            assert not shown.pop(subject), change
    return shown


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("of_writers", [False, True])
def test_all_changes_in_their_order_come_to_what_each_time_shows(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch, of_writers: bool
) -> None:
    @examples(3)
    @given(history=HISTORY, observations_a_transaction=st.sampled_from([2, 2_000]), page=st.integers(1, 40))
    def compare(history: list[Step], observations_a_transaction: int, page: int) -> None:
        monkeypatch.setattr(forms, "STAMPED_LIMIT", observations_a_transaction)
        owner = str(uuid.uuid4())
        call = by_runner(loop, services, owner)
        names = FILES if of_writers else ()
        run = Run(
            call, [0, 0], writers={name: by_runner(loop, services, owner, client=name) for name in names}
        )
        run.begin()
        for place, step in enumerate(history):
            run.take(place, step)
            run.look()
        told = every_change(call, page)
        assert told == every_change(call, 500)
        assert len({each["event_id"] for each in told}) == len(told)
        for moment, entities in run.seen:
            expected = {entity_id: values[3] for entity_id, values in entities.items()}
            entities_then = {
                subject: fields for subject, fields in applied(told, moment).items() if ":" not in subject
            }
            assert entities_then == expected
        links = call("relationships.list", include_deleted=False)["relationships"]
        newest = call("changes.list", limit=500, values=True)
        assert [each["event_id"] for each in reversed(newest["changes"])] == [
            each["event_id"] for each in told
        ]
        # A relationship of a deleted entity is not listed, and one of a merged entity is listed elsewhere.
        told_now = applied(told)
        moved = {each["entity_id"] for each in told if each.get("merged_into")}
        ends = {subject for subject in told_now if ":" not in subject}
        ends -= moved | {each["merged_into"] for each in told if "merged_into" in each}
        of_ends = {key: fields for key, fields in told_now.items() if {*key.split(":")[1:]} <= ends}
        assert of_ends == {
            each["relationship_key"]: each["snapshot"]
            for each in links
            if {*each["relationship_key"].split(":")[1:]} <= ends
        }

    compare()

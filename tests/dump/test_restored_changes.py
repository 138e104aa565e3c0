"""Changes after a restore: one change beside living data, all of them in an empty database."""

from __future__ import annotations

import pytest

from graphmem.errors import CursorOfAnotherDatabase
from tests.dump.test_union import other
from tests.reliability.test_changes import every_change
from tests.support.dumps import Dumps, store_rich_example
from tests.support.faces import Call


def test_a_restore_beside_living_data_is_one_change_and_leaves_cursors_as_they_are(
    run: Call, dumps: Dumps
) -> None:
    store_rich_example(run)
    before = every_change(run, 500)
    dump = dumps.create("rich")
    dumps.wipe()
    with pytest.raises(CursorOfAnotherDatabase):
        run("changes.list", after=before[-1]["cursor"])
    other(run)
    resume = run("changes.list", limit=1)["resume_cursor"]
    dumps.restore(dump)
    run("store", entities=[{"entity_type": "note", "title": "after"}])
    later = every_change(run, 1, resume)
    assert [each["event_type"] for each in later] == ["database.restored", "entity.created"]
    # By time, what was restored stands where it was recorded.
    listed = {each["event_id"] for each in run("changes.list", limit=500)["changes"]}
    assert len(listed & {each["event_id"] for each in before}) > len(before) / 2


def test_a_restore_into_an_empty_database_tells_the_changes_under_their_ids(run: Call, dumps: Dumps) -> None:
    store_rich_example(run)
    before = every_change(run, 500)
    dump = dumps.create("rich")
    dumps.wipe()
    dumps.restore(dump)
    restored = every_change(run, 500)
    without = ("cursor",)
    assert [{**each, **dict.fromkeys(without)} for each in restored] == [
        {**each, **dict.fromkeys(without)} for each in before
    ]
    with pytest.raises(CursorOfAnotherDatabase):
        run("changes.list", after=before[-1]["cursor"])

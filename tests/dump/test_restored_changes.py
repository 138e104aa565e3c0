"""Changes after a restore: one change beside living data, all of them in an empty database."""

from __future__ import annotations

import pytest

from graphmem.errors import CursorOfAnotherDatabase
from tests.dump.test_union import other
from tests.reliability.test_changes import every_change
from tests.support.dumps import Dumps, store_rich_example
from tests.support.faces import Call


@pytest.mark.timeout(500)
def test_a_restore_tells_the_changes_under_their_ids_or_beside_living_data_is_one_change(
    run: Call, dumps: Dumps
) -> None:
    store_rich_example(run)
    before = every_change(run, 500)
    dump = dumps.create("rich")
    dumps.wipe()
    dumps.restore(dump)
    # Into an empty database.
    restored = every_change(run, 500)
    assert [{**each, "cursor": None} for each in restored] == [{**each, "cursor": None} for each in before]
    with pytest.raises(CursorOfAnotherDatabase):
        run("changes.list", after=before[-1]["cursor"])
    dumps.wipe()
    with pytest.raises(CursorOfAnotherDatabase):
        run("changes.list", after=restored[-1]["cursor"])
    # Beside living data, whose cursors stay as they are.
    other(run)
    resume = run("changes.list", limit=1)["resume_cursor"]
    dumps.restore(dump)
    run("store", entities=[{"entity_type": "note", "title": "after"}])
    later = every_change(run, 1, resume)
    assert [each["event_type"] for each in later] == ["database.restored", "entity.created"]
    # By time, what was restored stands where it was recorded.
    listed = {each["event_id"] for each in run("changes.list", limit=500)["changes"]}
    assert len(listed & {each["event_id"] for each in before}) > len(before) / 2

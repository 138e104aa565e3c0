"""Changes after a restore: one change beside living data, all of them in an empty database."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphmem.context import Services
from graphmem.database.typed_rows import Row
from graphmem.errors import CursorOfAnotherDatabase, DatabaseTimeout
from tests.dump.test_union import other
from tests.reliability.test_changes import every_change
from tests.support.dumps import Dumps, store_rich_example
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.faulty_database import Write, faulty_services
from tests.support.worker_pass import fold_all


@pytest.mark.timeout(500)
def test_a_restore_tells_the_changes_under_their_ids_or_beside_living_data_is_one_change(
    run: Call, dumps: Dumps, loop: Loop, services: Services, owner: str
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
    # The dump has withdrawals: nobody who watches waits until they are folded.
    assert "changes_pending" not in run("changes.list", after=resume)
    fold_all(loop, services, run)
    while loop.run(services.writers.refold_withdrawn(owner, 1_000)):
        pass
    later = every_change(run, 1, resume)
    assert [each["event_type"] for each in later] == ["database.restored", "entity.created"]
    # By time, what was restored stands where it was recorded.
    listed, page = set[str](), {"next_cursor": None}
    while "next_cursor" in page:
        page = run("changes.list", limit=500, cursor=page["next_cursor"])
        listed |= {each["event_id"] for each in page["changes"]}
    assert len(listed & {each["event_id"] for each in before}) > len(before) / 2


def test_a_restore_that_is_in_doubt_says_to_restore_again(
    run: Call, loop: Loop, services: Services, owner: str, dumps: Dumps, tmp_path: Path
) -> None:
    run("store", entities=[{"entity_type": "note", "title": "one"}])
    dump = dumps.create()
    dumps.wipe()

    async def unanswered(write: Write) -> list[Row]:
        raise DatabaseTimeout

    settings = services.settings.model_copy(update={"retry_seconds": 0.1})
    with faulty_services(loop, services, settings) as (faulty, database):
        database.faults = [unanswered] * 100
        with pytest.raises(DatabaseTimeout, match="restore the dump again") as raised:
            Dumps(loop, faulty, owner, tmp_path).restore(dump)
    assert raised.value.details["in_doubt"]
    dumps.restore(dump)
    assert len(run("entities.query")["entities"]) == 1

"""A process dies between two of its steps: what it was doing is done whole or not at all, and done once.

Each case starts a process that dies. Of what is done whole or not at all, one or two cases run always: the
last step at which it is not done, or the first at which it is. The others are ``long``, for they
rarely fail alone.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from graphmem import cypher, neo4j_local
from graphmem.checking import audit
from graphmem.context import Services
from graphmem.errors import InternalError, ServiceBusy
from graphmem.operations import server
from graphmem.settings import Settings
from graphmem.worker import make_vectors, refold_stale
from tests.support import failpoints
from tests.support.dumps import Dumps
from tests.support.embedded_neo4j import engine_settings, probe, query
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.forked_services import forks
from tests.support.long_cases import mostly_long
from tests.support.owned_labels import OWNED
from tests.support.service import free_port, until_listening

ITEMS = [{"entity_type": "thing", "name": name, "n": 1} for name in ("a", "b")]
LINK = {"relationship_type": "PART_OF", "source_index": 0, "target_index": 1}
STORE = {"entities": ITEMS, "relationships": [LINK]}
KEY = {"idempotency_key": "k"}
FIELDS = {"name": {"type": "string"}, "n": {"type": "string"}}
SCHEMA = {"entity_type": "thing", "fields": FIELDS}

DONE, NOT = True, False
STORES = {
    "before:owner.create": NOT,
    "after:owner.create": NOT,
    "before:write.look": NOT,
    "after:write.look": NOT,
    "before:write.turn": NOT,
    "after:write.turn": DONE,
    "before:answer": DONE,
}
LOCKED = {
    "before:owner.lock": NOT,
    "after:owner.lock": NOT,
    "after:write.look@2": NOT,
    "after:write.turn": NOT,
    "before:commit": NOT,
    "after:commit": DONE,
}
"""A process looks, takes the lock and looks again where another process wrote for the owner before."""
TAKEN_OVER = ("before:write.turn", "after:write.turn", "before:commit", "after:commit")
"""Where a process dies that writes for an owner for whom another process wrote before: under the lock."""
WORK = (
    "before:meaning.claim", "after:meaning.claim",
    "before:meaning.set", "after:meaning.set", "before:schema.folded", "after:schema.folded",
)  # fmt: skip
RESTORES = ("before:write.turn", "after:write.turn", "before:dump.merged", "after:dump.merged")
REGISTERS = ("before:relationship_type.register", "after:relationship_type.register")
RESTAMPS = ("before:audit.restamp", "after:audit.restamp")
PLACES = ("before:parting.place", "after:parting.place")
SETTLES = ("before:audit.settle", "after:audit.settle")
ERASES = {f"{side}:{step}" for step in ("owner.close", "owner.thin", *OWNED) for side in ("before", "after")}
"""tests/access/test_erasing.py has them."""
INTERPRETS = {
    f"{side}:interpretation.{step}"
    for step in ("enqueue", "claim", "postpone")
    for side in ("before", "after")
}
"""tests/reliability/test_interpretation_queue.py has them."""
EXCLUDES = ("before:write.exclude", "after:write.exclude")
SUPPOSES = ("before:exclusion.suppose", "after:exclusion.suppose")
UNTRIED = {
    f"{side}:{step}"
    for step in (
        "exclusion.stamp",
        "exclusion.settle",
        "passages.set",
        "audit.reread",
        "audit.regain",
    )
    for side in ("before", "after")
}
"""The worker of any service may do these first, so that no process can be made to die there.
tests/faces/test_withdrawing.py and test_passages.py have a worker go on with what a process left undone."""
SUBSCRIPTIONS = {
    f"{side}:{step}"
    for step in (
        "subscription.claim",
        "subscription.create",
        "subscription.note",
        "subscription.remove",
        "subscription.wake",
    )
    for side in ("before", "after")
}
"""tests/access/test_webhooks.py has deliveries that end in the middle, and go on elsewhere."""
LEASES = {"before:owner.lease", "after:owner.lease"}
"""tests/faces/test_jobs.py kills a process that holds a lease; another goes on once it has run out."""
RECEIPTS = {f"{side}:receipt.{step}" for step in ("drop", "store") for side in ("before", "after")}
"""tests/reliability/test_receipts.py has a service that is killed; a statement is done as a whole or not."""
FIRSTS = {
    f"{side}:dump.{step}"
    for step in ("lose", "set_aliases", "set_lost", "settle_first")
    for side in ("before", "after")
}
"""One statement: what is taken again settles again (tests/dump/test_pages.py)."""
SECRETS = {"before:secret.make", "after:secret.make"}
"""tests/faces/test_database_schema.py has them."""
COVERED = {
    *STORES, *(place.partition("@")[0] for place in LOCKED), *WORK, *RESTORES, *REGISTERS, *SETTLES, *ERASES,
    *INTERPRETS, *EXCLUDES, *SUPPOSES, *RESTAMPS, *PLACES, *SECRETS,
}  # fmt: skip
MIGRATES = {"before:script", "after:script"}
"""On a database of its own; see the test of migrations."""


@dataclass
class Doom:
    """Starts processes that die at a place, for one owner."""

    settings: Settings
    folder: Path
    owner: str

    def dies(
        self,
        place: str,
        *words: str,
        worker: Sequence[str] = (),
        again: Callable[[], Any] = lambda: None,
        growth: float = 2.0,
    ) -> None:
        """Have a command, a service unless said, die; ``again`` is called until then, after ``growth`` times
        the time of before: on a busy machine what failed has time to succeed before its tries are used up.

        Args:
            worker: the kinds of work that a service does. It does them for all owners, but for ``interpret``:
                each kind that a test does not need would change what other tests compare.
        """
        words = words or ("serve", "--port", str(free_port()))
        options = {"worker": [*worker], "interprets_for": self.owner, "GRAPHMEM_FAILPOINTS": place}
        process = forks().start(self.settings, self.folder, *words, **options)
        for pause in (growth**number for number in itertools.count()):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(pause)
                break
            again()
        assert process.poll() == failpoints.KILLED, (self.folder / "console").read_text()

    def dies_during_request(self, place: str, path: str, body: dict[str, Any] | None) -> None:
        """Have a service die at a failpoint while it is asked, ``@2`` at its second pass: no answer comes.

        A request without a ``body`` is a GET.
        """
        self.dies_while(place, lambda http: http.get(path) if body is None else http.post(path, json=body))

    def dies_while(self, place: str, send: Callable[[httpx.Client], httpx.Response]) -> None:
        """Have a service die at a failpoint, ``@2`` at its second pass, while ``send`` sends it a request."""
        port = free_port()
        step, _, number = place.partition("@")
        armed = f"{step}=exit@{number or 1}"
        words = ("serve", "--port", str(port))
        process = forks().start(self.settings, self.folder, *words, GRAPHMEM_FAILPOINTS=armed)
        headers = {"Authorization": f"Bearer {self.owner}", "X-Client-Name": "test"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60.0) as http:
            # Not until it is healthy: that answer would be the place at which it dies.
            until_listening(port)
            with pytest.raises(httpx.TransportError):
                send(http)
        assert process.wait() == failpoints.KILLED, (self.folder / "console").read_text()


@pytest.fixture
def doom(settings: Settings, tmp_path: Path, owner: str) -> Doom:
    """Processes that die, working for the owner of the test."""
    return Doom(settings, tmp_path, owner)


def stored_once(rest: Call, done: bool, before: int = 0) -> None:
    """Send the store again that was not answered, twice; it is stored once, and whole."""
    sequence = rest("server.stats")["sequence"]
    assert sequence - before == done
    first = rest("store", **STORE, **KEY)
    assert first["replayed"] is done
    again = rest("store", **STORE, **KEY)
    assert (again["replayed"], again["transaction_id"]) == (True, first["transaction_id"])
    stats = rest("server.stats")
    assert stats["sequence"] - before == 1
    assert stats["total_relationships"] == 1
    assert healthy(rest)


def healthy(rest: Call) -> bool:
    report = rest("server.check_snapshots")
    # A slow machine is answered in parts.
    while cursor := report.get("next_cursor"):
        report = rest("server.check_snapshots", cursor=cursor)
    assert report["healthy"], report
    return report["counts_compared"]


@pytest.mark.parametrize("place", mostly_long(STORES, "after:write.look", "after:write.turn"))
def test_a_store_that_was_not_answered_is_stored_once(doom: Doom, rest: Call, place: str) -> None:
    doom.dies_during_request(place, "/store", {**STORE, **KEY})
    stored_once(rest, STORES[place])


@pytest.mark.parametrize("place", mostly_long(LOCKED, "before:commit", "after:commit"))
def test_a_store_under_the_lock_that_was_not_answered_is_stored_once(
    doom: Doom, rest: Call, place: str
) -> None:
    rest("store", entities=[{"entity_type": "other", "name": "first"}])
    doom.dies_during_request(place, "/store", {**STORE, **KEY})
    stored_once(rest, LOCKED[place], before=1)


def test_what_was_folded_again_for_a_store_leaves_no_half_of_it(doom: Doom, rest: Call) -> None:
    rest("store", entities=ITEMS)
    rest("schemas.register", schema=SCHEMA)
    # The first turn folds again, and the second would store.
    doom.dies_during_request("after:write.turn", "/store", {**STORE, **KEY})
    stored_once(rest, NOT, before=2)


@pytest.mark.parametrize("place", mostly_long(TAKEN_OVER, "before:commit"))
def test_a_schema_that_was_not_answered_is_registered_once(doom: Doom, rest: Call, place: str) -> None:
    rest("store", entities=ITEMS)
    doom.dies_during_request(place, "/register_schema", {"schema": SCHEMA, **KEY})
    assert rest("schemas.register", schema=SCHEMA, **KEY)["replayed"] is (place == "after:commit")
    assert rest("server.stats")["sequence"] == 2
    assert rest("entities.query")["entities"][0]["snapshot"]["n"] == "1"


@pytest.mark.parametrize("place", mostly_long(EXCLUDES, "after:write.exclude"))
def test_a_withdrawal_that_was_not_answered_is_made_once(doom: Doom, rest: Call, place: str) -> None:
    source_id = rest("store", **STORE, file_content="YWJj")["source_id"]
    doom.dies_during_request(place, f"/sources/{source_id}/withdraw", KEY)
    answer = rest("sources.withdraw", source_id=source_id, **KEY)
    # Another process wrote for the owner before, so it is written under the lock and not committed yet.
    assert answer["replayed"] is False
    stats = rest("server.stats")
    assert (stats["sequence"], stats["total_entities"]) == (2, 0)
    assert healthy(rest)


@pytest.mark.parametrize("place", mostly_long(SUPPOSES, "after:exclusion.suppose"))
def test_a_plan_of_a_withdrawal_that_was_cut_short_changes_nothing(
    doom: Doom, rest: Call, place: str
) -> None:
    source_id = rest("store", **STORE, file_content="YWJj")["source_id"]
    before = rest("server.stats")
    doom.dies_during_request(place, f"/sources/{source_id}/withdraw", {"dry_run": True})
    assert rest("server.stats") == before
    assert healthy(rest)
    assert not rest("sources.withdraw", source_id=source_id)["replayed"]
    assert rest("server.stats")["total_entities"] == 0


@pytest.mark.parametrize("place", mostly_long(TAKEN_OVER, "after:commit"))
def test_a_merge_that_was_not_answered_is_merged_once(doom: Doom, rest: Call, place: str) -> None:
    source_id, target_id = (item["entity_id"] for item in rest("store", **STORE)["entities"])
    body = {"source_entity_id": source_id, "target_entity_id": target_id, **KEY}
    doom.dies_during_request(place, "/entities/merge", body)
    assert rest("entities.merge", **body)["replayed"] is (place == "after:commit")
    assert rest("server.stats")["sequence"] == 2
    assert healthy(rest)


@pytest.mark.parametrize("place", mostly_long(REGISTERS, "after:relationship_type.register"))
def test_a_type_that_was_not_answered_is_registered_once(
    doom: Doom, rest: Call, loop: Loop, services: Services, place: str
) -> None:
    name = "CUT_SHORT"
    try:
        doom.dies_during_request(place, "/relationship_types", {"relationship_type": name})
        answer = rest("relationship_types.register", relationship_type=name)
        assert answer["created"] is place.startswith("before")
        assert not rest("relationship_types.register", relationship_type=name)["created"]
    finally:
        loop.run(services.database.script("MATCH (n:RelationshipType) WHERE n.name = $n DELETE n", n=name))


@pytest.mark.parametrize("place", mostly_long(SETTLES, "after:audit.settle"))
def test_counters_that_were_being_set_right_are_right_or_wrong_as_they_were(
    doom: Doom, rest: Call, loop: Loop, services: Services, owner: str, place: str
) -> None:
    rest("store", **STORE)
    wrong = "MATCH (n:Count {owner: $o, type: 'thing'}) SET n.total = 9"
    loop.run(services.database.script(wrong, o=owner))
    doom.dies_during_request(place, "/health_check_snapshots", {"auto_fix": True})
    assert checked(rest, loop, services, owner)["healthy"] is place.startswith("after")
    rest("server.check_snapshots", auto_fix=True)
    assert healthy(rest)
    assert rest("server.stats")["total_entities"] == 2


def test_a_check_that_was_killed_goes_on_with_its_cursor(
    doom: Doom, rest: Call, loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest("store", **STORE)
    with monkeypatch.context() as patch:
        patch.setattr(server, "CHECK_SECONDS", 0.0)
        patch.setattr(audit, "STRETCH_SUBJECTS", 1)
        first = rest("server.check_snapshots")
        assert (first["checked"], first["total"]) == (1, 3)
    cursor = {"cursor": first["next_cursor"]}
    doom.dies_during_request("before:audit.nodes", "/health_check_snapshots", cursor)
    with pytest.raises(ServiceBusy):
        rest("server.check_snapshots", **cursor)
    answer = checked(rest, loop, services, owner, **cursor)
    assert (answer["healthy"], answer["checked"], answer["counts_compared"]) == (True, 3, True)


def checked(rest: Call, loop: Loop, services: Services, owner: str, **arguments: Any) -> dict[str, Any]:
    """Check the snapshots as if the lease of a killed process had run out."""
    loop.run(services.database.script("MATCH (n:Owner {id: $o}) SET n.leased_until = 0", o=owner))
    return rest("server.check_snapshots", **arguments)


@pytest.mark.parametrize("place", mostly_long(RESTAMPS, "after:audit.restamp"))
def test_stamps_that_were_being_mended_are_as_they_were(
    doom: Doom, rest: Call, loop: Loop, services: Services, owner: str, place: str
) -> None:
    rest("store", **STORE)
    wrong = (
        "MATCH (o:Observation)<-[seen:OBSERVED]-(:History) WHERE o.owner = $o AND o.entity_id IS NOT NULL "
        "SET o.excluded = [o.recorded_at], seen.excluded = [o.recorded_at]"
    )
    loop.run(services.database.script(wrong, o=owner))
    doom.dies_during_request(place, "/health_check_snapshots", {"auto_fix": True})
    # The statement is part of a transaction, which is not committed yet.
    assert not checked(rest, loop, services, owner)["healthy"]
    rest("server.check_snapshots", auto_fix=True)
    assert healthy(rest)
    assert rest("server.stats")["total_entities"] == 2


@pytest.mark.parametrize("place", mostly_long(PLACES, "after:parting.place"))
def test_people_who_were_being_parted_are_parted_once(doom: Doom, rest: Call, place: str) -> None:
    ann, bo = (
        {"entities": [{"entity_type": "person", "name": name, "email": "post@berg.example"}]}
        for name in ("Ann Berg", "Bo Berg")
    )
    alone = rest("store", **ann)["entities"][0]["entity_id"]
    doom.dies_during_request(place, "/store", {**bo, **KEY})
    # The statement is part of a transaction, which is not committed yet.
    assert "parted_into" not in rest("entities.get", entity_id=alone)
    assert healthy(rest)
    assert rest("store", **bo, **KEY)["replayed"] is False
    assert len(rest("entities.get", entity_id=alone)["parted_into"]) == 2
    assert healthy(rest)


@pytest.mark.parametrize("place", mostly_long(WORK, "after:meaning.claim", "after:schema.folded"))
def test_work_that_was_cut_short_is_finished_by_the_next(
    doom: Doom, rest: Call, loop: Loop, services: Services, owner: str, place: str
) -> None:
    rest("store", **STORE)

    def make_work() -> None:  # Workers of other tests serve every owner, and may do it first.
        if "schema" in place:
            rest(
                "schemas.register", schema={**SCHEMA, "fields": {**FIELDS, f"x{uuid.uuid4().hex}": "string"}}
            )
        elif "meaning.set" in place:
            another = "MATCH (n:Meaning) WHERE n.owner = $o SET n.model = 'another'"
            loop.run(services.database.script(another, o=owner))

    make_work()
    work = ["fold"] if "schema" in place else ["vector"]
    doom.dies(f"{place}=exit", worker=work, again=make_work, growth=1.0)
    for _ in range(200):
        # Other tests leave work behind in this database, and it is taken in no order.
        if not loop.run(refold_stale(services, owner)) and not rest("server.stats")["types_pending"]:
            break
    while loop.run(make_vectors(services, owner)):
        pass
    stats = rest("server.stats")
    assert (stats["types_pending"], stats["semantic_pending"]) == ([], 0)
    assert healthy(rest)


@pytest.mark.parametrize("place", mostly_long(RESTORES, "after:write.turn"))
def test_a_restore_that_was_cut_short_goes_on_where_it_is_begun_again(
    doom: Doom, rest: Call, loop: Loop, services: Services, owner: str, tmp_path: Path, place: str
) -> None:
    source_id, target_id = (item["entity_id"] for item in rest("store", **STORE)["entities"])
    rest("entities.merge", source_entity_id=source_id, target_entity_id=target_id)
    rest("entities.unmerge", source_entity_id=source_id)
    kept = rest("server.stats")
    dumps = Dumps(loop, services, owner, tmp_path)
    made = dumps.create()
    dumps.wipe()
    # Not at the first turn: some of it is there already.
    nth = 2 if "turn" in place else 1
    doom.dies(f"{place}=exit@{nth}", "backup", "restore", str(made.path))
    dumps.restore(made)
    assert rest("server.stats")["state_hash"] == kept["state_hash"]
    assert rest("server.stats")["sequence"] == kept["sequence"]
    assert healthy(rest)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_migrations_that_are_cut_short_are_finished_by_the_next_start(
    tmp_path: Path, loop: Loop, services: Services
) -> None:
    own = engine_settings(tmp_path / "data", cache_dir=os.environ.get("GRAPHMEM_CACHE_DIR"))
    (tmp_path / "data").mkdir()
    schema = "SHOW INDEXES YIELD name, state RETURN name, state ORDER BY name"
    try:
        neo4j_local.ensure(own, probe)
        statement, code = 0, failpoints.KILLED
        while code == failpoints.KILLED:
            statement += 1
            for side in ("before", "after"):
                armed: dict[str, Any] = {"GRAPHMEM_FAILPOINTS": f"{side}:script=exit@{statement}"}
                code = forks().start(own, own.data_path, "stats", **armed).wait()
        assert code == 0, (own.data_path / "console").read_text()
        assert statement > 50
        made = query(neo4j_local.info(own), schema)
    finally:
        neo4j_local.stop(own)
    assert [row for row in made if row["state"] != "ONLINE"] == []
    assert made == loop.run(services.database.script(schema))


# The places


def test_there_is_no_step_that_writes_at_which_nothing_died() -> None:
    # What is written of accounts and OAuth is one statement each, and no step follows it. A wipe of a sandbox
    # is ended between its steps in tests/access/test_public_sandbox.py; what follows the erasing of one
    # entity is what follows a wipe.
    # An exchange of copies is ended between its pages in tests/access/test_copies.py.
    rooms = ("account.", "copy.", "oauth.", "sandbox.", "owner.erase_entity")
    names = [name for name in cypher.names() if not name.startswith(rooms)]
    steps = [failpoints.step_of(name) for name in names if cypher.query(name).mode == "write"]
    steps += [failpoints.COMMIT, failpoints.SCRIPT]
    places = {f"{side}:{step}" for step in steps for side in ("before", "after")} | {"before:answer"}
    assert places <= COVERED | MIGRATES | UNTRIED | SUBSCRIPTIONS | LEASES | RECEIPTS | FIRSTS
    assert set(failpoints.places()) >= COVERED


@pytest.mark.parametrize("text", ["x", "before:nothing=exit", "after:answer=exit", "before:commit=fall"])
def test_what_is_no_failpoint_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no failpoint"):
        failpoints.arm(text)


def test_failpoints_at_one_place_count_their_passes_apart() -> None:
    failpoints.arm("before:commit=raise@1,before:commit=raise@2")
    for _ in range(2):
        with pytest.raises(InternalError):
            failpoints.reach("before", "commit")
    failpoints.reach("before", "commit")
    failpoints.arm()


def test_a_fault_of_ours_after_a_write_is_told_and_settled_by_the_key(rest: Call) -> None:
    rest("store", entities=[{"entity_type": "other", "name": "first"}])
    failpoints.arm("after:write.turn=raise")
    with pytest.raises(Exception, match="failpoint"):
        rest("store", **STORE, **KEY)
    failpoints.arm()
    stored_once(rest, DONE, before=1)

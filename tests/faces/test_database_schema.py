"""What a database holds beside owners: how a start migrates it, and what ``graphmem doctor`` says of it.

These tests change what all owners share, so they have a database of their own (``OF_OWN``). After each
migration Neo4j plans every statement anew, but in an ordinary run; most of them are ``long``.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, LiteralString
from urllib.parse import parse_qsl, urlsplit

import pytest
import structlog

from graphmem.api.app import create_app
from graphmem.auth.file_urls import FileUrls
from graphmem.context import Services
from graphmem.database import migrations
from graphmem.database.driver import Database
from graphmem.errors import MigrationRefused
from graphmem.model import identity, identity_rules, person_names, reduction, times
from graphmem.runtime import open_services
from graphmem.settings import Settings
from graphmem.text import identifiers
from graphmem.writing import parting
from graphmem.writing.state import State
from tests.reliability.test_failpoints import Doom, doom
from tests.support import faces
from tests.support.actors import always, full_actor
from tests.support.database import keeps_plans
from tests.support.doctor import Examine, failed_findings
from tests.support.event_loop import Loop
from tests.support.examples import LONG
from tests.support.faces import Call
from tests.support.long_cases import mostly_long

__all__ = ["doom"]


@pytest.fixture(scope="module")
def settings(own_settings: Settings) -> Settings:
    """Settings that reach the database of these tests."""
    return own_settings


@pytest.fixture(scope="module")
def services(settings: Settings, loop: Loop) -> Iterator[Services]:
    """The services over that database."""
    opened = open_services(settings)
    yield loop.run(opened.__aenter__())
    loop.run(opened.__aexit__(None, None, None))


@pytest.fixture(autouse=True)
def cleared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note that the plans of the database are cleared; in an ordinary run they stay, as they are right."""
    script, asked = Database.script, list[str]()

    async def noted(self: Database, text: Any, /, **params: Any) -> list[dict[str, Any]]:
        if "clearQueryCaches" not in text:
            return await script(self, text, **params)
        asked.append(text)
        return [] if keeps_plans() else await script(self, text, **params)

    monkeypatch.setattr(Database, "script", noted)
    return asked


@pytest.fixture
def rest(loop: Loop, services: Services, owner: str) -> Call:
    """The operations over REST, on that database."""
    return faces.by_rest(loop, create_app(services, always(full_actor(owner))), owner)


# Migrations


def test_migrations_can_be_applied_twice(loop: Loop, services: Services, cleared: list[str]) -> None:
    assert loop.run(migrations.apply(services.database)) == []
    assert cleared == []


@pytest.fixture
def before_one_search(loop: Loop, services: Services) -> Iterator[Services]:
    """The services over a database as the release before the indexes of searches were dropped left it."""
    script = services.database.script

    async def put_back() -> None:
        for migration in migrations.shipped():
            for statement in migration.statements:
                if re.search(r"CREATE .*INDEX (meaning_vector|meaning_fresh|entity_words) ", statement):
                    await script(statement)
        await script("MATCH (n:Migration {version: 38}) DELETE n")

    loop.run(put_back())
    yield services
    loop.run(migrations.apply(services.database))


@pytest.mark.long
def test_the_indexes_of_searches_of_an_earlier_release_are_dropped(
    loop: Loop, before_one_search: Services, owner: str
) -> None:
    """What it kept for them stays on nodes that are not written again, and counts for nothing."""
    services = before_one_search
    run, script = faces.by_runner(loop, services, owner), services.database.script
    made = run(
        "store", entities=[{"entity_type": "note", "text": text} for text in ("Milk", "INV-2024-001 is paid")]
    )
    kept: LiteralString = (
        "MATCH (n:Meaning {owner: $owner}) SET n:Vector, n.vector = [1.0, 2.0], n.fresh = 'note'"
    )
    loop.run(script(kept, owner=owner))
    assert [each.version for each in loop.run(migrations.apply(services.database))] == [38]
    names = {row["name"] for row in loop.run(script("SHOW INDEXES YIELD name RETURN name"))}
    assert not names & {"entity_words", "meaning_vector", "meaning_fresh"}
    milk, invoice = (entity["entity_id"] for entity in made["entities"])
    for search, entity_id in (("milk", milk), ("INV-2024-001", invoice)):
        assert [hit["entity_id"] for hit in run("entities.query", search=search)["entities"]] == [entity_id]
    assert run("server.check_snapshots")["healthy"]
    run("entities.correct", entity_id=milk, field="text", value="Milk and eggs")
    left: LiteralString = (
        "MATCH (n:Meaning {owner: $owner}) WHERE n:Vector OR n.vector IS NOT NULL OR n.fresh IS NOT NULL "
        "RETURN n.entity_id AS id"
    )
    assert loop.run(script(left, owner=owner)) == [{"id": invoice}]
    assert run("server.check_snapshots")["healthy"]


def test_whoever_opens_an_older_database_is_told_to_rebuild(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch, cleared: list[str]
) -> None:
    newer = migrations.Migration(migrations.shipped()[-1].version + 1, "empty", "0" * 64, ())
    known = (*migrations.shipped(), newer)
    monkeypatch.setattr(migrations, "shipped", lambda: known)

    def opened() -> list[str]:
        try:
            with structlog.testing.capture_logs() as logged:
                assert loop.run(migrations.apply(services.database)) == [newer]
                assert loop.run(migrations.apply(services.database)) == []
        finally:
            query = "MATCH (n:Migration {version: $version}) DELETE n"
            loop.run(services.database.script(query, version=newer.version))
        return [line["event"] for line in logged]

    assert not opened()  # It needs nothing of an entity that an older one did not write.
    assert len(cleared) == 1
    monkeypatch.setattr(migrations, "LAST_NEEDING_REBUILD", newer.version)
    (event,) = opened()
    assert "graphmem rebuild" in event


def test_indexes_that_are_being_filled_are_waited_for(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = services.database
    looks = [[{"name": "entity_by_type", "state": "POPULATING", "percent": 7.0}]] * 3
    script_of_database = database.script

    async def script(text: Any, /, **params: Any) -> list[dict[str, Any]]:
        return looks.pop() if "SHOW INDEXES" in text and looks else await script_of_database(text, **params)

    monkeypatch.setattr(database, "script", script)
    monkeypatch.setattr(migrations, "REPORT_SECONDS", 0.0)
    with structlog.testing.capture_logs() as logged:
        loop.run(migrations._wait_for_indexes(database))
    assert not looks
    assert [line["entity_by_type"] for line in logged] == ["7 %"] * 3
    looks.append([{"name": "entity_by_type", "state": "FAILED", "percent": 0.0}])
    with pytest.raises(MigrationRefused, match="could not make the index entity_by_type"):
        loop.run(migrations._wait_for_indexes(database))


def test_a_database_of_a_newer_version_is_refused(loop: Loop, services: Services) -> None:
    database = services.database
    loop.run(database.script("CREATE (:Migration {version: 9999, checksum: 'x'})"))
    try:
        with pytest.raises(Exception, match="newer graphmem"):
            loop.run(migrations.apply(database))
    finally:
        loop.run(database.script("MATCH (n:Migration {version: 9999}) DELETE n"))


def test_an_edited_migration_is_refused(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *rest = migrations.shipped()
    edited = (migrations.Migration(first.version, first.name, "0" * 64, first.statements), *rest)
    monkeypatch.setattr(migrations, "shipped", lambda: edited)
    with pytest.raises(Exception, match="not the one that was applied"):
        loop.run(migrations.apply(services.database))


def test_a_start_on_an_older_database_runs_the_batches_and_one_on_a_new_database_does_not(
    run: Call, loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = services.database.script
    run("store", entities=[{"entity_type": "spaceship", "name": "Heart of Gold"}])
    names: LiteralString = "MATCH (n:Entity {owner: $owner}) RETURN n.name AS name"
    before = loop.run(script(names, owner=owner))
    loop.run(script("MATCH (n:Entity) REMOVE n.name"))
    loop.run(script("MATCH (n:Migration {version: 11}) DELETE n"))
    assert [each.version for each in loop.run(migrations.apply(services.database))] == [11]
    assert loop.run(script(names, owner=owner)) == before == [{"name": "Heart of Gold"}]

    async def none_applied(database: object) -> dict[int, str]:
        return {}

    batches: list[object] = []

    async def note(*arguments: object) -> None:
        batches.append(arguments)

    last = tuple(each for each in migrations.shipped() if each.version == 11)
    monkeypatch.setattr(migrations, "shipped", lambda: last)
    monkeypatch.setattr(migrations, "applied", none_applied)
    monkeypatch.setattr(migrations, "_in_batches", note)
    assert loop.run(migrations.apply(services.database)) == list(last)
    assert batches == []


def migrated_again(loop: Loop, services: Services, owner: str, *versions: int) -> None:
    """Apply migrations once more, and do the work that they leave to the worker."""
    loop.run(services.database.script("MATCH (n:Migration) WHERE n.version IN $v DELETE n", v=versions))
    assert [each.version for each in loop.run(migrations.apply(services.database))] == [*versions]
    loop.run(services.writers.refold_withdrawn(owner, sys.maxsize))


def test_the_node_of_an_owner_of_the_first_versions_gets_a_key_by_a_migration(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    run("store", entities=[{"entity_type": "spaceship", "name": "Heart of Gold"}])
    script = services.database.script
    loop.run(script("MATCH (n:Owner {id: $owner}) REMOVE n.node_key", owner=owner))
    assert [each["id"] for each in run("server.check_snapshots")["stale_snapshots"]] == ["owner"]
    migrated_again(loop, services, owner, 43)
    assert run("server.check_snapshots")["healthy"]


def test_a_checksum_of_the_first_versions_is_no_damage(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    run("store", entities=[{"entity_type": "spaceship", "name": "Heart of Gold"}])
    script = services.database.script
    (row,) = loop.run(
        script(
            "MATCH (n:Entity {owner: $owner}) RETURN n.version, n.fields, n.values, n.winners, n.own",
            owner=owner,
        )
    )
    former = reduction.checksum(*row.values())
    change: LiteralString = "MATCH (n:Entity {owner: $owner}) SET n.check = $check"
    loop.run(script(change, owner=owner, check=former))
    assert run("server.check_snapshots")["healthy"]
    loop.run(script(change, owner=owner, check=former + 1))
    (stale,) = run("server.check_snapshots")["stale_snapshots"]
    assert [each["what"] for each in stale["differences"]] == ["check"]


MILLER = {"entity_type": "person", "name": "Robert Miller"}
WITHOUT_KEYS: tuple[LiteralString, ...] = (
    "MATCH (key:Identifier {owner: $owner})-[edge:IDENTIFIES]->() "
    "WHERE key.kind STARTS WITH 'key:' DELETE edge",
    "MATCH (a:Entity {owner: $owner})-[edge:MERGED_INTO]->() DELETE edge "
    "SET a.merged_into = null, a.merged_by = null, a.listed = a.type, a.unlisted = null",
)


@pytest.mark.long
def test_what_was_stored_before_there_were_rules_is_merged_by_them(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    by_name, by_email = (
        run("store", entities=[{**MILLER, **more}])["entities"][0]["entity_id"]
        for more in ({}, {"email": "robert@example.org"})
    )
    for statement in WITHOUT_KEYS:
        loop.run(services.database.script(statement, owner=owner))
    assert run("entities.get", entity_id=by_name)["entity_id"] == by_name
    migrated_again(loop, services, owner, 21)
    assert run("entities.get", entity_id=by_name)["entity_id"] == by_email
    again = run("store", entities=[{**MILLER, "note": "again"}])["entities"][0]
    assert (again["entity_id"], again["resolved_by"]) == (by_email, "rule")


@pytest.mark.long
def test_what_was_stored_under_another_id_than_its_values_make_today_joins_the_person(
    run: Call, loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contacts, before this was another name of person; a first and a last name, before these were a name."""
    rule = identity.rule("person")
    ada = {"first_name": "Ada", "last_name": "King", "role": "countess"}
    contacts = [{**MILLER, "entity_type": "contact", "phone": "1"}, {"entity_type": "contact", "name": "Zed"}]
    with monkeypatch.context() as patch:
        patch.setattr(identity, "SHIPPED_ALIASES", {})
        patch.setattr(identity_rules.OwnRule, "_same", lambda *_: None)
        stored = run("store", entities=contacts)["entities"]
        patch.setitem(identity.SHIPPED, "person", ((identity.CONTENT,),))
        stored += run("store", entities=[{"entity_type": "person", **ada}])["entities"]
        at = run("server.stats")["last_updated"]
        patch.setitem(identity.SHIPPED, "person", rule)
        persons = [{**MILLER, "email": "robert@example.org"}, {"entity_type": "person", "name": "Ada King"}]
        miller, king = (each["entity_id"] for each in run("store", entities=persons)["entities"])
    identity_rules.own_rule.cache_clear()
    identity_rules.borne.cache_clear()
    contact, zed, by_content = (each["entity_id"] for each in stored)
    assert stored[2]["identity_basis"] == "content"
    migrated_again(loop, services, owner, 30)
    assert run("entities.get", entity_id=contact)["entity_id"] == miller
    assert run("entities.get", entity_id=by_content)["entity_id"] == king
    assert run("entities.get", entity_id=zed)["entity_type"] == "contact"
    snapshot = run("entities.get", entity_id=miller)
    assert (snapshot["entity_type"], snapshot["snapshot"]["phone"]) == ("person", "1")
    # The merge is dated: it holds since both were there.
    assert run("entities.snapshot", entity_id=contact, at_ingested=at)["entity_id"] == contact
    assert run("server.check_snapshots")["stale_snapshots"] == []
    # What says contact is a person now, and a stored contact of its name joins it at once.
    new = run("store", entities=[{"entity_type": "contact", "name": "Zed", "note": "again"}])["entities"][0]
    assert (new["entity_type"], run("entities.get", entity_id=zed)["entity_id"]) == (
        "person",
        new["entity_id"],
    )
    page = run("entities.query", filters={"entity_type": "contact"})
    assert {each["entity_id"] for each in page["entities"]} == {miller, king, new["entity_id"]}
    run("entities.unmerge", source_entity_id=contact)
    assert run("entities.get", entity_id=contact)["entity_id"] == contact
    assert run("server.check_snapshots")["stale_snapshots"] == []


@pytest.mark.long
def test_people_who_were_one_by_an_address_are_parted_after_the_migration(
    run: Call, loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = [
        {**MILLER, "name": name, "email": "post@miller.example"} for name in ("Ann Miller", "Robert Miller")
    ]
    with monkeypatch.context() as patch:
        patch.setattr(parting, "know", lambda state, addresses: None)
        ann, robert = (each["entity_id"] for each in run("store", entities=people)["entities"])
        assert ann == robert
    migrated_again(loop, services, owner, 41)
    assert len(run("entities.get", entity_id=ann)["parted_into"]) == len(people)
    page = run("entities.query", entity_type="person")
    assert {each["canonical_name"] for each in page["entities"]} == {"Ann Miller", "Robert Miller"}
    assert run("server.check_snapshots")["stale_snapshots"] == []


def identify_before(
    identify: Callable[..., identity.Identity],
    owner: str,
    entity_type: str,
    fields: Any,
    registered: Any = None,
) -> identity.Identity:
    """Identify as it was before a number identified."""
    return identify(owner, entity_type, fields, registered or identity.rule(entity_type))


def test_invoices_that_their_content_made_join_that_of_their_number_after_the_migration(
    run: Call, loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = {"entity_type": "invoice", "number": "R-17", "status": "sent", "observed_at": "2026-01-01"}
    paid = {**sent, "status": "paid", "observed_at": "2026-02-01"}
    named = {**paid, "canonical_name": "R-17 · paid", "observed_at": "2026-01-15"}
    with monkeypatch.context() as patch:
        patch.setattr(identity, "identify", partial(identify_before, identity.identify))
        patch.setattr(State, "own_rule", lambda state, entity_type: None)
        old = [each["entity_id"] for each in run("store", entities=[sent, named])["entities"]]
        assert len({*old}) == 2
    migrated_again(loop, services, owner, 42)
    assert {run("entities.get", entity_id=each)["entity_id"] for each in old} == {*old}
    new = run("store", entities=[paid])["entities"][0]["entity_id"]
    assert {run("entities.get", entity_id=each)["entity_id"] for each in (*old, new)} == {new}
    page = run("entities.query", entity_type="invoice", include_snapshots=True)
    assert [each["snapshot"]["status"] for each in page["entities"]] == ["paid"]
    assert run("server.check_snapshots")["stale_snapshots"] == []


@pytest.mark.long
def test_what_was_merged_before_near_names_were_known_is_merged_no_more_where_one_is(
    run: Call, loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(person_names, "name_of", lambda *names, **is_own: None)
        by_name = run("store", entities=[MILLER])["entities"][0]["entity_id"]
        known = {"email": "robert@example.org", **MILLER}
        by_email = run("store", entities=[known])["entities"][0]["entity_id"]
        run("store", entities=[{**MILLER, "name": "Bob Miller", "email": "bob@example.org"}])
    identity_rules._names.cache_clear()
    assert run("entities.get", entity_id=by_name)["entity_id"] == by_email
    known_at = run("server.stats")["last_updated"]
    migrated_again(loop, services, owner, 22, 23)
    assert run("entities.get", entity_id=by_name)["entity_id"] == by_name
    # By the rule of today the merge ended when Bob came.
    assert run("entities.snapshot", entity_id=by_name, at_ingested=known_at)["entity_id"] == by_name
    report = run("server.check_snapshots")
    assert report["stale_snapshots"] == []


def test_the_text_of_an_entity_that_has_another_name_says_so_after_the_migration(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    people = [
        {**MILLER, "aliases": ["Bob of Leeds", "Rob"]},
        {**MILLER, "name": "Mary Smith", "note": "a ~ b"},
    ]
    run("store", entities=people)
    texts = "MATCH (n:Entity {owner: $owner}) RETURN n.text AS text, n.refold AS refold ORDER BY text"
    stored = loop.run(services.database.script(texts, owner=owner))
    assert [row["text"] for row in stored] == ["mary smith | a b", "robert miller ~ bob of leeds ~ rob"]
    loop.run(services.database.script(
        "MATCH (n:Entity {owner: $owner}) SET n.text = replace(n.text, '~', '|')", owner=owner
    ))  # fmt: skip
    migrated_again(loop, services, owner, 24)
    assert loop.run(services.database.script(texts, owner=owner)) == stored


def test_every_field_of_other_names_was_in_a_migration() -> None:
    """A new field needs one: entities that have it are folded again."""
    (migration,) = [each for each in migrations.shipped() if each.version == 24]
    (listed,) = re.findall(r"field IN \[([^\]]*)\]", migration.statements[0])
    assert set(re.findall(r"'(\w+)'", listed)) == identifiers.ALIASES


# The secret that signs the URLs of files

NO_SECRET: LiteralString = "MATCH (secret:InstanceSecret {name: 'file_urls'}) DELETE secret"


def test_the_first_urls_of_a_database_agree_on_the_secret(loop: Loop, services: Services, owner: str) -> None:
    source_id = "src_" + "0" * 24

    async def forget_and_sign() -> set[str]:
        await services.database.script(NO_SECRET)
        urls = FileUrls(services.database)
        made = await asyncio.gather(*(urls.signed(owner, source_id, 4_000_000_000_000_000) for _ in range(8)))
        return set(made)

    (url,) = loop.run(forget_and_sign())
    signed = loop.run(FileUrls(services.database).file_of(parse_qsl(urlsplit(url).query)))
    assert signed == (owner, source_id)


@pytest.mark.parametrize(
    "place", mostly_long(["before:secret.make", "after:secret.make"], "after:secret.make")
)
def test_a_secret_that_was_being_made_is_one_secret(
    doom: Doom, rest: Call, loop: Loop, services: Services, place: str
) -> None:
    item = {"entity_type": "thing", "name": "a"}
    source_id = rest("store", entities=[item], file_content="YWJj")["source_id"]
    loop.run(services.database.script(NO_SECRET))
    doom.dies_during_request(place, f"/get_file_url?path={source_id}", None)
    assert rest("sources.url", path=source_id)["url"]
    (row,) = loop.run(services.database.script("MATCH (n:InstanceSecret) RETURN count(n) AS count"))
    assert row["count"] == 1


# The doctor


@pytest.fixture
def undone(loop: Loop, services: Services) -> Iterator[Callable[..., None]]:
    """Run a statement now, and another one at the end."""
    undoing: list[tuple[LiteralString, dict[str, Any]]] = []

    def do(statement: LiteralString, undo: LiteralString, **params: Any) -> None:
        undoing.append((undo, params))
        loop.run(services.database.script(statement, **params))

    yield do
    for undo, params in undoing:
        loop.run(services.database.script(undo, **params))
    loop.run(services.database.script("CALL db.awaitIndexes(60)"))


@pytest.mark.parametrize(
    ("state", "status", "fix"),
    [
        ("POPULATING", "warn", "Wait until it is online"),
        ("FAILED", "fail", "DROP INDEX entity_by_type; CREATE "),
    ],
)
def test_an_index_that_is_not_online_is_told(
    look: Examine, monkeypatch: pytest.MonkeyPatch, state: str, status: str, fix: str
) -> None:
    script_of_database = Database.script

    async def script(self: Database, text: Any, /, **params: Any) -> list[dict[str, Any]]:
        rows = await script_of_database(self, text, **params)
        changed = {"state": state, "percent": 7.0}
        return [{**row, **changed} if row.get("name") == "entity_by_type" else row for row in rows]

    monkeypatch.setattr(Database, "script", script)
    findings = look()
    ((told_status, message),) = failed_findings(findings, "indexes")
    assert (told_status, "the index entity_by_type is" in message) == (status, True)
    assert any(fix in finding.fix for finding in findings)


def test_a_schema_that_is_newer_fails(look: Examine, undone: Callable[..., None]) -> None:
    undone("CREATE (:Migration {version: 999})", "MATCH (n:Migration {version: 999}) DELETE n")
    assert "the schema of the database has version 999" in str(failed_findings(look(), "schema"))


def test_a_schema_that_is_older_is_told(look: Examine, undone: Callable[..., None]) -> None:
    undone(
        "MATCH (n:Migration {version: $last}) REMOVE n:Migration SET n:Gone",
        "MATCH (n:Gone) REMOVE n:Gone SET n:Migration",
        last=migrations.shipped()[-1].version,
    )
    last = migrations.shipped()[-1].version
    assert f"the schema has version {last - 1} of {last}" in failed_findings(look(), "schema")[0][1]


def test_a_migration_that_was_changed_fails(look: Examine, undone: Callable[..., None]) -> None:
    undone(
        "MATCH (n:Migration {version: 3}) SET n.was = n.checksum, n.checksum = 'x'",
        "MATCH (n:Migration {version: 3}) SET n.checksum = n.was REMOVE n.was",
    )
    assert "migration 3 of this graphmem differs" in str(failed_findings(look(), "schema"))


def test_transactions_of_later_than_now_are_told(look: Examine, undone: Callable[..., None]) -> None:
    later = times.now() + 86_400_000_000
    undone(
        "CREATE (:Owner {id: $id, recorded_at: $later})", "MATCH (n:Owner {id: $id}) DELETE n",
        id="doctor", later=later,
    )  # fmt: skip
    assert times.render(later) in str(failed_findings(look(), "clock"))


def test_entities_that_wait_for_a_vector_are_told(look: Examine, undone: Callable[..., None]) -> None:
    undone(
        "MERGE (n:Model {use: 'meaning'}) SET n.was = n.model, n.model = 'zzz' "
        "CREATE (:Meaning {entity_id: 'doctor', model: 'yyy'})",
        "MATCH (n:Model {use: 'meaning'}) SET n.model = n.was REMOVE n.was "
        "WITH n MATCH (m:Meaning {entity_id: 'doctor'}) DELETE m",
    )
    findings = look()
    assert "the database uses the model 'zzz'" in str(failed_findings(findings, "vectors"))


# What changes indexes stands last: Neo4j then plans every statement anew


def test_processes_that_open_a_new_database_at_once_all_succeed(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[LiteralString] = [f"race_{each}" for each in ("a", "b", "c", "d", "e", "f", "g", "h")]
    making: tuple[LiteralString, ...] = tuple(
        f"CREATE INDEX {name} IF NOT EXISTS FOR (n:Race) ON (n.{name})" for name in names
    )
    newer = migrations.Migration(migrations.shipped()[-1].version + 1, "race", "0" * 64, making)
    known = (*migrations.shipped(), newer)
    monkeypatch.setattr(migrations, "shipped", lambda: known)

    async def open_at_once() -> list[Any]:
        applied = (migrations.apply(services.database) for _ in range(6))
        return await asyncio.gather(*applied, return_exceptions=True)

    async def remove() -> None:
        for name in names:
            await services.database.script(f"DROP INDEX {name} IF EXISTS")
        query = "MATCH (n:Migration {version: $version}) DELETE n"
        await services.database.script(query, version=newer.version)

    for _ in range(3 if LONG else 1):
        try:
            assert [error for error in loop.run(open_at_once()) if isinstance(error, BaseException)] == []
        finally:
            loop.run(remove())


def test_an_index_that_is_missing_fails_with_what_makes_it(
    look: Examine, undone: Callable[..., None]
) -> None:
    made = migrations.indexes()["schema_waiting"]
    undone("DROP INDEX schema_waiting", made)
    findings = look(deep=True)
    assert failed_findings(findings, "indexes") == [("fail", "the index schema_waiting is missing")]
    assert [status for status, _ in failed_findings(findings, "consistency")] == ["warn"]
    assert f"Run this in the Neo4j Browser: {made}" in [line.fix for line in findings]
    assert "CREATE INDEX schema_waiting IF NOT EXISTS" in made


def test_a_constraint_that_is_missing_fails(look: Examine, undone: Callable[..., None]) -> None:
    made = migrations.indexes()["agent_id"]
    undone("DROP CONSTRAINT agent_id", made)
    assert failed_findings(look(), "indexes") == [("fail", "the constraint agent_id is missing")]

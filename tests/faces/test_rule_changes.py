"""A registered rule that is changed: its merges are those that the rule of today makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.settings import Limits
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.rule_merging import ADA, ADA_BY_EMAIL, Audited, file_of, home_of, shown_as
from tests.support.worker_pass import fold_all, fold_withdrawn

DUNE = {"entity_type": "album", "title": "Dune"}
DUNE_BY_ISBN = {**DUNE, "isbn": "1"}
LISTS = [("entities.query", {}), ("entities.find", {"identifier": "Dune"})]
OPT_OUT = {"identity_opt_out": "heuristic_canonical_name"}


def register(run: Call, *alternatives: str, **more: Any) -> None:
    """Register the alternatives of an album, such as author+title."""
    names = [{"composite": each.split("+")} for each in alternatives]
    fields = {name: {"type": "string"} for name in ("title", "isbn", "author")}
    identity = {"canonical_name_fields": names} if names else {}
    run("schemas.register", entity_type="album", schema_definition={"fields": fields, **identity, **more})


@pytest.fixture
def worked(run: Call, loop: Loop, services: Services) -> Callable[[], None]:
    """Let the worker fold again all that waits."""

    def work() -> None:
        fold_all(loop, services, run)
        fold_withdrawn(loop, services, run)

    return work


@pytest.fixture
def kinds_of_keys(loop: Loop, services: Services, owner: str) -> Callable[[], set[str]]:
    """Return the alternatives under which the rule finds entities."""
    query = (
        "MATCH (key:Identifier {owner: $owner})-[:IDENTIFIES]->(:Entity) "
        "WHERE key.kind STARTS WITH 'key:' RETURN DISTINCT key.kind AS kind"
    )
    return lambda: {row["kind"] for row in loop.run(services.database.script(query, owner=owner))}


@pytest.mark.parametrize(
    ("alternatives", "more"),
    [(["title"], {}), (["isbn", "author+title"], {}), ([], {}), ([], OPT_OUT)],
    ids=["one", "others", "none", "opted out"],
)
def test_an_alternative_that_is_gone_ends_its_merges_until_it_comes_back(
    run: Call,
    audited: Audited,
    worked: Callable[[], None],
    kinds_of_keys: Callable[[], set[str]],
    alternatives: list[str],
    more: dict[str, str],
) -> None:
    register(run, "isbn", "title")
    by_title, by_isbn = (home_of(run, item) for item in (DUNE, DUNE_BY_ISBN))
    assert shown_as(run, by_title) == [by_isbn]
    assert kinds_of_keys() == {"key:title"}
    for is_read_first in (False, True):
        register(run, *alternatives, **more)
        if is_read_first:
            assert shown_as(run, by_title) == [by_title]
        worked()
        assert shown_as(run, by_title) == [by_title]
        assert kinds_of_keys() == set()
        assert audited(True) == {}
        register(run, "isbn", "title")
        if is_read_first:
            assert shown_as(run, by_title) == [by_isbn]
        worked()
        assert shown_as(run, by_title) == [by_isbn]
        assert kinds_of_keys() == {"key:title"}
        assert audited(True) == {}


def known_by_two_rules(run: Call) -> list[str]:
    """Store an album under a rule of its author, and one with that author under a rule of its number."""
    items = {
        "author": {"entity_type": "album", "author": "Herbert"},
        "isbn": {**DUNE_BY_ISBN, "author": "Herbert"},
    }
    homes: list[str] = []
    for alternative, item in items.items():
        register(run, alternative)
        homes.append(home_of(run, item))
    return homes


def test_what_is_read_by_id_is_merged_at_once_by_a_changed_rule(
    run: Call, audited: Audited, worked: Callable[[], None]
) -> None:
    by_author, by_isbn = known_by_two_rules(run)
    worked()
    register(run, "isbn", "author")
    assert shown_as(run, by_author) == [by_isbn]
    assert audited(True) == {}


@pytest.mark.parametrize(("name", "arguments"), LISTS)
def test_a_list_says_that_a_changed_rule_is_not_applied_to_all_of_it(
    run: Call, worked: Callable[[], None], name: str, arguments: dict[str, Any]
) -> None:
    home_of(run, {"entity_type": "shelf", "name": "Dune"})
    # The worker of another process may fold it before the list is read.
    for rule in ("title", "author", "isbn", "title", "author", "isbn"):
        register(run, rule)
        home_of(run, DUNE)
        if (pending := run(name, **arguments).get("pending")) is not None:
            break
    assert pending == 1
    worked()
    assert "pending" not in run(name, **arguments)


def test_a_change_that_leaves_the_rule_of_identity_as_it_is_folds_nothing_else_by_a_read(
    run: Call, worked: Callable[[], None]
) -> None:
    register(run, "isbn", "title")
    by_title, _ = home_of(run, DUNE), home_of(run, {**DUNE, "title": "Emma"})
    run("schemas.update", entity_type="album", new_fields={"pages": "number"})
    assert shown_as(run, by_title) == [by_title]
    assert run("entities.query", limit=1)["pending"] == 2
    worked()


def test_of_a_type_with_many_entities_a_read_by_id_leaves_the_others_to_the_worker(
    run: Call, loop: Loop, services: Services, owner: str, worked: Callable[[], None]
) -> None:
    by_author, by_isbn = known_by_two_rules(run)
    worked()
    register(run, "isbn", "author")
    with_limit = by_runner(loop, replace(services, limits=Limits(refolded_entities=2)), owner)
    assert shown_as(with_limit, by_author) == [by_author]
    assert run("server.stats")["types_pending"] == ["album"]
    worked()
    assert shown_as(run, by_author) == [by_isbn]


@pytest.mark.parametrize(
    "identity", [{"canonical_name_fields": ["name"]}, OPT_OUT], ids=["one alternative", "opted out"]
)
def test_a_registered_rule_of_a_shipped_type_takes_the_place_of_the_shipped_one(
    run: Call,
    audited: Audited,
    worked: Callable[[], None],
    kinds_of_keys: Callable[[], set[str]],
    identity: dict[str, Any],
) -> None:
    by_name, by_email = (home_of(run, item) for item in (ADA, ADA_BY_EMAIL))
    run("schemas.update", entity_type="person", new_fields={"desk": "string"})
    worked()
    assert shown_as(run, by_name) == [by_email]
    run("schemas.update", entity_type="person", **identity)
    worked()
    assert shown_as(run, by_name) == [by_name]
    assert kinds_of_keys() == set()
    assert audited(True) == {}
    fields = {"name": {"type": "string"}, "email": {"type": "string"}}
    run("schemas.register", entity_type="person", schema_definition={"fields": fields})
    worked()
    assert shown_as(run, by_name) == [by_email]
    assert audited(True) == {}


def test_a_changed_rule_is_the_rule_of_earlier_times_too(
    run: Call, audited: Audited, worked: Callable[[], None]
) -> None:
    register(run, "isbn", "title")
    by_title, first = home_of(run, DUNE), run("server.stats")["last_updated"]
    by_isbn, second = home_of(run, DUNE_BY_ISBN), run("server.stats")["last_updated"]
    home_of(run, {**DUNE_BY_ISBN, "author": "Herbert"})
    register(run, "title")
    worked()
    assert shown_as(run, by_title, at_ingested=second) == [by_title]
    register(run, "isbn", "title")
    worked()
    assert shown_as(run, by_title, at_ingested=first) == [by_title]
    assert shown_as(run, by_title, at_ingested=second) == [by_isbn]
    assert audited(True) == {}


def test_a_new_alternative_keeps_ids_and_lets_what_was_stored_take_part(
    run: Call, audited: Audited, worked: Callable[[], None]
) -> None:
    register(run, "isbn", "title")
    by_title = home_of(run, {**DUNE, "author": "Herbert"})
    register(run, "isbn", "author+title", "title")
    worked()
    assert home_of(run, DUNE) == by_title
    by_author = home_of(run, {**DUNE, "author": "Herbert"})
    assert by_author != by_title
    assert shown_as(run, by_title) == [by_author]
    by_isbn = home_of(run, {**DUNE_BY_ISBN, "author": "Herbert"})
    assert shown_as(run, by_title, by_author) == [by_isbn] * 2
    assert audited(True) == {}


def test_what_was_withdrawn_decides_what_a_later_rule_merged_before(
    run: Call, audited: Audited, worked: Callable[[], None]
) -> None:
    register(run, "title")
    by_title = home_of(run, {**DUNE, "author": "Herbert"})
    home_of(run, {**DUNE, "title": "Dune (1965)", "isbn": "1"})
    by_isbn, another = ({**DUNE_BY_ISBN, "isbn": number} for number in "23")
    register(run, "isbn", "title")
    worked()
    known = home_of(run, by_isbn)
    alone = run("server.stats")["last_updated"]
    file, _ = file_of(run, another)
    both = run("server.stats")["last_updated"]
    run("sources.withdraw", source_id=file)
    for alternatives in (("title",), ("isbn", "title")):
        register(run, *alternatives)
        worked()
    shown = [shown_as(run, by_title, at_ingested=moment) for moment in (alone, both)]
    assert shown == [[known], [by_title]]
    assert shown_as(run, by_title) == [known]
    assert audited(True) == {}

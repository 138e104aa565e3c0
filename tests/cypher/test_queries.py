"""Every query, on the real server: its syntax, its plan, its names, and that something uses it."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import functools
import importlib
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest

import graphmem
from graphmem import cypher
from graphmem.auth import tokens
from graphmem.auth.accounts import Account, Accounts, Proof
from graphmem.auth.agent_grants import Capability
from graphmem.auth.client_rules import ClientMetadata, code_challenge_of, make_code_verifier
from graphmem.auth.grants import Grants, NewRequest, Presented
from graphmem.changes import stored_subscriptions
from graphmem.changes.wanted_changes import WantedChanges
from graphmem.context import Context, Services
from graphmem.database import migrations, typed_rows
from graphmem.database.planning import PLANNED_FIRST
from graphmem.model.relationship import BUILTIN, REGISTERED_LIMIT
from tests.support import checked_plans
from tests.support.actors import full_actor
from tests.support.database import VERSION
from tests.support.event_loop import Loop
from tests.support.faces import by_runner
from tests.support.long_cases import mostly_long
from tests.support.walks import walk_over

PACKAGE = Path(graphmem.__file__).parent
QUERIES = sorted(cypher.names())
PLANNED = checked_plans.unchecked()
"""The queries that this run plans."""
FILES = {name.partition("[")[0]: name for name in reversed(QUERIES)} | {
    name: name for name in QUERIES if "[" in name and not name.endswith(("asc]", "desc]"))
}
"""The names by which calls name queries. ``cypher.form`` chooses the forms by order, with one entry here."""
NOT_PER_OWNER = {
    "exclusion.owners", "interpretation.claim", "meaning.claim", "meaning.set",
    "meaning.waiting", "passages.waiting",
    "schema.pending", "server.ping",
    "relationship_type.all", "relationship_type.register", "dump.owners", "dump.relationship_types",
    # One read for all owners who are watched in a process.
    "change.heads",
    # The worker drops what is kept for long enough.
    "receipt.drop",
    # Other copies belong to the instance, and each is of one account.
    *(f"copy.{each}" for each in ("begin", "claim", "join", "link", "local_owner", "note", "of_account")),
    "copy.remove", "copy.waiting",
}  # fmt: skip
"""May only shrink: every other query is bound to an owner, but for those of accounts (``OF_ACCOUNTS``)."""
OF_ACCOUNTS = ("account.", "oauth.", "sandbox.", "secret.", "subscription.")
"""The beginnings of names of queries about who may call or is told: these are no owner's data."""

WRITTEN_LATER = (
    "account", "alternative", "attempts", "by", "client", "due_at", "error", "evidence", "last_error",
    "last_delivered_at", "locked", "regroups",
    "merge_rule", "merged_by", "replaces", "restored", "separated", "stamped", "stamping", "token",
    "unstamped",
    "until", "url", "vectors_changed",
    "copies_of", "copy", "copy_id", "copy_key", "cursor", "exchanged_at", "files", "failures", "joins",
    "excluded_learned", "learned_at", "lost_key", "refused", "unsent",
    "peer", "peer_name", "peer_set", "pushed", "record", "sent", "set_id", "taken", "transaction", "winner",
    "is_cut", "key", "packed", "passages_changed", "places", "reader", "texts", "title",
    "parted_into", "parting", "part", "parts",
    "expected", "reads_from",
    "agent", "asker", "behind", "face", "question", "ranking", "told",
    "address", "contact", "decided_at", "is_seeded", "notes", "retired", "sealed_text", "wiped_at",
)  # fmt: skip
"""Properties that our queries read, and that nothing has written where these tests run first."""

SCANS = {
    "AllNodesScan", "NodeByLabelScan", "UnionNodeByLabelsScan", "IntersectionNodeByLabelsScan",
    "DirectedAllRelationshipsScan", "UndirectedAllRelationshipsScan", "DirectedRelationshipTypeScan",
    "UndirectedRelationshipTypeScan", "DirectedUnionRelationshipTypesScan",
}  # fmt: skip


@pytest.fixture(scope="module")
def world(services: Services, loop: Loop) -> None:
    """A graph in which every label, type and property that our queries name has been written."""
    for kind in sorted(BUILTIN):
        loop.run(services.database.script(f"CALL db.createRelationshipType('{kind}')"))  # pyright: ignore
    for name in WRITTEN_LATER:
        loop.run(services.database.script(f"CALL db.createProperty('{name}')"))
    # Only an observation that comes again from another transaction has this edge.
    loop.run(services.database.script("CALL db.createRelationshipType('also_in')"))
    loop.run(services.database.script("CALL db.createRelationshipType('has_copy')"))
    loop.run(services.database.script("CALL db.createRelationshipType('told_of')"))
    # Only what was named otherwise before has this one.
    loop.run(services.database.script("CALL db.createRelationshipType('identified')"))
    loop.run(write_account(services))
    run = by_runner(loop, services, str(uuid.uuid4()))
    items = [{"entity_type": "note", "canonical_name": name} for name in ("x", "y", "z")]
    link = {"relationship_type": "REFERS_TO", "source_index": 0, "target_index": 2}
    file = {"file_content": "YWJj", "mime_type": "text/plain", "original_filename": "abc.txt"}
    stored = run("store", entities=items, relationships=[link], idempotency_key="k", **file)
    run("store", entities=[{"entity_type": "note", "canonical_name": "x", "page": 1}])
    split = {
        "source_entity_id": stored["entities"][0]["entity_id"], "reason": "two",
        "observation_field_equals": {"field": "page", "value": 1},
        "new_entity": {"entity_type": "note", "canonical_name": "w"},
    }  # fmt: skip
    run("entities.unsplit", split_id=run("entities.split", **split)["split_id"])
    read = {"entity_type": "note", "title": "read", "span": {"line": 1}}
    run("interpretations.create", source_id=stored["source_id"], entities=[read], model="m")
    ids = [item["entity_id"] for item in stored["entities"]]
    # What only withdrawn observations made has properties that nothing else has while it waits.
    run("sources.withdraw", source_id=stored["source_id"], reason="x")
    run("sources.reinstate", source_id=stored["source_id"])
    run("writings.withdraw", by_client="test", until="2026-01-01")
    run("entities.dismiss_duplicates", entity_a=ids[0], entity_b=ids[2], reason="x")
    run("entities.merge", source_entity_id=ids[0], target_entity_id=ids[1])
    # The second person is the first one by the rule of persons.
    for more in ({"email": "ada@example.org"}, {}):
        run("store", entities=[{"entity_type": "person", "name": "Ada Lovelace", **more}])
    run("schemas.register", schema={"entity_type": "note", "fields": {"x": {"type": "number"}}})
    dated = {"entity_type": "event", "title": "x"}
    for day in ("2026-01-01", "2026-01-02"):
        run("store", entities=[{**dated, "ends_on": day}])
    field = {"type": "string", "filterable": True}
    run("schemas.register", schema={"entity_type": "shelf", "fields": {"row": field}})
    run("store", entities=[{"entity_type": "shelf", "row": "a"}])
    named = {"relationship_type": "PLANNED_FOR", "inverse": "PLANNED_IN", "description": "x"}
    run("relationship_types.register", **named)
    link = {"relationship_type": "PLANNED_WITH_CARE", "source_index": 0, "target_index": 1}
    pair = [{"entity_type": "thing", "name": name} for name in ("planned", "planner")]
    run("store", entities=pair, relationships=[link])
    run("relationship_types.rename", relationship_type="PLANNED_WITH_CARE", name="ARRANGED_WITH_CARE")


async def write_account(services: Services) -> None:
    """Write an account with a key and codes. It is disabled, so that nobody needs a credential for it."""
    accounts, name = Accounts(services.database), f"queries-{uuid.uuid4().hex}"
    account = await accounts.create(name, ["read"], None)
    grant_id = await write_connection(services, account)
    await accounts.set_disabled(name, True)
    await accounts.set_password(name, "a password of the tests")
    key, record = await accounts.create_key(account.id, account.owner, "a key", ["read"], 1)
    await services.database.write("account.use_key", None, digest=tokens.digest(key), used_at=1)
    for maker_id in (record.key_id, grant_id):
        await accounts.create_key(account.id, account.owner, "a key that it made", ["read"], 1, maker_id)
    await accounts.revoke_key(account.id, record.key_id)
    of_subject = None, "https://issuer.example", "aauth:bot@issuer.example"
    actor = full_actor(account.owner)
    grant = await services.agent_grants.create(actor, "bot", of_subject, [Capability("store", ["task"])])
    of_key = "thumbprint", None, None
    await services.agent_grants.create(actor, "bot", of_key, [Capability("*", [])])
    await services.agent_grants.change(account.id, grant.grant_id, "revoked")
    code, _ = await accounts.create_code(account.id)
    assert await accounts.prove("", code) is None
    await write_subscription(services, account)
    await accounts.close(name)
    await services.database.write("owner.close", account.owner, erased_at=1)
    await accounts.delete(name)


async def write_subscription(services: Services, account: Account) -> None:
    """Write a subscription of an account."""
    context = Context(full_actor(account.owner), services)
    url = "https://hooks.example.org"
    await stored_subscriptions.create(context, WantedChanges(), "webhook", url, 10, "{}")


async def write_connection(services: Services, account: Account) -> str:
    """Write what OAuth keeps: a client, a request, and a connection with its tokens; return its id."""
    grants, redirect, browser = Grants(services.database), "https://example.org/callback", "browser"
    metadata = ClientMetadata(redirect_uris=(redirect,), client_name="Queries", scope=None)
    client_id, _ = await grants.register(metadata)
    verifier = make_code_verifier()
    challenge, resource = code_challenge_of(verifier), "https://example.org"
    request = NewRequest(client_id, "Queries", redirect, "state", challenge, resource, ["read"], True)
    secret, _ = await grants.create_request(request)
    await grants.count_attempt(secret)
    code = await grants.allow(secret, Proof(account), ["read"], browser)
    assert code is not None
    await grants.finish(secret, code, browser)
    presented = Presented(client_id, None, None)
    issued = await grants.redeem(code, challenge, redirect, presented)
    assert issued.refresh_token is not None
    issued = await grants.rotate(issued.refresh_token, presented)
    token = await grants.of_token(tokens.digest(issued.access_token))
    assert token is not None
    await services.database.write("oauth.use_grant", None, id=token.grant_id, used_at=1)
    await grants.revoke(account.id, token.grant_id)
    return token.grant_id


EVERY_REMARK: Any = {
    "notifications_min_severity": "INFORMATION",
    "notifications_disabled_classifications": [],
}
"""Options of a session in which the server tells what other tests leave out (``services``), too."""
Planned = tuple[dict[str, Any], list[str]]
"""The plan of a query, and what the server remarks on it."""


@pytest.fixture(scope="module")
def plans(loop: Loop, services: Services, world: None) -> Callable[[str], Planned]:
    """Return the plan of a query with the types that are built in: one for all tests that look at it."""
    return functools.cache(lambda name: plan(loop, services, name, frozenset(BUILTIN)))


def plan(loop: Loop, services: Services, name: str, types: frozenset[str]) -> Planned:
    """Plan a query."""
    query = cypher.query(name)
    text = cypher.with_types(name, types) if query.takes_types else query.text
    params = cypher.bind(name, {p: _sample(kind) for p, kind in query.params.items()}, "nobody")

    async def explain() -> Planned:
        driver = services.database._driver
        async with driver.session(**EVERY_REMARK) as session:
            summary = await (await session.run("EXPLAIN " + text, params)).consume()
            remarks = [s.status_description for s in summary.gql_status_objects if s.is_notification]
            return summary.plan or {}, remarks

    return loop.run(explain())


SEEK = re.compile(r"(?P<index>\w+:\w+\(\w+(?:, \w+)*\))(?:\]->\(\w+\))? WHERE ")
"""What a plan says of a seek in an index."""


def _sample(kind: str) -> Any:
    samples = {"STRING": "", "ANY": 1, "INTEGER": 1, "BOOLEAN": True, "LIST<STRING>": [""], "LIST<MAP>": [{}]}
    samples |= {"FLOAT": 1.0, "LIST<FLOAT>": [1.0] * 256, "LIST<INTEGER>": [1], "MAP": {}}
    return {**samples, "LIST<LIST>": [["", "", "", ""]]}[kind]


def operators(node: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each operator of a plan with its details."""
    yield node["operatorType"].partition("@")[0], str(node.get("args", {}).get("Details", ""))
    for child in node.get("children", []):
        yield from operators(child)


@walk_over("name", PLANNED)
def test_a_query_is_planned_without_scans_or_cartesian_products_or_remarks(
    name: str, plans: Callable[[str], Planned]
) -> None:
    query_plan, remarks = plans(name)
    assert not remarks
    scans = [operator for operator, _ in operators(query_plan) if operator in SCANS]
    assert scans == []


@walk_over("name", PLANNED)
def test_a_query_uses_the_indexes_that_its_header_names(name: str, plans: Callable[[str], Planned]) -> None:
    file = Path(*name.partition("[")[0].split("."))
    source = (PACKAGE / "cypher" / file).with_suffix(".cypher").read_text()
    header = re.search(r"// index   (.*?)\n// cost", source, re.DOTALL)
    assert header is not None
    steps = operators(plans(name)[0])
    # From Neo4j 2026 on, a MERGE by a unique key is an operator of its own, which uses that key's index.
    seeks = [details for operator, details in steps if "Seek" in operator or operator == "MergeUniqueNode"]
    if header[1] != "none":
        assert seeks, "the header names an index and the plan seeks in none"


@walk_over("name", PLANNED)
def test_a_query_demands_its_seeks(name: str, plans: Callable[[str], Planned]) -> None:
    """While an index is empty, and after a load until Neo4j has counted what it holds, reading all of it
    seems as cheap as a seek; and what is planned then stays. So a query says which seek it means.
    """
    text = cypher.query(name).text
    for operator, details in operators(plans(name)[0]):
        seek = SEEK.search(details)
        # A MERGE seeks by itself; what it makes at the end of an edge has no name.
        merged = operator.endswith("(Locking)") or operator == "MergeUniqueNode"
        if seek and not merged and not seek["index"].startswith("anon_"):
            assert f"USING INDEX SEEK {seek['index']}" in text, details


@walk_over("name", [name for name in QUERIES if "replan=skip" in cypher.query(name).text])
def test_a_query_that_keeps_its_plan_aggregates_no_property_that_it_seeks_by_a_range(name: str) -> None:
    """An aggregate of a property tells the planner that the property is not null. From that the planner makes
    a second seek, of all values instead of the range, and takes either by chance while the index is empty.
    """
    text = cypher.query(name).text
    ranges = set(re.findall(r"(\w+\.\w+) (?:STARTS WITH|[<>]=?) ", text))
    ranges |= {alias for value, alias in re.findall(r"(\w+\.\w+) AS (\w+)", text) if value in ranges}
    assert not ranges & set(re.findall(r"\b(?:collect|min|max|count)\((?:DISTINCT )?([\w.]+)\)", text))


WITH_TYPES = [name for name in QUERIES if cypher.query(name).takes_types]


@pytest.mark.parametrize("name", mostly_long(WITH_TYPES, WITH_TYPES[0], *({*WITH_TYPES} & {*PLANNED})))
def test_a_query_can_be_planned_with_every_type_that_may_be_registered(
    name: str, loop: Loop, services: Services, world: None
) -> None:
    """A count of a pattern of some 200 types, for one, is never planned to its end."""
    registered = {f"REGISTERED_{i}_{'X' * 64}"[:64] for i in range(REGISTERED_LIMIT)}
    query_plan, _ = plan(loop, services, name, frozenset(registered | BUILTIN.keys()))
    assert query_plan


def test_a_query_that_changed_is_planned_and_one_of_ten_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = QUERIES[7]
    lines = [checked_plans.line(name) for name in QUERIES if name != changed]
    file = tmp_path / "checked_plans.txt"
    file.write_text("\n".join([*lines, f"{'0' * 32} {changed}"]))
    monkeypatch.setattr(checked_plans, "FILE", file)
    monkeypatch.setattr(checked_plans, "LONG", False)
    monkeypatch.delenv(VERSION, raising=False)
    assert changed in checked_plans.unchecked()
    assert len(checked_plans.unchecked()) == 1 + (len(QUERIES) - 1) // checked_plans.ONE_OF
    monkeypatch.setattr(migrations, "shipped", lambda: ())
    assert checked_plans.unchecked() == QUERIES
    monkeypatch.setattr(checked_plans, "FILE", tmp_path / "nothing")
    assert checked_plans.unchecked() == QUERIES


@walk_over("name", QUERIES)
def test_a_query_is_bound_to_an_owner_or_says_why_not(name: str) -> None:
    is_global = name in NOT_PER_OWNER or name.startswith(OF_ACCOUNTS)
    assert bool(cypher.query(name).tenancy) == is_global


def test_a_name_that_nothing_has_would_be_noticed(loop: Loop, services: Services) -> None:
    async def explain() -> list[str]:
        async with services.database._driver.session(**EVERY_REMARK) as session:
            summary = await (
                await session.run("EXPLAIN MATCH (n:Entity {id: ''}) RETURN n.nothing_has")
            ).consume()
            return [s.status_description for s in summary.gql_status_objects if s.is_notification]

    assert "nothing_has" in "".join(loop.run(explain()))


def test_a_scan_would_be_noticed(loop: Loop, services: Services) -> None:
    async def explain() -> dict[str, Any]:
        async with services.database._driver.session() as session:
            result = await session.run("EXPLAIN MATCH (n:Entity) WHERE n.version = 1 RETURN n")
            return (await result.consume()).plan or {}

    assert "NodeByLabelScan" in {operator for operator, _ in operators(loop.run(explain()))}


@dataclass(frozen=True)
class QueryCall:
    """A call in the package whose first argument is a query's name."""

    file: Path
    name: str
    row_class: ast.expr | None
    params: frozenset[str]
    unpacked: tuple[str, ...] = ()

    def row(self) -> type:
        """Return the row class of the call."""
        assert self.row_class is not None
        parts = self.file.relative_to(PACKAGE.parent).with_suffix("").parts
        module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
        return eval(ast.unparse(self.row_class), vars(module))  # noqa: S307


@functools.cache
def calls() -> list[QueryCall]:
    """Return each call of a query in the package. A query of several forms is named by ``cypher.form``."""
    return [call for file in PACKAGE.rglob("*.py") for call in calls_in(file)]


def calls_in(file: Path) -> Iterator[QueryCall]:
    """Yield each call of a query in a file."""
    tree = ast.parse(file.read_text())
    unpacked = {
        node.value.value: tuple(map(ast.unparse, node.targets[0].elts))
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Await)
        and isinstance(node.targets[0], ast.Tuple)
    }
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Attribute | ast.Name)):
            continue
        first, *others = node.args
        if isinstance(first, ast.Call) and ast.unparse(first.func) == "cypher.form":
            first = first.args[0]
        if not (isinstance(first, ast.Constant) and first.value in FILES):
            continue
        function = ast.unparse(node.func)
        if function == "written":
            # It is called with the parameter, or without it under its own name.
            yield QueryCall(file, first.value, None, frozenset({"**"}))
            yield QueryCall(file, f"{first.value}[written]", None, frozenset({"**"}))
            continue
        if function == "cypher.form" or function.endswith(NAMING):
            continue
        row_class = others[0] if others and function.endswith(TYPED) else None
        params = frozenset({k.arg or "**" for k in node.keywords} - {"edge_types"})
        yield QueryCall(file, first.value, row_class, params, unpacked.get(node, ()))


NAMING = (".seconds_for", "_seconds", "_parameters", "._failed")
"""Functions that take the name of a query and do not run it."""
TYPED = (".one", ".only", ".all", ".walk", ".settled")
"""Methods whose second argument is a row class."""


def test_every_query_is_used_and_every_call_gives_its_parameters() -> None:
    assert {call.name for call in calls()} == set(FILES)
    for call in calls():
        declared = set(cypher.query(FILES[call.name]).params) - {cypher.BY_WRITER}
        arguments = call.params - {"**"}
        assert arguments == declared or ("**" in call.params and arguments <= declared), call.name


def test_every_row_class_has_the_columns_that_its_query_returns() -> None:
    typed = [call for call in calls() if call.row_class]
    assert len(typed) > 100
    # Each fault with its call, so that one run names all of them.
    assert not [f"{call.file.stem}-{call.name}: {fault}" for call in typed for fault in faults_of_row(call)]


def faults_of_row(call: QueryCall) -> Iterator[str]:
    """Yield how the row class of a call differs from what its query returns."""
    returned = cypher.query(FILES[call.name]).returns
    row = call.row()
    if len(returned) == 1:
        annotations = {next(iter(returned)): row}
    elif get_origin(row) is tuple:
        annotations = dict(zip(returned, get_args(row), strict=True))
        yield from misnamed(call.unpacked, list(returned))
    else:
        annotations = typed_rows.columns(row)
    for column in sorted(set(annotations) ^ set(returned)):
        yield f"{column} is only in one of them"
    for column, annotation in annotations.items():
        if column in returned and not typed_rows.fits(annotation, returned[column]):
            yield f"{column}: {annotation} is no {returned[column]}"


def misnamed(unpacked: tuple[str, ...], returned: list[str]) -> Iterator[str]:
    """Yield the columns that are unpacked under other names than their own; ``_`` takes any column."""
    if "*_" in unpacked:
        at = unpacked.index("*_")
        unpacked = (*unpacked[:at], *"_" * (len(returned) - len(unpacked) + 1), *unpacked[at + 1 :])
    for name, column in zip(unpacked, returned, strict=bool(unpacked)):
        if name.rstrip("_") not in ("", column):
            yield f"{column} is unpacked as {name}"


def test_a_column_that_is_unpacked_under_another_name_would_be_noticed() -> None:
    assert list(misnamed(("page", "type_"), ["page", "type"])) == []
    assert list(misnamed(("*_", "last"), ["page", "total", "last"])) == []
    assert list(misnamed(("last", "page"), ["page", "last"])) == [
        "page is unpacked as last", "last is unpacked as page",
    ]  # fmt: skip


def test_a_query_whose_row_is_unpacked_returns_its_columns_in_the_order_of_its_header(
    plans: Callable[[str], Planned],
) -> None:
    unpacked = {call.name for call in calls() if call.row_class and get_origin(call.row()) is tuple}
    assert len(unpacked) > 20
    for name in sorted(name for name in unpacked if FILES[name] in PLANNED):
        (operator, details), *_ = operators(plans(FILES[name])[0])
        assert operator == "ProduceResults"
        assert details.split(", ") == [*cypher.query(FILES[name]).returns], name


def test_shipped_migrations_are_never_edited() -> None:
    """A checksum here may be added and never changed: it stands in the databases of users."""
    versions = [m.version for m in migrations.shipped()]
    assert versions == [*range(1, len(versions) + 1)]
    assert {m.version: m.checksum for m in migrations.shipped()} == {
        1: "cd66a50e88b06c4cc4921dce55f8ddf2f5d489fe0bf766bccac732ab1c2582c9",
        2: "0472d2c32baa3bafd6de7fb556513096235dbe836c540212faf27af433f79332",
        3: "66ca865c9cf9d138ac5efd7b14d11da13ec15666431d7a7469d4f8ed5534c7a6",
        4: "1a2c623c7217ee87e03d18611d31c519e428a26d24426b66e6c1592fd31a67ff",
        5: "2fc8c0010535e5523b7f3f46f39ce1f75a85678238319518a99ee4d91f82c1c3",
        6: "15148e18999d4d9e5d89a028fdd86d6d991ddb2cdb7fbe946d6f235b7b76afcb",
        7: "b961e9e9b0244c600ea409a5060875b07bd0f6e28211e0dc503a7e2b3f0824a4",
        8: "1e578d2cca656415b32110b8d1dc97654d087e4758a93e71427dc87b1fbb8c05",
        9: "f303af9c5302631d3b66632c6a87e43871b02ad70ebc1827324fac7d89a6d443",
        10: "3dac605509ed294d7b5ccf9f4779a63a216d539826c7fb4c8e29d19e5b27e82f",
        11: "acd79ad06a52129a444ee6addf12d38abeb06a4e164d42f54a2d974415733ec8",
        12: "b62ed8aa143d96922658e59dc077ad82988744e3ed974c3adba25ed2bbe30ae4",
        13: "e1975add62b32f1896f0c338ea3873d25cba5e4deb730a6ad1df525a83853020",
        14: "325e1455d3572b5255a4d46095a41e6de2f39ac316b4999425bca1c050537272",
        15: "231f40abb1bfd33b5012fe9081bfc684659dc5545fe52fe7dcfd5b5e26d02fe9",
        16: "968294ecac07d8910200c372b8228e71d5e70441a33e7830c09ac58c44f162fe",
        17: "940f81c7f6c669b53948b35f02c170f9fe4cd10ae25d197177bc790650f3bf36",
        18: "4c27dd4e49b28e8bb6e6bb589c1ee31dd0d9baefc3034e6bed6cb6c261abdd19",
        19: "4fc37a19b03ecdd8b9369fd29a99674182e6e929159df7c0b0d8907a1e6135ea",
        20: "c732538d726bab56ccac065d660d9216c7ca3273a6ac14f2bb5a9b664a464f57",
        21: "fb92ab11681730f1728ed67a5a0dc653546cd9e10ab8f83bd1d1791897e289d5",
        22: "f706bf97292d80cb26f2c6cc87b7e8b59b209fbccd831042f0307dda630ef625",
        23: "c663724c11e91784c35a5de5ae6c95e56dfc31028b88bf2d71f0a8764e9909ef",
        24: "cb3176d8c605dc100f6e0e9a09153a6cbea3dec2bbed0d22f70aff7666c5ced5",
        25: "1dd86f468ce8e269a9671278882c991c9ee565ca75a1baf4a8eadca8bc3fbcf3",
        26: "087ea9ddd16ec0060ea7d550fd53a004d5f0ce77cfc0aad6797c2c5f085d13f6",
        27: "1963e6f4632284a89b417433d8583abd36feb7dd35ef8a9efd6797c004f570bd",
        28: "e46e93dbf21143bc692c1ed16e5a040a9e9b10d92af7adf5f7ed4d7804d379b0",
        29: "ed19c95afdb597bacf442ff800c937a6208f59ff1c56a86e5ba9d7d79747155b",
        30: "fcd4f4b1e6a68b6d16b2f5cb61491a4707ae57aa8f3c8b015c712cbc0ba89483",
        31: "5c77d953781de0b4f8a12f1b00edb1501963b346f3d765f994bfb646c627c66b",
        32: "ad957ca60016b8a59da84a0b90595cbbfe4c328d18bf42df85e7781c5cc9ae5e",
        33: "c5f1ad627ac92b7a0c2e857448ba87562f4e32d908e49777ab725c772ede923e",
        34: "6068deba04b958d8673cb1efcdb3d51c9a04ee0bf945034db125a26c74e9a56b",
        35: "4bda20e425c014d01be0f237a8bce3230401021b424d46e4049bd34e71493456",
        36: "f3fe623ff11f25a92729e4fbd2acd2888c11239959a7632ab089e783303de167",
        37: "401214c3d0bc6d7bc3bf92dc5b34417545b35e7d4cdf249b42caf8f6d3e4fc7b",
        38: "53fd5ca5e22ce4f721cd0e57a51111a9140b6c0d78d13c88952a7b5e745159b7",
        39: "481823e0c52e7f33ef6cd11d0d4d0b1132e3cf809beda263f3df7a824027a761",
        40: "775f17f79c82ca6cb02249d8e5a5c2c0a0319562e30924ec4c633a66bdf95e05",
        41: "1a291421a5127c65a81274a35a8c4a4ea0de6dba46443f7bb5840911d8f89122",
        42: "9e524816de668b8feb08491a5aab28e7462d7a5e179416d255bd2f50c707edfd",
        43: "7adc37c8bd3368360a78c6a9e3da0e766bc50812e00526ecf29efc82fa4c472f",
        44: "517b625b12e3aa87e3d6f5c326f7eff2b3671fa167fd1d03678b7b5d08d2a26c",
        45: "db4f8950fee305b86945912119694f9abdece37d05335295140065adf58fa34e",
        46: "783b01dde6e0ebb7c26dce47a9a00ac21a7354fa91a7a6ce8397ae72882cdd0b",
    }


@pytest.mark.parametrize("busy", [True, False])
def test_while_somebody_asks_only_what_comes_first_is_planned_beforehand(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch, busy: bool
) -> None:
    database = services.database
    planned: list[str] = []

    async def run(name: str, text: str, *rest: Any) -> list[dict[str, Any]]:
        if name == "explain":
            planned.append(text)
        return []

    async def warm() -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.5 if busy else 60):
                await database.planning.plan_first()
                await database.planning.plan_rest(frozenset(BUILTIN))

    monkeypatch.setattr(database.planning, "quiet_seconds", 60.0 if busy else 0.0)
    by_runner(loop, services, str(uuid.uuid4()))("server.stats")
    monkeypatch.setattr(database, "_run", run)
    loop.run(warm())
    assert len(planned) == (sum(map(len, PLANNED_FIRST)) if busy else len(QUERIES))

"""What an agent may do by its grants: never more than its bearer may, and nothing once they are revoked."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx
import pytest

from graphmem import registry
from graphmem.auth.agent_keys import PrivateAgentKey
from graphmem.auth.agent_tokens import own_token
from graphmem.changes.change_feed import ChangeFeed
from tests.access.conftest import Command, Instance
from tests.access.test_signing import ADDRESS, AGENT, TRUSTED, Agent, issued
from tests.faces.test_http_edges import JSON
from tests.support.agents import ISSUER as ISSUER_NAME
from tests.support.agents import SUBJECT, Request, signed

STRANGER = PrivateAgentKey.generated("Ed25519")


@pytest.fixture
def ada(instance: Instance) -> str:
    return instance.key(instance.account("ada"))


@pytest.fixture
def agent(instance: Instance, ada: str) -> Agent:
    return Agent(instance.application(public_url=ADDRESS, aauth_issuers=TRUSTED), ada)


def granted(agent: Agent, *capabilities: tuple[str, list[str]], **who: str) -> str:
    """Make a grant as a person does, and return its id."""
    body = {
        "label": "planner",
        "capabilities": [{"op": op, "entity_types": types} for op, types in capabilities],
        **(who or {"thumbprint": AGENT.public.thumbprint}),
    }
    answer = agent.http("POST", "/agents/grants", agent.bearer, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["grant"]["grant_id"]


def post(agent: Agent, path: str, arguments: dict[str, Any], **more: Any) -> httpx.Response:
    return agent.send(agent.signed("POST", path, json.dumps(arguments).encode(), **more))


def item(entity_type: str, name: str = "x", **more: Any) -> dict[str, Any]:
    return {"entities": [{"entity_type": entity_type, "name": name, **more}]}


def is_denied(answer: httpx.Response) -> bool:
    if answer.status_code == 403:
        assert answer.json()["error_code"] == "CAPABILITY_DENIED"
        return True
    assert answer.status_code == 200, answer.text
    return False


def test_an_agent_does_what_its_grant_names_and_nothing_else(instance: Instance, agent: Agent) -> None:
    stored = {
        name: agent.http("POST", "/store", agent.bearer, json=item(name, f"A {name}")).json()
        for name in ("task", "person")
    }
    task, person = (stored[name]["entities"][0]["entity_id"] for name in ("task", "person"))
    assert not is_denied(post(agent, "/store", item("person")))
    granted(agent, ("store", ["task"]), ("entities.get", ["Tasks", "note"]), ("correct", ["task"]))
    table: list[tuple[bool, str, dict[str, Any]]] = [
        (False, "/store", item("task")),
        (False, "/store", item(" Task ")),
        (True, "/store", item("person")),
        (True, "/store", {"entities": [*item("task")["entities"], *item("person")["entities"]]}),
        (True, "/store", {"entities": [{"target_id": person, "name": "Other"}]}),
        (False, "/store", {"entities": [{"target_id": task, "name": "Other"}]}),
        (True, "/store", item("task", note=f"see {person}")),
        (True, "/store", item("task", note="see ent_" + "0" * 24)),
        (True, "/store", {
            **item("task"), "relationships": [
                {"relationship_type": "PART_OF", "source_index": 0, "target_entity_id": person}
            ],
        }),
        (True, "/store", {**item("task"), "file_content": "RGVhciBBZGE=", "original_filename": "a.txt"}),
        (True, "/store", {**item("task"), "file_path": "a.txt"}),
        (True, "/store", {"entities": []}),
        (False, "/correct", {"entity_id": task, "field": "name", "value": "y"}),
        (True, "/correct", {"entity_id": person, "field": "name", "value": "y"}),
        (True, "/delete_entity", {"entity_id": task}),
        (True, "/entities/merge", {"source_entity_id": task, "target_entity_id": task}),
        (True, "/entities/query", {"filters": {"entity_type": "task"}}),
        (True, "/keys", {"name": "more"}),
        (True, "/agents/grants", {"label": "all", "thumbprint": AGENT.public.thumbprint,
                                  "capabilities": [{"op": "*"}]}),
    ]  # fmt: skip
    for denied, path, arguments in table:
        assert is_denied(post(agent, path, arguments)) == denied, (path, arguments)
    for denied, path in (
        (False, f"/entities/{task}"),
        (True, f"/entities/{person}"),
        (True, f"/entities/ent_{'0' * 24}"),
        (True, "/stats"),
        (True, "/me"),
        (True, "/sources/src_0123456789abcdef01234567/content"),
    ):
        assert is_denied(agent.send(agent.signed("GET", path))) == denied, path
    assert "CAPABILITY_DENIED" not in agent.tool("Ada Bare", is_signed=False).text
    assert "CAPABILITY_DENIED" in agent.tool("Ada Tool").text
    # The person who has the key does as before.
    assert agent.http("POST", "/store", agent.bearer, json=item("person")).status_code == 200


def test_what_a_reference_field_names_is_touched_too(instance: Instance, agent: Agent) -> None:
    field = {"field": "owner", "target_entity_type": "people", "relationship_type": "OWNED_BY"}
    schema = {"fields": {"name": "string", "owner": "string"}, "reference_fields": [field]}
    assert agent.http("POST", "/register_schema", agent.bearer, json={
        "entity_type": "task", "schema": schema
    }).status_code == 200  # fmt: skip
    stored = agent.http("POST", "/store", agent.bearer, json=item("task", owner="Ada")).json()
    task = stored["entities"][0]["entity_id"]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("/store", item("task", owner="Ben")),
        ("/store", {"entities": [{"target_id": task, "owner": "Ben"}]}),
        ("/correct", {"entity_id": task, "field": "owner", "value": "Ben"}),
        ("/correct", {"entity_id": task, "corrections": {"owner": "Ben"}}),
    ]
    granted(agent, ("store", ["task"]), ("correct", ["task"]))
    for path, arguments in calls:
        answer = post(agent, path, arguments)
        assert is_denied(answer), (path, arguments)
        assert answer.json()["details"]["entity_types"] == ["person", "task"]
    assert not is_denied(post(agent, "/store", item("task", note="Ben")))
    assert not is_denied(post(agent, "/correct", {"entity_id": task, "field": "note", "value": "Ben"}))
    granted(agent, ("write", ["task", "contact"]))
    for path, arguments in [*calls, ("/store", item("contact"))]:
        assert not is_denied(post(agent, path, arguments)), (path, arguments)


def test_a_grant_of_all_types_or_of_a_kind_of_operations_covers_them(agent: Agent) -> None:
    granted(agent, ("read", []), ("write", ["task"]))
    stored = post(agent, "/store", {"entities": [*item("task")["entities"], *item("task", "y")["entities"]]})
    task, other = (each["entity_id"] for each in stored.json()["entities"])
    # A merge touches more than the entities that it names.
    assert is_denied(post(agent, "/entities/merge", {"source_entity_id": task, "target_entity_id": other}))
    assert not is_denied(agent.send(agent.signed("GET", "/stats")))
    assert not is_denied(post(agent, "/entities/query", {}))
    assert not is_denied(post(agent, "/store", item("task")))
    assert is_denied(post(agent, "/store", item("person")))
    assert is_denied(post(agent, "/keys", {"name": "more"}))
    grant = granted(agent, ("*", []))
    assert not is_denied(post(agent, "/store", item("person")))
    # It may do all but give itself and others what they may do.
    more = {"label": "x", "thumbprint": STRANGER.public.thumbprint, "capabilities": [{"op": "*"}]}
    for path, arguments in (
        ("/agents/grants", more), ("/keys", {"name": "more"}),
        (f"/agents/grants/{grant}/suspend", {"undo": True}),
    ):  # fmt: skip
        assert is_denied(post(agent, path, arguments)), path
    assert is_denied(agent.send(agent.signed("DELETE", f"/agents/grants/{grant}")))
    assert not is_denied(agent.send(agent.signed("GET", "/agents/grants")))


def test_a_list_is_of_the_types_that_it_names(agent: Agent) -> None:
    granted(agent, ("entities.query", ["task"]))
    for denied, filters in ((False, {"entity_type": "task"}), (True, {"entity_type": "person"}), (True, {})):
        assert is_denied(post(agent, "/entities/query", {"filters": filters})) == denied, filters


def test_a_grant_gives_nothing_that_the_bearer_has_not(instance: Instance, agent: Agent) -> None:
    granted(agent, ("*", []))
    account = instance.loop.run(instance.accounts.by_name("ada"))
    agent.bearer = instance.key(account, ["read"])
    answer = post(agent, "/store", item("task"))
    assert (answer.status_code, answer.json()["error_code"]) == (403, "FORBIDDEN")


def test_an_issuer_vouches_for_a_subject_and_an_agent_for_nobody(agent: Agent) -> None:
    granted(agent, ("store", ["task"]), issuer=ISSUER_NAME, subject=SUBJECT)
    assert not is_denied(post(agent, "/store", item("task"), key_header=issued()))
    assert is_denied(post(agent, "/store", item("task"), key_header=issued(sub="other")))
    claimed = own_token(AGENT, "https://elsewhere.example", SUBJECT, int(time.time()))
    assert is_denied(post(agent, "/store", item("task"), key_header=f'jwt;jwt="{claimed}"'))
    assert is_denied(post(agent, "/store", item("task")))
    # A subject is that of its issuer alone.
    granted(agent, ("store", ["person"]), issuer="https://elsewhere.example", subject=SUBJECT)
    assert is_denied(post(agent, "/store", item("person"), key_header=issued()))


def test_an_agent_without_a_grant_may_nothing_once_there_is_one(instance: Instance, agent: Agent) -> None:
    stranger = Agent(agent.http, agent.bearer, STRANGER)
    assert not is_denied(post(stranger, "/store", item("task")))
    grant = granted(agent, ("store", ["task"]))
    assert is_denied(post(stranger, "/store", item("task")))
    agent.http("POST", f"/agents/grants/{grant}/suspend", agent.bearer, json={})
    assert is_denied(post(stranger, "/store", item("task")))
    # Another account has grants of its own.
    bob = Agent(agent.http, instance.key(instance.account("bob")), STRANGER)
    assert not is_denied(post(bob, "/store", item("task")))
    assert bob.http("DELETE", f"/agents/grants/{grant}", bob.bearer).status_code == 404
    assert bob.http("GET", "/agents/grants", bob.bearer).json()["grants"] == []
    agent.http("DELETE", f"/agents/grants/{grant}", agent.bearer)
    assert not is_denied(post(stranger, "/store", item("task")))


def test_a_change_holds_in_every_process_within_5_seconds(
    later: Any, instance: Instance, agent: Agent
) -> None:
    grant = granted(agent, ("store", ["task"]))
    elsewhere = Agent(instance.application(public_url=ADDRESS), agent.bearer)

    def change(method: str, path: str, **body: Any) -> str:
        more = {"json": body} if body else {}
        answer = agent.http(method, f"/agents/grants/{grant}{path}", agent.bearer, headers=JSON, **more)
        return answer.json()["grant"]["status"]

    assert not is_denied(post(elsewhere, "/store", item("task")))
    for method, path, body, status, denied in (
        ("POST", "/suspend", {}, "suspended", True),
        ("POST", "/suspend", {"undo": True}, "active", False),
        ("DELETE", "", {}, "revoked", True),
        ("POST", "/suspend", {"undo": True}, "revoked", True),
    ):
        assert change(method, path, **body) == status
        assert is_denied(post(agent, "/store", item("task"))) == denied
        later(4.5)
        assert is_denied(post(elsewhere, "/store", item("task"))) == denied
    listed = agent.http("GET", "/agents/grants", agent.bearer).json()["grants"]
    assert [(each["grant_id"], each["status"]) for each in listed] == [(grant, "revoked")]


@pytest.mark.parametrize(("ended", "status"), [("grant", 403), ("key", 401)])
def test_a_read_that_waits_answers_nothing_after_its_grant_or_its_key_has_ended(
    instance: Instance, agent: Agent, monkeypatch: pytest.MonkeyPatch, ended: str, status: int
) -> None:
    monkeypatch.setattr(registry, "CHECK_SECONDS", 0.0)
    account = instance.loop.run(instance.accounts.by_name("ada"))
    person = {"Authorization": f"Bearer {instance.key(account)}"}
    made = instance.loop.run(
        instance.accounts.create_key(account.id, account.owner, "planner", ["read"], None)
    )
    agent.bearer, key = made
    http = agent.http
    assert http("POST", "/store", json=item("task"), headers=person).status_code == 200
    grant = http(
        "POST", "/agents/grants", headers=person,
        json={"label": "planner", "capabilities": [{"op": "changes.list"}],
              "thumbprint": AGENT.public.thumbprint},
    ).json()["grant"]["grant_id"]  # fmt: skip
    cursor = agent.send(agent.signed("GET", "/changes")).json()["resume_cursor"]
    query = f"after={cursor}&wait_seconds=20"
    waiting = signed(AGENT, Request("GET", "/changes", query, b""), authority="localhost", scheme="http")
    sent = {**dict(waiting.headers), "Authorization": f"Bearer {agent.bearer}"}

    async def answer_after_the_end() -> httpx.Response:
        reading = asyncio.create_task(http._send("GET", f"/changes?{query}", headers=sent))
        while not (instance.services.of(ChangeFeed)._watched or reading.done()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        path = f"/agents/grants/{grant}" if ended == "grant" else f"/keys/{key.key_id}"
        assert (await http._send("DELETE", path, headers=person)).status_code == 200
        await http._send("POST", "/store", json=item("task", "y"), headers=person)
        return await reading

    answer = instance.loop.run(answer_after_the_end())
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize(
    "arguments",
    [
        {"thumbprint": "x", "issuer": "https://a.example", "subject": "b"},
        {"issuer": "https://a.example"},
        {},
        {"thumbprint": "x", "capabilities": [{"op": "nothing"}]},
        {"thumbprint": "x", "capabilities": []},
        {"thumbprint": "x", "capabilities": [{"op": "store", "entity_types": ["!"]}]},
    ],
)
def test_a_grant_that_cannot_be_is_refused(agent: Agent, arguments: dict[str, Any]) -> None:
    body = {"label": "x", "capabilities": [{"op": "store"}], **arguments}
    answer = agent.http("POST", "/agents/grants", agent.bearer, json=body)
    assert answer.status_code == 400, answer.text


def test_the_commands_make_list_suspend_and_revoke_a_grant(instance: Instance, command: Command) -> None:
    def grants(*words: str) -> Any:
        result = command("agents", *words, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    capabilities = json.dumps([{"op": "store", "entity_types": ["task"]}])
    made = grants("grant", "planner", "--thumbprint", "x", "--capabilities", capabilities)["grant"]
    assert grants("suspend", made["grant_id"])["grant"]["status"] == "suspended"
    assert grants("suspend", made["grant_id"], "--undo")["grant"] == made
    assert grants("revoke", made["grant_id"])["grant"]["status"] == "revoked"
    assert [each["grant_id"] for each in grants("list")["grants"]] == [made["grant_id"]]
    assert "planner" in command("agents", "list").stdout


def test_grants_are_erased_with_their_account(instance: Instance, agent: Agent) -> None:
    granted(agent, ("store", []))
    grants = "MATCH (:Account {name: 'ada'})-->(grant:AgentGrant) RETURN elementId(grant) AS id"
    ids = [row["id"] for row in instance.rows(grants)]
    instance.loop.run(instance.accounts.delete("ada"))
    left = "MATCH (n:AgentGrant) WHERE elementId(n) IN $ids RETURN n"
    assert (len(ids), instance.rows(left, ids=ids)) == (1, [])

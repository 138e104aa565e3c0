"""The stream of changes: what it sends, where it goes on, and when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import uuid
from typing import Any

import pytest

from graphmem.api import event_stream
from graphmem.api.app import create_app
from graphmem.auth import Actor
from graphmem.auth.authenticator import Caller
from graphmem.changes import change_feed
from graphmem.changes.change_feed import ChangeFeed
from graphmem.context import Services
from graphmem.errors import AuthInvalid, CursorOfAnotherDatabase, InvalidInput, NotFound
from graphmem.mcp import resource_updates
from graphmem.mcp.resource_updates import RECENT
from tests.support.actors import DISABLED_ACCOUNT, full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner

SECONDS = 60.0


class Stream:
    """One stream, read by a client of its own."""

    def __init__(
        self, loop: Loop, app: Any, owner: str, query: str = "", last: str | None = None, listen: str = ""
    ) -> None:
        """Begin a stream of changes, or one of MCP that listens for changes of the resource ``listen``."""
        self._loop, self.status, self.text = loop, 0, ""
        headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {owner}".encode())]
        headers += [(b"last-event-id", last.encode())] if last is not None else []
        method, path, self._body = "GET", "/events/stream", b""
        if listen:
            method, path, self._body = "POST", "/mcp", json.dumps(listening(listen)).encode()
            headers += LISTENING
        scope = {
            "type": "http", "http_version": "1.1", "method": method, "path": path, "raw_path": path.encode(),
            "query_string": query.encode(), "headers": headers, "scheme": "http", "root_path": "",
            "server": ("localhost", 80), "client": ("127.0.0.1", 1), "app": app,
        }  # fmt: skip
        self._gone = loop.run(self._event())
        self._task = loop.run(self._start(app, scope))

    async def _event(self) -> asyncio.Event:
        return asyncio.Event()

    async def _start(self, app: Any, scope: dict[str, Any]) -> asyncio.Task[None]:
        bodies = [self._body]

        async def receive() -> dict[str, Any]:
            if bodies:
                return {"type": "http.request", "body": bodies.pop(), "more_body": False}
            await self._gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            self.status = message.get("status", self.status)
            self.text += message.get("body", b"").decode()

        async def serve() -> None:
            # MCP is served while its application runs.
            async with app.router.lifespan_context(app) if self._body else contextlib.nullcontext():
                await app(scope, receive, send)

        return asyncio.create_task(serve())

    def until(self, count: int) -> list[dict[str, Any]]:
        """Return the changes that came, once there are so many."""
        deadline = time.monotonic() + SECONDS
        while len(self.changes) < count:
            assert time.monotonic() < deadline, self.text
            time.sleep(0.05)
        return self.changes

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The changes that came; the id of each event is its cursor, and its name its kind."""
        told = []
        for event in self.text.split("\n\n"):
            lines = dict(line.split(": ", 1) for line in event.split("\n") if ": " in line)
            assert "data" in lines or "id" not in lines, "some clients make an event of a block without data"
            if lines.get("event", "ready") != "ready":
                told.append(json.loads(lines["data"]))
                if "id" in lines:
                    assert (lines["id"], lines["event"]) == (told[-1]["cursor"], told[-1]["event_type"])
        return told

    def started(self) -> Stream:
        """Wait until it says from which place on it tells changes."""
        self.until_text("retry:")
        return self

    def until_text(self, text: str) -> None:
        """Wait until it sent a text."""
        deadline = time.monotonic() + SECONDS
        while text not in self.text:
            assert time.monotonic() < deadline, (self.status, self.text)
            time.sleep(0.05)

    def ended(self) -> str:
        """Return what it sent, once it has ended by itself."""

        async def wait() -> None:
            await asyncio.wait_for(asyncio.shield(self._task), SECONDS)

        self._loop.run(wait())
        return self.text

    def close(self) -> None:
        """Go away."""

        async def go() -> None:
            self._gone.set()
            await asyncio.wait_for(self._task, SECONDS)

        self._loop.run(go())


LISTENING = [
    (b"content-type", b"application/json"),
    (b"accept", b"application/json, text/event-stream"),
    (b"mcp-protocol-version", b"2026-07-28"),
    (b"mcp-method", b"subscriptions/listen"),
]


def listening(uri: str) -> dict[str, Any]:
    """Return the request of MCP that listens for changes of a resource."""
    meta = {
        f"io.modelcontextprotocol/{name}": value
        for name, value in (
            ("protocolVersion", "2026-07-28"),
            ("clientInfo", {"name": "test", "version": "1"}),
            ("clientCapabilities", {}),
        )
    }
    params = {"notifications": {"resourceSubscriptions": [uri]}, "_meta": meta}
    return {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}


def note(call: Call, *titles: str, entity_type: str = "note") -> None:
    """Store notes, in one transaction."""
    call("store", entities=[{"entity_type": entity_type, "title": title} for title in titles])


def titles(changes: list[dict[str, Any]]) -> list[str]:
    """Return the names of what changed."""
    return [change["name"] for change in changes]


def test_streams_tell_each_change_once_in_order_and_go_on_where_the_client_was(
    loop: Loop, services: Services, app: Any, owner: str
) -> None:
    call = by_runner(loop, services, owner)
    note(call, "before")
    every = Stream(loop, app, owner).started()
    of_tasks = Stream(loop, app, owner, "entity_type=task&values=true").started()
    others = Stream(loop, app, str(uuid.uuid4())).started()
    for number in range(3):
        note(call, f"a{number}", f"b{number}")
        note(call, f"t{number}", entity_type="task")
    told = every.until(9)
    assert sorted(titles(told[:2])) == ["a0", "b0"]
    assert sorted(titles(told)) == sorted(f"{letter}{n}" for n in range(3) for letter in "abt")
    assert titles(of_tasks.until(3)) == ["t0", "t1", "t2"]
    assert of_tasks.changes[0]["fields"]["title"]["after"]["value"] == "t0"
    for number, change in enumerate(told):
        again = Stream(loop, app, owner, last=change["cursor"]).started()
        assert again.until(8 - number) == told[number + 1 :]
        again.close()
    from_the_beginning = Stream(loop, app, owner, "after=").started()
    assert titles(from_the_beginning.until(10))[0] == "before"
    assert others.changes == []
    for stream in (every, of_tasks, others, from_the_beginning):
        stream.close()
    assert services.of(ChangeFeed)._watched == {}


def test_an_empty_last_event_id_is_as_none(loop: Loop, services: Services, app: Any, owner: str) -> None:
    stream = Stream(loop, app, owner, last="").started()
    assert stream.status == 200
    note(by_runner(loop, services, owner), "new")
    assert [change["entity_type"] for change in stream.until(1)] == ["note"]
    stream.close()


def test_a_cursor_of_other_data_is_refused(loop: Loop, services: Services, app: Any, owner: str) -> None:
    call, other = by_runner(loop, services, owner), by_runner(loop, services, str(uuid.uuid4()))
    note(call, "mine")
    note(other, "theirs")
    mine, theirs = (each("changes.list")["changes"][0]["cursor"] for each in (call, other))
    node, sequence, part, transaction = mine.split(".")
    wrong = "0" * 8 if transaction != "0" * 8 else "1" * 8
    for cursor in (theirs, f"{node}.{sequence}.{part}.{wrong}", f"{node}.99.{part}.{transaction}", "x"):
        stream = Stream(loop, app, owner, last=cursor)
        assert "CURSOR_OF_ANOTHER_DATABASE" in stream.ended()
        assert stream.status == 409
        with pytest.raises(CursorOfAnotherDatabase):
            call("changes.list", after=cursor)


def test_a_stream_takes_the_filter_of_a_subscription(
    loop: Loop, services: Services, app: Any, owner: str
) -> None:
    call = by_runner(loop, services, owner)
    loop.run(services.database.script(DISABLED_ACCOUNT, id=owner))
    subscription = call("subscriptions.add", entity_types=["task"], delivery_method="sse")["subscription_id"]
    stream = Stream(loop, app, owner, f"subscription_id={subscription}").started()
    note(call, "a")
    note(call, "t", entity_type="task")
    assert titles(stream.until(1)) == ["t"]
    stream.close()
    listed = call("changes.list", subscription_id=subscription, after="", limit=1)
    assert (listed["changes"], "more" in listed) == (stream.changes, False)
    with pytest.raises(InvalidInput, match="leave out"):
        call("changes.list", subscription_id=subscription, entity_type="task")
    other = Stream(loop, app, str(uuid.uuid4()), f"subscription_id={subscription}")
    assert (NotFound.code in other.ended(), other.status) == (True, 404)


def test_a_stream_tells_what_begins_and_ceases_to_be_an_answer(
    loop: Loop, services: Services, app: Any, owner: str
) -> None:
    call = by_runner(loop, services, owner)
    loop.run(services.database.script(DISABLED_ACCOUNT, id=owner))
    query = {"filters": {"entity_type": "chore", "snapshot_filters": {"n": {"op": "gt", "value": 1}}}}
    made = call("subscriptions.add", query=query, delivery_method="sse")["subscription_id"]
    start = call("changes.list", subscription_id=made)
    assert start["changes"] == []
    stream = Stream(loop, app, owner, f"subscription_id={made}").started()
    for kind, title, n in (
        ("chore", "a", 1),
        ("chore", "a", 2),
        ("note", "b", 2),
        ("chore", "c", 3),
        ("chore", "a", 0),
    ):
        call("store", entities=[{"entity_type": kind, "title": title, "n": n}])
    told = stream.until(3)
    assert [(each["action"], each["name"]) for each in told] == [
        ("began", "a"),
        ("began", "c"),
        ("ended", "a"),
    ]
    stream.close()
    again = Stream(loop, app, owner, f"subscription_id={made}", last=told[0]["cursor"]).started()
    assert [each["event_id"] for each in again.until(2)] == [each["event_id"] for each in told[1:]]
    again.close()
    listed = list[dict[str, Any]]()
    for _ in told:
        page = call("changes.list", subscription_id=made, after=start["resume_cursor"], limit=1)
        listed += page["changes"]
        start = page
    assert (listed, "more" in start) == (told, False)
    other = Stream(loop, app, owner, last=told[0]["cursor"])
    assert (CursorOfAnotherDatabase.code in other.ended(), other.status) == (True, 409)


async def by_bearer(caller: Caller) -> Actor:
    """Take the bearer token for the owner."""
    return full_actor((caller.headers.get("authorization") or "").removeprefix("Bearer "))


def test_a_client_of_mcp_listens_over_http(loop: Loop, services: Services, owner: str) -> None:
    stream = Stream(loop, create_app(services, by_bearer), owner, listen=RECENT)
    stream.until_text("acknowledged")
    note(by_runner(loop, services, owner), "a")
    stream.until_text("notifications/resources/updated")
    assert stream.status == 200
    stream.close()
    assert services.of(ChangeFeed)._watched == {}


def test_a_process_serves_so_many_streams(
    loop: Loop, app: Any, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_feed, "STREAMS_LIMIT", 1)
    stream = Stream(loop, app, owner).started()
    for listen in ("", RECENT):
        assert "SERVICE_BUSY" in Stream(loop, create_app(services, by_bearer), owner, listen=listen).ended()
    stream.close()


@pytest.mark.parametrize("listen", ["", RECENT])
@pytest.mark.parametrize("is_over", ["credential", "process"])
def test_a_stream_ends_with_its_credential_and_with_the_process(
    loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch, is_over: str, listen: str
) -> None:
    monkeypatch.setattr(event_stream, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(resource_updates, "WAIT_SECONDS", 1)
    valid = [True]

    async def authenticate(caller: Caller) -> Actor:
        if not valid[0]:
            raise AuthInvalid
        return full_actor(owner)

    stream = Stream(loop, create_app(services, authenticate), owner, listen=listen)
    stream.until_text("acknowledged" if listen else "retry:")
    if is_over == "credential":
        valid[0] = False
        assert bool(listen) or AuthInvalid.code in stream.ended()
    else:
        monkeypatch.setattr(services.of(ChangeFeed), "is_ending", False)
        loop.run(ending(services))
        assert "error" not in stream.ended()
    assert not listen or '"result"' in stream.ended()


async def ending(services: Services) -> None:
    """Let the streams of a process end."""
    services.of(ChangeFeed).end()

"""What `graphmem mcp` answers without the service: the same as the MCP package's server."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from graphmem.errors import AuthRequired, CursorOfAnotherDatabase, ServiceUnreachable
from graphmem.mcp import thin
from graphmem.mcp.protocol import (
    LISTEN,
    SUBSCRIBE,
    UNSUBSCRIBE,
    ForwardedRequest,
    Protocol,
    Refusal,
    recorded,
)
from graphmem.mcp.resource_updates import Watch
from graphmem.mcp.toolsets import TOOLSETS
from graphmem.service import calling
from graphmem.service.wire import Request
from graphmem.settings import Settings, ToolsetName
from tests.support.mcp_conversation import (
    DISCOVER,
    ENVELOPE,
    TOOLS,
    Message,
    conversation,
    opening,
    server,
    with_envelope,
)
from tests.support.walks import walk_over

PING = {"method": "ping"}
UNKNOWN = {"method": "resources/list"}
PROMPTS, TEMPLATES = {"method": "prompts/list"}, {"method": "resources/templates/list"}
NO_NAME = {"method": "tools/call", "params": {"arguments": {}}}
NO_OBJECT = {"method": "tools/call", "params": {"name": "store", "arguments": []}}
CONVERSATIONS = [
    *(
        [opening(version), PING, TOOLS]
        for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
    ),
    [opening("2027-01-01"), opening("2024-11-05"), DISCOVER],
    [NO_NAME, PING, UNKNOWN, opening("2025-06-18"), NO_NAME, NO_OBJECT, UNKNOWN],
    [{"method": "initialize"}, {"method": "initialize", "params": {"protocolVersion": "2025-06-18"}}],
    [with_envelope(DISCOVER), with_envelope(TOOLS), with_envelope(PING)],
    [with_envelope(UNKNOWN), with_envelope(NO_NAME)],
    [
        with_envelope(DISCOVER),
        *(
            {"method": "tools/list", "params": {"_meta": meta}}
            for meta in (
                {**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2027-01-01"},
                {"io.modelcontextprotocol/protocolVersion": "2026-07-28"},
            )
        ),
    ],
]


def answered(toolset: ToolsetName, requests: Sequence[Message]) -> list[dict[str, Any]]:
    """Return what is answered to requests with ids from 1: by :class:`Protocol`, else by the HTTP server."""

    async def converse() -> list[dict[str, Any]]:
        protocol, answers = Protocol(recorded(toolset)), list[dict[str, Any]]()
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        manager = StreamableHTTPSessionManager(
            server(toolset, is_stdio=False), json_response=True, stateless=True, security_settings=security
        )
        transport = httpx.ASGITransport(manager.asgi_app)
        async with manager.run(), httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            for number, request in enumerate(requests, 1):
                try:
                    answer = protocol.answer(number, request["method"], request.get("params", {}))
                except Refusal as refusal:
                    code, message, data = refusal.args
                    error = {"code": code, "message": message, "data": data}
                    answers.append({"jsonrpc": "2.0", "id": number, "error": error})
                    continue
                if isinstance(answer, ForwardedRequest):
                    sent = {"jsonrpc": "2.0", "id": number, "method": answer.method, "params": answer.params}
                    response = await http.post("/mcp", json=sent, headers=answer.headers)
                    answers.append({**response.json(), "id": number})
                else:
                    answers.append({"jsonrpc": "2.0", "id": number, "result": answer})
        return answers

    return asyncio.run(converse())


@walk_over("requests", CONVERSATIONS)
def test_a_request_is_answered_here_or_there_as_the_server_of_the_mcp_package_answers_over_stdio(
    requests: list[Message],
) -> None:
    assert answered("memory", requests) == asyncio.run(conversation(server("memory"), requests))


def test_protocol_lists_prompts_and_templates_as_the_server_of_the_mcp_package_does() -> None:
    lists = [PROMPTS, TEMPLATES]
    for toolset in TOOLSETS:
        for requests in ([opening("2025-11-25"), *lists], [with_envelope(each) for each in lists]):
            assert answered(toolset, requests) == asyncio.run(conversation(server(toolset), requests))


@pytest.mark.parametrize("toolset", TOOLSETS)
def test_each_toolset_lists_its_tools_and_instructions(toolset: ToolsetName) -> None:
    initialized, listed = answered(toolset, [opening("2025-11-25"), TOOLS])
    assert initialized["result"]["instructions"] == TOOLSETS[toolset].instructions
    assert [tool["name"] for tool in listed["result"]["tools"]] == list(TOOLSETS[toolset].tools())


def test_a_call_has_the_headers_of_its_era() -> None:
    call = {"method": "tools/call", "params": {"name": "störe", "_meta": {"progressToken": 7}}}
    protocol = Protocol(recorded("core"))
    protocol.answer(1, "initialize", opening("2025-06-18")["params"])
    older = protocol.answer("a", "tools/call", call["params"])
    assert isinstance(older, ForwardedRequest)
    assert (older.id, older.progress_token, older.headers["MCP-Protocol-Version"]) == ("a", 7, "2025-06-18")
    newer = Protocol(recorded("core")).answer(1, "tools/call", with_envelope(call)["params"])
    assert newer.headers["Mcp-Name"] == "=?base64?c3TDtnJl?="
    assert newer.headers["Mcp-Method"] == "tools/call"
    assert newer.progress_token is None


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("store", "store"),
        (" store", "=?base64?IHN0b3Jl?="),
        ("a\r\nb", "=?base64?YQ0KYg==?="),
        ("=?base64?c3RvcmU=?=", "=?base64?PT9iYXNlNjQ/YzNSdmNtVT0/PQ==?="),
    ],
)
def test_a_name_that_is_no_plain_text_is_a_header_in_base64(name: str, header: str) -> None:
    call = with_envelope({"method": "tools/call", "params": {"name": name}})
    assert Protocol(recorded("core")).answer(1, "tools/call", call["params"]).headers["Mcp-Name"] == header


class Wire:
    """A client that is read by hand, and a service that answers when the test lets it."""

    def __init__(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        *,
        handshake: bool = True,
        mcp_tools: ToolsetName = "core",
    ) -> None:
        self.answer: Any = {"content": []}
        self.refusal: tuple[int, Any] | None = None
        self.may_answer = threading.Event()
        self.sent: list[Any] = []
        self.ends: list[socket.socket] = []
        """Of each call, the end of its connection that the service has."""
        self._out, wire = os.pipe()
        self.client = thin.StdioClient(Settings(data_dir=tmp_path, mcp_tools=mcp_tools), wire)
        self._wire = wire
        monkeypatch.setattr(calling, "send", self._send)
        self._handshakes = int(handshake)
        if handshake:
            self.take(method="initialize", id=0, params=opening("2025-11-25")["params"])

    def _send(
        self, settings: Any, request: Request, headers: Any, tell: Any, *, opened: Any
    ) -> tuple[int, bytes]:
        message = json.loads(request.body or b"")
        connection, end = socket.socketpair()
        opened(connection)
        self.ends.append(end)
        if tell:
            tell("starting … 1 s")
        self.sent.append((request.url, message))
        assert self.may_answer.wait(30)
        if tell:
            tell("starting … 5 s")
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.refusal:
            return self.refusal[0], orjson.dumps(self.refusal[1])
        return 200, orjson.dumps({"jsonrpc": "2.0", "id": message["id"], "result": self.answer})

    def take(self, **message: Any) -> None:
        self.client.take(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def messages(self) -> list[Any]:
        """End the conversation; return all that the client was sent after the handshake."""
        self.client.end()
        os.close(self._wire)
        with os.fdopen(self._out, "rb") as out:
            return [orjson.loads(line) for line in out][self._handshakes :]


@pytest.fixture
def wire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wire:
    return Wire(tmp_path, monkeypatch)


def test_a_call_is_passed_on_and_its_wait_told_under_the_token(wire: Wire) -> None:
    wire.may_answer.set()
    params = {"name": "store", "arguments": {"entities": [10**30]}, "_meta": {"progressToken": "p"}}
    wire.take(method="tools/call", id="x", params=params)
    progress, _, answer = wire.messages()
    assert progress["params"] == {"progressToken": "p", "progress": 1, "message": "starting … 1 s"}
    assert answer == {"jsonrpc": "2.0", "id": "x", "result": {"content": []}}
    ((url, request),) = wire.sent
    # The service answers by one message: progress is told here.
    assert (url, request["params"]) == ("/mcp/core", {**params, "_meta": {}})


REQUESTS: list[tuple[str, dict[str, Any], str | None]] = [
    ("resources/list", {"cursor": "x"}, None),
    ("resources/read", {"uri": "graphmem://schema/é"}, "=?base64?Z3JhcGhtZW06Ly9zY2hlbWEvw6k=?="),
    ("prompts/get", {"name": "what_do_we_know", "arguments": {"about": "Ada"}}, "what_do_we_know"),
    ("completion/complete", {"argument": {"name": "id", "value": "A"}}, None),
]


@walk_over("method, params, name", REQUESTS)
def test_a_request_that_needs_the_database_has_the_headers_of_its_method(
    method: str, params: dict[str, Any], name: str | None
) -> None:
    call = with_envelope({"method": method, "params": params})
    headers = Protocol(recorded("core")).answer(1, method, call["params"]).headers
    assert (headers["Mcp-Method"], headers.get("Mcp-Name")) == (method, name)


def test_requests_that_need_the_database_are_passed_on(wire: Wire) -> None:
    wire.may_answer.set()
    for number, (method, params, _) in enumerate(REQUESTS):
        wire.take(method=method, id=number, params=params)
    assert sorted(message["id"] for message in wire.messages()) == [0, 1, 2, 3]
    passed_on = {request["method"]: (url, request["params"]) for url, request in wire.sent}
    assert passed_on == {method: ("/mcp/core", params) for method, params, _ in REQUESTS}


def test_a_request_that_fails_here_has_an_error_with_the_envelope(wire: Wire) -> None:
    wire.answer = ServiceUnreachable("it ended")
    wire.may_answer.set()
    wire.take(method="resources/read", id=1, params={"uri": "graphmem://schema/person"})
    wire.take(method=SUBSCRIBE, id=2, params={})
    by_id = {message["id"]: message["error"] for message in wire.messages()}
    assert (by_id[1]["code"], by_id[1]["data"]["error_code"]) == (-32603, "SERVICE_UNREACHABLE")
    assert (by_id[2]["code"], by_id[2]["data"]["error_code"]) == (-32602, "VALIDATION_INVALID_FORMAT")


def test_each_era_has_its_own_way_to_subscribe() -> None:
    newer = [{"method": method, "params": {"uri": "x"}} for method in (SUBSCRIBE, UNSUBSCRIBE)]
    for requests in (
        [opening("2025-11-25"), {"method": LISTEN, "params": {"notifications": {}}}],
        [with_envelope(DISCOVER), *map(with_envelope, newer)],
        [with_envelope({"method": LISTEN})],
    ):
        assert answered("core", requests) == asyncio.run(conversation(server("core"), requests))


def test_a_toolset_without_resources_tells_of_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(tmp_path, monkeypatch, mcp_tools="memory")
    wire.take(method=SUBSCRIBE, id=1, params={"uri": "graphmem://recent"})
    (message,) = wire.messages()
    assert (message["error"]["code"], wire.sent) == (-32601, [])


CHANGE = {"event_type": "entity.updated", "entity_id": "ent_1", "entity_type": "person"}


@walk_over("changes, told", [
    ([], []),
    ([CHANGE], ["graphmem://entity/ent_1", "graphmem://recent"]),
    ([{**CHANGE, "entity_id": "ent_2", "merged_into": "ent_1"}], ["graphmem://entity/ent_1", "graphmem://recent"]),
    ([{"event_type": "schema.changed", "entity_type": "a/b"}], ["graphmem://recent", "graphmem://schema/a%2Fb"]),
    ([{"event_type": "database.restored"}],
     ["graphmem://entity/ent_1", "graphmem://recent", "graphmem://schema/a%2Fb"]),
])  # fmt: skip
def test_changes_touch_the_resources_that_show_them(changes: list[Any], told: list[str]) -> None:
    watch, uris = Watch(), ["graphmem://recent", "graphmem://schema/a%2Fb", "graphmem://entity/ent_1"]
    watch.take({"changes": [CHANGE], "resume_cursor": "1"}, uris)
    assert watch.changed == []
    assert watch.arguments["after"] == "1"
    watch.take({"changes": changes, "resume_cursor": "2"}, uris)
    assert watch.changed == told
    watch.fail(ServiceUnreachable(), uris)
    assert (watch.changed, watch.arguments["after"]) == ([], "2")
    watch.fail(CursorOfAnotherDatabase(), uris)
    assert (watch.changed, "after" in watch.arguments) == (sorted(uris), False)


def test_what_is_unknown_is_refused_while_the_service_starts(wire: Wire) -> None:
    wire.take(method="logging/setLevel", id=1, params={"level": "info"})
    meta = {**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2027-01-01"}
    wire.take(method="server/discover", id=2, params={"_meta": meta})
    assert [message["error"]["code"] for message in wire.messages()] == [-32601, -32022]
    assert wire.sent == []


def test_without_a_token_no_progress_is_sent(wire: Wire) -> None:
    wire.may_answer.set()
    wire.take(method="tools/call", id=1, params={"name": "store"})
    assert [message["id"] for message in wire.messages()] == [1]


def test_a_cancelled_call_is_not_answered_and_others_are(wire: Wire) -> None:
    wire.take(method="tools/call", id=1, params={"name": "store", "_meta": {"progressToken": 1}})
    while not wire.sent:
        time.sleep(0.01)
    wire.take(method="tools/call", id=2, params={"name": "store"})
    wire.take(method="notifications/cancelled", params={"requestId": 1})
    # The service hears of it.
    assert wire.ends[0].recv(1) == b""
    wire.take(method="ping", id=3)
    wire.may_answer.set()
    progress, *answers = wire.messages()
    assert progress["method"] == "notifications/progress"
    assert [message["id"] for message in answers] == [3, 2]


def test_an_error_of_the_service_is_an_error_of_the_tool(wire: Wire) -> None:
    wire.answer = ServiceUnreachable("it ended", reason="killed")
    wire.may_answer.set()
    wire.take(method="tools/call", id=1, params={"name": "store"})
    (message,) = wire.messages()
    assert message["result"]["isError"]
    envelope = message["result"]["structuredContent"]
    assert (envelope["error_code"], envelope["message"]) == ("SERVICE_UNREACHABLE", "it ended")
    assert orjson.loads(message["result"]["content"][0]["text"]) == envelope


def test_an_error_of_a_call_with_an_envelope_has_the_members_of_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = Wire(tmp_path, monkeypatch, handshake=False)
    wire.answer = ServiceUnreachable("it ended")
    wire.may_answer.set()
    wire.take(id=1, **with_envelope({"method": "tools/call", "params": {"name": "store"}}))
    (message,) = wire.messages()
    assert message["result"]["isError"]
    assert message["result"]["resultType"] == "complete"


def test_a_refusal_of_the_service_is_told_under_the_id_of_the_call(wire: Wire) -> None:
    """MCP answers a message that it refuses by itself; the gate before it answers by an envelope."""
    fault = {"code": -32602, "message": "Unknown tool"}
    wire.refusal = 400, {"jsonrpc": "2.0", "id": None, "error": fault}
    wire.may_answer.set()
    wire.take(method="tools/call", id="x", params={"name": "store"})
    (message,) = wire.messages()
    assert message == {"jsonrpc": "2.0", "id": "x", "error": fault}


def test_an_error_envelope_of_the_service_is_an_error_of_the_tool(wire: Wire) -> None:
    wire.refusal = 401, AuthRequired().envelope("trace")
    wire.may_answer.set()
    wire.take(method="tools/call", id=1, params={"name": "store"})
    (message,) = wire.messages()
    assert message["result"]["isError"]
    assert message["result"]["structuredContent"]["error_code"] == AuthRequired.code


def test_what_is_no_message_is_refused_and_blank_lines_are_not(wire: Wire) -> None:
    for line in (b"\n", b"{\n", b"[]\n", b'{"jsonrpc": "2.0", "id": 5, "method": 1}\n', b'{"id": true}\n'):
        wire.client.take(line)
    wire.take(id=1, result={})
    wire.take(method="notifications/initialized")
    codes = [(message["id"], message["error"]["code"]) for message in wire.messages()]
    assert codes == [(None, -32700), (None, -32600), (5, -32600), (None, -32600)]


def test_the_end_of_the_client_waits_shortly_for_its_calls(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thin, "DRAIN_SECONDS", 0.1)
    wire.take(method="tools/call", id=1, params={"name": "store"})
    begin = time.monotonic()
    (message,) = wire.messages()
    assert message["error"] == {"code": -32000, "message": "Connection closed"}
    assert time.monotonic() - begin < 20
    wire.may_answer.set()

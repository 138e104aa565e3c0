"""Conversations with the MCP package's own server, message by message, without a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

from graphmem.auth import local_actor
from graphmem.context import Services
from graphmem.mcp.protocol import SUBSCRIBE, UNSUBSCRIBE
from graphmem.mcp.tools import create_server
from graphmem.settings import ToolsetName

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
CLIENT = {"name": "test", "version": "1"}
TOOLS = {"method": "tools/list"}
DISCOVER = {"method": "server/discover"}
ANSWER_SECONDS = 30.0

Message = Mapping[str, Any]


def server(toolset: ToolsetName, *, is_stdio: bool = True) -> Server[Any]:
    """Return the server of a toolset. It has no services: none of its tools can be called.

    ``is_stdio``: whether a client may subscribe to resources by the methods of `graphmem mcp` alone.
    """
    made = create_server(cast(Services, None), lambda: local_actor("test"), toolset)
    if is_stdio and made.get_request_handler("resources/list"):
        made.add_request_handler(SUBSCRIBE, types.SubscribeRequestParams, _subscribed)
        made.add_request_handler(UNSUBSCRIBE, types.UnsubscribeRequestParams, _subscribed)
    return made


async def _subscribed(message: Any, params: Any) -> types.EmptyResult:
    return types.EmptyResult()


def opening(version: str) -> dict[str, Any]:
    """Return the request that opens a connection of the handshake era."""
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}
    return {"method": "initialize", "params": params}


def with_envelope(message: Message) -> dict[str, Any]:
    """Return a request with the envelope of the newest version."""
    return {**message, "params": {**message.get("params", {}), "_meta": ENVELOPE}}


async def conversation(server: Server[Any], requests: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the answers to requests, which are sent one after another and get ids from 1."""
    to_server, received = anyio.create_memory_object_stream[SessionMessage | Exception](1)
    sent, from_server = anyio.create_memory_object_stream[SessionMessage](1)
    answers: list[dict[str, Any]] = []
    async with to_server, from_server, anyio.create_task_group() as tasks:
        tasks.start_soon(server.run, received, sent, server.create_initialization_options())
        for number, request in enumerate(requests, 1):
            message = {"jsonrpc": "2.0", "id": number, **request}
            await to_server.send(SessionMessage(types.jsonrpc_message_adapter.validate_python(message)))
            with anyio.fail_after(ANSWER_SECONDS):
                answer = (await from_server.receive()).message
            answers.append(answer.model_dump(mode="json", by_alias=True, exclude_unset=True))
        tasks.cancel_scope.cancel()
    return answers

"""What an MCP server over stdio answers at once: the handshake and its lists. The service answers the rest.

The MCP package is not imported here because its import takes a second of processor time and 63 MB; the
answers of its server are recorded in the files of :data:`LISTED`, which `make snapshots` writes. A client
speaks one of two eras: ``initialize`` opens a connection of the handshake era, and each request of the era of
envelopes has the version in its ``_meta``. What a client tries in order to find out what there is, is refused
at once; every other request that is not valid goes to the service, which refuses it.
"""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphmem.settings import ToolsetName

LISTED = Path(__file__).parent / "listed"
"""One file per toolset, with the answers of an MCP server that lists it; `make snapshots` writes them."""

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"

BATCHED = "2025-03-26"
"""The version that has batches of messages."""
CALL = "tools/call"
SUBSCRIBE, UNSUBSCRIBE, LISTEN = "resources/subscribe", "resources/unsubscribe", "subscriptions/listen"
NAMES = {CALL: "name", "prompts/get": "name", "resources/read": "uri", SUBSCRIBE: "uri", UNSUBSCRIBE: "uri"}
"""The methods of requests that name something, each with the parameter that has the name."""

METHOD_NOT_FOUND, UNSUPPORTED_VERSION = -32601, -32022

RequestId = int | str


class Refusal(Exception):
    """A JSON-RPC error: its code, its message and its data."""


@dataclass(frozen=True, slots=True)
class ForwardedRequest:
    """A request that the service answers, such as a call of a tool. ``version`` is that of the protocol."""

    id: RequestId
    method: str
    params: Mapping[str, Any]
    version: str
    has_envelope: bool
    connections: list[socket.socket] = field(default_factory=list, compare=False)
    """Those over which it is under way."""

    @property
    def headers(self) -> dict[str, str]:
        """The HTTP headers under which the service takes the request."""
        headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": self.version}
        if self.has_envelope:
            headers["Mcp-Method"] = _header(self.method)
            if isinstance(name := self.params.get(NAMES.get(self.method, "")), str):
                headers["Mcp-Name"] = _header(name)
        return headers

    @property
    def progress_token(self) -> RequestId | None:
        """The token under which the client wants progress; None if it wants none."""
        token = _meta(self.params).get("progressToken")
        return token if is_id(token) else None


def recorded(toolset: ToolsetName) -> dict[str, Any]:
    """Return the recorded answers of a toolset.

    These are the answers to ``initialize``, but for the version, to ``discover``, and to the ``lists`` that
    the toolset fixes, as in the handshake era; what each has besides in the era of envelopes; the tools that
    are ``closed`` in a sandbox; the methods that are ``forwarded`` to the service, and what ``waiting`` of
    them is answered while the database starts; and the versions of both eras, of which the last one is
    proposed.
    """
    return json.loads((LISTED / f"{toolset}.json").read_text("utf-8"))


class Protocol:
    def __init__(self, answers: Mapping[str, Any]) -> None:
        self._answers = answers
        self.version = answers["handshake_versions"][-1]

    def answer(self, request_id: RequestId, method: str, params: Mapping[str, Any]) -> Any:
        """Return the result of a request, or the :class:`ForwardedRequest` that the service has to answer.

        Refusal: the method or the version is unknown.
        """
        recorded, meta = self._answers, _meta(params)
        version, has_envelope = meta.get(VERSION_KEY, self.version), VERSION_KEY in meta
        if not has_envelope and method == "ping":
            return {}
        if not has_envelope and method == "initialize" and isinstance(params.get("clientInfo"), dict):
            self.version = params.get("protocolVersion")
            if self.version not in recorded["handshake_versions"]:
                self.version = recorded["handshake_versions"][-1]
            return {**recorded["initialize"], "protocolVersion": self.version}
        if has_envelope and isinstance(version, str) and version not in recorded["envelope_versions"]:
            data = {"supported": recorded["envelope_versions"], "requested": version}
            raise Refusal(UNSUPPORTED_VERSION, "Unsupported protocol version", data)
        opening = ("initialize", "server/discover") if has_envelope else ("initialize",)
        if method not in (*opening, *recorded["lists"], *recorded["forwarded"]):
            raise Refusal(METHOD_NOT_FOUND, "Method not found", method)
        is_sound = version in recorded["envelope_versions"] and isinstance(meta.get(CAPABILITIES_KEY), dict)
        if is_sound and method == "server/discover":
            return recorded["discover"]
        if method in recorded["lists"] and (is_sound or not has_envelope):
            return {**recorded["lists"][method], **(recorded["envelope"] if is_sound else {})}
        return ForwardedRequest(request_id, method, params, _header(str(version)), has_envelope)


def is_id(value: Any) -> bool:
    """Return whether a value can be the id of a request, or a progress token."""
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _meta(params: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def _header(name: str) -> str:
    """Return a name as the value of a header: in base64 where it is not plain text."""
    if name.isascii() and name.isprintable() and name == name.strip() and not name.startswith("=?"):
        return name
    return f"=?base64?{base64.b64encode(name.encode(errors='replace')).decode()}?="

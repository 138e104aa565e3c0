"""What an MCP server over stdio answers by itself: the handshake, its lists, and refusals.

The MCP package answers the same. It is not imported here because its import takes a second of processor time
and 63 MB; the answers of its server are recorded in the files of :data:`LISTED`, which `make snapshots`
writes. A client speaks one of two eras, which its first request decides: ``initialize`` opens a connection of
the handshake era, and a request with the version in its ``_meta`` opens one of the era of envelopes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphmem.settings import ToolsetName

LISTED = Path(__file__).parent / "listed"
"""One file per toolset, with the answers of an MCP server that lists it; `make snapshots` writes them."""

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
INTERNAL_ERROR = -32603
UNSUPPORTED_VERSION = -32022
CONNECTION_CLOSED = -32000

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"

CALL = "tools/call"
SUBSCRIBE, UNSUBSCRIBE, LISTEN = "resources/subscribe", "resources/unsubscribe", "subscriptions/listen"
NAMES = {CALL: "name", "prompts/get": "name", "resources/read": "uri", SUBSCRIBE: "uri", UNSUBSCRIBE: "uri"}
"""The methods of requests that name something, each with the parameter that has the name."""

RequestId = int | str


class Refusal(Exception):
    """A JSON-RPC error: its code, its message, and its data, if it has any."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


@dataclass(frozen=True, slots=True)
class ForwardedRequest:
    """A request that the service answers, such as a call of a tool. ``version`` is that of the protocol."""

    id: RequestId
    method: str
    params: Mapping[str, Any]
    version: str
    has_envelope: bool

    @property
    def headers(self) -> dict[str, str]:
        """The HTTP headers under which the service takes the request."""
        headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": self.version}
        if self.has_envelope:
            headers["Mcp-Method"] = self.method
            if self.method in NAMES:
                headers["Mcp-Name"] = _header(self.params[NAMES[self.method]])
        return headers

    @property
    def progress_token(self) -> RequestId | None:
        """The token under which the client wants progress; None if it wants none."""
        meta = self.params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        return token if is_id(token) else None


@dataclass(frozen=True, slots=True)
class Answers:
    """The recorded answers of one toolset.

    Attributes:
        initialize: the answer to ``initialize``, but for the version.
        discover: the answer to ``server/discover``.
        lists: the answers in the handshake era to methods that list what the toolset fixes.
        forwarded: the methods that the service answers, or this program with its help.
        envelope: what each answer in the era of envelopes has besides.
        handshake_versions: the versions of the handshake era; the last one is proposed to others.
        envelope_versions: the versions of the era of envelopes.
    """

    initialize: dict[str, Any]
    discover: dict[str, Any]
    lists: Mapping[str, Mapping[str, Any]]
    forwarded: list[str]
    envelope: Mapping[str, Any]
    handshake_versions: list[str]
    envelope_versions: list[str]

    @property
    def has_output_schemas(self) -> bool:
        """Whether the tools are listed with the schemas of their answers, which no error fits."""
        return any("outputSchema" in tool for tool in self.lists["tools/list"]["tools"])


def recorded(toolset: ToolsetName) -> Answers:
    return Answers(**json.loads((LISTED / f"{toolset}.json").read_text("utf-8")))


class Protocol:
    """One connection of a client."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._has_envelopes: bool | None = None
        self._version: str | None = None

    def answer(self, request_id: RequestId, method: str, params: Mapping[str, Any]) -> Any:
        """Return the result of a request, or the :class:`ForwardedRequest` that the service has to answer.

        Raises:
            Refusal: the request is not valid.
        """
        if self._has_envelopes is None:
            self._has_envelopes = method != "initialize" and _has_envelope(params)
        if self._has_envelopes:
            return self._with_envelope(request_id, method, params)
        return self._after_handshake(request_id, method, params)

    def _after_handshake(self, request_id: RequestId, method: str, params: Mapping[str, Any]) -> Any:
        if method == "initialize":
            return self._initialize(params)
        if _has_envelope(params):
            raise Refusal(
                INVALID_REQUEST,
                "this connection serves the handshake protocol era; "
                "requests carrying the 2026-07-28 envelope are not accepted on it",
            )
        if method == "ping":
            return {}
        if method == LISTEN or method not in (*self._answers.lists, *self._answers.forwarded):
            raise Refusal(METHOD_NOT_FOUND, "Method not found", method)
        if self._version is None:
            raise _invalid_params()
        if method in self._answers.lists:
            return self._answers.lists[method]
        return _forwarded(ForwardedRequest(request_id, method, params, self._version, has_envelope=False))

    def _initialize(self, params: Mapping[str, Any]) -> Any:
        version, client = params.get("protocolVersion"), params.get("clientInfo")
        if (
            not isinstance(version, str)
            or not isinstance(params.get("capabilities"), dict)
            or not isinstance(client, dict)
            or not isinstance(client.get("name"), str)
            or not isinstance(client.get("version"), str)
        ):
            raise _invalid_params()
        versions = self._answers.handshake_versions
        self._version = version if version in versions else versions[-1]
        return {**self._answers.initialize, "protocolVersion": self._version}

    def _with_envelope(self, request_id: RequestId, method: str, params: Mapping[str, Any]) -> Any:
        versions = self._answers.envelope_versions
        if method == "initialize":
            requested = params.get("protocolVersion")
            raise Refusal(
                UNSUPPORTED_VERSION,
                "connection is serving the 2026-07-28 protocol; the initialize handshake is not accepted",
                {"supported": versions} | ({"requested": requested} if isinstance(requested, str) else {}),
            )
        version = _envelope_version(params, versions)
        if method == "server/discover":
            return self._answers.discover
        if method in self._answers.lists:
            return {**self._answers.lists[method], **self._answers.envelope}
        if method in self._answers.forwarded and method not in (SUBSCRIBE, UNSUBSCRIBE):
            return _forwarded(ForwardedRequest(request_id, method, params, version, has_envelope=True))
        raise Refusal(METHOD_NOT_FOUND, "Method not found", method)


def is_id(value: Any) -> bool:
    """Return whether a value can be the id of a request, or a progress token."""
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _has_envelope(params: Mapping[str, Any]) -> bool:
    meta = params.get("_meta")
    return isinstance(meta, dict) and VERSION_KEY in meta


def _envelope_version(params: Mapping[str, Any], versions: list[str]) -> str:
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        raise Refusal(
            INVALID_PARAMS,
            f"params._meta must be an object carrying the required {VERSION_KEY!r} and {CAPABILITIES_KEY!r} "
            "envelope keys",
        )
    if missing := [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in meta]:
        message = f"params._meta is missing the required envelope key(s): {', '.join(missing)}"
        raise Refusal(INVALID_PARAMS, message)
    version = meta[VERSION_KEY]
    if not isinstance(version, str):
        raise Refusal(INVALID_PARAMS, "the protocol-version envelope value must be a string")
    if version not in versions:
        data = {"supported": versions, "requested": version}
        raise Refusal(UNSUPPORTED_VERSION, "Unsupported protocol version", data)
    return version


def _forwarded(request: ForwardedRequest) -> ForwardedRequest:
    """Return a request after checking what its headers and this program need of it."""
    name, arguments = request.params.get(NAMES.get(request.method, "")), request.params.get("arguments")
    is_named = request.method not in NAMES or isinstance(name, str)
    if request.method == LISTEN:
        is_named = isinstance(request.params.get("notifications"), dict)
    if not is_named or not (arguments is None or isinstance(arguments, dict)):
        raise _invalid_params()
    return request


def _invalid_params() -> Refusal:
    return Refusal(INVALID_PARAMS, "Invalid request parameters", "")


def _header(name: str) -> str:
    """Return a name as the value of a header: in base64 where it is not plain text."""
    if name.isascii() and name.isprintable() and name == name.strip() and not name.startswith("=?"):
        return name
    return f"=?base64?{base64.b64encode(name.encode(errors='replace')).decode()}?="

"""MCP over stdin and stdout as a client of the local service.

``graphmem/mcp/protocol.py`` answers the handshake and lists tools and prompts, at once. All other requests,
such as calls of tools, go to the service, which is started in the background; it refuses what is not valid.
Neither the operations nor the database are imported.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import secrets
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from graphmem.errors import GraphmemError, InternalError, InvalidInput, ServiceUnreachable
from graphmem.ingest import own_files
from graphmem.mcp import protocol
from graphmem.mcp.resource_updates import RETRY_SECONDS, ROUTE, Watch
from graphmem.service import calling, greeting, wire
from graphmem.service.place import lock, make_folder, place, sessions
from graphmem.settings import Settings

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32602, -32603
CONNECTION_CLOSED = -32000
DRAIN_SECONDS = 5.0  # seconds in which the calls under way are answered after the client has closed its end


def run(settings: Settings, account: str | None = None) -> None:
    """Serve until stdin closes. ``account``: the name of the account that acts, by default the local one.

    Raises DataDirectoryRefused: the folder of the local service cannot be used.
    """
    make_folder(place(settings))
    lock(sessions(place(settings)), shared=True)  # until this process ends
    threading.Thread(target=_start, args=(settings,), daemon=True).start()
    # What else is written to stdout goes to stderr: stdout belongs to MCP.
    sys.stdout.flush()
    output = os.dup(1)
    os.dup2(2, 1)
    client = StdioClient(settings, output, account)
    for line in sys.stdin.buffer:
        client.take(line)
    client.end()


@dataclass(slots=True)
class _Batch:
    """A batch of JSON-RPC: how many of its requests are not answered, and the answers."""

    left: int
    lines: list[bytes] = field(default_factory=list)


class StdioClient:
    """The client at the other end of stdin and stdout.

    Each request to the service waits for its answer in a thread of its own.
    """

    def __init__(self, settings: Settings, output: int, account: str | None = None) -> None:
        self._settings = settings
        self._account = account
        self._answers = protocol.recorded(settings.mcp_tools)
        if settings.sandbox:
            from graphmem.sandbox.terms import instructions_of

            for answer in (self._answers["initialize"], self._answers["discover"]):
                answer["instructions"] = instructions_of(answer["instructions"], is_sandbox=True)
            tools = self._answers["lists"]["tools/list"]
            tools["tools"] = [each for each in tools["tools"] if each["name"] not in self._answers["closed"]]
        self._protocol = protocol.Protocol(self._answers)
        self._output = output
        self._writing = threading.Lock()
        self._calls: dict[str, tuple[protocol.ForwardedRequest, threading.Thread]] = {}
        """The calls under way by request id. A call that is cancelled is taken out, and not answered."""
        self._batches: dict[str, _Batch] = {}  # by the ids of their requests that are not answered
        self._subscribed: set[str] = set()
        self._telling: threading.Thread | None = None
        self._starting = threading.Lock()

    def take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._write(_error(None, PARSE_ERROR, "Parse error"))
            return
        if isinstance(message, list) and message and self._protocol.version == protocol.BATCHED:
            # Of the messages of a batch, those that are answered; one list has all the answers.
            request_ids = {
                str(each["id"]) for each in message if _is_message(each) and {"id", "method"} <= each.keys()
            }
            with self._writing:
                self._batches |= dict.fromkeys(request_ids, _Batch(len(request_ids)))
            for each in message:
                self._take(each)
        else:
            self._take(message)

    def _take(self, message: Any) -> None:
        if not _is_message(message):
            request_id = message.get("id") if isinstance(message, dict) else None
            self._write(
                _error(request_id if protocol.is_id(request_id) else None, INVALID_REQUEST, "Invalid Request")
            )
        elif "method" in message and "id" in message:
            self._request(message["id"], message["method"], message.get("params") or {})
        elif message.get("method") == "notifications/cancelled":
            with self._writing:
                cancelled = str((message.get("params") or {}).get("requestId"))
                if (call := self._calls.pop(cancelled, None)) is not None:
                    self._write_answer(cancelled, b"")
            for connection in call[0].connections if call else ():
                # The service hears that nobody waits.
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """Wait for the calls under way, but not for long: nobody may be there to read their answers."""
        deadline = time.monotonic() + DRAIN_SECONDS
        with self._writing:
            # A request that listens ends with the client.
            calls = [each for each in self._calls.values() if each[0].method != protocol.LISTEN]
        for call, thread in calls:
            thread.join(max(0.0, deadline - time.monotonic()))
            self._write_of(call, _error(call.id, CONNECTION_CLOSED, "Connection closed"), is_answer=True)

    def _request(self, request_id: protocol.RequestId, method: str, params: Mapping[str, Any]) -> None:
        try:
            answer = self._protocol.answer(request_id, method, params)
        except protocol.Refusal as refusal:
            self._write(_error(request_id, *refusal.args), request_id)
            return
        if isinstance(answer, protocol.ForwardedRequest):
            thread = threading.Thread(target=self._call, args=(answer,), daemon=True)
            self._calls[str(request_id)] = answer, thread
            thread.start()
        else:
            self._write(_line({"jsonrpc": "2.0", "id": request_id, "result": answer}), request_id)

    def _call(self, call: protocol.ForwardedRequest) -> None:
        """Let the service answer a call. Faults of its start are told as errors of a tool, or of JSON-RPC."""
        try:
            answer = self._watches(call).get(call.method, self._forward)(call)
        except GraphmemError as exc:
            answer = self._failed(call, exc)
        except Exception as exc:
            traceback.print_exc()  # on stderr, which the client's program shows
            answer = self._failed(call, InternalError(f"an unexpected fault ({type(exc).__name__})"))
        self._write_of(call, answer, is_answer=True)

    def _watches(
        self, call: protocol.ForwardedRequest
    ) -> Mapping[str, Callable[[protocol.ForwardedRequest], bytes]]:
        """Return what answers requests to be told of changes of resources. Each era has its own way."""
        if call.has_envelope:
            return (
                {protocol.LISTEN: self._listen} if isinstance(call.params.get("notifications"), dict) else {}
            )
        return {protocol.SUBSCRIBE: self._subscribe, protocol.UNSUBSCRIBE: self._subscribe}

    def _forward(self, call: protocol.ForwardedRequest) -> bytes:
        """Return what the service answers, as one line of JSON-RPC."""
        params, waiting = {**call.params}, self._answers["waiting"].get(call.method)
        if waiting is not None and "cursor" not in params and not self._is_ready():
            return _line({"jsonrpc": "2.0", "id": call.id, "result": waiting | self._envelope(call)})
        arguments = params.get("arguments")
        if (
            call.method == protocol.CALL
            and str(params.get("name")) in own_files.TOOLS
            and isinstance(arguments, dict)
        ):
            params["arguments"] = own_files.with_content(arguments)
        if call.progress_token is not None:
            # Progress is told here: the answer is one message then.
            params["_meta"] = {
                name: each for name, each in params["_meta"].items() if name != "progressToken"
            }
        message = {"jsonrpc": "2.0", "id": call.id, "method": call.method, "params": params}
        request = wire.request_of(("POST", f"/mcp/{self._settings.mcp_tools}"), message)
        headers = {"X-Client-Name": "mcp", **call.headers, **calling.account_headers(self._account)}
        numbers = itertools.count(1)

        def tell(line: str) -> None:
            params = {"progressToken": call.progress_token, "progress": next(numbers), "message": line}
            self._write_of(call, _notification("notifications/progress", params))

        tell_progress = None if call.progress_token is None else tell
        with calling.telling(str(params.get("name", call.method)), tell_progress):
            status, body = calling.send(
                self._settings, request, headers, tell_progress, opened=call.connections.append
            )
        if status == 200:
            return body
        answer = json.loads(body)
        if "error" in answer:
            return _line({**answer, "id": call.id})
        raise GraphmemError.of(answer)

    def _subscribe(self, call: protocol.ForwardedRequest) -> bytes:
        uri = call.params.get("uri")
        if not isinstance(uri, str):
            raise InvalidInput("uri is the address of a resource")
        with self._starting:
            change = self._subscribed.add if call.method == protocol.SUBSCRIBE else self._subscribed.discard
            change(uri)
            if self._telling is None:
                thread_args = (self._follow(Watch()), self._subscribed, self._write, lambda: True, {})
                self._telling = threading.Thread(target=self._tell, args=thread_args, daemon=True)
                self._telling.start()
        return _line({"jsonrpc": "2.0", "id": call.id, "result": {}})

    def _listen(self, call: protocol.ForwardedRequest) -> bytes:
        """Tell of changes until the client cancels the request, which has no answer then."""
        requested = call.params["notifications"].get("resourceSubscriptions")
        uris = [uri for uri in requested if isinstance(uri, str)] if isinstance(requested, list) else []
        meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": call.id}}
        honored = {"notifications": {"resourceSubscriptions": uris} if uris else {}, **meta}
        watch = self._follow(Watch())
        write = partial(self._write_of, call)
        write(_notification("notifications/subscriptions/acknowledged", honored))
        self._tell(watch, uris, write, lambda: str(call.id) in self._calls, meta)
        return b""

    def _follow(self, watch: Watch, uris: Collection[str] = ()) -> Watch:
        """Ask what changed, or at first from which place on."""
        body = calling.call(self._settings, ROUTE, watch.arguments, "mcp", account=self._account)
        watch.take(json.loads(body), [*uris])
        return watch

    def _tell(
        self, watch: Watch, uris: Collection[str], write: Callable[[bytes], None],
        is_open: Callable[[], bool], meta: Mapping[str, Any],
    ) -> None:  # fmt: skip
        """Tell of changed resources. A service that has ended is not started again for that."""
        while is_open():
            try:
                if not self._is_ready():
                    raise ServiceUnreachable
                self._follow(watch, uris)
            except GraphmemError as exc:
                watch.fail(exc, [*uris])
                time.sleep(RETRY_SECONDS)
            for uri in watch.changed:
                write(_notification("notifications/resources/updated", {"uri": uri, **meta}))

    def _failed(self, call: protocol.ForwardedRequest, error: GraphmemError) -> bytes:
        text = json.dumps(error.envelope(secrets.token_hex(16)), default=str)
        if call.method != protocol.CALL:
            code = INVALID_PARAMS if error.status == 400 else INTERNAL_ERROR
            return _error(call.id, code, str(error), json.loads(text))
        result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": True}
        # No error fits the schema of an answer.
        if not any("outputSchema" in tool for tool in self._answers["lists"]["tools/list"]["tools"]):
            result["structuredContent"] = json.loads(text)
        envelope = self._envelope(call)
        result |= {name: envelope[name] for name in ("resultType", "_meta") if name in envelope}
        return _line({"jsonrpc": "2.0", "id": call.id, "result": result})

    def _envelope(self, call: protocol.ForwardedRequest) -> dict[str, Any]:
        """Return the members of a result that the era of a call has besides."""
        return self._answers["envelope"] if call.has_envelope else {}

    def _is_ready(self) -> bool:
        return (calling.greet(place(self._settings)) or {}).get("state") == greeting.READY

    def _write_of(self, call: protocol.ForwardedRequest, line: bytes, is_answer: bool = False) -> None:
        """Write a message about a call that is under way. Its answer is the last one."""
        with self._writing:
            if self._calls.get(str(call.id), (None,))[0] is call:
                if is_answer:
                    del self._calls[str(call.id)]
                    self._write_answer(call.id, line)
                else:
                    self._write_all(line)

    def _write(self, line: bytes, answered: protocol.RequestId | None = None) -> None:
        with self._writing:
            self._write_answer(answered, line)

    def _write_answer(self, request_id: protocol.RequestId | None, line: bytes) -> None:
        """Write the answer to a request, an empty one of nothing; of a batch with its last one."""
        batch = None if request_id is None else self._batches.pop(str(request_id), None)
        if batch is not None:
            batch.lines += [line] if line else []
            batch.left -= 1
            line = b"" if batch.left or not batch.lines else b"[" + b",".join(batch.lines) + b"]"
        if line:
            self._write_all(line)

    def _write_all(self, line: bytes) -> None:
        left = memoryview(line.rstrip(b"\n") + b"\n")
        # A client that has gone reads nothing: stdin ends next.
        with contextlib.suppress(BrokenPipeError):
            while left:
                left = left[os.write(self._output, left) :]


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode(errors="backslashreplace")


def _notification(method: str, params: Mapping[str, Any]) -> bytes:
    return _line({"jsonrpc": "2.0", "method": method, "params": params})


def _error(request_id: protocol.RequestId | None, code: int, message: str, data: Any = None) -> bytes:
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return _line({"jsonrpc": "2.0", "id": request_id, "error": error})


def _is_message(message: Any) -> bool:
    """Return whether a value is a JSON-RPC message: a request, a notification or a response."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return False
    if "method" not in message:
        return "result" in message or "error" in message
    params = message.get("params")
    return (
        isinstance(message["method"], str)
        and (params is None or isinstance(params, dict))
        and ("id" not in message or protocol.is_id(message["id"]))
    )


def _start(settings: Settings) -> None:
    """Start the service before the first call. What is wrong is told to the first call."""
    with contextlib.suppress(GraphmemError, OSError):
        calling.ensure(settings)

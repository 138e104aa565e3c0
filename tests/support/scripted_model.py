"""A language model on loopback that answers the APIs that agents call with one text, and keeps prompts."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

ANSWER: Final = "Hello from the script."


def anthropic() -> list[tuple[str, Any]]:
    """Return the events of a streamed answer of the Messages API of Anthropic."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
        {"type": "message_stop"},
    ]
    return [(each["type"], each) for each in events]


def responses() -> list[tuple[str, Any]]:
    """Return the events of a streamed answer of the Responses API of OpenAI."""
    content = [{"type": "output_text", "text": ANSWER, "annotations": []}]
    item = {
        "type": "message",
        "id": "m1",
        "status": "completed",
        "role": "assistant",
        "content": content,
    }
    whole = {"id": "r1", "object": "response", "status": "completed", "model": "m", "output": [item],
             "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}  # fmt: skip
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return [(each["type"], each) for each in events]


def chat() -> list[tuple[str, Any]]:
    """Return the events of a streamed answer of the Chat Completions API of OpenAI."""
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    choice = {"index": 0, "delta": {"role": "assistant", "content": ANSWER}, "finish_reason": None}
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return [
        ("", {**head, "choices": [choice]}),
        ("", {**head, "choices": [end], "usage": usage}),
        ("", "[DONE]"),
    ]


def gemini() -> list[tuple[str, Any]]:
    """Return the one event of a streamed answer of the API of Gemini."""
    content = {"role": "model", "parts": [{"text": ANSWER}]}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return [("", {"candidates": [candidate], "usageMetadata": usage})]


APIS: Final = {
    "/messages": anthropic, "/responses": responses, "/chat/completions": chat, "enerateContent": gemini,
}  # fmt: skip


class ScriptedModel(ThreadingHTTPServer):
    """``prompts`` are the bodies that were sent, as text."""

    daemon_threads = True
    prompts: list[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send("application/json", b'{"data": [], "models": []}')

    do_HEAD = do_GET

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        events = next((make() for name, make in APIS.items() if name in self.path), None)
        if events is None or "count_tokens" in self.path:
            return self._send("application/json", b'{"input_tokens": 10, "totalTokens": 10}')
        assert isinstance(self.server, ScriptedModel)
        self.server.prompts.append(body.decode(errors="replace"))
        if ":generateContent" in self.path:  # Gemini, in one piece
            return self._send("application/json", json.dumps(events[0][1]).encode())
        lines = (
            (f"event: {name}\n" if name else "")
            + f"data: {data if isinstance(data, str) else json.dumps(data)}"
            for name, data in events
        )
        return self._send("text/event-stream", "".join(f"{each}\n\n" for each in lines).encode())

    def _send(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@contextlib.contextmanager
def scripted_model() -> Iterator[ScriptedModel]:
    """Run the model meanwhile."""
    with ScriptedModel(("127.0.0.1", 0), _Answering) as model:
        model.prompts = []
        threading.Thread(target=model.serve_forever, daemon=True).start()
        yield model
        model.shutdown()

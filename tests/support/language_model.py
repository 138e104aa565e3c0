"""A service with the API of OpenAI, on a real socket: it records requests, and answers what a test says."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from graphmem import settings as graphmem_settings
from graphmem.settings import Settings

KEY = "key-of-the-language-model"
NOTHING: dict[str, Any] = {"entities": [], "relationships": []}


@dataclass
class LanguageModel:
    """What the service answers, and the requests that it got.

    Attributes:
        reads: makes the answer from the text of the document.
        statuses: what it answers first, instead of chats.
        finish: why the answer ended.
        raw: the body of every answer, if it is no chat.
        broken: whether the connection ends within the body.
        seconds: how long an answer takes.
    """

    reads: Callable[[str], dict[str, Any]] = lambda text: NOTHING
    statuses: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    content: str | None = None
    refusal: str | None = None
    finish: str = "stop"
    raw: bytes | None = None
    broken: bool = False
    seconds: float = 0.0
    requests: list[dict[str, Any]] = field(default_factory=list)
    received_headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    url: str = ""

    @property
    def texts(self) -> list[str]:
        """The texts between the fences of the requests."""
        return [fenced(request) for request in self.requests]

    def answer(self, request: dict[str, Any]) -> bytes:
        if self.raw is not None:
            return self.raw
        content = self.content if self.content is not None else json.dumps(self.reads(fenced(request)))
        message = {"role": "assistant", "content": None if self.refusal else content, "refusal": self.refusal}
        return json.dumps({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": request["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish, "logprobs": None}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12},
        }).encode()  # fmt: skip

    def settings(self, **more: Any) -> Settings:
        """Return settings that name this service."""
        options = {"llm_url": self.url, "llm_key": KEY, "llm_model": "reader-1", "llm_timeout": 30.0, **more}
        return graphmem_settings.load(**options)


def fenced(request: dict[str, Any]) -> str:
    """Return the text of the document in a request: what stands between the first line and the last."""
    return request["messages"][1]["content"].partition("\n")[2].rpartition("\n")[0]


@contextlib.contextmanager
def running_language_model() -> Iterator[LanguageModel]:
    """Serve a language model while the block runs."""
    model = LanguageModel()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            model.requests.append(request)
            model.received_headers.append({name.lower(): value for name, value in self.headers.items()})
            model.paths.append(self.path)
            time.sleep(model.seconds)
            status = model.statuses.pop(0) if model.statuses else 200
            fault = {"error": {"message": f"the prompt is wrong, says {KEY}", "type": "fault", "code": None}}
            answer = model.answer(request) if status == 200 else json.dumps(fault).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            for name, value in model.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer) + model.broken))
            self.end_headers()
            # A client that has given up closes the connection.
            with contextlib.suppress(ConnectionError):
                self.wfile.write(answer)
            self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        model.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield model
        finally:
            server.shutdown()
            thread.join()

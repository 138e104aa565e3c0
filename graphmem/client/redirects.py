"""Where the answer of the consent page arrives: at a port of this machine, or pasted by a person."""

import html
import os
import queue
import sys
import threading
import webbrowser
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self
from urllib.parse import parse_qsl, urlsplit

from graphmem.client.oauth_login import REDIRECT_PATH
from graphmem.errors import LoginFailed

WAIT_SECONDS: Final = 600.0
"""Seconds for which a login waits for the person: those for which the service keeps the request."""
_READ_SECONDS: Final = 10.0
_PAGE: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    '<title>graphmem</title><p style="font:1.1rem system-ui;margin:3rem">{text}</p></html>'
)
_HEADERS: Final = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Connection": "close",
}


class Receiver:
    """Listens on a free loopback port for one redirect. Answers to other logins are refused and not taken."""

    def __init__(self) -> None:
        self.is_answer: Callable[[Mapping[str, str]], bool] = lambda parameters: False
        """Tells by their ``state`` whether the parameters of a redirect are those that are waited for."""
        self._answers: queue.SimpleQueue[dict[str, str]] = queue.SimpleQueue()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.port: int = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait(self, seconds: float = WAIT_SECONDS) -> dict[str, str]:
        """Return the parameters of the redirect; raises LoginFailed: none came in time."""
        try:
            return self._answers.get(timeout=seconds)
        except queue.Empty:
            raise LoginFailed(
                f"nobody allowed the login within {seconds / 60:.0f} minutes: run the command again, on a "
                "machine without a browser with --code"
            ) from None

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            timeout = _READ_SECONDS
            server_version, sys_version = "graphmem", ""

            def do_GET(self) -> None:
                status, text = receiver._take(self.path)
                page = _PAGE.format(text=html.escape(text)).encode()
                self.send_response(status)
                for name, value in {**_HEADERS, "Content-Length": str(len(page))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing: the path has the code."""

        return Handler

    def _take(self, target: str) -> tuple[HTTPStatus, str]:
        parts = urlsplit(target)
        if parts.path != REDIRECT_PATH:
            return HTTPStatus.NOT_FOUND, "There is nothing here."
        parameters = _parameters(parts.query)
        if parameters is None or not self.is_answer(parameters):
            return HTTPStatus.BAD_REQUEST, "This answers another login. Run graphmem auth login again."
        self._answers.put(parameters)
        if "error" in parameters:
            return HTTPStatus.OK, "The login was not allowed. You can close this window."
        return HTTPStatus.OK, "Go on in the terminal. You can close this window."


def pasted(text: str) -> dict[str, str] | str:
    """Return the parameters of the redirect URL that a person pasted, or the code if it is that alone.

    The code alone is returned as it is: it has no ``state``, and PKCE binds it to this login.

    Raises LoginFailed: the URL has no parameters, or one of them twice.
    """
    text = text.strip()
    if "://" not in text and "code=" not in text:
        return text
    parameters = _parameters(urlsplit(text).query if "://" in text else text.rpartition("?")[2])
    if not parameters:
        raise LoginFailed("the address has no code: copy it whole from the browser's address bar")
    return parameters


def has_browser() -> bool:
    if "BROWSER" in os.environ:
        return True
    if "SSH_CONNECTION" in os.environ and "DISPLAY" not in os.environ:
        return False
    if sys.platform not in ("win32", "darwin") and not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
        # A browser in the terminal would draw over this command.
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def _parameters(query: str) -> dict[str, str] | None:
    """Return the parameters of a query string, None if one stands twice (RFC 6749, 3.1)."""
    pairs = parse_qsl(query, keep_blank_values=True)
    return dict(pairs) if len({name for name, _ in pairs}) == len(pairs) else None

"""Requests of operations, and one over a Unix socket, by the standard library: each command imports this."""

import contextlib
import http.client
import json
import re
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

Sign = Callable[[str, str, bytes], Mapping[str, str]]
Opened = Callable[[socket.socket], object]
"""What hears of the connection of a request, to end it from another thread."""
SOCKET_URL = "http://localhost"
"""The address for which requests over a Unix socket are signed, whatever the service has over TCP."""


SECRET_HEADER = "X-Graphmem-Socket"
"""The header with the secret of a socket, which lies beside it, where a confined parser cannot read it."""


def secret_file(path: Path) -> Path:
    return path.with_suffix(".secret")


def secret_headers(path: Path) -> dict[str, str]:
    """Return the headers without which the socket at ``path`` refuses requests; none for an older service."""
    try:
        return {SECRET_HEADER: secret_file(path).read_text("ascii")}
    except (OSError, ValueError):
        return {}


class Request(NamedTuple):
    """A request without its headers. ``url`` begins with the path; ``body`` is JSON, if there is one."""

    method: str
    url: str
    body: bytes | None = None


def request_of(route: tuple[str, str], raw: Mapping[str, Any]) -> Request:
    method, path = route
    rest = dict(raw)
    places = {name: segment(str(rest.pop(name, ""))) for name in re.findall(r"{(\w+)}", path)}
    url = path.format_map(places)
    if method in ("POST", "PUT", "PATCH"):
        return Request(method, url, json.dumps(rest).encode())
    query = urlencode({name: _text(value) for name, value in rest.items() if value is not None}, doseq=True)
    return Request(method, f"{url}?{query}" if query else url)


def segment(value: str) -> str:
    """Return a value as one segment of a path. Dots are escaped too, so that ``..`` stays a value. An empty
    value is sent as a blank: a path with an empty segment is that of no operation."""
    return quote(value or " ", safe="").replace(".", "%2E")


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, dict) else value


class NotConnected(Exception):
    """Nobody listens at the socket: the request was not sent."""


class Interrupted(Exception):
    """The connection ended, or was silent for too long, before the answer was complete."""


def send(
    path: Path, request: Request, headers: Mapping[str, str] | None = None, timeout: float | None = None,
    sign: Sign | None = None, opened: Opened | None = None,
) -> tuple[int, bytes]:  # fmt: skip
    """Send one request to the socket at ``path``; return status and body of the answer.

    ``timeout``: seconds that the service may be silent; None: any time. ``sign`` returns more headers for a
    method, an address and a body.

    Raises:
        NotConnected: nobody listens; nothing was sent.
        Interrupted: whether the service carried out the request is unknown.
    """
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.sock.settimeout(timeout)
    method, url, body = request
    try:
        try:
            connection.sock.connect(str(path))
        except OSError as exc:
            raise NotConnected(str(exc)) from exc
        if opened is not None:
            opened(connection.sock)
        sent = {"Content-Type": "application/json", "Connection": "close", **(headers or {})}
        sent |= secret_headers(path)
        sent |= {} if sign is None else sign(method, f"{SOCKET_URL}{url}", body or b"")
        try:
            # A service that refuses a request answers before it has the body.
            with contextlib.suppress(BrokenPipeError):
                connection.request(method, url, body, sent)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as exc:
            raise Interrupted(f"{type(exc).__name__}: {exc}") from exc
    finally:
        connection.close()

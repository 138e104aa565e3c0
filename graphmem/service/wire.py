"""One HTTP request over a Unix socket, by the standard library: each command imports this at its start."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

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


class NotConnected(Exception):
    """Nobody listens at the socket: the request was not sent."""


class Interrupted(Exception):
    """The connection ended, or was silent for too long, before the answer was complete."""


def request(
    path: Path, method: str, url: str, content: Any = None, headers: Mapping[str, str] | None = None,
    timeout: float | None = None, sign: Sign | None = None, opened: Opened | None = None,
) -> tuple[int, bytes]:  # fmt: skip
    """Send one request to the socket at ``path``; return status and body of the answer.

    ``content`` is sent as JSON. ``timeout``: seconds that the service may be silent; None: any time. ``sign``
    returns more headers for a method, an address and a body.

    Raises:
        NotConnected: nobody listens; nothing was sent.
        Interrupted: whether the service carried out the request is unknown.
    """
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.sock.settimeout(timeout)
    try:
        try:
            connection.sock.connect(str(path))
        except OSError as exc:
            raise NotConnected(str(exc)) from exc
        if opened is not None:
            opened(connection.sock)
        body = None if content is None else json.dumps(content).encode()
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

"""A port of this machine that leads to one of a container, as an engine publishes it on loopback.

The container sees the address of the network's gateway: so it does where an engine publishes by a program,
and where it translates addresses of loopback.
"""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading


class PublishedPort(socketserver.ThreadingTCPServer):
    """Listens from its construction until :meth:`close`, in the network of the thread that makes it."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, address: tuple[str, int], target: tuple[str, int]) -> None:
        self.target = target
        super().__init__(address, _Passing)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self.shutdown()
        self.server_close()


class _Passing(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, PublishedPort)
        with contextlib.suppress(OSError), socket.create_connection(self.server.target) as inner:
            back = threading.Thread(target=_pass_on, args=(inner, self.request), daemon=True)
            back.start()
            _pass_on(self.request, inner)
            back.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    """Pass all bytes on, and the end of them."""
    with contextlib.suppress(OSError):
        while content := source.recv(65536):
            target.sendall(content)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)

"""Requests over a Unix socket."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from graphmem.service import wire
from tests.support.socket_answers import answering_once


def test_a_refusal_that_comes_before_the_body_was_sent_is_read(tmp_path: Path) -> None:
    refusal = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
    with answering_once(tmp_path / "s", refusal):
        # The body does not fit into the buffers of a socket: the service is gone before it is sent.
        assert wire.send(tmp_path / "s", wire.Request("POST", "/stats", b"x" * 8_000_000)) == (401, b"{}")


def test_a_request_ends_when_its_connection_is_ended_from_another_thread(tmp_path: Path) -> None:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "s"))
    listening.listen()

    def end(connection: socket.socket) -> None:
        threading.Timer(0.1, connection.shutdown, (socket.SHUT_RDWR,)).start()

    with pytest.raises(wire.Interrupted):
        wire.send(tmp_path / "s", wire.Request("POST", "/parse_file", b"{}"), opened=end)
    listening.close()

"""A Unix socket that gives one answer."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def answering_once(path: Path, content: bytes) -> Iterator[None]:
    """Accept one connection at a path, read a little of what it sends, and answer with some bytes."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()

        def answer() -> None:
            connection, _ = listening.accept()
            connection.recv(65_536)
            connection.sendall(content)
            connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        yield
        thread.join()

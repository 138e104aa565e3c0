"""Turns that agents have ended: each is a file until the service has stored it, in the order of the turns.

A turn is kept before it is stored, so that a service that is not there, or ends, loses none. The files are
readable by this user alone, and sealed where the instance is. Hooks import this, so nothing heavy is.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FOLDER = "turns"  # the folder of a data directory that has one for each service
BYTES_LIMIT = 20_000_000
"""Bytes of the turns that wait for one service; beyond them the oldest one is given up."""
SECONDS_LIMIT = 30 * 86_400.0  # seconds for which a turn waits at most
_NONCE_BYTES = 12


class NoAnswer(Exception):
    """The service does not run, does not answer in time, or is busy."""


def waiting(folder: Path) -> list[Path]:
    """Return the files of the turns that wait in a folder or below it, in their order."""
    return sorted(folder.rglob("*.turn"))


def refused(folder: Path) -> list[Path]:
    """Return the files of the turns there that the service refused, or that cannot be read."""
    return sorted(folder.rglob("*.refused"))


def keep(folder: Path, seal: AESGCM | None, turn: Mapping[str, Any]) -> None:
    """Keep a turn. It is on the disk when this returns."""
    write(folder / f"{time.time_ns():020d}-{os.getpid()}.turn", seal, json.dumps(turn).encode())
    kept, now = 0, time.time()
    for each in [*reversed(waiting(folder)), *refused(folder)]:
        with contextlib.suppress(FileNotFoundError):
            kept += each.stat().st_size
            if kept > BYTES_LIMIT or now - each.stat().st_mtime > SECONDS_LIMIT:
                each.unlink()


def write(path: Path, seal: AESGCM | None, content: bytes) -> None:
    """Write a file that this user alone may read, sealed for its name."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if seal is not None:
        nonce = os.urandom(_NONCE_BYTES)
        content = nonce + seal.encrypt(nonce, content, path.name.encode())
    partial = path.with_suffix(f".{os.getpid()}.partial")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def read(path: Path, seal: AESGCM | None) -> bytes:
    """Return what :func:`write` wrote, perhaps before the instance was sealed; raises any error: damage."""
    content = path.read_bytes()
    if seal is None or content.startswith(b"{"):
        return content
    return seal.decrypt(content[:_NONCE_BYTES], content[_NONCE_BYTES:], path.name.encode())


def deliver(folder: Path, seal: AESGCM | None, store: Callable[[Mapping[str, Any]], object]) -> None:
    """Store the turns that wait in a folder, one after another; one process does so at a time.

    A turn that cannot be read, or that the service refuses, is set aside.

    Raises NoAnswer, OSError: the service does not answer, or a file cannot be read; that turn and the later
    ones wait.
    """
    if not waiting(folder):
        return
    from filelock import FileLock

    with FileLock(folder / "lock", mode=0o600):
        while paths := waiting(folder):
            try:
                store(json.loads(read(paths[0], seal)))
            except (NoAnswer, OSError):
                raise
            except Exception:  # all others would wait for it
                paths[0].rename(paths[0].with_suffix(".refused"))
            else:
                paths[0].unlink()

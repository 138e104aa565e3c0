"""The files of a local service.

<data directory>/service/           mode 0700
  embedded.lock       locked by the service for its whole life; holds its record: process id and socket
  embedded.sock       the socket (0600): who may open it, and knows its secret, is the local account
  embedded.secret     the secret that requests send (0600)
  embedded.console    what the process wrote to stdout and stderr
  external-<hash>.*   the same for a database at ``NEO4J_URI``, by a hash of its address

A socket whose path is too long for the system is in ``XDG_RUNTIME_DIR`` or ``/tmp/graphmem-<uid>``.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphmem.errors import DataDirectoryRefused

if TYPE_CHECKING:
    from graphmem.settings import Settings

SOCKET_PATH_BYTES_LIMIT = 103  # bytes of a socket's path: macOS takes 103, Linux 107


@dataclass(frozen=True, slots=True)
class Place:
    """Where the service of one data directory and one database has its files."""

    data: Path
    name: str

    @property
    def folder(self) -> Path:
        return self.data / "service"

    @property
    def lock(self) -> Path:
        return self.folder / f"{self.name}.lock"

    @property
    def console(self) -> Path:
        """The file of what the process writes to stdout and stderr."""
        return self.folder / f"{self.name}.console"

    def record(self) -> Mapping[str, Any]:
        """Return what the last service wrote of itself: ``pid`` and ``socket``; empty if there was none."""
        try:
            record = json.loads(self.lock.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return record if isinstance(record, dict) else {}

    def socket(self) -> Path:
        """Return the path of a new service's socket; raises DataDirectoryRefused: no path is short enough."""
        path = self.folder / f"{self.name}.sock"
        if len(os.fsencode(path)) <= SOCKET_PATH_BYTES_LIMIT:
            return path
        short = f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:24]}.sock"
        refused: list[str] = []
        for folder in _short_folders():
            if len(os.fsencode(folder / short)) > SOCKET_PATH_BYTES_LIMIT:
                continue
            try:
                folder.mkdir(0o700, exist_ok=True)
            except OSError as exc:
                refused.append(f"{folder}: {exc.strerror or exc}")
                continue
            if _is_private(folder):
                return folder / short
            refused.append(f"{folder}: it is not a folder of this user only (mode 0700)")
        raise DataDirectoryRefused(
            f"the path of {self.data} is too long for a socket, and no short folder can be used "
            f"({'; '.join(refused)}): set GRAPHMEM_DATA_DIR to a shorter path, or use --offline"
        )


def place(settings: Settings) -> Place:
    """Return the place of the service of these settings. Nothing is made."""
    if settings.neo4j_uri is None:
        return Place(settings.data_path, "embedded")
    address = f"{settings.neo4j_uri}\n{settings.neo4j_database}".encode()
    return Place(settings.data_path, f"external-{hashlib.sha256(address).hexdigest()[:12]}")


def make_folder(where: Place) -> None:
    """Make the folder of the service's files, for this user only. Raises DataDirectoryRefused: it cannot be
    used."""
    if _is_private(where.folder) and os.access(where.folder, os.R_OK | os.W_OK | os.X_OK):
        return
    from graphmem.neo4j_local.private_files import private_directory, used_as_data

    with used_as_data(where.data):
        private_directory(where.folder)


def sessions(where: Place) -> Place:
    """Return the place that sessions of MCP have locked together, each as long as it is open."""
    return replace(where, name=f"{where.name}-sessions")


def lock(where: Place, *, shared: bool = False) -> int | None:
    """Lock the place until this process ends; return the open file, None if another process has the lock.
    ``shared``: other processes may have such a lock too."""
    import fcntl  # Windows has no such module, and no local service

    handle = os.open(where.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


def write_record(handle: int, record: Mapping[str, Any]) -> None:
    """Write what the service tells of itself into its lock file. ``handle`` is the open file."""
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps(record).encode(), 0)


def is_locked(where: Place) -> bool:
    """Return whether a service lives: it serves, starts, or finishes its last requests."""
    try:
        import fcntl

        handle = os.open(where.lock, os.O_RDONLY | os.O_CLOEXEC)
    except (ImportError, OSError):
        return False
    try:
        # A shared lock: two processes that look at once do not see each other.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _short_folders() -> list[Path]:
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    own = [Path(runtime) / "graphmem"] if os.path.isabs(runtime) else []
    return [*own, Path(f"/tmp/graphmem-{os.getuid()}")]


def _is_private(folder: Path) -> bool:
    try:
        info = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and info.st_uid == os.getuid() and not info.st_mode & 0o077

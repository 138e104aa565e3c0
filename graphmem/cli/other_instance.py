"""Another instance of this machine, read by commands of their own: its settings and its log are not ours."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from graphmem import environment_file
from graphmem.errors import ConfigurationInvalid, GraphmemError, InternalError
from graphmem.settings import KEY_FILE

if TYPE_CHECKING:
    from graphmem.settings import Settings

FILE = "merged.dump"


@contextlib.contextmanager
def dump_of(folder: Path, own: Settings, tell: Callable[[str], None]) -> Iterator[tuple[Path, Path | None]]:
    """Yield a dump of the instance in a data directory: made now, else its newest backup of all owners.

    With the dump comes the key file that opens it, None if that instance is not sealed.

    Raises:
        GraphmemError: its database does not start, and it has no such backup.
    """
    from graphmem.neo4j_local.private_files import private_directory

    other = environment_file.directory(folder, own.env)
    if other == own.data_path:
        raise ConfigurationInvalid(f"{folder} is the data directory of this instance: name another one")
    keys = other / KEY_FILE if (other / KEY_FILE).exists() else None
    private_directory(own.data_path)
    path = own.data_path / FILE
    status = _run(other, "db", "status")
    was_down = status.returncode == 0 and not json.loads(status.stdout)["running"]
    tell(f"reading {other}")
    try:
        made = _run(other, "backup", "create", str(path), "--force")
        if made.returncode == 0:
            yield path, keys
            return
    finally:
        path.unlink(missing_ok=True)
        if was_down:
            _run(other, "db", "stop")
    listed = _run(other, "backup", "list")
    backups = json.loads(listed.stdout)["backups"] if listed.returncode == 0 else []
    newest = next((row for row in backups if not row["owners"]), None)
    if newest is None:
        raise _error(made.stderr)
    tell(f"{other} cannot be read, so its newest backup is taken: {newest['path']}")
    yield Path(newest["path"]), keys


def _run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command on an instance, without the settings of this one but for those of the engine."""

    kept = ("GRAPHMEM_CACHE_DIR", "GRAPHMEM_NEO4J_", "GRAPHMEM_ROOT_KEY_DIR")
    environment = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(kept) or not name.startswith(("GRAPHMEM_", "NEO4J_", "SERVICE_"))
        if name.upper() not in environment_file.applied()
    }
    command = [sys.executable, "-m", "graphmem", "--offline", "--json", "--data-dir", str(folder), *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def _error(stderr: str) -> GraphmemError:
    try:
        return GraphmemError.of(json.loads(stderr.splitlines()[-1]))
    except (ValueError, LookupError):
        return InternalError(f"the other instance cannot be read: {stderr[-500:]}")

"""The backups that graphmem made of an instance, as its data directory notes them.

``backups.jsonl`` in the data directory has one line for each backup that was written, the oldest first. A
line stays when its file is moved or removed. The path of a file in the data directory is relative to it.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from graphmem.neo4j_local.instance import Instance
from graphmem.neo4j_local.private_files import flush, flush_directory, private_directory, used_as_data
from graphmem.settings import Settings

FILE: Final = "backups.jsonl"


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was written. ``of`` is the address of its database or service; an empty text stands for
    the embedded Neo4j."""

    path: str
    created_at: str
    bytes: int
    root: str
    of: str = ""
    owners: tuple[str, ...] = ()  # none: all of them
    with_files: bool = True

    def file(self, settings: Settings) -> Path:
        return settings.data_path / self.path

    def is_there(self, settings: Settings) -> bool:
        """Return whether the file is where it was written, with as many bytes."""
        try:
            return self.file(settings).stat().st_size == self.bytes
        except OSError:
            return False


def folder(settings: Settings) -> Path:
    """Return the folder of backups for which no other place is named, and make it if it does not exist."""
    path = settings.data_path / "backups"
    with used_as_data(settings.data_path):
        private_directory(path)
    return path


def file_name(begin: str) -> str:
    """Return the name of a backup that is written now, which begins with ``begin``."""
    return f"{begin}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.dump"


def origin(settings: Settings) -> str:
    """Return what :attr:`Backup.of` says of backups that commands with these settings write."""
    return settings.base_url or (settings.neo4j_address if settings.neo4j_uri else "")


def note(settings: Settings, path: Path, **known: Any) -> Backup:
    """Note a backup that was written at ``path``, and return it. ``known``: the other members of Backup."""
    path, now = path.resolve(), datetime.now(UTC).isoformat(timespec="seconds")
    inside = path.relative_to(settings.data_path) if path.is_relative_to(settings.data_path) else path
    backup = Backup(str(inside), now, path.stat().st_size, of=origin(settings), **known)
    with used_as_data(settings.data_path):
        private_directory(settings.data_path)
        with open(
            settings.data_path / FILE, "a", encoding="utf-8", opener=partial(os.open, mode=0o600)
        ) as file:
            file.write(json.dumps(asdict(backup)) + "\n")
            flush(file)
        flush_directory(settings.data_path)
    return backup


def backups(settings: Settings) -> list[Backup]:
    """Return the backups that were written of what these settings name, the newest first."""
    try:
        lines = (settings.data_path / FILE).read_text("utf-8").splitlines()
    except OSError:
        return []
    noted = {}
    for line in lines:
        try:
            members = json.loads(line)
            backup = Backup(**{**members, "owners": tuple(members["owners"])})
        except (ValueError, TypeError, KeyError):
            continue  # the end of a line that a crash cut short
        # A file that was written again counts once, as the newest.
        noted.pop(backup.path, None)
        noted[backup.path] = backup
    return [backup for backup in reversed(noted.values()) if backup.of == origin(settings)]


def remove_oldest(settings: Settings, newest: Backup, keep: int) -> list[Path]:
    """Remove the backups beyond ``keep`` that are of the kind of ``newest`` and in its folder; return them. A
    file that is not as graphmem wrote it stays."""

    def kind(backup: Backup) -> tuple[Path, Sequence[str], bool]:
        return backup.file(settings).parent, backup.owners, backup.with_files

    alike = [each for each in backups(settings) if kind(each) == kind(newest) and each.is_there(settings)]
    old = [backup.file(settings) for backup in alike[keep:]]
    for path in old:
        path.unlink(missing_ok=True)
    return old


def due_since(settings: Settings, now: datetime) -> datetime | None:
    """Return since when a backup is due; None if none is, or nobody knows how old the data is."""
    if not settings.backup_days:
        return None
    facts = Instance(settings).facts() if settings.neo4j_uri is None else None
    times = [backup.created_at for backup in backups(settings) if not backup.owners][:1]
    times += [facts.created_at] if facts and not times else []
    due = [datetime.fromisoformat(time) + timedelta(days=settings.backup_days) for time in times]
    return due[0] if due and due[0] <= now else None

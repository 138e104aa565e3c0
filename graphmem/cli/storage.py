"""``graphmem storage``: where the data is and how large, moving and merging it, unused bytes of files."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from graphmem import environment_file
from graphmem.cli import backup
from graphmem.cli.session import (
    Draw,
    Session,
    console,
    require_database,
    run_async,
    show,
    stderr,
    tell,
    tell_progress,
)
from graphmem.cli.tables import List
from graphmem.errors import ConfigurationInvalid, GraphmemError, InternalError, InvalidInput
from graphmem.model import times

if TYPE_CHECKING:
    from rich.console import Console

    from graphmem.checking.unused_objects import Removal
    from graphmem.context import Services
    from graphmem.settings import Settings


UNITS: Final = {"m": 60, "h": 3_600, "d": 86_400}
GRACE_MIN_SECONDS: Final = 3_600  # least grace time: longer than a store takes from the object to its source


def info(session: Session) -> tuple[dict[str, Any], Draw]:
    from graphmem.cli.instance_files import parts

    chosen = session.local_settings(reads=session.settings().objects_bucket is None)
    with _counting("counting objects") as tell:
        objects = run_async(_info(chosen, tell))
    rows = parts(chosen)
    if chosen.objects_bucket is not None:
        rows = [{**row, "path": objects["place"]} if row["what"] == "files" else row for row in rows]

    def draw() -> None:
        show_parts(rows)
        show(objects, False)

    return {**objects, "data_directory": str(chosen.data_path), "parts": rows}, draw


def show_parts(rows: Sequence[Mapping[str, Any]], to: Console = console) -> None:
    sizes = ("" if row["bytes"] is None else f"{row['bytes'] / 1e6:,.1f}" for row in rows)
    cells = ((row["what"], size, row["path"]) for row, size in zip(rows, sizes, strict=True))
    to.print(List(("part", "MB", "path"), cells))


def move(session: Session, directory: Path) -> dict[str, Any]:
    from graphmem.cli import instance_files
    from graphmem.observability import logs

    chosen = session.settings_here()
    target = Path(os.path.realpath(directory))
    if target != chosen.data_path:
        require_database(chosen)
    # The log is among the files that are compared.
    with logs.silenced(), instance_files.stopped(chosen):
        instance_files.move(chosen.data_path, target, tell_progress)
    return {"data_directory": str(target), "moved_from": str(chosen.data_path)}


def merge(session: Session, source: Path, dry_run: bool = False, keys: Path | None = None) -> None:
    if not os.path.isdir(source):
        return backup.restore(session, source, dry_run, keys)
    with dump_of(source, session.local_settings(reads=False), tell_progress) as (path, keys):
        return backup.restore(session, path, dry_run, keys)


def _seconds(text: str) -> int:
    """Return the seconds of a time such as 24h; raises InvalidInput: it is none, or too short."""
    match = re.fullmatch(r"([0-9]{1,6})([mhd])", text.strip())
    if match is None:
        raise InvalidInput("--grace is a number of minutes, hours or days, such as 90m, 24h or 7d")
    seconds = int(match[1]) * UNITS[match[2]]
    if seconds < GRACE_MIN_SECONDS:
        raise InvalidInput("--grace is at least 1h: a younger file may be about to be stored")
    return seconds


def gc(session: Session, grace: str = "24h", dry_run: bool = False, all_owners: bool = False) -> None:
    from graphmem.checking.unused_objects import remove_unreferenced
    from graphmem.cli.in_process import on_services

    seconds = _seconds(grace)

    async def work(services: Services) -> Removal:
        with _counting("looking at objects") as tell:
            return await remove_unreferenced(
                services.database, services.objects, times.now() - seconds * 1_000_000,
                dry_run=dry_run, foreign=all_owners, progress=tell,
            )  # fmt: skip

    removal = on_services(session.local_settings(), work)
    show(_report(removal, seconds), session.as_json)
    if removal.foreign.objects and not session.as_json:
        tell(
            f"{removal.foreign.objects:,} objects of owners without any source stay. If no other "
            "database keeps files there, remove them with graphmem storage gc --all-owners."
        )


def _report(removal: Removal, grace: int) -> dict[str, Any]:
    return {
        "dry_run": removal.dry_run,
        "grace_seconds": grace,
        "used": removal.used.objects,
        "recent": removal.recent.objects,
        "removed": removal.removed.objects,
        "removed_bytes": removal.removed.size,
        "unfinished": removal.unfinished.objects,
        "unfinished_bytes": removal.unfinished.size,
        "owners_without_sources": len(removal.foreign_segments),
        "objects_without_sources": removal.foreign.objects,
        "bytes_without_sources": removal.foreign.size,
    }


async def _info(chosen: Settings, tell: Callable[[int], None]) -> dict[str, Any]:
    from graphmem.objects import new_object_store

    store = new_object_store(chosen)
    try:
        objects = size = 0
        segments = set[str]()
        async for listed in store.keys():
            objects, size = objects + 1, size + listed.size
            segments.add(listed.segment)
            tell(1)
        unfinished = await store.leftovers(times.now())
    finally:
        await store.close()
    return {
        "kind": store.kind,
        "place": store.place,
        "objects": objects,
        "bytes": size,
        "owners": len(segments),
        "unfinished": unfinished.count,
        "unfinished_bytes": unfinished.size,
    }


@contextmanager
def _counting(what: str) -> Iterator[Callable[[int], None]]:
    """Yield a function that counts objects; a terminal shows the number."""
    from rich.progress import Progress, SpinnerColumn, TextColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.completed:,.0f}")
    with Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done: progress.advance(task, done)


FILE = "merged.dump"


@contextlib.contextmanager
def dump_of(folder: Path, own: Settings, tell: Callable[[str], None]) -> Iterator[tuple[Path, Path | None]]:
    """Yield a dump of the instance in a data directory: made now, else its newest backup of all owners.

    With the dump comes the key file that opens it, None if that instance is not sealed.

    Raises GraphmemError: its database does not start, and it has no such backup.
    """
    from graphmem.neo4j_local.private_files import private_directory
    from graphmem.settings import KEY_FILE

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
        try:
            raise GraphmemError.of(json.loads(made.stderr.splitlines()[-1]))
        except (ValueError, LookupError):
            raise InternalError(f"the other instance cannot be read: {made.stderr[-500:]}") from None
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

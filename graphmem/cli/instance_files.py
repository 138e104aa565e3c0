"""The files of an instance as a whole: where they are and how large, moved to another directory, removed.

What is under way stands in ``unfinished.json`` in the directory that is not whole, until it is done. The
database does not start there, and the same command goes on (:mod:`graphmem.neo4j_local.unfinished`).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from graphmem.cli.agents.hook_spool import FOLDER as TURNS
from graphmem.environment_file import FILE, NOTE, noted
from graphmem.errors import ConfigurationInvalid, DataDirectoryRefused
from graphmem.neo4j_local import private_files
from graphmem.neo4j_local.private_files import disk_bytes, private_directory, sha256
from graphmem.neo4j_local.unfinished import UNFINISHED, unfinished
from graphmem.settings import KEY_FILE, Settings

BACKUPS: Final = "backups"
KEPT: Final = frozenset({BACKUPS, "backups.jsonl", KEY_FILE})
"""What a reset leaves: backups, the record of them, and the keys that open them."""
LOCAL: Final = frozenset({NOTE, UNFINISHED, "service", "neo4j.lock", "stopped"})
"""What belongs to a directory and not to the data: locks, sockets, and what is said of the directory."""
Tell = Callable[[str], None]  # takes a line of progress


def parts(chosen: Settings) -> list[dict[str, Any]]:
    """Return the parts of an instance: ``what``, ``path``, ``bytes`` on the disk (None: not known)."""
    root = chosen.data_path
    where = chosen.neo4j_uri and chosen.neo4j_address
    rows = [
        ("database", where or root / "neo4j", None if where else [root / "neo4j"]),
        ("files", root / "objects", [root / "objects"]),
        ("search (made anew)", chosen.search_path, [chosen.search_path]),
        ("logs", root / "logs", [root / "logs"]),
        ("backups", root / BACKUPS, [root / BACKUPS]),
        ("settings", root / FILE, [root / FILE]),
        ("caches", chosen.cache_path, [chosen.cache_path]),
    ]
    return [
        {"what": what, "path": str(path), "bytes": None if folders is None else sum(map(disk_bytes, folders))}
        for what, path, folders in rows
    ]


@contextlib.contextmanager
def stopped(chosen: Settings) -> Iterator[None]:
    """Stop local service and database, and keep both from starting; refused while `graphmem serve` runs."""
    from graphmem import neo4j_local
    from graphmem.neo4j_local.instance import Instance

    with without_service(chosen):
        if chosen.neo4j_uri is None:
            neo4j_local.stop(chosen, on_purpose=True)
        with Instance(chosen).lock(chosen.neo4j_start_timeout), private_files.used_as_data(chosen.data_path):
            if chosen.neo4j_uri is None and neo4j_local.running(chosen):
                raise ConfigurationInvalid("another program has just started the database: run this again")
            yield


@contextlib.contextmanager
def without_service(chosen: Settings) -> Iterator[None]:
    """Stop the local service, and keep it from starting; refused while `graphmem serve` runs."""
    from graphmem.service.calling import stop
    from graphmem.service.place import lock, make_folder, place

    stop(chosen)
    where = place(chosen)
    make_folder(where)
    if (handle := lock(where)) is None:
        raise ConfigurationInvalid(
            f"`graphmem serve` (process {where.record().get('pid')}) uses {chosen.data_path}: stop it first"
        )
    try:
        yield
    finally:
        os.close(handle)


def move(source: Path, target: Path, tell: Tell) -> None:
    """Move the files of a stopped instance. Killed at any point, one directory is whole and in use.

    Run again after the switch, ``source`` is the target: what is left of the old directory is removed.

    Raises DataDirectoryRefused: the target has other files or too little room, or a copy differs.
    """
    if source == target:
        if not end_move(target, tell):
            raise DataDirectoryRefused(f"the data is in {target} already")
        return
    _check_target(source, target)
    private_directory(target)
    _begin("storage move", source, target)
    # It is made anew, and a copy would fill the room that its files have.
    remove(source / "search")
    tell("copying")
    names = _copy(source, target)
    tell("comparing")
    for name in names:
        if not _is_same(source / name, target / name):
            raise DataDirectoryRefused(
                f"{target / name} differs from what was copied: the data stays in {source}"
            )
    _switch(source, target)
    end_move(target, tell)


def replace(source: Path, target: Path, command: str, tell: Tell) -> None:
    """Have another instance take the place of a stopped one, and remove the files of that.

    Its backups and the keys that open them stay.

    ``command``: which one goes on if this is interrupted: then :func:`end_move` removes the rest.
    """
    _begin(command, source, target)
    _switch(source, target)
    end_move(target, tell)


def end_move(target: Path, tell: Tell) -> bool:
    """Remove what is left in the old directory of what is in use now; return whether it was to be removed."""
    record = unfinished(target)
    if record is None or "from" not in record:
        return False
    tell("removing the old files")
    source = Path(record["from"])
    if source.exists():
        if record["command"].startswith("encryption") and (source / TURNS).is_dir():
            shutil.copytree(source / TURNS, target / TURNS, dirs_exist_ok=True)
        # Whoever names the old directory is led to the new one.
        private_files.write_private(source / NOTE, f"{target}\n")
        remove_all(source, frozenset() if record["command"] == "storage move" else KEPT)
    (target / NOTE).unlink(missing_ok=True)
    (target / UNFINISHED).unlink()
    private_files.flush_directory(target)
    return True


def _begin(command: str, source: Path, target: Path) -> None:
    private_files.write_private(target / UNFINISHED, json.dumps({"command": command, "from": str(source)}))


def _switch(source: Path, target: Path) -> None:
    """Write a note in the way to the old directory, or, where the way begins here, one that ends it."""
    way = target if noted(target) else source
    private_files.write_private(way / NOTE, f"{target}\n")


def remove_all(root: Path, keep: frozenset[str]) -> None:
    """Remove the files of a stopped instance but those to keep, and last what says that this is under way."""
    for path in sorted(root.iterdir()):
        if path.name not in keep | LOCAL:
            remove(path)
    (root / "stopped").unlink(missing_ok=True)
    private_files.flush_directory(root)
    (root / UNFINISHED).unlink(missing_ok=True)
    private_files.flush_directory(root)


def remove(path: Path) -> None:
    """Remove a file, a link or a directory with all that is in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def copy_file(source: Path, target: Path) -> None:
    """Copy a file with mode and times, and see it on the disk; a link leads where it led before."""
    if source.is_symlink():
        target.symlink_to(os.path.realpath(source))
        return
    shutil.copy2(source, target)
    with target.open("rb") as file:
        private_files.flush(file)


def _check_target(source: Path, target: Path) -> None:
    if target.is_relative_to(source):
        raise DataDirectoryRefused(f"{target} is in {source}: name a directory outside")
    record = unfinished(target)
    is_begun = record is not None and record.get("from") == str(source)
    # A kill may have left a temporary file of the note beside it.
    local = (*LOCAL, *(f".{name}{mark}" for name in LOCAL for mark in ".-"))
    is_used = target.is_dir() and not all(path.name.startswith(local) for path in target.iterdir())
    if is_used and not is_begun:
        raise DataDirectoryRefused(f"{target} is not empty: name a new directory")
    near = next(path for path in (target, *target.parents) if path.exists())
    free, needed = shutil.disk_usage(near).free, disk_bytes(source) - disk_bytes(target)
    if free < needed:
        raise DataDirectoryRefused(
            f"{needed / 1e6:,.0f} MB are to be copied, and {free / 1e6:,.0f} MB are free at {near}"
        )


def _copy(source: Path, target: Path) -> list[str]:
    """Make the target hold what the source holds, and nothing else; return the names of files and links."""
    names = []
    for folder, folders, files in os.walk(source):
        relative = Path(folder).relative_to(source)
        if relative == Path():
            folders[:] = [name for name in folders if name not in LOCAL]
            files = [name for name in files if name not in LOCAL]
        for name in [*folders, *files]:
            path = Path(folder) / name
            if path.is_dir() and not path.is_symlink():
                (target / relative / name).mkdir(mode=0o700, exist_ok=True)
                shutil.copymode(path, target / relative / name)
            else:
                names.append(str(relative / name))
                if not _is_same(path, target / relative / name):
                    remove(target / relative / name)
                    copy_file(path, target / relative / name)
        for left_over in (target / relative).iterdir():
            if left_over.name not in {*folders, *files, *(LOCAL if relative == Path() else ())}:
                remove(left_over)
        private_files.flush_directory(target / relative)
    return names


def _is_same(path: Path, other: Path) -> bool:
    if path.is_symlink() or other.is_symlink():
        return other.is_symlink() and os.path.realpath(path) == os.path.realpath(other)
    return other.is_file() and path.stat().st_size == other.stat().st_size and sha256(path) == sha256(other)

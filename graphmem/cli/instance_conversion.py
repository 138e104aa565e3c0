"""``graphmem encryption enable`` and ``disable``: the data in another directory, sealed or in clear.

The facts and files of the instance are dumped, restored into the other directory and dumped there. Both dumps
have to hold the same records before the other directory takes the place of the first one.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from graphmem.cli import instance_files
from graphmem.cli.in_process import refuse_in_sandbox
from graphmem.cli.session import tell_progress
from graphmem.errors import ConfigurationInvalid, DataDirectoryRefused
from graphmem.settings import Settings

DUMP: Final = "converted.dump"
"""A dump on its way, in the directory of its instance: in clear or sealed as that is."""


def convert(chosen: Settings, target: Settings, command: str) -> dict[str, Any]:
    """Make ``target`` hold what ``chosen`` holds, and put it in its place.

    Args:
        chosen: settings of the instance that is in use, stopped by this.
        target: settings of the other directory, with its key file if it is to be sealed.
        command: which command goes on if this is interrupted.

    Returns:
        ``data_directory``, ``replaces`` and the number of ``records`` that were compared.

    Raises:
        DumpConflicts: the other directory has facts that contradict those of the instance.
        DataDirectoryRefused: it has others.
    """
    from graphmem import neo4j_local
    from graphmem.observability import logs

    with instance_files.without_service(chosen):
        try:
            _restore(chosen, target)
            # What another program wrote meanwhile is in the first dump alone.
            before, after = _records(chosen), _records(target)
        finally:
            neo4j_local.stop(target, on_purpose=True)
            target.stop_file.unlink(missing_ok=True)
    if before != after:
        raise DataDirectoryRefused(
            f"{target.data_path} holds {after[0]:,} records, {chosen.data_path} {before[0]:,} or others: the "
            "data stays where it is. Name a new directory, or end what writes, and run this again"
        )
    # The log is among the files that are removed.
    with logs.silenced(), instance_files.stopped(chosen):
        instance_files.replace(chosen.data_path, target.data_path, command, tell_progress)
    return {
        "data_directory": str(target.data_path), "replaces": str(chosen.data_path), "records": before[0],
    }  # fmt: skip


def is_ended(chosen: Settings) -> bool:
    """Return whether only old files were left to remove of a conversion, which are gone now.

    Raises ConfigurationInvalid: not all data of the instance is in its directory.
    """
    if instance_files.end_move(chosen.data_path, tell_progress):
        return True
    refuse_in_sandbox(chosen, "encryption")
    if chosen.neo4j_uri is not None or chosen.objects_bucket is not None or chosen.key_file is not None:
        raise ConfigurationInvalid(
            "this works where the database, the files and the key file are in the data directory: elsewhere, "
            "write a backup, make another instance with a database and a bucket of its own, and restore the "
            "backup there"
        )
    return False


def _restore(chosen: Settings, target: Settings) -> None:
    from graphmem.cli.backup import refuse_conflicts, restore_dump
    from graphmem.sealing import keys_of

    path = _dumped(chosen)
    try:
        tell_progress(f"restoring into {target.data_path}")
        result = restore_dump(target, path, keys_of(chosen))
    finally:
        path.unlink(missing_ok=True)
    refuse_conflicts(result)


def _dumped(chosen: Settings) -> Path:
    from graphmem.cli.backup import write_dump

    path = chosen.data_path / DUMP
    tell_progress(f"reading {chosen.data_path}")
    write_dump(chosen, path, (), True, True)
    return path


def _records(chosen: Settings) -> tuple[int, str]:
    """Return how many records an instance has, and a hash of all of them."""
    from graphmem.dump.verifying import records_hash
    from graphmem.sealing import keys_of

    path = _dumped(chosen)
    try:
        return records_hash(path, keys_of(chosen))
    finally:
        path.unlink(missing_ok=True)


def other_directory(chosen: Settings, directory: Path | None, ending: str) -> Path:
    """Return the directory that is named, else one beside that of the instance, made with its settings.

    Raises DataDirectoryRefused: it is that of the instance, is in it, or leads elsewhere.
    """
    from graphmem.environment_file import FILE, noted
    from graphmem.neo4j_local.private_files import private_directory, used_as_data, write_private
    from graphmem.neo4j_local.unfinished import UNFINISHED, unfinished

    path = Path(os.path.realpath(directory or f"{chosen.data_path}-{ending}"))
    if path.is_relative_to(chosen.data_path):
        raise DataDirectoryRefused(f"{path} is in {chosen.data_path}: name a directory outside")
    if noted(path) is not None:
        raise DataDirectoryRefused(f"{path} leads to {noted(path)}: name another directory")
    with used_as_data(path):
        private_directory(path)
        begun = unfinished(path) or {}
        if begun.get("from") == str(chosen.data_path) and begun["command"].startswith("encryption"):
            # Killed before the note was written: the data is still where it was.
            (path / UNFINISHED).unlink()
        if (settings := chosen.data_path / FILE).exists():
            write_private(path / FILE, settings.read_text("utf-8"))
    return path

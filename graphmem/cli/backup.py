"""``graphmem backup``: write the facts to a file, verify it, and restore it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphmem.cli.progress import bytes_progress, counted_progress
from graphmem.cli.session import Draw, Session, show, tell
from graphmem.cli.tables import List, add, time_text
from graphmem.errors import DumpConflicts, DumpRefused, EncryptionKeyMissing, InvalidInput
from graphmem.model import times

if TYPE_CHECKING:
    from rich.progress import Progress

    from graphmem.context import Services
    from graphmem.dump import CreateResult, RestoreResult, VerifyResult
    from graphmem.dump.records import MissingFiles
    from graphmem.sealing import InstanceKeys
    from graphmem.settings import Settings

# Paths are not checked here: opening the file reports permission errors.
WITHOUT_FILES = (
    "The dump names {} files and does not hold their bytes: back up the object store as well. "
    "`graphmem storage info` says where it is."
)
MISSING_IN_STORE = "The bytes of {} files are missing or damaged in the object store, and so in the dump:"
MISSING_AFTERWARDS = (
    "The bytes of {} files are neither in the dump nor in the object store: restore that one as well, or "
    "store these files again:"
)
WITHOUT_KEYS = (
    "{} accounts are restored with their passwords. A dump has no keys and no logins of OAuth clients: make "
    "new keys with `graphmem auth keys create`, and have clients log in again. If an account has a password, "
    "every caller over TCP needs a credential."
)
SHOWN_LIMIT = 20  # conflicts and missing files that are printed for people
STAGES = {
    "create": "writing observations",
    "receive": "receiving the file",
    "verify": "verifying the file",
    "restore": "restoring observations",
    "wait": "restoring observations that waited",
    "check": "deriving entities and relationships",
}


def create(
    session: Session, path: Path | None = None, owner: list[str] | None = None, force: bool = False,
    without_files: bool = False, keep: int | None = None,
) -> None:  # fmt: skip
    from graphmem.neo4j_local import backup_record

    chosen = session.settings()
    if chosen.base_url is None:
        chosen = session.local_settings()
    path = backup_record.folder(chosen) if path is None else path
    if os.path.isdir(path):
        path /= backup_record.file_name("graphmem")
    elif keep is not None:
        raise InvalidInput("--keep counts the backups of a directory: name a directory, or no path")
    if chosen.base_url is None:
        made = write_dump(chosen, path, owner or (), force, not without_files)
        missing = _missing(made.missing_files)
    else:
        made = _receive(session, chosen, path, owner or (), force, not without_files)
        missing = {"files_missing": made.missing_files}
    counted, root = _counted(made.manifest.contents), made.manifest.root
    known = {"root": root, "owners": tuple(sorted(owner or ())), "with_files": not without_files}
    noted = backup_record.note(chosen, path, **known)
    removed = [str(old) for old in backup_record.remove_oldest(chosen, noted, keep)] if keep else []
    answer = {"path": str(path), "bytes": noted.bytes, **counted, **missing, "root": root}
    show(answer | ({"removed": removed} if removed else {}), session.as_json)
    if session.as_json:
        return
    if without_files and answer["sources"]:
        tell(WITHOUT_FILES.format(f"{answer['sources']:,}"), "yellow")
    if made.missing_files and not isinstance(made.missing_files, int):
        _tell_missing(MISSING_IN_STORE, made.missing_files)


def list_backups(session: Session) -> tuple[dict[str, Any], Draw]:
    from graphmem.neo4j_local import backup_record

    chosen = session.settings()
    rows = [
        {**asdict(backup), "path": str(backup.file(chosen))}
        for backup in backup_record.backups(chosen)
        if backup.is_there(chosen)
    ]

    def draw() -> List | str:
        table = List(("made", "bytes", "holds", "path"))
        for row in rows:
            holds = "all facts" if not row["owners"] else f"facts of {len(row['owners'])} owners"
            holds += ", files" if row["with_files"] else ""
            add(table, time_text(row["created_at"]), f"{row['bytes']:,}", holds, row["path"])
        return table if rows else "none: `graphmem backup create` makes one"

    return {"backups": rows}, draw


def verify(session: Session, path: Path, keys: Path | None = None) -> dict[str, Any]:
    from graphmem import dump

    with _Bars() as bars:
        size = os.path.getsize(path) if os.path.isfile(path) else None
        bars.advance("verify", 0, size)
        opening = _opening_keys(session.settings(), path, keys)
        result = dump.verify(path, lambda done: bars.advance("verify", done, None), opening)
    sealed: dict[str, Any] = {}
    if result.header.sealed is not None:
        sealed = {"sealed": True, "opened": result.is_opened, "erased_owners": list(result.erased_owners)}
    return {
        "path": str(path),
        "bytes": result.size,
        "created_at": times.render(result.header.created_at),
        "graphmem": result.header.graphmem,
        "format": result.header.format,
        **_counted(result.manifest.contents),
        "files_missing": result.missing_files,
        "root": result.manifest.root,
        **sealed,
    }


def _opening_keys(chosen: Settings, path: Path, key_file: Path | None) -> InstanceKeys | None:
    """Return the keys that open a dump: those of a key file, else of this instance; None for a plain dump.

    None as well where the dump was sealed by another instance, or the root key of this one is not here.

    Raises EncryptionKeyMissing, EncryptionKeyInvalid: the root key of ``key_file`` is not here, or another
    one.
    """
    from graphmem.dump.container import DumpReader
    from graphmem.dump.verifying import open_file
    from graphmem.sealing import keys_in, keys_of

    with open_file(path) as file:
        sealed = DumpReader(file).header.sealed
    if sealed is None:
        return None
    if key_file is not None:
        return keys_in(key_file, chosen)
    try:
        keys = keys_of(chosen)
    except EncryptionKeyMissing:
        return None
    return keys if keys is not None and keys.record().instance == sealed.get("instance") else None


def restore(session: Session, path: Path, dry_run: bool = False, keys: Path | None = None) -> None:
    from graphmem.cli.in_process import refuse_in_sandbox

    chosen = session.local_settings(reads=False)
    refuse_in_sandbox(chosen, "restore")
    result = restore_dump(chosen, path, _opening_keys(chosen, path, keys), dry_run=dry_run)
    show(_restored(path, result), session.as_json)
    if not session.as_json:
        _tell_missing(MISSING_AFTERWARDS, result.missing_files)
        if result.accounts and not dry_run:
            tell(WITHOUT_KEYS.format(f"{result.accounts:,}"), "yellow")
    if result.conflict_count and not session.as_json:
        for conflict in result.conflicts[:SHOWN_LIMIT]:
            each = conflict.report()
            tell(f"  {each['what']} {each['id']}: {each['message']}")
    refuse_conflicts(result)


def refuse_conflicts(result: RestoreResult) -> None:
    if result.conflict_count:
        conflicts = [conflict.report() for conflict in result.conflicts]
        raise DumpConflicts(conflict_count=result.conflict_count, conflicts=conflicts)


def _tell_missing(message: str, missing: MissingFiles) -> None:
    if missing.count:
        tell(message.format(f"{missing.count:,}"), "yellow")
    for file in missing.listed[:SHOWN_LIMIT]:
        tell(f"  {file.source_id} {file.name or ''}".rstrip())


def write_dump(chosen: Settings, path: Path, owners: Sequence[str], force: bool, files: bool) -> CreateResult:
    from graphmem import dump
    from graphmem.cli.in_process import on_services

    name = "the database at NEO4J_URI" if chosen.neo4j_uri else f"the data directory {chosen.data_path}"

    async def work(services: Services) -> CreateResult:
        with _Bars() as bars:
            return await dump.create(
                services.database, path, owners, objects=services.objects if files else None, force=force,
                database_name=name, progress=bars.advance, keys=services.keys,
            )  # fmt: skip

    return on_services(chosen, work)


def restore_dump(
    chosen: Settings, path: Path, keys: InstanceKeys | None, *, dry_run: bool = False
) -> RestoreResult:
    """Restore a dump into the instance of some settings. ``keys``: those that open it, if it is sealed."""
    from graphmem import dump
    from graphmem.cli.in_process import on_services

    async def work(services: Services) -> RestoreResult:
        with _Bars() as bars:
            where = services.database, services.vocabulary, services.writers
            return await dump.restore(
                *where, path, objects=services.objects, dry_run=dry_run, progress=bars.advance, keys=keys
            )

    return on_services(chosen, work)


def _receive(
    session: Session, chosen: Settings, path: Path, owners: Sequence[str], force: bool, files: bool
) -> VerifyResult:
    """Have the service at ``--base-url`` send a backup, verify it, and give it its name."""
    from graphmem import dump
    from graphmem.dump.creating import refuse_empty_replacement
    from graphmem.neo4j_local.private_files import new_file

    client = session.remote(chosen.base_url or "", chosen)
    with _Bars() as bars, new_file(path, force, DumpRefused) as file:
        bars.advance("receive", 0, None)
        request = {"owners": list(owners), "files": files}
        with client.stream("POST", "/backup", request, timeout=None) as (_, chunks):
            for chunk in chunks:
                file.write(chunk)
                bars.advance("receive", len(chunk), None)
        file.flush()
        # Of a sealed dump, the checksums: its keys are on the machine of that service.
        received = dump.verify(Path(file.name))
        if not received.manifest.contents["owners"]:
            refuse_empty_replacement(path, f"the database of {chosen.base_url}")
        return received


def _counted(contents: dict[str, Any]) -> dict[str, Any]:
    owners = contents["owners"]
    names = "schemas", "transactions", "sources", "interpretations", "observations", "files", "file_bytes"
    newest = max((owner["recorded_at"] for owner in owners), default=None)
    return {
        "owners": len(owners),
        "relationship_types": contents["relationship_types"],
        # Dumps of chosen owners have none.
        "accounts": contents.get("accounts", 0),
        # Format 1 has no sources, and a dump without files does not count them.
        **{name: sum(owner.get(name, 0) for owner in owners) for name in names},
        "recorded_at": None if newest is None else times.render(newest),
    }


def _missing(missing: MissingFiles) -> dict[str, Any]:
    listed = {"missing_files": [asdict(file) for file in missing.listed]} if missing.count else {}
    return {"files_missing": missing.count, **listed}


def _restored(path: Path, result: RestoreResult) -> dict[str, Any]:
    names = (
        "dry_run", "owners", "relationship_types", "accounts", "known_accounts", "schemas", "transactions",
        "observations", "known_transactions", "known_observations", "files",
    )  # fmt: skip
    return {
        "path": str(path),
        **{name: getattr(result, name) for name in names},
        **_missing(result.missing_files),
        "owners_derived_again": len(result.audited_owners),
        "conflicts": result.conflict_count,
        **({"erased_owners": list(erased)} if (erased := result.verified.erased_owners) else {}),
        "root": result.verified.manifest.root,
    }


class _Bars(contextlib.AbstractContextManager["_Bars"]):
    """One progress bar for each stage. At the end the bars stay on the screen."""

    def __init__(self) -> None:
        self._of_bytes = bytes_progress()
        self._of_things = counted_progress()
        self._tasks: dict[str, Any] = {}
        self._shown: Progress | None = None
        self._stage = ""
        self._files = [0, 0]

    def advance(self, stage: str, done: int, total: int | None) -> None:
        """Advance the bar of a stage; a ``total`` begins a new bar. The bytes of files stand beside it."""
        if stage == "files":
            self._files = [self._files[0] + done, self._files[1]] if total is None else [done, total]
            if self._shown is not None and self._files[1]:
                written, whole = (count / 1e6 for count in self._files)
                text = f"{STAGES[self._stage]}, {written:,.1f} of {whole:,.1f} MB of files"
                self._shown.update(self._tasks[self._stage], description=text)
            return
        self._stage = stage
        progress = self._of_bytes if stage in ("verify", "receive") else self._of_things
        if total is not None or stage not in self._tasks:
            self.__exit__()
            progress.start()
            self._shown = progress
            self._tasks[stage] = progress.add_task(STAGES[stage], total=total)
        progress.advance(self._tasks[stage], done)

    def __exit__(self, *_: object) -> None:
        if self._shown is not None:
            self._shown.stop()
            self._shown = None

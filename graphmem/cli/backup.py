"""``graphmem backup``: dumps of the facts, from which everything else is made again."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from graphmem.cli.db import Json, show
from graphmem.cli.session import Session, current, fetching, run_async, stderr, telling_errors
from graphmem.cli.tables import plain
from graphmem.errors import ConfigurationInvalid, DumpConflicts
from graphmem.model import times
from graphmem.settings import Settings

if TYPE_CHECKING:
    from graphmem.dump import RestoreResult, VerifyResult

app = typer.Typer(no_args_is_help=True)
# Whether a path can be used is told by what uses it. Path's own questions raise where it may not be searched.
File = Annotated[Path, typer.Argument(readable=False, help="The file of the dump.")]
STAGES = {
    "create": "observations",
    "restore": "observations",
    "wait": "observations that waited",
    "check": "things derived again",
}


@app.command()
def create(
    context: typer.Context,
    path: Annotated[
        Path, typer.Argument(readable=False, help="File to write, or a directory to write a dated one in.")
    ],
    owner: Annotated[
        list[str] | None, typer.Option(help="Only this owner's facts; may be given again. All, unless given.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the file if it is there; never by a dump of nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write the facts of every owner into one file: compressed, checksummed, the same for the same state.

    Services may write meanwhile: each owner's facts are those of one moment. What is derived of them is not
    in the file; restoring makes it again.

    \b
    Examples:
      graphmem backup create graphmem.dump
      graphmem backup create /backups --owner 00000000-0000-0000-0000-000000000000
    """
    session = current(context)
    with telling_errors(as_json or session.as_json):
        chosen = _here(session)

        if os.path.isdir(path):
            path /= f"graphmem-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.dump"
        made = run_async(_create(chosen, path, owner or (), force))
        show(made, as_json or session.as_json)


@app.command()
def verify(context: typer.Context, path: File, as_json: Json = False) -> None:
    """Check that every byte of a dump is as it was written. No database is needed.

    `root` is one hash for all facts: the same state has the same one, wherever it was dumped.

    \b
    Example:
      graphmem backup verify graphmem.dump
    """
    session = current(context)
    with telling_errors(as_json or session.as_json):
        from graphmem import dump

        with _bars() as bars:
            size = os.path.getsize(path) if os.path.isfile(path) else None
            bars.advance("verify", 0, size)
            found = dump.verify(path, lambda done: bars.advance("verify", done, None))
        show(_verified(path, found), as_json or session.as_json)


@app.command()
def restore(
    context: typer.Context,
    path: File,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be restored; nothing is written.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write the facts of a dump that are missing here, and derive everything else from them.

    What is here already stays: to restore again adds nothing, one that was broken off goes on, and into a
    database that holds something it gives the union of both. Facts that contradict those here are listed and
    left out, and the exit code is 5. Services may go on meanwhile.

    \b
    Examples:
      graphmem backup restore graphmem.dump --dry-run
      graphmem backup restore graphmem.dump
    """
    session = current(context)
    with telling_errors(as_json or session.as_json):
        chosen = _here(session)

        found = run_async(_restore(chosen, path, dry_run))
        conflicts = [conflict.report() for conflict in found.conflicts]
        show(_restored(path, found), as_json or session.as_json)
        if found.conflict_count:
            if not (as_json or session.as_json):
                for one in conflicts[:20]:
                    stderr.print(plain(f"  {one['what']} {one['id']}: {one['message']}"))
            raise DumpConflicts(conflict_count=found.conflict_count, conflicts=conflicts)


async def _create(chosen: Settings, path: Path, owners: Sequence[str], force: bool) -> dict[str, Any]:
    from graphmem import dump
    from graphmem.runtime import open_services

    name = "the database at NEO4J_URI" if chosen.neo4j_uri else f"the data directory {chosen.data_path}"
    async with open_services(chosen, fetching()) as services:
        with _bars() as bars:

            def tell(done: int, total: int | None) -> None:
                bars.advance("create", done, total)

            made = await dump.create(
                services.database, path, owners, force=force, database_name=name, progress=tell
            )
    counted = _counted(made.manifest.contents)
    return {"path": str(made.path), "bytes": made.size, **counted, "root": made.manifest.root}


async def _restore(chosen: Settings, path: Path, dry_run: bool) -> RestoreResult:
    from graphmem import dump
    from graphmem.runtime import open_services

    async with open_services(chosen, fetching()) as services:
        with _bars() as bars:
            where = services.database, services.vocabulary, services.writers
            return await dump.restore(*where, path, dry_run=dry_run, progress=bars.advance)


def _here(session: Session) -> Settings:
    chosen = session.settings()
    if chosen.base_url is not None:
        raise ConfigurationInvalid(
            f"a backup is made of the data here, and restored to it, not at {chosen.base_url}: run it there",
            setting="GRAPHMEM_BASE_URL",
        )
    session.log_to_file(chosen)
    return chosen


def _counted(contents: dict[str, Any]) -> dict[str, Any]:
    owners = contents["owners"]
    names = "schemas", "transactions", "observations"
    newest = max((one["recorded_at"] for one in owners), default=None)
    return {
        "owners": len(owners),
        "relationship_types": contents["relationship_types"],
        **{name: sum(one[name] for one in owners) for name in names},
        "recorded_at": None if newest is None else times.render(newest),
    }


def _verified(path: Path, found: VerifyResult) -> dict[str, Any]:
    return {
        "path": str(path),
        "bytes": found.size,
        "created_at": times.render(found.header.created_at),
        "graphmem": found.header.graphmem,
        "format": found.header.format,
        **_counted(found.manifest.contents),
        "root": found.manifest.root,
    }


def _restored(path: Path, found: RestoreResult) -> dict[str, Any]:
    return {
        "path": str(path),
        "dry_run": found.dry_run,
        "owners": found.owners,
        "relationship_types": found.relationship_types,
        "schemas": found.schemas,
        "transactions": found.transactions,
        "observations": found.observations,
        "known_transactions": found.known_transactions,
        "known_observations": found.known_observations,
        "owners_derived_again": len(found.audited_owners),
        "conflicts": found.conflict_count,
        "root": found.verified.manifest.root,
    }


class _Rate(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        """Return the rate as text."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="progress.data.speed")


class _Bars:
    """One bar for each stage, with rate and time left."""

    def __init__(self) -> None:
        counted = BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn()
        bytes_ = BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()
        told = TextColumn("{task.description}")
        self._of_bytes = Progress(told, *bytes_, console=stderr)
        self._of_things = Progress(told, *counted, console=stderr)
        self._tasks: dict[str, Any] = {}
        self._shown: Progress | None = None

    def advance(self, stage: str, done: int, total: int | None) -> None:
        """Move the bar of a stage on; a stage begins anew where its total is told."""
        progress = self._of_bytes if stage == "verify" else self._of_things
        if total is not None or stage not in self._tasks:
            self.close()
            progress.start()
            self._shown = progress
            self._tasks[stage] = progress.add_task(STAGES.get(stage, "verify"), total=total)
        progress.advance(self._tasks[stage], done)

    def close(self) -> None:
        """Leave the bars as they are."""
        if self._shown is not None:
            self._shown.stop()
            self._shown = None


@contextlib.contextmanager
def _bars() -> Iterator[_Bars]:
    bars = _Bars()
    try:
        yield bars
    finally:
        bars.close()

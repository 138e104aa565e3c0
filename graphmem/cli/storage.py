"""``graphmem storage``: where the bytes of files are kept, how many, and removing those that nothing uses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from graphmem.cli.session import Session, command, run_async, show, stderr

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphmem.checking.unreferenced import Removal
    from graphmem.registry import Services
    from graphmem.settings import Settings

ELSEWHERE: Final = "storage works on the data of this machine, not at {}: run it there"
UNITS: Final = {"m": 60, "h": 3_600, "d": 86_400}
GRACE_MIN_SECONDS: Final = 3_600
"""Least grace time: longer than a store takes from the object to its source."""

app = typer.Typer(no_args_is_help=True)


@command(app)
def info(session: Session) -> dict[str, Any]:
    """Show where the object store is, and count its objects, their bytes and their owners.

    `unfinished` counts temporary files: of uploads under way, and of uploads that ended before their time.

    \b
    Examples:
      graphmem storage info
      graphmem storage info --json
    """
    chosen = session.local_settings(ELSEWHERE, reads=session.settings().objects_bucket is None)
    with _counting("counting objects") as tell:
        return run_async(_info(chosen, tell))


def _seconds(text: str) -> int:
    """Return the seconds of a time such as 24h."""
    match = re.fullmatch(r"([0-9]{1,6})([mhd])", text.strip())
    if match is None:
        raise typer.BadParameter("write a number of minutes, hours or days, such as 90m, 24h or 7d")
    seconds = int(match[1]) * UNITS[match[2]]
    if seconds < GRACE_MIN_SECONDS:
        raise typer.BadParameter("give at least 1h: a younger file may be about to be stored")
    return seconds


@command(app)
def gc(
    session: Session,
    grace: Annotated[
        # The text is parsed to seconds.
        int,
        typer.Option(
            parser=_seconds, metavar="TIME", help="Age from which an unused object is removed, 1h or more."
        ),
    ] = "24h",  # pyright: ignore[reportArgumentType]
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be removed, and remove nothing.")
    ] = False,
    all_owners: Annotated[
        bool, typer.Option("--all-owners", help="Remove also objects of owners without any source.")
    ] = False,
) -> None:
    """Remove the objects that no source refers to, such as after a crash, and uploads that did not end.

    Objects younger than --grace stay: their source may be about to be written. Objects of owners who have no
    source in this database stay too, because they may belong to another database. Services may run meanwhile.

    \b
    Examples:
      graphmem storage gc --dry-run
      graphmem storage gc --grace 7d
    """
    from graphmem.checking.unreferenced import remove_unreferenced
    from graphmem.cli.in_process import on_services
    from graphmem.model import times

    async def work(services: Services) -> Removal:
        with _counting("looking at objects") as tell:
            return await remove_unreferenced(
                services.database, services.objects, times.now() - grace * 1_000_000,
                dry_run=dry_run, foreign=all_owners, progress=tell,
            )  # fmt: skip

    removal = on_services(session.local_settings(ELSEWHERE), work)
    show(_report(removal, grace), session.as_json)
    if removal.foreign.objects and not session.as_json:
        line = (
            f"{removal.foreign.objects:,} objects of owners without any source stay. If no other "
            "database keeps files there, remove them with graphmem storage gc --all-owners."
        )
        stderr.print(line, highlight=False, soft_wrap=True)


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
    from graphmem.model import times
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

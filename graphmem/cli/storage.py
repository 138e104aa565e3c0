"""``graphmem storage``: where the bytes of files are kept, and how many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from graphmem.cli.db import Json, show
from graphmem.cli.session import Session, current, require_database, run_async, stderr, telling_errors
from graphmem.errors import ConfigurationInvalid

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphmem.settings import Settings

app = typer.Typer(no_args_is_help=True)


@app.command()
def info(context: typer.Context, as_json: Json = False) -> None:
    """Show where the object store is, and count its objects, their bytes and their owners.

    `unfinished` counts temporary files: of uploads under way, and of uploads that ended before their time.

    \b
    Examples:
      graphmem storage info
      graphmem storage info --json
    """
    session = current(context)
    with telling_errors(as_json or session.as_json):
        chosen = _local_settings(session)
        if chosen.objects_bucket is None:
            require_database(chosen)
        session.log_to_file(chosen)
        with _counting("counting objects") as tell:
            answer = run_async(_info(chosen, tell))
        show(answer, as_json or session.as_json)


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


def _local_settings(session: Session) -> Settings:
    chosen = session.settings()
    if chosen.base_url is not None:
        raise ConfigurationInvalid(
            f"storage works on the data of this machine, not at {chosen.base_url}: run it there",
            setting="GRAPHMEM_BASE_URL",
        )
    return chosen


@contextmanager
def _counting(what: str) -> Iterator[Callable[[int], None]]:
    """Yield a function that counts objects; a terminal shows the number."""
    from rich.progress import Progress, SpinnerColumn, TextColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.completed:,.0f}")
    with Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done: progress.advance(task, done)

"""What all commands share: global options, running an operation, printing an error."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from graphmem import settings
from graphmem.auth import Scope, local_actor
from graphmem.cli.error_text import Place, error_lines, unchanged
from graphmem.cli.tables import plain
from graphmem.errors import DataDirectoryRefused, GraphmemError, InternalError
from graphmem.observability import logs
from graphmem.registry import Operation
from graphmem.settings import Settings

T = TypeVar("T")
console = Console()
stderr = Console(stderr=True)


@dataclass(slots=True)
class Session:
    """The global options of one invocation."""

    as_json: bool = False
    verbose: bool = False
    overrides: dict[str, Any] = field(default_factory=dict)

    def settings(self, **more: Any) -> Settings:
        """Return the settings: environment, then global options, then ``more``."""
        return settings.load(**(self.overrides | more))

    def run(self, operation: Operation[Any], raw: dict[str, Any]) -> bytes:
        """Run an operation by the local service, at ``--base-url``, or in this process with ``--offline``.

        Returns its answer as JSON.
        """
        chosen = self.settings()
        if chosen.base_url is not None:
            from graphmem.client import Client

            token = chosen.bearer_token.get_secret_value() if chosen.bearer_token else None
            with Client(chosen.base_url, token, "cli") as client:
                return client.call(operation, raw)
        if operation.scope is Scope.READ:
            require_database(chosen)
        self.log_to_file(chosen)
        if uses_service(chosen):
            from graphmem.service.calling import call

            return call(chosen, operation.name, raw, "cli", tell_progress)

        async def in_process() -> bytes:
            from graphmem.runtime import open_services

            async with open_services(chosen, fetching(), waiting=tell_waiting) as services:
                return await operation.run(services, local_actor("cli"), raw)

        return run_async(in_process())

    def log_to_file(self, chosen: Settings) -> None:
        """Log to the data directory; to the console only errors, or everything with ``--verbose``."""
        try:
            folder = logs.folder(chosen)
        except DataDirectoryRefused:
            # The start of Neo4j reports what is wrong with the directory.
            folder = None
        logs.configure(chosen, folder, console_level="info" if self.verbose else "error")


def require_database(chosen: Settings) -> None:
    """Refuse to read a data directory without a database, so that a mistyped ``--data-dir`` creates none.

    Raises:
        DataDirectoryRefused: there is no database; nothing was created.
    """
    from graphmem import neo4j_local

    if chosen.neo4j_uri is None and not neo4j_local.exists(chosen):
        raise DataDirectoryRefused(
            f"there is no database in {chosen.data_path}: nothing was read, and nothing was created. Correct "
            "--data-dir, --env or GRAPHMEM_DATA_DIR. To create a database there, store something or run "
            "`graphmem db start`",
            data_dir=str(chosen.data_path),
        )


def uses_service(chosen: Settings) -> bool:
    """Return whether commands call the local service. Windows has none."""
    return not chosen.offline and sys.platform != "win32"


def tell_progress(line: str) -> None:
    """Print a line of progress on stderr."""
    stderr.print(plain(line, "dim"), highlight=False)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, on uvloop where it exists."""
    if sys.platform == "win32":
        return asyncio.run(work)
    import uvloop

    return uvloop.run(work)


def current(context: typer.Context) -> Session:
    """Return the session of a command."""
    session = context.find_root().obj
    return session if isinstance(session, Session) else Session()


def tell_waiting(line: str) -> None:
    """Print a line of progress on stderr."""
    stderr.print(plain(line, "dim"))


def fetching() -> Callable[[str, int, int], None]:
    """Return a callback that draws the progress of downloads on stderr."""
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    progress = Progress(*columns, console=stderr, transient=False)
    tasks: dict[str, Any] = {}

    def tell(what: str, done: int, total: int) -> None:
        if what not in tasks:
            if not tasks:
                progress.start()
            tasks[what] = progress.add_task(what, total=total)
        progress.update(tasks[what], completed=done, total=total)
        if done >= total:
            progress.stop()

    return tell


@contextlib.contextmanager
def telling_errors(as_json: bool, place: Place = unchanged) -> Iterator[None]:
    """Print an error on stderr, as text or as its envelope, and exit with its code.

    ``place``: names the option of a path in the request.
    """
    import structlog

    from graphmem.observability.logs import new_trace_id

    trace = new_trace_id()
    with structlog.contextvars.bound_contextvars(trace_id=trace):
        try:
            yield
        except GraphmemError as exc:
            tell_error(exc, trace, as_json, place)
        except (KeyboardInterrupt, typer.Exit, typer.Abort):
            raise
        except Exception as exc:
            structlog.get_logger("graphmem.cli").exception("unexpected fault")
            error = InternalError(
                f"an unexpected fault ({type(exc).__name__}): the log has it under this trace_id"
            )
            tell_error(error, trace, as_json)


def tell_error(error: GraphmemError, trace: str, as_json: bool, place: Place = unchanged) -> NoReturn:
    """Print an error and exit with its code."""
    envelope = error.envelope(trace)
    if as_json:
        sys.stderr.write(json.dumps(envelope, default=str) + "\n")
    else:
        message, *lines = error_lines(error, place)
        stderr.print(f"[bold red]error[/] {error.code}:", end=" ", highlight=False)
        stderr.print(plain(message))
        for line in lines:
            stderr.print(plain(line))
        stderr.print(f"  trace_id {envelope['trace_id']}", style="dim", highlight=False)
    raise typer.Exit(error.exit_code)

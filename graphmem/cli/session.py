"""What all commands share: global options, running an operation, printing an error.

Nothing here imports the settings, the operations or the database before a command needs them.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import typer
from rich.console import Console

from graphmem.cli.error_text import Place, error_lines
from graphmem.errors import ConfigurationInvalid, DataDirectoryRefused, GraphmemError, InternalError

if TYPE_CHECKING:
    from graphmem.cli.commands import Listed
    from graphmem.client import Client
    from graphmem.settings import Settings

T = TypeVar("T")
PIPE_CHARACTERS = 1000
"""Width of the lines where stdout is no terminal and COLUMNS is not set: a program reads whole lines."""

console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_CHARACTERS)
stderr = Console(stderr=True)

_trace: ContextVar[str] = ContextVar("trace", default="")  # the trace id of the running command
_session: ContextVar[Session | None] = ContextVar("session", default=None)


@dataclass(slots=True)
class Session:
    as_json: bool = False
    verbose: bool = False
    overrides: dict[str, Any] = field(default_factory=dict)
    account: str | None = None
    """The account that acts, instead of the local one."""
    kept: dict[str, Client] = field(default_factory=dict)
    """Connections to services over HTTP, by address; they end with the process."""
    chosen: Settings | None = None
    """The settings of a command that chooses them itself, in place of those of options and environment."""
    running_for: float | None = None
    """Seconds that a service may be silent of which only one that runs is asked; None: it is started."""

    def within(self, outer: Session) -> Session:
        """Return the options of a command of the session ``outer``: its own win."""
        overrides = outer.overrides | self.overrides
        as_json, verbose = self.as_json or outer.as_json, self.verbose or outer.verbose
        return Session(as_json, verbose, overrides, self.account or outer.account, outer.kept)

    def settings(self, **more: Any) -> Settings:
        """Return the settings: environment, then global options, then ``more``."""
        from graphmem import settings

        return self.chosen or settings.load(**(self.overrides | more))

    def settings_here(self, instead: str = "") -> Settings:
        """Return the settings of a command that works on this machine alone.

        ``instead``: what does the same at another service; ``{}`` stands for its address.

        Raises ConfigurationInvalid: ``--base-url`` names another service.
        """
        chosen = self.settings()
        if (address := chosen.base_url) is not None:
            refusal = f"this command works on its own machine, not at {address}: run it there"
            raise ConfigurationInvalid(refusal + instead.format(address), setting="GRAPHMEM_BASE_URL")
        return chosen

    def local_settings(self, instead: str = "", *, reads: bool = True) -> Settings:
        """Return the settings of a command that works on the data of this machine, and open its log.

        Args:
            instead: as of :meth:`settings_here`.
            reads: whether there has to be a database.
        """
        chosen = self.settings_here(instead)
        if reads:
            require_database(chosen)
        self.log_to_file(chosen)
        return chosen

    def run(self, operation: Listed, raw: dict[str, Any]) -> bytes:
        """Run an operation by the local service, at ``--base-url`` or in this process; return its JSON."""
        chosen = self.settings()
        if raw.get("file_path") is not None:
            from graphmem.ingest import own_files

            raw = own_files.with_content(raw) if operation.name in own_files.OPERATIONS else raw
        if chosen.base_url is not None:
            return self.remote(chosen.base_url, chosen).call(operation.routes[0], raw)
        is_service = uses_service(chosen) or self.running_for is not None
        if operation.reads:
            require_database(chosen, or_service=is_service)
        if is_service:
            from graphmem.service.calling import call

            waits: Any = {"timeout": self.running_for, "starts": self.running_for is None}
            return call(chosen, operation.routes[0], raw, "cli", tell_progress, self.account, **waits)
        self.log_to_file(chosen)
        from graphmem.cli import in_process

        return in_process.run(chosen, operation.name, raw, self.account)

    def ask(self, operation: str | Listed, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer of an operation, which is that of a command if only its name is known."""
        from graphmem.cli.commands import entry_of
        from graphmem.model import canonical

        entry = entry_of(operation) if isinstance(operation, str) else operation
        return canonical.decode(self.run(entry, dict(raw)))

    def remote(self, base_url: str, chosen: Settings) -> Client:
        from graphmem.client import Client

        if self.account is not None:
            raise ConfigurationInvalid(
                f"--account works on the data of this machine, not at {base_url}: there, the credential says "
                "which account acts",
                setting="GRAPHMEM_BASE_URL",
            )
        token = chosen.bearer_token.get_secret_value() if chosen.bearer_token else None
        if base_url not in self.kept:
            self.kept[base_url] = Client(base_url, token, "cli")
        return self.kept[base_url]

    def log_to_file(self, chosen: Settings) -> None:
        """Log to the data directory, with ``--verbose`` to the console too; errors alone where that fails."""
        import structlog

        from graphmem.observability import logs

        try:
            folder = logs.folder(chosen)
        except DataDirectoryRefused:
            # The start of Neo4j reports what is wrong with the directory.
            folder = None
        # The command prints the error that it ends with: the log beside it would tell the fault twice.
        quiet = "error" if folder is None else "critical"
        logs.configure(chosen, folder, console_level="info" if self.verbose else quiet)
        structlog.contextvars.bind_contextvars(trace_id=_trace.get())


def require_database(chosen: Settings, *, or_service: bool = False) -> None:
    """Refuse to read a data directory without a database, so that a mistyped ``--data-dir`` creates none.

    ``or_service``: a local service that runs has its database.
    """
    if or_service:
        from graphmem.service.place import is_locked, place

        if is_locked(place(chosen)):
            return
    if chosen.neo4j_uri is not None:
        return
    from graphmem import neo4j_local

    if not neo4j_local.exists(chosen):
        raise DataDirectoryRefused(
            f"there is no database in {chosen.data_path}: nothing was read, and nothing was created. Correct "
            "--data-dir, --env or GRAPHMEM_DATA_DIR. To create a database there, store something or run "
            "`graphmem db start`",
            data_dir=str(chosen.data_path),
        )


def uses_service(chosen: Settings) -> bool:
    """Return whether commands call the local service. Windows has none."""
    return not chosen.offline and sys.platform != "win32"


def open_instance(chosen: Settings) -> None:
    """Fetch and start the embedded database, and bring the schema of either up to date.

    The local service does it where there is one: it says what it waits for, and is ready afterwards.
    """
    if uses_service(chosen):
        from graphmem.service import calling

        calling.ensure(chosen, tell_progress)
        return
    from graphmem.cli.in_process import open_database

    open_database(chosen)


def is_terminal() -> bool:
    return sys.stdout.isatty()


def tell_progress(line: str) -> None:
    tell(line, "dim")


def tell(line: str, style: str = "") -> None:
    """Print a line on stderr; it is not broken, so that an address or a command in it can be copied."""
    from graphmem.cli.tables import plain

    stderr.print(plain(line, style), highlight=False, soft_wrap=True)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    if sys.platform == "win32":
        import asyncio

        return asyncio.run(work)
    import uvloop

    return uvloop.run(work)


def current(context: typer.Context) -> Session:
    options = context.find_root().obj
    session = options if isinstance(options, Session) else Session()
    _session.set(session)
    return session


def fetching() -> Callable[[str, int, int], None]:
    from graphmem.cli.progress import bytes_progress

    progress = bytes_progress()
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


Draw = Callable[[], Any]  # what people see of an answer: returned, or printed at once


def show(answer: Mapping[str, Any], as_json: bool, draw: Draw | None = None) -> None:
    """Print an answer: JSON for programs; for people what ``draw`` draws, else names and values."""
    if as_json:
        sys.stdout.write(json.dumps(answer, default=str, ensure_ascii=False, separators=(",", ":")) + "\n")
    elif draw is None:
        from graphmem.cli.tables import pairs

        console.print(pairs({name: str(v) if v is not None else None for name, v in answer.items()}))
    elif (drawing := draw()) is not None:
        console.print(drawing, highlight=False)


@contextlib.contextmanager
def telling_errors(as_json: bool, place: Place = str) -> Iterator[None]:
    """Print an error on stderr, and exit with its code. ``place`` names the option of a path in it."""
    trace = secrets.token_hex(16)
    token = _trace.set(trace)
    try:
        yield
    except GraphmemError as exc:
        tell_error(exc, trace, as_json, place)
    except (KeyboardInterrupt, typer.Exit, typer.Abort):
        raise
    except BrokenPipeError:
        # Whoever reads stdout has enough. The interpreter flushes it once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as exc:
        _log_fault(exc)
        error = InternalError(
            f"an unexpected fault ({type(exc).__name__}): the log has it under this trace_id"
        )
        tell_error(error, trace, as_json)
    finally:
        _trace.reset(token)
        if "structlog" in sys.modules:
            sys.modules["structlog"].contextvars.unbind_contextvars("trace_id")


def _log_fault(fault: Exception) -> None:
    """Write an unexpected fault to the log, which a command that called the service has not opened."""
    import structlog

    session = _session.get() or Session()
    with contextlib.suppress(GraphmemError):
        session.log_to_file(session.settings())
    structlog.get_logger("graphmem.cli").error("unexpected fault", exc_info=fault)


def tell_error(error: GraphmemError, trace: str, as_json: bool, place: Place = str) -> NoReturn:
    from graphmem.cli.tables import List, plain, who

    envelope = error.envelope(trace)
    if as_json:
        sys.stderr.write(json.dumps(envelope, default=str) + "\n")
    else:
        message, *lines = error_lines(error, place)
        # One text, so that the first line ends at the terminal's width.
        stderr.print(plain("error", "bold red") + plain(f" {error.code}: {message}"), highlight=False)
        for line in lines:
            stderr.print(plain(line))
        if candidates := error.details.get("candidates"):
            stderr.print(List(("id", "type", "name"), map(who, candidates)))
        stderr.print(f"  trace_id {envelope['trace_id']}", style="dim", highlight=False)
    raise typer.Exit(error.exit_code)

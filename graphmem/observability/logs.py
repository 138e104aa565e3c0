"""Structured logs: one event a line, each with the trace_id of its request.

People read them on the console, programs in rotating JSON files under the data directory. The line of an
operation is made and written beside the request, by a thread (:func:`operation`). Every other line is written
at once, after those that wait.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TextIO

import orjson
import structlog

from graphmem.settings import Settings

FILE = "graphmem.log"
FILE_BYTES = 10_000_000
FILES_KEPT = 5
WAIT_SECONDS: Final = 0.25
"""Seconds for which the lines of operations are gathered before they are written: a crash loses no more."""
WAITING_LIMIT: Final = 20_000
"""Lines that may wait. Who logs one more writes them all, so that a slow disk takes no memory."""
OPERATIONS: Final = "graphmem.operation"  # the logger that the lines of operations name
_SECRET = re.compile(r"(gm_[a-z]{2}_)[A-Za-z0-9_-]{8,}")
"""A secret that graphmem made: an API key, an access token or a refresh token. Only the prefix is logged.

In JSON a line break is a letter behind a backslash, so no word boundary need stand before a secret.
"""

Event = dict[str, Any]  # what one line says, by name


def configure(
    settings: Settings, folder: Path | None, console: TextIO | None = None, console_level: str | None = None
) -> None:
    """Send the logs of graphmem and its libraries to the console (stderr) and to files in ``folder``.

    Logs never go to stdout: it belongs to answers, and to MCP over stdio. ``console_level`` is the console's
    least severity, if it differs from that of the files. ``folder`` must exist.
    """
    stream = console or sys.stderr
    to_people = structlog.dev.ConsoleRenderer(
        colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback
    )
    render = _json if settings.log_json else lambda event: str(to_people(None, "", event))
    sinks: list[_Console | _LogFile] = [
        _Console(stream, render, (console_level or settings.log_level).upper())
    ]
    if folder is not None:
        sinks.append(_LogFile(folder / FILE))
    root = logging.getLogger()
    for previous in list(root.handlers):
        root.removeHandler(previous)
        previous.close()
    root.addHandler(_Writer(sinks))
    root.setLevel(settings.log_level.upper())
    # botocore, at a lower level, logs headers, whose signatures are secret.
    for noisy in ("botocore", "httpx", "httpx2", "httpcore", "mcp", "uvicorn.access", "uvicorn.error"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    for noisy in ("neo4j", "urllib3"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            lambda _logger, _method, event: ((event,), {}),
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def operation(name: str, members: Event) -> None:
    """Log the one line of an operation that ended, beside its request: within :data:`WAIT_SECONDS`. Every end
    of the process but a crash writes what still waits."""
    if logging.getLogger(OPERATIONS).isEnabledFor(logging.INFO):
        for writer in logging.getLogger().handlers:
            if isinstance(writer, _Writer):
                writer.later(time.time(), name, members | structlog.contextvars.get_contextvars())


def flush() -> None:
    for handler in logging.getLogger().handlers:
        handler.flush()


def folder(settings: Settings) -> Path:
    """Return the folder of the logs, and make it if it does not exist.

    Raises:
        DataDirectoryRefused: the log file cannot be written.
    """
    from graphmem.neo4j_local.private_files import used_as_data

    path = settings.data_path / "logs"
    with used_as_data(settings.data_path):
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Opened here once, because the log handler would print a traceback for every line.
        (path / FILE).open("a").close()
    return path


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Log nothing within the block, for a command that reports everything itself."""
    config = structlog.get_config()
    logging.disable(logging.CRITICAL)
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory(), processors=[lambda *_: ""])
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
        structlog.configure(**config)


class _Writer(logging.Handler):
    """Writes lines to all sinks: those of operations in a thread, every other one at once and after them."""

    def __init__(self, sinks: Iterable[_Console | _LogFile]) -> None:
        super().__init__()
        self._sinks = tuple(sinks)
        self._waiting: deque[tuple[float, str, Event]] = deque()
        self._some_wait = threading.Event()
        self._is_closed = False
        self._writer_of: int | None = None
        """The process whose thread writes what waits. A thread does not survive a fork."""

    def later(self, at: float, name: str, members: Event) -> None:
        """Have the line of an operation that ended ``at`` a Unix time made and written soon."""
        if self._writer_of != (pid := os.getpid()):
            # What waited at a fork is the parent's to write.
            self._waiting, self._some_wait, self._writer_of = deque(), threading.Event(), pid
            threading.Thread(target=self._write_waiting, name="log", daemon=True).start()
        self._waiting.append((at, name, members))
        if not self._some_wait.is_set():
            self._some_wait.set()
        if len(self._waiting) > WAITING_LIMIT:
            self.flush()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, after the lines that wait. The caller has the lock."""
        self.flush()
        try:
            event = record.msg if isinstance(record.msg, dict) else _event_of(record)
        except Exception:
            # A message and its arguments that do not fit: who logs is never told.
            self.handleError(record)
            return
        for sink in self._sinks:
            if sink.takes(record):
                self._write(sink, [event])

    def flush(self) -> None:
        with self.lock or contextlib.nullcontext():
            waiting: list[Event] = []
            while self._waiting and self._writer_of == os.getpid():
                at, name, members = self._waiting.popleft()
                line = {"event": name, "level": "info", "logger": OPERATIONS, "timestamp": _moment(at)}
                waiting.append(members | line)
            for sink in self._sinks if waiting else ():
                if sink.level <= logging.INFO:
                    self._write(sink, waiting)

    def close(self) -> None:
        """Write the lines that wait, and close the file."""
        self._is_closed = True
        self._some_wait.set()
        self.flush()
        for sink in self._sinks:
            sink.close()
        super().close()

    def _write_waiting(self) -> None:
        while not self._is_closed:
            self._some_wait.wait()
            time.sleep(WAIT_SECONDS)
            self._some_wait.clear()
            self.flush()

    def _write(self, sink: _Console | _LogFile, events: list[Event]) -> None:
        try:
            sink.write([_SECRET.sub(r"\1[redacted]", _rendered(sink, event)) for event in events])
        except ValueError:
            # A console that was closed: nobody reads there any more.
            return
        except OSError as exc:
            # A full disk. The process goes on without its log.
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write(f"the log cannot be written: {exc}\n")


def _rendered(sink: _Console | _LogFile, event: Event) -> str:
    """Return the line of an event; of one that cannot be rendered, its name and why."""
    try:
        return sink.render(dict(event))
    except Exception as exc:
        return sink.render({"event": str(event.get("event")), "unrenderable": type(exc).__name__})


class _Console:
    """Where the lines of at least ``level`` go that people read."""

    def __init__(self, stream: TextIO, render: Callable[[Event], str], level: str) -> None:
        self._stream, self.render = stream, render
        self.level: int = logging.getLevelNamesMapping()[level]

    def takes(self, record: logging.LogRecord) -> bool:
        # Errors of the trace exporter go to the file only: an unreachable collector would fill the console.
        return record.levelno >= self.level and not record.name.startswith("opentelemetry")

    def close(self) -> None:
        """Keep the stream open, which is the process's."""

    def write(self, lines: list[str]) -> None:
        if lines:
            self._stream.write("".join(f"{line}\n" for line in lines))
            self._stream.flush()


class _LogFile:
    """A file that is replaced once it is large. Other processes may write the same one."""

    level = logging.NOTSET

    def __init__(self, path: Path) -> None:
        self._path, self.render = path, _json
        self._file: int | None = None

    def takes(self, record: logging.LogRecord) -> bool:
        return True

    def write(self, lines: list[str]) -> None:
        rest = "".join(f"{line}\n" for line in lines).encode(errors="backslashreplace")
        if rest and os.fstat(self._opened()).st_size >= FILE_BYTES:
            self._replace()
        while rest:
            rest = rest[os.write(self._opened(), rest) :]

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _opened(self) -> int:
        if self._file is None:
            self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        return self._file

    def _replace(self) -> None:
        """Begin a new file, and keep the last ones under the names ``.1`` to ``.5``."""
        self.close()
        names = [self._path, *(Path(f"{self._path}.{i}") for i in range(1, FILES_KEPT + 1))]
        for name, older in reversed([*pairwise(names)]):
            if name.exists():
                name.replace(older)


def _event_of(record: logging.LogRecord) -> Event:
    event: Event = {"event": record.getMessage(), **structlog.contextvars.get_contextvars()}
    if record.exc_info:
        event["exception"] = logging.Formatter().formatException(record.exc_info)
    level, at = record.levelname.lower(), _moment(record.created)
    return event | {"level": level, "logger": record.name, "timestamp": at}


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def _json(event: Event) -> str:
    """Return an event as JSON. What is no JSON is shown as Python shows it."""
    try:
        return orjson.dumps(event, default=repr, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        # A number of more than 64 bits, or a lone surrogate.
        return json.dumps(event, default=repr, ensure_ascii=False)


def new_trace_id() -> str:
    """Return 32 hexadecimal digits: the trace id of one request, in the form of W3C Trace Context."""
    return os.urandom(16).hex()

"""Structured logs: one event a line, each with the trace_id of its request.

People read them on the console, programs in rotating JSON files under the data directory.
"""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import os
import re
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import stamina
import structlog

from graphmem.settings import Settings

FILE = "graphmem.log"
FILE_BYTES = 10_000_000
FILES_KEPT = 5
_SECRET = re.compile(r"\b(gm_[a-z]{2}_)[A-Za-z0-9_-]{8,}")
"""A secret that graphmem made: an API key, an access token or a refresh token. Only the prefix is logged."""


def configure(
    settings: Settings, folder: Path | None, console: TextIO | None = None, console_level: str | None = None
) -> None:
    """Send the logs of graphmem and its libraries to the console (stderr) and to files in ``folder``.

    Logs never go to stdout: it belongs to answers, and to MCP over stdio. ``console_level`` is the console's
    least severity, if it differs from that of the files. ``folder`` must exist.
    """
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    stream = console or sys.stderr
    to_json = structlog.processors.JSONRenderer(ensure_ascii=False)
    to_people = structlog.dev.ConsoleRenderer(
        colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback
    )
    handlers: list[logging.Handler] = [
        _handler(logging.StreamHandler(stream), shared, to_json if settings.log_json else to_people)
    ]
    # Errors of the trace exporter go to the file only: an unreachable collector would fill the console.
    handlers[0].addFilter(lambda record: not record.name.startswith("opentelemetry"))
    handlers[0].setLevel((console_level or settings.log_level).upper())
    if folder is not None:
        file = _LogFile(
            folder / FILE, maxBytes=FILE_BYTES, backupCount=FILES_KEPT, encoding="utf-8", delay=True
        )
        handlers.append(_handler(file, shared, to_json))
    root = logging.getLogger()
    for previous in list(root.handlers):
        root.removeHandler(previous)
        previous.close()
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(settings.log_level.upper())
    for noisy in (
        "neo4j",
        # At a lower level it logs headers, whose signatures are secret.
        "botocore",
        "httpx",
        "httpx2",
        "httpcore",
        "mcp",
        "uvicorn.access",
        "uvicorn.error",
        "stamina",
        "urllib3",
    ):
        logging.getLogger(noisy).setLevel(logging.ERROR if noisy in ("neo4j", "urllib3") else logging.WARNING)
    # Retries are counted by a metric, and not logged one by one.
    stamina.instrumentation.set_on_retry_hooks([])
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


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


class _LogFile(logging.handlers.RotatingFileHandler):
    """A file that is replaced once it is large.

    The standard handler renders each line twice: first to know whether it still fits.
    """

    def shouldRollover(self, record: logging.LogRecord) -> bool:
        """Return whether the file is full."""
        if self.stream is None:
            self.stream = self._open()
        self.stream.seek(0, os.SEEK_END)
        return self.stream.tell() >= self.maxBytes


def new_trace_id() -> str:
    """Return 32 hexadecimal digits: the trace id of one request, in the form of W3C Trace Context."""
    return secrets.token_hex(16)


def _handler(
    handler: logging.Handler, shared: list[structlog.typing.Processor], renderer: structlog.typing.Processor
) -> logging.Handler:
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer, _redacted],
        )
    )
    return handler


def _redacted(logger: object, method: str, line: structlog.typing.EventDict | str) -> str:
    """Return a rendered line without secrets. No line should have one: a message of a library might."""
    return _SECRET.sub(r"\1[redacted]", str(line))

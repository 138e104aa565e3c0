"""``graphmem logs``: all logs of this machine as one, by time.

Those are the log of graphmem with its rotated files, what the service wrote to its console, and the log of
the embedded Neo4j with what Java wrote.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal, NamedTuple

from graphmem.cli.people_times import iso
from graphmem.cli.session import Session, console
from graphmem.cli.tables import plain, time_text
from graphmem.model import times

if TYPE_CHECKING:
    from graphmem.settings import Settings

LEVELS: Final = {"debug": 0, "info": 1, "warning": 2, "warn": 2, "error": 3, "fatal": 4, "critical": 4}
STYLES: Final = {"warning": "yellow", "error": "bold red", "critical": "bold red"}
LINES: Final = 50
PAUSE_SECONDS: Final = 0.5  # seconds between two looks for new lines
_STAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,6}))?(?:Z|\+00:?00) \[?(\w+)\s*\]?\s*"
)
"""What a line of text begins with: its time in UTC and its level."""
_OLDEST = "0000"


@dataclass(slots=True)
class LogLine:
    """One line of a log. ``timestamp`` has microseconds and is in UTC, so that texts order as times do."""

    log: str
    timestamp: str
    level: str
    event: str
    members: dict[str, Any]


class _Log(NamedTuple):
    name: str
    path: Path
    read: Callable[[str, LogLine], LogLine | None]
    """Reads a line of the file, given the line before; None: another log has it."""

    def files(self) -> list[Path]:
        """Return the file that is written and the rotated ones, the newest first."""
        rotated = {
            int(path.suffix[1:]): path
            for path in self.path.parent.glob(f"{self.path.name}.*")
            if path.suffix[1:].isdigit()
        }
        return [self.path, *(rotated[number] for number in sorted(rotated))]


def logs(
    session: Session, lines: int | None = None, follow: bool = False,
    log: Literal["graphmem", "service", "neo4j"] | None = None,
    level: Literal["debug", "info", "warning", "error"] | None = None, trace: str | None = None,
    since: str | None = None,
) -> None:  # fmt: skip
    chosen = session.settings_here()
    first = _OLDEST if since is None else times.render(times.parse(iso(since, "$.since", is_end=False)))
    least = LEVELS[level] if level else 0

    def is_wanted(line: LogLine) -> bool:
        text = str(line.members.get("trace_id", "")) if line.log == "graphmem" else line.event
        is_of_trace = trace is None or (text.startswith(trace) if line.log == "graphmem" else trace in text)
        return line.timestamp >= first and LEVELS.get(line.level, 1) >= least and is_of_trace

    limit = lines if lines is not None else LINES if since is None and trace is None else None
    every = [each for each in _logs_of(chosen) if log in (None, each.name)]
    # What comes while the files are read is read from here on.
    opened = contextlib.ExitStack()
    tails = [opened.enter_context(contextlib.closing(_Tail(each))) for each in every] if follow else []
    matches = [line for each in every for line in _last(each, first, is_wanted, limit)]
    matches.sort(key=lambda line: line.timestamp)
    _print(matches if limit is None else matches[len(matches) - min(limit, len(matches)) :], session.as_json)
    with opened:
        while follow:
            time.sleep(PAUSE_SECONDS)
            new = [line for tail in tails for line in tail.lines() if is_wanted(line)]
            _print(sorted(new, key=lambda line: line.timestamp), session.as_json)


def _logs_of(chosen: Settings) -> list[_Log]:
    from graphmem.neo4j_local.instance import Instance
    from graphmem.observability.logs import FILE
    from graphmem.service.place import place

    instance = Instance(chosen)
    return [
        _Log("graphmem", chosen.data_path / "logs" / FILE, _of_json),
        _Log("service", place(chosen).console, _of_console),
        _Log("neo4j", instance.log, _of_text),
        _Log("neo4j", instance.console, _of_text),
    ]


def _last(
    log: _Log, first: str, is_wanted: Callable[[LogLine], bool], limit: int | None
) -> Iterable[LogLine]:
    """Return the last wanted lines of a log. No older file is read than is needed."""
    newest: list[LogLine] = []
    for path in log.files():
        try:
            changed = _moment(path.stat().st_mtime)
            if changed < first:
                break
            with path.open("rb") as file:
                older = deque(filter(is_wanted, _read(log, file, changed)), limit)
        except FileNotFoundError:
            continue
        newest = [*older, *newest]
        if limit is not None and len(newest) >= limit:
            break
    return newest


def _read(log: _Log, file: Iterable[bytes], moment: str) -> Iterator[LogLine]:
    """Read lines. ``moment``: the time of those before the first that tells its own."""
    previous = LogLine(log.name, moment, "info", "", {})
    for raw in file:
        text = raw.decode(errors="replace").rstrip()
        if text and (line := log.read(text, previous)):
            previous = line
            if line.event:
                yield line


def _of_json(text: str, previous: LogLine) -> LogLine:
    try:
        members = json.loads(text)
        event, level, at = (str(members.pop(name, "")) for name in ("event", "level", "timestamp"))
    except (ValueError, TypeError, AttributeError):
        return LogLine(previous.log, previous.timestamp, "info", text, {})  # two processes, one line
    return LogLine(previous.log, at if "." in at else f"{at[:-1]}.000000Z", level, event, members)


def _of_text(text: str, previous: LogLine) -> LogLine:
    """Read a line of text. One without a time belongs to the line before, as those of a traceback do."""
    match = _STAMP.match(text)
    if match is None:
        return LogLine(previous.log, previous.timestamp, previous.level, text, {})
    at = f"{match[1]}T{match[2]}.{(match[3] or '').ljust(6, '0')}Z"
    level = match[4].lower()
    return LogLine(previous.log, at, "warning" if level == "warn" else level, text[match.end() :], {})


def _of_console(text: str, previous: LogLine) -> LogLine:
    line = _of_text(text, previous)
    # A line with a time is in the log of graphmem too.
    return line if line.event == text else LogLine(line.log, line.timestamp, line.level, "", {})


class _Tail:
    """What is added to the file of a log from now on, also after the file was replaced."""

    def __init__(self, log: _Log) -> None:
        self._log = log
        self._file: BinaryIO | None = None
        self._rest = b""
        if self._open():
            assert self._file is not None
            self._file.seek(0, 2)

    def lines(self) -> Iterator[LogLine]:
        while self._file is not None or self._open():
            assert self._file is not None
            whole, newline, self._rest = (self._rest + self._file.read()).rpartition(b"\n")
            yield from _read(self._log, (whole + newline).splitlines(), _moment(time.time()))
            if not self._is_replaced():
                return
            self.close()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> bool:
        try:
            self._file, self._rest = self._log.path.open("rb"), b""
        except FileNotFoundError:
            return False
        return True

    def _is_replaced(self) -> bool:
        """Return whether another file has the name now, or this one was emptied."""
        assert self._file is not None
        opened = os.fstat(self._file.fileno())
        try:
            now = self._log.path.stat()
        except FileNotFoundError:
            return False
        return (opened.st_ino, opened.st_dev) != (now.st_ino, now.st_dev) or now.st_size < self._file.tell()


def _moment(at: float) -> str:
    return times.render(int(at * 1_000_000))


def _print(lines: Iterable[LogLine], as_json: bool) -> None:
    for line in lines:
        if as_json:
            known = {"timestamp": line.timestamp, "log": line.log, "level": line.level, "event": line.event}
            sys.stdout.write(json.dumps(known | line.members, ensure_ascii=False) + "\n")
            continue
        members = {name: value for name, value in line.members.items() if name not in ("logger", "exception")}
        text = " ".join([line.event, *(f"{name}={value}" for name, value in members.items())])
        head = plain(
            f"{time_text(line.timestamp)} {line.log:8} {line.level:7}", STYLES.get(line.level, "dim")
        )
        console.print(head, plain(text), highlight=False, soft_wrap=True)
        for row in str(line.members.get("exception", "")).splitlines():
            console.print(plain(f"    {row}", "dim"), highlight=False, soft_wrap=True)
    sys.stdout.flush()

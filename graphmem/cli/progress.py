"""Progress bars of long commands: how much is done, how fast, and how long it may still take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich import progress as bars
from rich.progress import Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from graphmem.cli.session import stderr

RATE_SECONDS = 5.0
"""Seconds over which a rate is measured. Before that no remaining time is shown: the first batches are slow,
because Neo4j plans their statements.
"""


class Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="progress.data.speed")


class Remaining(ProgressColumn):
    def render(self, task: Task) -> Text:
        """Return the time as text, empty while too little is known."""
        left = task.time_remaining
        if task.finished or left is None or (task.elapsed or 0.0) < RATE_SECONDS:
            return Text("")
        return Text(f"{timedelta(seconds=round(left))} left", style="progress.remaining")


def bytes_progress() -> Progress:
    return _progress(bars.DownloadColumn(), bars.TransferSpeedColumn(), Remaining())


def counted_progress() -> Progress:
    return _progress(bars.MofNCompleteColumn(), Rate(), Remaining())


def _progress(*columns: ProgressColumn) -> Progress:
    first = TextColumn("{task.description}"), bars.BarColumn()
    return Progress(*first, *columns, console=stderr, speed_estimate_period=RATE_SECONDS)


@contextmanager
def counted_task(what: str, total: int) -> Iterator[Callable[[int], None]]:
    with counted_progress() as progress:
        task = progress.add_task(what, total=total)
        yield lambda count: progress.advance(task, count)


@contextmanager
def counted_items(what: str, total: int, as_json: bool) -> Iterator[Callable[..., None]]:
    """Draw the progress of several items on a terminal; yield what counts some as done, by default one."""
    if as_json or total < 2 or not stderr.is_terminal:
        yield lambda count=1: None
        return
    with counted_task(what, total) as advance:
        yield lambda count=1: advance(count)

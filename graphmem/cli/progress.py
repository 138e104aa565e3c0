"""Progress bars of long commands: how much is done, how fast, and how long it may still take."""

from __future__ import annotations

from datetime import timedelta

from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from graphmem.cli.session import stderr

RATE_SECONDS = 5.0
"""Seconds over which a rate is measured. Before that no remaining time is shown: the first batches are slow,
because Neo4j plans their statements.
"""


class Rate(ProgressColumn):
    """The rate of a task over the last seconds, in items a second."""

    def render(self, task: Task) -> Text:
        """Return the rate as text."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="progress.data.speed")


class Remaining(ProgressColumn):
    """The time that a task may still take at the rate of the last seconds."""

    def render(self, task: Task) -> Text:
        """Return the time as text, empty while too little is known."""
        left = task.time_remaining
        if task.finished or left is None or (task.elapsed or 0.0) < RATE_SECONDS:
            return Text("")
        return Text(f"{timedelta(seconds=round(left))} left", style="progress.remaining")


def counted_progress() -> Progress:
    """Return a progress bar of items."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), Remaining()
    return Progress(*columns, console=stderr, speed_estimate_period=RATE_SECONDS)

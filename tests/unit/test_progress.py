"""The rate and the remaining time of a progress bar."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.progress import Progress, TaskID

from graphmem.cli import progress, session
from graphmem.cli.progress import Rate, Remaining, counted_progress


class Clock:
    """A clock that stands where a test puts it."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def bar_at(clock: Clock) -> tuple[Progress, TaskID]:
    bar = counted_progress()
    bar.get_time = clock
    return bar, bar.add_task("restoring observations", total=5057)


def test_a_slow_beginning_is_forgotten_after_five_seconds() -> None:
    clock = Clock()
    bar, task = bar_at(clock)
    for seconds, done in ((6.0, 19), (12.0, 19), *((12.0 + step, 100) for step in range(1, 7))):
        clock.seconds = seconds
        bar.advance(task, done)
    assert Rate().render(bar.tasks[0]).plain == "100/s"
    assert Remaining().render(bar.tasks[0]).plain == "0:00:45 left"


def test_no_remaining_time_is_shown_in_the_first_seconds() -> None:
    clock = Clock()
    bar, task = bar_at(clock)
    for seconds in (1.0, 2.0, 4.0):
        clock.seconds = seconds
        bar.advance(task, 1)
        assert Remaining().render(bar.tasks[0]).plain == ""


def test_a_download_is_drawn_until_all_of_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(file=io.StringIO(), width=100, force_terminal=True)
    monkeypatch.setattr(progress, "stderr", screen)
    tell = session.fetching()
    tell("Neo4j", 0, 2_000_000)
    tell("Neo4j", 1_000_000, 2_000_000)
    tell("model", 0, 1_000)
    tell("Neo4j", 2_000_000, 2_000_000)
    output = screen.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]
    assert "Neo4j" in output
    assert "model" in output
    assert "2.0/2.0 MB" in output


@pytest.mark.parametrize(
    ("total", "as_json", "terminal", "shown"),
    [(2, False, True, True), (1, False, True, False), (2, True, True, False), (2, False, False, False)],
)
def test_files_are_counted_on_a_terminal_where_there_are_several(
    monkeypatch: pytest.MonkeyPatch, total: int, as_json: bool, terminal: bool, shown: bool
) -> None:
    file = io.StringIO()
    monkeypatch.setattr(progress, "stderr", Console(file=file, width=100, force_terminal=terminal))
    with progress.counted_items("storing files", total, as_json) as advance:
        for _ in range(total):
            advance()
    assert (f"{total}/{total}" in file.getvalue()) is shown
    assert bool(file.getvalue()) is shown

"""Random sequences of writes, in which everything is lost and restored from a dump now and then.

The plain model knows nothing of it: after each step every read must agree with it as before.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis.stateful import precondition, rule

from graphmem.context import Services
from tests.reliability.test_machine import Machine
from tests.support.dumps import Dumps
from tests.support.event_loop import Loop
from tests.support.examples import LONG, examples
from tests.support.state_machine import run_machine


class Losing(Machine):
    """The writes, and the loss of everything that was written."""

    @precondition(lambda self: self.known.stored)
    @rule()
    def lose_and_restore(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            dumps = Dumps(self.loop, self.services, self.actor.owner, Path(folder))
            made = dumps.create("before")
            dumps.wipe()
            restored = dumps.restore(made)
            assert (restored.conflict_count, restored.audited_owners) == (0, [])
            assert restored.observations == len(self.known.stored)
            assert dumps.root(dumps.create("after")) == dumps.root(made)


@pytest.mark.timeout(3600)
def test_nothing_shows_that_everything_was_lost_and_restored(loop: Loop, services: Services) -> None:
    example_settings = hypothesis_settings(examples(2), stateful_step_count=12 if LONG else 8)
    run_machine(Losing, loop, services, example_settings)

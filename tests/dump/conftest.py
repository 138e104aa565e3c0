"""What the tests of dumps share."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphmem.context import Services
from tests.support.copies import Copies
from tests.support.dumps import Dumps
from tests.support.event_loop import Loop


@pytest.fixture
def dumps(loop: Loop, services: Services, owner: str, tmp_path: Path) -> Dumps:
    """Dumps of this test's owner."""
    return Dumps(loop, services, owner, tmp_path)


@pytest.fixture
def copies(loop: Loop, services: Services, owner: str) -> Copies:
    """Copies of this test's owner, one of which the database holds at a time."""
    return Copies(loop, services, owner)

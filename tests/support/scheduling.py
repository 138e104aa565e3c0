"""Which tests one process of a run takes: all of a file, and of tests/access a half of its files.

Two files that change the model of the whole database run one after the other.
"""

from __future__ import annotations

import zlib
from typing import Final

from xdist.scheduler import LoadFileScheduling

ACCESS: Final = "tests/access/"
ACCESS_PROCESSES: Final = 2
"""A process that takes a file of tests/access starts a database of its own, which costs minutes of CPU."""
MODEL: Final = frozenset({"tests/faces/test_doctor.py", "tests/faces/test_embedding.py"})
"""They say which model the database uses."""


class FileScheduling(LoadFileScheduling):
    """Gives whole files to processes, and those of tests/access to :data:`ACCESS_PROCESSES` of them."""

    def _split_scope(self, nodeid: str) -> str:
        path, _, _ = nodeid.partition("::")
        if path in MODEL:
            return min(MODEL)
        if not path.startswith(ACCESS):
            return path
        return f"{ACCESS}{zlib.crc32(path.encode()) % ACCESS_PROCESSES}"

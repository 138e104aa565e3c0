"""Secrets that tests use, and that no log may have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

CANARIES = re.compile(
    rb"gm_[a-z]{2}_[A-Za-z0-9_-]{20,}|canary-token-\w+|token-of-the-tests-\w+|secret-that-nobody-may-see-\w+"
    rb"|a-token-that-the-server-must-not-inherit|key-of-the-model"
)
"""Keys and tokens that graphmem makes, and those that tests set."""


def leaks(folder: Path) -> Iterator[str]:
    """Yield each line of a log below a folder that has a secret, with the file. Links are not followed."""
    for file in sorted(folder.rglob("*.log*")):
        if not file.is_file() or file.is_symlink():
            continue
        with file.open("rb") as lines:
            yield from (f"{file}: {line[:300]!r}" for line in lines if CANARIES.search(line))

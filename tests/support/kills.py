"""Kill a function at each change that it makes to files: from then on it changes nothing any more."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

CHANGES = frozenset(
    {"os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate"}
)
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Killed(BaseException):
    """Stands for the end of the process."""


class _Hook:
    changes_left: int | None = None

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.changes_left is None:
            return
        if event in CHANGES or (event == "open" and int(arguments[2] or 0) & WRITES):
            self.changes_left -= 1
            if self.changes_left < 0:
                raise Killed


_hook = _Hook()
_installed: list[bool] = []


def is_killed(function: Callable[[], object], changes: int) -> bool:
    """Run a function that may make so many changes; return whether it wanted to make more."""
    if not _installed:
        # An audit hook stays for ever; it does nothing while it is not armed.
        sys.addaudithook(_hook)
        _installed.append(True)
    _hook.changes_left = changes
    try:
        function()
    except Killed:
        return True
    finally:
        _hook.changes_left = None
    return False

"""Refuse access to a folder. Tests may run as root, to whom the system refuses none."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CALLS_BELOW = (os, "stat"), (os, "lstat"), (os, "open"), (os, "mkdir"), (io, "open")
CALLS_OF_ITSELF = (os, "scandir"), (os, "listdir")


def deny(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let the system refuse a folder as if its mode were 0."""

    def guarded(real: Callable[..., Any], among: bool) -> Callable[..., Any]:
        def call(path: Any = ".", *args: Any, **kwargs: Any) -> Any:
            if isinstance(path, str | os.PathLike):
                absolute = Path(os.path.abspath(path))
                if folder in absolute.parents or (among and absolute == folder):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
            return real(path, *args, **kwargs)

        return call

    may = os.access
    for among, calls in ((False, CALLS_BELOW), (True, CALLS_OF_ITSELF)):
        for where, name in calls:
            patch.setattr(where, name, guarded(getattr(where, name), among))
    patch.setattr(os, "access", lambda path, mode: Path(path) != folder and may(path, mode))

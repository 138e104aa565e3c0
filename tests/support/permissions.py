"""A folder that this user may not enter: tests may run as root, who may enter any."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BELOW = (os, "stat"), (os, "lstat"), (os, "open"), (os, "mkdir"), (io, "open")
ITSELF = (os, "scandir"), (os, "listdir")


def deny(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Have the system answer as it does where a folder has the mode 0."""

    def guarded(real: Callable[..., Any], among: bool) -> Callable[..., Any]:
        def call(path: Any = ".", *args: Any, **kwargs: Any) -> Any:
            if isinstance(path, str | os.PathLike):
                here = Path(os.path.abspath(path))
                if folder in here.parents or (among and here == folder):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
            return real(path, *args, **kwargs)

        return call

    may = os.access
    for among, calls in ((False, BELOW), (True, ITSELF)):
        for where, name in calls:
            patch.setattr(where, name, guarded(getattr(where, name), among))
    patch.setattr(os, "access", lambda path, mode: Path(path) != folder and may(path, mode))

"""Open a file that a caller names by its path, below directories that the operator has chosen.

No link leads out of them: each component is opened by itself, below the one before, and links are refused.
What is checked is the open file, so that nothing can be put in its place after the check.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from typing import BinaryIO, Final

from graphmem.errors import FileIsDirectory, FilePathRefused, FileUnreadable

PATH_CHARACTERS_LIMIT: Final = 4_096
_STEP: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_DIRECTORY: Final = getattr(os, "O_DIRECTORY", 0)
# A pipe without a writer would block for ever, and a terminal would become that of the service.
_FILE: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


def open_contained(path: str, roots: Iterable[str]) -> BinaryIO:
    """Open a regular file below one of some directories.

    Args:
        path: an absolute path below a root, or one that is relative to a root; without ``.`` and ``..``.
        roots: absolute paths; a relative path is tried below each.

    Raises:
        FilePathRefused: below no root is such a file. A missing file, a link, a file with several names and
            what is no regular file are refused alike.
        FileIsDirectory: a directory of this path is below a root.
        FileUnreadable: the service lacks the permission to read the file.
    """
    for root in roots:
        components = _components(path, root)
        if components is None:
            continue
        try:
            return _open_below(root, components)
        except FilePathRefused:
            continue
    raise FilePathRefused


def _components(path: str, root: str) -> list[str] | None:
    """Return the components of a path below a root; ``None`` if the path is not plainly below it."""
    if not path or len(path) > PATH_CHARACTERS_LIMIT or "\0" in path:
        return None
    if path.startswith("/"):
        prefix = f"{root.rstrip('/')}/"
        if not path.startswith(prefix):
            return None
        path = path[len(prefix) :]
    components = path.split("/")
    return None if any(each in ("", ".", "..") for each in components) else components


def _open_below(root: str, components: list[str]) -> BinaryIO:
    *folders, name = components
    try:
        # The operator has chosen the root: links may lead to it.
        descriptor = os.open(root, os.O_RDONLY | _DIRECTORY | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError):
        raise FilePathRefused from None
    try:
        for folder in folders:
            below = _open_step(folder, _STEP | _DIRECTORY, descriptor)
            os.close(descriptor)
            descriptor = below
        file = _open_step(name, _STEP | _FILE, descriptor, is_last=True)
    finally:
        os.close(descriptor)
    try:
        status = os.fstat(file)
        if stat.S_ISDIR(status.st_mode):
            raise FileIsDirectory
        # A second name of a file may be a link to one that is elsewhere.
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise FilePathRefused
        return os.fdopen(file, "rb")
    except BaseException:
        os.close(file)
        raise


def _open_step(name: str, flags: int, below: int, *, is_last: bool = False) -> int:
    try:
        return os.open(name, flags, dir_fd=below)
    except OSError as exc:
        if is_last and exc.errno == errno.EACCES:
            raise FileUnreadable from None
        raise FilePathRefused from None
    except ValueError:
        raise FilePathRefused from None

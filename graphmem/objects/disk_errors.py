"""From the errors of a file system to those of the object store."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from graphmem.errors import ObjectStoreFull, ObjectStoreRefused, ObjectStoreUnavailable

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ELOOP})


@contextlib.contextmanager
def disk_errors() -> Iterator[None]:
    """Raise errors of the file system as errors of the object store.

    Raises:
        ObjectStoreFull: the disk, a quota or a limit on the size of files leaves no space.
        ObjectStoreRefused: this user may not read or write there, or a file is in the way of a directory.
        ObjectStoreUnavailable: the disk fails otherwise.
    """
    try:
        yield
    except OSError as exc:
        reason = exc.strerror or type(exc).__name__
        if exc.errno in _FULL:
            raise ObjectStoreFull(reason=reason) from exc
        if exc.errno in _REFUSED:
            raise ObjectStoreRefused(reason=reason) from exc
        raise ObjectStoreUnavailable(reason=reason) from exc

"""Dumps: the facts of a database in one file, from which everything else is made again.

:mod:`graphmem.dump.container` is the file, :mod:`graphmem.dump.records` what stands in it; the other modules
are what is done with it.
The format is written down in ``docs/dump-format.md``.
"""

from graphmem.dump.creating import Created, create
from graphmem.dump.restoring import Restored, restore
from graphmem.dump.verifying import Verified, verify

__all__ = ["Created", "Restored", "Verified", "create", "restore", "verify"]

"""Dumps: the facts of a database in one file. Restoring derives everything else from them.

:mod:`graphmem.dump.container` is the file and :mod:`graphmem.dump.records` its lines. The other modules
create, verify and restore dumps. ``docs/dump-format.md`` describes the format.
"""

from graphmem.dump.creating import CreateResult, create
from graphmem.dump.restoring import RestoreResult, restore
from graphmem.dump.verifying import VerifyResult, verify

__all__ = ["CreateResult", "RestoreResult", "VerifyResult", "create", "restore", "verify"]

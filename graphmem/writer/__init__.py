"""Writing: look, decide, write if nobody else did.

In each process an owner has one writer. Each turn it takes the requests that wait, *looks* in one read
at what they touch (:mod:`graphmem.writer.state`), *decides* in plain Python (:mod:`graphmem.writer.decide`)
and *writes* in one statement that goes on only if the owner's revision is still the one that was looked at
(:mod:`graphmem.writer.turn`). Requests share a commit; each has its own transaction, answer and refusal.

Neo4j shows a reader a commit's nodes before what its indexes find of it. So what was looked at is built on
without the lock only where the owner's revision is one that this process wrote, or saw under the lock.
"""

from graphmem.writer.audit import Audit, Report
from graphmem.writer.changing import UNKNOWN_TYPE
from graphmem.writer.requests import Merging, Receipt, WriteRequest
from graphmem.writer.restored import Restoring, Written
from graphmem.writer.turn import Writers

__all__ = [
    "UNKNOWN_TYPE",
    "Audit",
    "Merging",
    "Receipt",
    "Report",
    "Restoring",
    "WriteRequest",
    "Writers",
    "Written",
]

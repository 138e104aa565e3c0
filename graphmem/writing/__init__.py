"""Writing: look, decide, write if nobody else did.

In each process an owner has one writer. Each turn it takes the requests that wait, *looks* in one read
at what they touch (:mod:`graphmem.writing.state`), *decides* in plain Python (:mod:`graphmem.writing.decide`)
and *writes* in one statement that goes on only if the owner's revision is still the one that was looked at
(:mod:`graphmem.writing.turn`). Requests share a commit; each has its own transaction, answer and refusal.

Neo4j shows a reader a commit's nodes before what its indexes find of it. So what was looked at is built on
without the lock only where the owner's revision is one that this process wrote, or saw under the lock.
"""

from graphmem.writing.requests import Merging, Receipt, WriteRequest
from graphmem.writing.restored import Restoring, Written
from graphmem.writing.schema_changes import UNKNOWN_TYPE
from graphmem.writing.turn import Writers

__all__ = [
    "UNKNOWN_TYPE",
    "Merging",
    "Receipt",
    "Restoring",
    "WriteRequest",
    "Writers",
    "Written",
]

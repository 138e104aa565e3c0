"""The owner's writer: look, decide, and write if no other process wrote meanwhile.

In each process an owner has one writer. Each turn it takes the requests that wait, *looks* in one read at
what they touch (:mod:`graphmem.writing.state`), *decides* each in plain Python
(:meth:`graphmem.writing.write_requests.WriteRequest.decide`) and *writes* in one statement
(:mod:`graphmem.writing.turn`), which does nothing if the owner's revision is no longer the one that was read.
Requests share a commit; each has its own transaction, answer and refusal.

Neo4j shows a reader the nodes of a commit before its indexes find them. So a turn decides without the owner's
lock only on a revision that this process wrote, or read under the lock.
"""

from graphmem.writing.demoting import ReleaseRequest
from graphmem.writing.dismissing_duplicates import DismissalRequest, DismissedPair, dismissed_pairs
from graphmem.writing.merging import MergeRequest
from graphmem.writing.refolding import RefoldRequest
from graphmem.writing.schema_changes import UNKNOWN_TYPE, RenamingRequest, SchemaRequest
from graphmem.writing.splitting import SplitRequest, UnsplitRequest
from graphmem.writing.store_request import StoreRequest
from graphmem.writing.turn import TurnLimits
from graphmem.writing.withdrawing import WithdrawalRequest
from graphmem.writing.write_requests import Merging, Receipt, WriteRequest
from graphmem.writing.writers import Writers

__all__ = [
    "UNKNOWN_TYPE", "DismissalRequest", "DismissedPair", "MergeRequest", "Merging", "Receipt",
    "RefoldRequest", "ReleaseRequest", "RenamingRequest", "SchemaRequest", "SplitRequest", "StoreRequest",
    "TurnLimits", "UnsplitRequest", "WithdrawalRequest", "WriteRequest", "Writers", "dismissed_pairs",
]  # fmt: skip

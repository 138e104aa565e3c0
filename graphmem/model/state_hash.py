"""The state hash: one number over the current state of all entities and relationships of an owner.

It is the sum, modulo 2 to the 256, of the SHA-256 of each of them (an additive multiset hash): a write adds
and subtracts what it changes and reads nothing else. Versions, counts and recorded times are left out. So
the same observations have one hash in any order, in any batches and by any number of writers, and a merge
that is undone leaves no trace.
"""

import hashlib
from collections.abc import Iterable
from typing import Any, Final

from graphmem.model import canonical

_MODULUS: Final = 1 << 256
EMPTY: Final = "0" * 64  # the hash of an owner who has nothing


def entry(
    subject_id: str, kind: str, live: bool, into: str | None, fields: Iterable[tuple[str, str, str]]
) -> int:
    """Return the summand of a subject, merged ``into`` another or none; fields: name, value (JSON),
    winner."""
    digest = hashlib.sha256(canonical.encode([subject_id, kind, live, into]).encode())
    for part in fields:
        for data in map(str.encode, part):
            digest.update(len(data).to_bytes(8, "big") + data)
    return int.from_bytes(digest.digest(), "big")


def updated(known: Any, added: int, removed: int) -> str | None:
    """Return a state hash with summands added and taken away: 64 hex digits; of a damaged one None."""
    try:
        return f"{(int(known, 16) + added - removed) % _MODULUS:064x}"
    except (TypeError, ValueError):
        return None

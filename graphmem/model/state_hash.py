"""The state hash: one number for what all entities and relationships of an owner come to, in no order.

It is the sum, modulo 2 to the 256, of the SHA-256 of each thing (an additive multiset hash), so that a
write adds and takes away what it changes and never reads the rest. It looks at what is shown and not at how
it came about: no versions, counts or recorded times, so that the same observations have one hash in any
order, batches and number of writers, and a merge that is undone leaves none behind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

from graphmem.model import canonical

_MODULUS: Final = 1 << 256
EMPTY: Final = "0" * 64
"""The hash of an owner who has nothing."""


def of(subject_id: str, kind: str, live: bool, into: str | None, held: Iterable[tuple[str, str, str]]) -> int:
    """Return what one thing adds.

    Args:
        home: id of an entity or key of a relationship; ``kind`` its type.
        into: what it is shown as, where that is another thing.
        held: name, value (canonical JSON) and winner of each field, in canonical order.
    """
    digest = hashlib.sha256(canonical.encode([subject_id, kind, live, into]).encode())
    for part in held:
        for text in part:
            data = text.encode()
            digest.update(len(data).to_bytes(8, "big"))
            digest.update(data)
    return int.from_bytes(digest.digest(), "big")


def changed(known: str, added: int, taken: int) -> str:
    """Return a state hash with some things more and some less, as 64 hexadecimal digits."""
    return f"{(int(known, 16) + added - taken) % _MODULUS:064x}"

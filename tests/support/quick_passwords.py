"""Passwords that cost nothing: with the numbers of the product each takes 100 ms of CPU and 32 MiB.

``tests/access/test_secrets.py`` tries the real ones.
"""

from __future__ import annotations

from typing import Final

from graphmem.auth import passwords

REAL_COST: Final = passwords._N
QUICK_COST: Final = 16


def hash_with(cost: int) -> None:
    """Have this process hash passwords with a cost. Stored ones keep the cost that they were hashed with."""
    passwords._N = cost
    passwords._of_nobody.cache_clear()

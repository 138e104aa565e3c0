"""Services that stay open though tests of accounts make keys and passwords in the same database.

The first key or password of an account that is not disabled turns authentication on for every open service on
its database. Only the services of the tests that make them may see that (tests/access/conftest.py).
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any, Final

from graphmem.auth.accounts import Account, Accounts

VARIABLE: Final = "TESTS_LEAVE_SERVICES_OPEN"
"""While it is set, no account guards a service of this process, or of those that it starts.

A service that has a Neo4j of its own looks at its accounts in any case.
"""
CREATED: Final[list[str]] = []
"""The ids of the accounts that tests of accounts made in this process and did not erase."""


def leave_open() -> None:
    """Have the services of this process follow the variable."""
    are_guarded = Accounts.are_guarded

    async def unless_left_open(self: Accounts) -> bool:
        is_shared = self.database._settings.neo4j_uri is not None
        return not (is_shared and VARIABLE in os.environ) and await are_guarded(self)

    Accounts.are_guarded = unless_left_open


def noting(create: Callable[..., Awaitable[Account]]) -> Callable[..., Awaitable[Account]]:
    """Return ``Accounts.create`` as it notes whom it created."""

    async def create_and_note(*arguments: Any, **named: Any) -> Account:
        account = await create(*arguments, **named)
        CREATED.append(account.id)
        return account

    return create_and_note

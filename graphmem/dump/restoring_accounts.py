"""The accounts of a dump of a whole instance: each is created, known already, or a conflict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from graphmem.database.driver import Database
from graphmem.dump import records
from graphmem.dump.conflicts import Conflict
from graphmem.dump.records import StoredAccount
from graphmem.model import times
from graphmem.settings import LOCAL_ACCOUNT


class Result(Protocol):
    dry_run: bool
    accounts: int
    known_accounts: int

    def add_conflicts(self, conflicts: Sequence[Conflict]) -> None: ...


class AccountRestorer:
    """Creates the accounts of a dump that the instance lacks. An account of the instance stays as it is.

    The account of this machine's user is in every instance: it takes the password of the dump if it has
    neither a password nor a key nor a grant.
    """

    def __init__(self, database: Database, result: Result) -> None:
        self._database, self._result = database, result

    async def restore(self, dumped: records.AccountRecord) -> None:
        """Create an account, unless the instance has it, or another one with its name, id or owner."""
        accounts, have_credential = await self._database.reads(None).only(
            "account.present", tuple[list[StoredAccount], bool], name=dumped.name, id=dumped.id,
            owner_id=dumped.owner,
        )  # fmt: skip
        differing = {account.name: _differing(account, dumped) for account in accounts}
        takes_password = dumped.id == LOCAL_ACCOUNT and not have_credential
        if not differing or (takes_password and list(differing.values()) == [["password"]]):
            self._result.accounts += 1
            if not self._result.dry_run:
                await self._write(dumped)
        elif not any(differing.values()):
            self._result.known_accounts += 1
        else:
            self._result.add_conflicts([_conflict(account, dumped) for account in accounts])

    async def _write(self, dumped: records.AccountRecord) -> None:
        await self._database.writes(None).rows(
            "account.restore", id=dumped.id, name=dumped.name, owner_id=dumped.owner, scopes=dumped.scopes,
            password=dumped.password, disabled=dumped.disabled, created_at=times.now(),
        )  # fmt: skip


def _differing(stored: StoredAccount, dumped: records.AccountRecord) -> list[str]:
    """Return the members in which two accounts differ. A dump without a password says nothing of it."""
    old, new = stored._asdict() | {"scopes": sorted(stored.scopes)}, dumped.model_dump()
    names = [name for name in StoredAccount._fields if old[name] != new[name]]
    return [name for name in names if name != "password" or new[name] is not None]


def _conflict(stored: StoredAccount, dumped: records.AccountRecord) -> Conflict:
    """Return the conflict of a dumped account with one of the instance. No hash is shown."""
    names = _differing(stored, dumped)
    if stored.name != dumped.name:
        message = f"the instance has the account {stored.name} with this id or owner, which stays"
    elif stored.owner != dumped.owner:
        message = (
            "the instance has another account of this name, which stays: once the data is restored, "
            f"`graphmem account create ANOTHER_NAME --owner {dumped.owner}` gives it an account"
        )
    else:
        message = f"the instance has this account with another {' and another '.join(names)}, and it stays so"
    sides = ({name: _printable(name, getattr(side, name)) for name in names} for side in (stored, dumped))
    return Conflict(dumped.owner, "account", dumped.name, message, *sides)


def _printable(name: str, value: Any) -> Any:
    return value if name != "password" else "none" if value is None else "not shown"

"""Accounts of a dump: those that the instance lacks are created, and the others compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphmem.database.driver import Database
from graphmem.dump.conflicts import Conflict
from graphmem.dump.records import AccountRecord, StoredAccount
from graphmem.model import times
from graphmem.settings import LOCAL_ACCOUNT

if TYPE_CHECKING:
    from graphmem.dump.restoring import RestoreResult


async def restore_account(database: Database, dumped: AccountRecord, result: RestoreResult) -> None:
    """Create an account, unless the instance has it, or another one with its name, id or owner.

    The account of this machine's user is in every instance: it takes the password of the dump if it has
    neither a password nor a key nor a grant.
    """
    accounts, have_credential = await database.reads(None).only(
        "account.present", tuple[list[StoredAccount], bool], name=dumped.name, id=dumped.id,
        owner_id=dumped.owner,
    )  # fmt: skip
    differing = {account.name: _differing(account, dumped) for account in accounts}
    takes_password = dumped.id == LOCAL_ACCOUNT and not have_credential
    if not differing or (takes_password and list(differing.values()) == [["password"]]):
        result.accounts += 1
        if not result.dry_run:
            await database.writes(None).rows(
                "account.restore", id=dumped.id, name=dumped.name, owner_id=dumped.owner,
                scopes=dumped.scopes, password=dumped.password, disabled=dumped.disabled,
                created_at=times.now(),
            )  # fmt: skip
    elif not any(differing.values()):
        result.known_accounts += 1
    else:
        result.add_conflicts([_account_conflict(account, dumped) for account in accounts])


def _differing(stored: StoredAccount, dumped: AccountRecord) -> list[str]:
    """Return the members in which two accounts differ. A dump without a password says nothing of it."""
    old, new = stored._asdict() | {"scopes": sorted(stored.scopes)}, dumped.model_dump()
    names = [name for name in StoredAccount._fields if old[name] != new[name]]
    return [name for name in names if name != "password" or new[name] is not None]


def _account_conflict(stored: StoredAccount, dumped: AccountRecord) -> Conflict:
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

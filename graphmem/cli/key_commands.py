"""Commands of ``graphmem auth`` that are no operations, and what a command says before it makes a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import typer

from graphmem.cli.account import on_accounts, tell_first_credential
from graphmem.cli.session import Session, SessionCall, command

if TYPE_CHECKING:
    from graphmem.auth.accounts import Accounts
    from graphmem.settings import Settings

app = typer.Typer(no_args_is_help=True)

_MAKES_KEYS: Final = "keys.create"


@command(app)
def code(session: Session) -> dict[str, Any]:
    """Make a one-time code of the account, valid for 10 minutes. Earlier codes of the account end.

    On the page where a client asks for access, the code stands for a password.

    \b
    Examples:
      graphmem auth code
      graphmem --account ada auth code
    """

    async def work(accounts: Accounts, chosen: Settings) -> dict[str, Any]:
        from graphmem.auth import LOCAL_NAME
        from graphmem.auth.accounts import being_erased
        from graphmem.model import times

        account = await accounts.by_name(session.account or LOCAL_NAME)
        if account.is_erased:
            raise being_erased(account.name)
        text, expires_at = await accounts.create_code(account.id)
        return {"code": text, "account": account.name, "expires_at": times.render(expires_at)}

    return on_accounts(session, work)


def tell_before(session: Session, entry: SessionCall) -> None:
    """Say on stderr what an operation changes that the caller would not expect, before it runs."""
    if entry.name != _MAKES_KEYS:
        return
    from graphmem.cli.commands import entry_of
    from graphmem.model import canonical

    about = canonical.decode(session.run(entry_of("server.info"), {}))
    tell_first_credential(about["authentication"] == "none")

"""``graphmem account``: who may call this instance. The commands work on the database of this machine."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from graphmem.cli.progress import counted_task
from graphmem.cli.session import Draw, Session, show, tell
from graphmem.errors import AccountConflict, InvalidInput
from graphmem.model import times

if TYPE_CHECKING:
    from rich.console import RenderableType

    from graphmem.auth.accounts import Account, Accounts
    from graphmem.auth.erasing import Totals
    from graphmem.settings import Settings

T = TypeVar("T")


def on_accounts(
    session: Session, work: Callable[[Accounts, Settings], Awaitable[T]], *, reads: bool = True
) -> T:
    """Run ``work`` on the accounts of this machine's instance. ``reads``: whether there has to be one."""
    chosen = session.local_settings(reads=reads)
    from graphmem.auth.accounts import Accounts
    from graphmem.cli.in_process import on_services, refuse_in_sandbox

    refuse_in_sandbox(chosen, "account")
    return on_services(chosen, lambda services: work(Accounts(services.database), chosen))


def tell_first_credential(was_open: bool) -> None:
    """Say on stderr what the first key or password changes, before it is made."""
    if was_open:
        from graphmem.auth import FIRST_CREDENTIAL

        tell(
            f"This instance is open now, and its first key or password ends that: {FIRST_CREDENTIAL}.",
            "yellow",
        )


def create(
    session: Session, name: str, admin: bool = False, password: bool = False, owner: str | None = None
) -> dict[str, Any]:
    chosen_name, secret = _name(name), _password() if password else None
    scopes = ["read", "write", *(["admin"] if admin else [])]

    async def work(accounts: Accounts, chosen: Settings) -> Account:
        if secret is not None:
            tell_first_credential(await accounts.is_open(chosen))
        return await accounts.create(chosen_name, scopes, secret, owner)

    return _answer(on_accounts(session, work, reads=False), session)


def list_accounts(session: Session) -> tuple[dict[str, Any], Draw]:
    async def work(accounts: Accounts, chosen: Settings) -> tuple[list[Account], list[str]]:
        return await accounts.all(), await accounts.owners_without()

    accounts, owners = on_accounts(session, work)

    def draw() -> RenderableType:
        from graphmem.cli.layouts import render

        if owners:
            tell(f"Owners whose data no account reaches: {', '.join(owners)}.", "yellow")
        return render("accounts.list", {"accounts": [_readable(account) for account in accounts]})

    return {"accounts": [_row(account) for account in accounts], "owners_without_account": owners}, draw


def set_password(session: Session, name: str, none: bool = False) -> dict[str, Any]:
    # Before a password is asked for.
    session.local_settings()
    secret = None if none else _password()

    async def work(accounts: Accounts, chosen: Settings) -> Account:
        account = await accounts.by_name(_name(name))
        if secret is not None and not account.disabled:
            tell_first_credential(await accounts.is_open(chosen))
        return await accounts.set_password(account.name, secret)

    return _answer(on_accounts(session, work), session)


def disable(session: Session, name: str) -> dict[str, Any]:
    return _set_disabled(session, name, True)


def enable(session: Session, name: str) -> dict[str, Any]:
    return _set_disabled(session, name, False)


def delete(session: Session, name: str, with_data: bool = False, yes: bool = False) -> None:
    session.local_settings()
    chosen_name = _refuse_local(_name(name), "deleted")
    (_delete_with_data if with_data else _delete)(session, chosen_name, yes)


def _delete(session: Session, name: str, yes: bool) -> None:
    if not yes:
        question = (
            f"Delete the account {name} with its keys and grants? Its data stays in the database, "
            "and no account reaches it then."
        )
        typer.confirm(question, abort=True, err=True)

    async def work(accounts: Accounts, chosen: Settings) -> tuple[Account, tuple[int, int], bool]:
        from graphmem.auth.accounts import being_erased
        from graphmem.auth.erasing import totals_of

        account = await accounts.by_name(name)
        if account.is_erased:
            raise being_erased(name)
        deleted = await accounts.delete(name)
        return account, deleted, (await totals_of(accounts.database, account.owner)).transactions > 0

    account, (keys, grants), has_data = on_accounts(session, work)
    show({"deleted": account.name, "keys": keys, "grants": grants, "owner": account.owner}, session.as_json)
    if has_data and not session.as_json:
        tell(
            f"Its data stays. To reach it: graphmem account create {name} --owner {account.owner}. "
            f"To erase it then: graphmem account delete {name} --with-data."
        )


def _delete_with_data(session: Session, name: str, yes: bool) -> None:
    account, totals, contents = with_totals(session, name)
    if not yes:
        typer.confirm(
            f"Delete the account {name} and erase its data: {contents}? Only a backup brings it back.",
            abort=True,
            err=True,
        )
    show({"deleted": name, "owner": account.owner, **erase(session, name, totals)}, session.as_json)


def with_totals(session: Session, name: str) -> tuple[Account, Totals, str]:
    """Return an account, the counts of what is stored for it, and these counts as one line for people."""

    async def look(accounts: Accounts, chosen: Settings) -> tuple[Account, Totals]:
        from graphmem.auth.erasing import totals_of

        account = await accounts.by_name(name)
        return account, await totals_of(accounts.database, account.owner)

    account, totals = on_accounts(session, look)
    return account, totals, ", ".join(f"{count:,} {what}" for what, count in totals.shown.items())


def erase(session: Session, name: str, totals: Totals) -> dict[str, Any]:
    """Delete an account with its data, and draw the progress; return what was erased, and which other copies
    were told."""

    async def work(accounts: Accounts, chosen: Settings) -> dict[str, Any]:
        from graphmem.auth.erasing import delete_with_data
        from graphmem.copies.erased_copies import tell_copies
        from graphmem.objects import new_object_store
        from graphmem.sealing import keys_of
        from graphmem.search.copy_files import CopyFiles

        keys, account = keys_of(chosen), await accounts.by_name(name)
        objects = new_object_store(chosen, keys)
        try:
            copies = await tell_copies(accounts.database, account.id)
            with counted_task(f"erasing the data of {name}", sum(totals.shown.values())) as advance:
                erased = await delete_with_data(accounts.database, name, advance, objects, keys)
            CopyFiles(chosen.search_path, 0).erase(account.owner)
            return {**asdict(erased), **copies}
        finally:
            await objects.close()

    return on_accounts(session, work)


def _set_disabled(session: Session, name: str, disabled: bool) -> dict[str, Any]:
    chosen_name = _refuse_local(_name(name), "disabled") if disabled else _name(name)
    account = on_accounts(session, lambda accounts, _: accounts.set_disabled(chosen_name, disabled))
    return _answer(account, session)


def _row(account: Account) -> dict[str, Any]:
    return {
        "name": account.name,
        "account_id": account.id,
        "owner": account.owner,
        "scopes": account.scopes,
        "password": account.has_password,
        "disabled": account.disabled,
        "being_erased": account.is_erased,
        "created_at": times.render(account.created_at),
    }


def _readable(account: Account) -> dict[str, Any]:
    row = {name: value for name, value in _row(account).items() if name not in ("owner", "being_erased")}
    marks = {name: "yes" if row[name] else "no" for name in ("password", "disabled")}
    if account.is_erased:
        marks["disabled"] = "being erased"
    return {**row, **marks, "scopes": ", ".join(account.scopes)}


def _answer(account: Account, session: Session) -> dict[str, Any]:
    return _row(account) if session.as_json else _readable(account)


def _name(text: str) -> str:
    from graphmem.auth import stored_name
    from graphmem.auth.accounts import NAME
    from graphmem.model.attribution import is_writer_id

    name = stored_name(text)
    if not NAME.fullmatch(name) or is_writer_id(name):
        raise InvalidInput(
            f"{text[:100]!r} is no name of an account: give up to 64 letters, digits and ._@+-, a letter or "
            "digit first, and no id"
        )
    return name


def _refuse_local(name: str, what: str) -> str:
    from graphmem.auth import LOCAL_NAME

    if name == LOCAL_NAME:
        raise AccountConflict(
            f"the account {name} is that of this machine's user, and cannot be {what}", name=name
        )
    return name


def _password() -> str:
    """Return a password that was typed twice, hidden, or a line of stdin if that is no terminal."""
    from graphmem.auth.passwords import LENGTH_MAX, LENGTH_MIN

    if _is_terminal():
        password = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    if not LENGTH_MIN <= len(password) <= LENGTH_MAX:
        raise InvalidInput(
            f"a password has {LENGTH_MIN} to {LENGTH_MAX} characters, and this one has {len(password)}"
        )
    return password


def _is_terminal() -> bool:
    return sys.stdin.isatty()

"""``graphmem reset``: remove an instance, or one account with its data, after a backup."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import typer

from graphmem.cli.session import Session, run_async, stderr, tell, tell_progress
from graphmem.errors import ConfigurationInvalid, GraphmemError
from graphmem.model import times

if TYPE_CHECKING:
    from graphmem.settings import Settings


def reset(
    session: Session, account: str | None = None, confirm: str | None = None, yes: bool = False,
    no_backup: bool = False, keep_settings: bool = False,
) -> dict[str, Any]:  # fmt: skip
    from graphmem.neo4j_local.unfinished import unfinished

    chosen = session.settings_here()
    if account is not None:
        return _reset_account(session, account, confirm, yes, no_backup)
    begun = unfinished(chosen.data_path)
    if begun is None or begun["command"] != "reset":
        begun = _begin(session, chosen, confirm, yes, no_backup, keep_settings)
    _remove(chosen, begun)
    return {"reset": str(chosen.data_path), "backup": begun["backup"]}


def _begin(
    session: Session, chosen: Settings, confirm: str | None, yes: bool, no_backup: bool, keep_settings: bool
) -> dict[str, Any]:
    """Say what goes, ask, and write the backup; return what is to be done."""
    from graphmem import neo4j_local
    from graphmem.cli.instance_files import parts
    from graphmem.cli.storage import show_parts
    from graphmem.observability import logs

    root = chosen.data_path
    if chosen.neo4j_uri is not None:
        raise ConfigurationInvalid(
            f"the database at {chosen.neo4j_address} is not graphmem's own: empty it there. `graphmem reset "
            "--account NAME` erases one account",
            setting="NEO4J_URI",
        )
    if not neo4j_local.exists(chosen) and not chosen.objects_path.exists():
        raise ConfigurationInvalid(f"there is nothing to reset in {root}")
    if not session.as_json:
        stay = ["backups", "caches", *(["settings"] if keep_settings else [])]
        tell(f"These go: everything of {root} but {', '.join(stay)}.")
        show_parts([row for row in parts(chosen) if row["what"] not in stay], stderr)
    _ask(root.name, "instance", confirm, yes)
    backup = None
    if not no_backup and neo4j_local.exists(chosen):
        session.log_to_file(chosen)
        backup = _back_up(chosen, root.name, [])
        logs.configure(chosen, None, console_level="critical")
    return {"command": "reset", "backup": backup, "keep_settings": keep_settings}


def _remove(chosen: Settings, begun: dict[str, Any]) -> None:
    """Stop service and database, and remove the files; what is begun is noted until all are gone."""
    from graphmem.cli.instance_files import KEPT, remove_all, stopped
    from graphmem.cli.start_at_login import change_login
    from graphmem.environment_file import FILE
    from graphmem.neo4j_local.private_files import write_private
    from graphmem.neo4j_local.unfinished import UNFINISHED
    from graphmem.observability import logs

    with logs.silenced(), stopped(chosen):
        write_private(chosen.data_path / UNFINISHED, json.dumps(begun))
        if not begun["keep_settings"]:
            change_login(chosen.env, [], undo=True)
        if chosen.objects_bucket is not None:
            run_async(_empty_bucket(chosen))
        remove_all(chosen.data_path, KEPT | ({FILE} if begun["keep_settings"] else set()))


async def _empty_bucket(chosen: Settings) -> None:
    from graphmem.objects import new_object_store

    store = new_object_store(chosen)
    try:
        async for listed in store.keys():
            await store.remove(listed, modified_before=times.now())
    finally:
        await store.close()


def _reset_account(
    session: Session, name: str, confirm: str | None, yes: bool, no_backup: bool
) -> dict[str, Any]:
    from graphmem.auth import LOCAL_NAME, stored_name
    from graphmem.cli.account import erase, with_totals

    if stored_name(name) == LOCAL_NAME:
        raise ConfigurationInvalid(f"the account {name} is that of this machine's user: reset the instance")

    account, totals, contents = with_totals(session, stored_name(name))
    if not session.as_json:
        tell(f"These go: the account {account.name}, its keys and {contents}.")
    _ask(account.name, "account", confirm, yes)
    backup = None
    if not no_backup and totals.transactions and not account.is_erased:
        backup = _back_up(session.settings(), account.name, [account.owner])
    return {"reset": account.name, "backup": backup, **erase(session, account.name, totals)}


def _ask(name: str, what: str, confirm: str | None, yes: bool) -> None:
    """Ask for the name of what goes; raises ConfigurationInvalid: it was not given."""
    if confirm is None and yes:
        return
    if confirm is None and sys.stdin.isatty():
        confirm = typer.prompt(f"Name of the {what} ({name}), if these are to go", err=True)
    if confirm != name:
        raise ConfigurationInvalid(
            f"nothing was removed: confirm with the name of the {what}, --confirm {name}, or give --yes"
        )


def _back_up(chosen: Settings, name: str, owners: list[str]) -> str:
    from graphmem.cli.backup import write_dump
    from graphmem.neo4j_local import backup_record

    path = backup_record.folder(chosen) / backup_record.file_name(f"before-reset-of-{name}")
    try:
        made = write_dump(chosen, path, owners, False, True)
    except GraphmemError:
        tell_progress("no backup could be written, so nothing was removed: --no-backup goes on without one")
        raise
    backup_record.note(chosen, path, root=made.manifest.root, owners=tuple(owners), with_files=True)
    return str(path)

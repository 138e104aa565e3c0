"""``graphmem encryption`` and ``graphmem erasure``: the keys of a sealed instance, on its own machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import typer

from graphmem.cli.session import Draw, Session, console, tell
from graphmem.cli.tables import List
from graphmem.errors import ConfigurationInvalid, EncryptionKeyInvalid
from graphmem.model import times

if TYPE_CHECKING:
    from graphmem.sealing import InstanceKeys, RootKey
    from graphmem.sealing.instance_keys import KeyCopy
    from graphmem.settings import Settings

SEALED: Final = (
    "values, names and texts in the database",
    "the bytes of files and the names of their objects",
    "backups",
)
IN_CLEAR: Final = (
    "ids, types, names of fields, schemas, times, counts, sizes, and names of accounts in the database",
    "what `graphmem export` writes",
    "settings, logs, and for a day prompts of hooks",
)
WRITE_DOWN: Final = (
    "Write these 24 words down, and keep them apart from this machine. They are shown once. Without them, or "
    "the root key in {}, nothing that is sealed can be read; with them and the key file, everything can:"
)
KeyPlace = Literal["file", "keyring"]
COPIES: Final = "Destroy these copies of the key file as well: they still have a key that was destroyed."


def new_keys(chosen: Settings, place: KeyPlace) -> tuple[RootKey, str]:
    """Make the key file of an instance, and the root key if none is set; return it, and where it is kept."""
    from graphmem.sealing import InstanceKeys, RootKey
    from graphmem.sealing.root_key import keep_root_key

    if chosen.root_key is None:
        root = RootKey.new()
        kept = keep_root_key(chosen, root, place)
    else:
        root, kept = RootKey.read(chosen.root_key.get_secret_value()), "GRAPHMEM_ROOT_KEY"
    InstanceKeys.create(chosen.keys_path, root)
    return root, kept


def words_told(session: Session, root: RootKey, kept: str) -> dict[str, Any]:
    """Tell a person the words of a new root key; return them for the answer to a program."""
    if session.as_json:
        return {"root_key_words": root.words}
    tell(WRITE_DOWN.format(kept), "bold")
    words = root.words.split()
    for start in range(0, len(words), 6):
        numbered = (f"{start + place:>2} {word:<9}" for place, word in enumerate(words[start : start + 6], 1))
        tell("  " + " ".join(numbered))
    return {}


def status(session: Session) -> dict[str, Any] | None:
    from graphmem.sealing.instance_keys import INSTANCE, read_record, replaced
    from graphmem.sealing.root_key import where_root_key_is

    chosen = session.settings_here()
    if not os.path.exists(chosen.keys_path):
        hint = "no key file is here: `graphmem doctor` says whether the database needs one"
        return {"sealed": False, "key_file": str(chosen.keys_path), "hint": hint}
    record = read_record(chosen.keys_path)
    copies = [{**_shown(copy), "has_destroyed_keys": bool(copy.has_destroyed)} for copy in record.copies]
    return {
        "sealed": True,
        "key_file": str(chosen.keys_path),
        "instance": record.instance,
        "root_key": record.root_key,
        "root_key_kept_in": where_root_key_is(chosen, record.root_key),
        "owners_with_keys": len({each.owner for each in record.keys} - {INSTANCE}),
        "keys_to_replace": len(replaced(record)),
        "destroyed_keys": len(record.destroyed),
        "copies": copies if session.as_json else "; ".join(copy["path"] for copy in copies),
        "sealed_parts": list(SEALED) if session.as_json else "; ".join(SEALED),
        "in_clear": list(IN_CLEAR) if session.as_json else "; ".join(IN_CLEAR),
    }


def restore(session: Session, keys: Path | None = None, key_place: KeyPlace = "file") -> dict[str, Any]:
    from graphmem.sealing import RootKey
    from graphmem.sealing.instance_keys import read_record
    from graphmem.sealing.root_key import keep_root_key

    chosen = session.settings_here()
    path = keys or chosen.keys_path
    if not os.path.exists(path):
        raise ConfigurationInvalid(f"there is no key file {path}: name one with --keys")
    needed = read_record(path).root_key
    if sys.stdin.isatty():
        text = typer.prompt(f"The 24 words of the root key {needed}", hide_input=True, err=True)
    else:
        text = sys.stdin.read(10_000)
    root = RootKey.read(text)
    if root.id != needed:
        raise EncryptionKeyInvalid(
            f"these are the words of the root key {root.id}, and {path} needs {needed}",
            key_id=root.id, needed=needed,
        )  # fmt: skip
    return {"root_key": root.id, "kept_in": keep_root_key(chosen, root, key_place)}


def rotate(
    session: Session, key_place: KeyPlace = "file", data: bool = False, owner: str | None = None
) -> dict[str, Any] | None:
    from graphmem.sealing import RootKey
    from graphmem.sealing.root_key import forget_root_key, keep_root_key

    chosen = session.settings_here()
    if data:
        from graphmem.sealing.instance_keys import replaced

        instance = keys_here(chosen)
        if not (made := instance.renew(owner)):
            raise ConfigurationInvalid(
                f"--owner {owner} has no data key: `graphmem account list` names owners"
            )
        return {"data_keys": len(made), "keys_to_replace": len(replaced(instance.record()))}
    if owner is not None:
        raise ConfigurationInvalid("add --data, or leave --owner out: all owners share the root key")
    if chosen.root_key is not None:
        raise ConfigurationInvalid(
            "GRAPHMEM_ROOT_KEY holds the root key, and this command cannot change it there: unset it, run "
            "`graphmem encryption restore`, then this command, and set it to the words that this prints",
            setting="GRAPHMEM_ROOT_KEY",
        )
    instance = keys_here(chosen)
    old, root = instance.record().root_key, RootKey.new()
    # Kept before it is needed: whoever is killed here has both.
    kept = keep_root_key(chosen, root, key_place)
    instance.rewrap(root)
    forget_root_key(chosen, old)
    answer = {"root_key": root.id, "replaces": old, "kept_in": kept, "data_keys": len(instance.record().keys)}
    return answer | words_told(session, root, kept)


def enable(
    session: Session, directory: Path | None = None, key_place: KeyPlace = "file"
) -> dict[str, Any] | None:
    from graphmem.cli import instance_conversion

    chosen = session.local_settings(reads=False)
    if instance_conversion.is_ended(chosen):
        return {"data_directory": str(chosen.data_path)}
    if chosen.bearer_token is not None:
        raise ConfigurationInvalid("a sealed instance derives its token: unset SERVICE_BEARER_TOKEN")
    if chosen.root_key is not None and os.path.exists(chosen.keys_path):
        raise ConfigurationInvalid(
            "GRAPHMEM_ROOT_KEY holds the root key of this instance, and the new one gets another: unset it, "
            "run `graphmem encryption restore`, then this command"
        )
    path = instance_conversion.other_directory(chosen, directory, "sealed")
    target = session.settings(data_dir=path)
    words = {} if target.keys_path.exists() else words_told(session, *new_keys(target, key_place))
    source = chosen if os.path.exists(chosen.keys_path) else chosen.model_copy(update={"root_key": None})
    return instance_conversion.convert(source, target, "encryption enable") | words


def disable(session: Session, directory: Path | None = None) -> dict[str, Any] | None:
    from graphmem.cli import instance_conversion

    chosen = session.local_settings(reads=False)
    if instance_conversion.is_ended(chosen):
        return {"data_directory": str(chosen.data_path)}
    keys_here(chosen)
    path = instance_conversion.other_directory(chosen, directory, "clear")
    target = session.settings(data_dir=path).model_copy(update={"root_key": None})
    return instance_conversion.convert(chosen, target, "encryption disable")


def copy_keys(session: Session, path: Path) -> dict[str, Any]:
    instance = keys_here(session.settings_here())
    try:
        copy = instance.copy_to(path)
    except OSError as exc:
        raise ConfigurationInvalid(f"{path} cannot be written: {exc.strerror or exc}") from exc
    return {**_shown(copy), "root_key": instance.record().root_key}


def _shown(copy: KeyCopy) -> dict[str, str]:
    return {"id": copy.id, "path": copy.path, "made_at": times.render(copy.made_at)}


def prove(session: Session, owner: str | None = None) -> tuple[dict[str, Any], Draw]:
    record = keys_here(session.settings_here()).record()
    destroyed = [each for each in record.destroyed if owner is None or each.owner == owner]
    ids = {each.id for each in destroyed}
    copies = [copy for copy in record.copies if ids.intersection(copy.has_destroyed)]
    answer = {
        "instance": record.instance,
        "destroyed": [
            {"owner": each.owner, "key": each.id}
            | {name: times.render(getattr(each, name)) for name in ("made_at", "destroyed_at")}
            for each in destroyed
        ],
        "copies_to_destroy": list(map(_shown, copies)),
    }

    def draw() -> None:
        cells = ((row["destroyed_at"], row["owner"], row["key"]) for row in answer["destroyed"])
        table = List(("destroyed", "owner", "key"), cells)
        console.print(table if destroyed else "no key was destroyed", highlight=False)
        for line in [COPIES, *(f"  {copy.id} {copy.path}" for copy in copies)] if copies else ():
            tell(line, "yellow")

    return answer, draw


def keys_here(chosen: Settings) -> InstanceKeys:
    """Return the keys of the instance of these settings.

    Raises:
        ConfigurationInvalid: it is not sealed.
        EncryptionKeyMissing, EncryptionKeyInvalid: its root key is not here, or another one.
    """
    from graphmem.sealing import keys_of

    keys = keys_of(chosen)
    if keys is None:
        raise ConfigurationInvalid(
            f"this instance is not sealed: there is no {chosen.keys_path}. `graphmem init --encrypt` makes a "
            "sealed one"
        )
    return keys

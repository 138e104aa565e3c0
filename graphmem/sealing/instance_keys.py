"""The key file of a sealed instance: a data key for each owner, wrapped by the root key.

The file is JSON that only its owner may read. Without the root key it says who has keys, and no key. Several
processes may use one file: each change is made under a lock, and every process reads the file again once it
has changed. Keys that were destroyed stay named in it, with the time.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import secrets
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from graphmem.errors import ConfigurationInvalid, DecryptionFailed, EncryptionKeyInvalid, KeyDestroyed
from graphmem.model import times
from graphmem.neo4j_local.private_files import changing, is_private, used_as_data, write_private
from graphmem.sealing.root_key import KEY_BYTES, RootKey, derived, stored_root_key
from graphmem.settings import Settings

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV

INSTANCE: Final = "*"  # stands for the owner of what belongs to the whole instance; no owner has this name
NONCE_BYTES: Final = 12
KEY_ID_BYTES: Final = 8
WRAPPED_BYTES: Final = NONCE_BYTES + KEY_BYTES + 16  # bytes of a wrapped key: nonce, key, tag


@dataclass(frozen=True)
class OwnerKey:
    """A data key of an owner. ``id``: 16 hexadecimal digits."""

    id: str
    owner: str
    secret: bytes = field(repr=False)

    @cached_property
    def files(self) -> AESGCM:
        """What wraps the keys of the owner's files."""
        return cipher(derived(self.secret, "files"))

    @cached_property
    def file_names(self) -> bytes:
        """The key of the names of the owner's objects."""
        return derived(self.secret, "file-names")

    @cached_property
    def dumps(self) -> AESGCM:
        """What seals the owner's facts in dumps."""
        return cipher(derived(self.secret, "dumps"))

    @cached_property
    def rows(self) -> AESSIV:
        """What seals the owner's values in the database."""
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV

        return AESSIV(derived(self.secret, "rows", length=2 * KEY_BYTES))

    @cached_property
    def mark(self) -> str:
        """Six letters that nobody can write who does not read the database."""
        return base64.urlsafe_b64encode(derived(self.secret, "mark"))[:6].decode()


class _Entry(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    id: str
    made_at: int


class Wrapped(_Entry):
    """A data key. ``resealed_at``: since when newer keys seal what it sealed in the database and of files."""

    owner: str
    wrapped: str
    resealed_at: int | None = None


class Destroyed(_Entry):
    """A data key that is no more; times are microseconds."""

    owner: str
    destroyed_at: int


class KeyCopy(_Entry):
    """A copy of the key file that a person made, and the keys in it that were destroyed since."""

    path: str
    has_destroyed: list[str] = []


class KeyRecord(BaseModel):
    """What the key file holds. ``token_epoch`` counts the tokens that were derived from the root key.

    In format 2 owners have several keys, which earlier versions of graphmem would not seal with rightly.
    """

    model_config = ConfigDict(strict=True, extra="forbid")

    format: Literal[1, 2] = 1
    instance: str
    root_key: str
    token_epoch: int = 1
    keys: list[Wrapped] = []
    destroyed: list[Destroyed] = []
    copies: list[KeyCopy] = []


class InstanceKeys:
    """The data keys of one instance. Every method may be called by several threads; all of them block.

    Every method raises:
    Raises EncryptionKeyInvalid: the key file is damaged, is open to others, or is wrapped by another root
    key.
        Raises DataDirectoryRefused: it cannot be read or written.
    """

    def __init__(
        self, path: Path, root: RootKey, another_root: Callable[[str], RootKey] | None = None
    ) -> None:
        """Read the file; nothing is unwrapped yet. ``another_root`` returns the root key with an id, once
        another process wrapped the keys by that."""
        self.path, self._root, self._another_root = path, root, another_root
        self._mutex = threading.RLock()
        self._seen: tuple[int, int, int] | None = None
        self._record = KeyRecord(instance="", root_key="")
        self._opened: dict[str, OwnerKey] = {}
        self.record()

    @classmethod
    def create(cls, path: Path, root: RootKey) -> InstanceKeys:
        """Make the key file of a new instance; raises ConfigurationInvalid: there is one."""
        with used_as_data(path.parent):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with changing(path):
                if path.exists():
                    raise ConfigurationInvalid(f"{path} exists: this instance is sealed already")
                write_private(path, _text(KeyRecord(instance=str(uuid.uuid4()), root_key=root.id)))
        return cls(path, root)

    @property
    def known(self) -> KeyRecord:
        """What the file held when it was read last."""
        return self._record

    @property
    def turns(self) -> AESGCM:
        """What seals the turns of agents that wait until the service stores them."""
        return cipher(derived(self._root.secret, "turns", salt=self._record.instance.encode()))

    def record(self) -> KeyRecord:
        with self._mutex, used_as_data(self.path.parent):
            stat = os.stat(self.path)
            seen = stat.st_ino, stat.st_mtime_ns, stat.st_size
            if seen != self._seen:
                record = read_record(self.path)
                if record.root_key != self._root.id and self._another_root is not None:
                    self._root = self._another_root(record.root_key)
                if record.root_key != self._root.id:
                    raise EncryptionKeyInvalid(
                        f"{self.path} is wrapped by the root key {record.root_key}, not by {self._root.id}",
                        key_id=self._root.id,
                        needed=record.root_key,
                    )
                self._record, self._seen = record, seen
                ids = {(each.id, each.owner) for each in record.keys}
                self._opened = {key: each for key, each in self._opened.items() if (key, each.owner) in ids}
            return self._record

    def of(self, owner: str) -> OwnerKey:
        """Return the key with which what is new of an owner is sealed; it is made if there is none."""
        with self._mutex:
            newest = self._newest(self.record(), owner)
            if newest is None:
                with self._changing() as record:
                    for each in record.keys:
                        # One whose owner is damaged may be theirs: it does not open.
                        self._open(each)
                    newest = self._newest(record, owner) or self._made(record, owner)
            return self._open(newest)

    def first_of(self, owner: str) -> OwnerKey:
        """Return the oldest key of an owner, which names what is found by its name; it is made if need be."""
        with self._mutex:
            first = next((each for each in self.record().keys if each.owner == owner), None)
            return self._open(first) if first else self.of(owner)

    def find(self, key_id: str) -> OwnerKey:
        """Return the data key with an id. Raises KeyDestroyed: it is no more; raises DecryptionFailed: it is
        elsewhere."""
        with self._mutex:
            record = self.record()
            for each in record.keys:
                if each.id == key_id:
                    return self._open(each)
        for gone in record.destroyed:
            if gone.id == key_id:
                raise KeyDestroyed(
                    f"the key {key_id} was destroyed at {times.render(gone.destroyed_at)}, when the data of "
                    "its owner was erased: what it sealed cannot be read again",
                    key_id=key_id,
                    owner=gone.owner,
                )
        raise DecryptionFailed(
            f"the key {key_id} is not in {self.path}: what it sealed belongs to another instance, whose key "
            "file opens it",
            key_id=key_id,
        )

    def destroy(self, owner: str) -> list[Destroyed]:
        """Destroy the keys of an owner; return those that were. What they sealed is lost, wherever it is."""
        with self._changing() as record:
            now = times.now()
            gone = [
                Destroyed(id=each.id, made_at=each.made_at, owner=owner, destroyed_at=now)
                for each in record.keys
                if each.owner == owner
            ]
            ids = {each.id for each in gone}
            record.keys = [each for each in record.keys if each.id not in ids]
            record.destroyed += gone
            for copy in record.copies:
                copy.has_destroyed += [each.id for each in gone if each.made_at <= copy.made_at]
        return gone

    def rewrap(self, root: RootKey) -> None:
        """Wrap every data key by another root key, which must be kept already."""
        with self._changing() as record:
            for each in record.keys:
                each.wrapped = self._wrap(record.instance, root, each.owner, each.id, self._open(each).secret)
            record.root_key = root.id
        self._root = root

    def renew(self, owner: str | None = None) -> list[Wrapped]:
        """Make a new data key for an owner, or for all, who have one; the older ones open as before."""
        with self._changing() as record:
            record.format = 2
            owners = dict.fromkeys(each.owner for each in record.keys if owner in (None, each.owner))
            return [self._made(record, each) for each in owners]

    def note_resealed(self, replaced: Iterable[Wrapped]) -> None:
        """Note that newer keys seal now what some keys sealed."""
        ids, now = {each.id for each in replaced}, times.now()
        with self._changing() as record:
            for each in record.keys:
                if each.id in ids:
                    each.resealed_at = now

    def copy_to(self, target: Path) -> KeyCopy:
        """Copy the file, and note the copy: an erasure says that it must go too. Raises ConfigurationInvalid:
        there is a file of that name. Raises OSError: it cannot be written."""
        with self._changing() as record:
            if target.exists():
                raise ConfigurationInvalid(f"{target} exists: give another name")
            copy = KeyCopy(id=secrets.token_hex(4), made_at=times.now(), path=str(target.absolute()))
            record.copies.append(copy)
            write_private(target, _text(record))
        return copy

    def token(self) -> str:
        """Return the token that is derived from the root key: 49 characters."""
        with self._mutex:
            record = self.record()
            salt, purpose = record.instance.encode(), f"mcp-token/{record.token_epoch}"
            secret = derived(self._root.secret, purpose, salt=salt)
        return "gm_mt_" + base64.urlsafe_b64encode(secret).decode().rstrip("=")

    def next_token(self) -> str:
        """End the token that is derived from the root key; return the next one."""
        with self._changing() as record:
            record.token_epoch += 1
        return self.token()

    @contextlib.contextmanager
    def _changing(self) -> Iterator[KeyRecord]:
        """Hold the lock of the file, yield what it holds, and write that."""
        with self._mutex, used_as_data(self.path.parent), changing(self.path):
            try:
                record = self.record().model_copy(deep=True)
                yield record
                write_private(self.path, _text(record))
            finally:
                self._seen = None

    @staticmethod
    def _newest(record: KeyRecord, owner: str) -> Wrapped | None:
        return next((each for each in reversed(record.keys) if each.owner == owner), None)

    def _made(self, record: KeyRecord, owner: str) -> Wrapped:
        """Add a new key of an owner to what the file holds."""
        key_id, secret = secrets.token_hex(KEY_ID_BYTES), secrets.token_bytes(KEY_BYTES)
        wrapped = self._wrap(record.instance, self._root, owner, key_id, secret)
        record.keys.append(Wrapped(id=key_id, made_at=times.now(), owner=owner, wrapped=wrapped))
        return record.keys[-1]

    def _wrap(self, instance: str, root: RootKey, owner: str, key_id: str, secret: bytes) -> str:
        nonce = secrets.token_bytes(NONCE_BYTES)
        aad = _aad(instance, owner, key_id)
        return (nonce + self._wrapping(root, instance).encrypt(nonce, secret, aad)).hex()

    def _open(self, entry: Wrapped) -> OwnerKey:
        with self._mutex:
            if (opened := self._opened.get(entry.id)) is None:
                from cryptography.exceptions import InvalidTag

                instance = self._record.instance
                try:
                    wrapped = bytes.fromhex(entry.wrapped)
                    secret = self._wrapping(self._root, instance).decrypt(
                        wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], _aad(instance, entry.owner, entry.id)
                    )
                except (InvalidTag, ValueError):
                    raise EncryptionKeyInvalid(
                        f"the key {entry.id} of {entry.owner} in {self.path} was changed: put a "
                        "copy of the file in its place"
                    ) from None
                opened = self._opened[entry.id] = OwnerKey(entry.id, entry.owner, secret)
            return opened

    @staticmethod
    def _wrapping(root: RootKey, instance: str) -> AESGCM:
        return cipher(derived(root.secret, "wrapping", salt=instance.encode()))


def keys_of(settings: Settings) -> InstanceKeys | None:
    """Return the keys of the instance, None if it is not sealed. It raises as :func:`keys_in`."""
    path = settings.keys_path
    if not os.path.exists(path):
        if settings.root_key is not None:
            raise EncryptionKeyInvalid(
                f"GRAPHMEM_ROOT_KEY is set, and there is no key file {path}: set GRAPHMEM_KEY_FILE to "
                "that of this instance, or unset GRAPHMEM_ROOT_KEY"
            )
        return None
    return keys_in(path, settings)


def keys_in(path: Path, settings: Settings) -> InstanceKeys:
    """Return the keys of a key file, whose root key the settings or this machine have. Raises
    EncryptionKeyMissing, EncryptionKeyInvalid: its root key is not here, or another one."""
    stored = partial(stored_root_key, settings)
    return InstanceKeys(path, stored(read_record(path).root_key), stored)


def read_record(path: Path) -> KeyRecord:
    """Return what a key file holds; no key is needed. Raises EncryptionKeyInvalid: it is damaged, or open to
    others. Raises DataDirectoryRefused: it cannot be read."""
    with used_as_data(path.parent), path.open(encoding="utf-8", errors="replace") as file:
        if not is_private(os.fstat(file.fileno())):
            raise EncryptionKeyInvalid(f"other users of this machine may read {path}: run `chmod 600 {path}`")
        text = file.read()
    try:
        return KeyRecord.model_validate_json(text)
    except ValidationError as exc:
        raise EncryptionKeyInvalid(f"the key file {path} is damaged: put a copy of it in its place") from exc


def replaced(record: KeyRecord) -> list[Wrapped]:
    """Return the keys that have newer ones, and may still be needed for more than looking up."""
    newest = {each.owner: each.id for each in record.keys}
    return [each for each in record.keys if each.resealed_at is None and each.id != newest[each.owner]]


def cipher(key: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)


def _aad(*parts: str) -> bytes:
    return "\x1f".join(parts).encode()


def _text(record: KeyRecord) -> str:
    return json.dumps(record.model_dump(exclude_none=True), indent=1) + "\n"

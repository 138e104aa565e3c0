"""The root key of a sealed instance: its 24 words, what is derived from it, and where a machine keeps it.

The words are BIP-39 as an encoding of the 32 bytes, checksum included: they lead back to the key. Every other
key is HKDF-SHA256 (RFC 5869) of the root key.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import platformdirs

from graphmem.errors import EncryptionKeyInvalid, EncryptionKeyMissing
from graphmem.neo4j_local.private_files import cause, flush, is_private, private_directory, write_private
from graphmem.sealing.platform_keyring import KeyringLocked, PlatformKeyring
from graphmem.settings import Settings

KEY_BYTES: Final = 32
WORDS: Final = 24
_KEYRING: Final = PlatformKeyring("graphmem root key")
Place = Literal["file", "keyring"]


@dataclass(frozen=True, slots=True)
class RootKey:
    """A root key; its ``repr`` does not hold it."""

    secret: bytes = field(repr=False)

    @classmethod
    def new(cls) -> RootKey:
        return cls(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def read(cls, text: str) -> RootKey:
        """Return the key of 24 words or 64 hexadecimal digits; raises EncryptionKeyInvalid: it is none."""
        words = text.lower().split()
        if len(words) == 1:
            try:
                secret = bytes.fromhex(words[0])
            except ValueError:
                secret = b""
            if len(secret) != KEY_BYTES:
                raise EncryptionKeyInvalid(f"a root key is {WORDS} words, or {2 * KEY_BYTES} hex digits")
            return cls(secret)
        if len(words) != WORDS:
            raise EncryptionKeyInvalid(f"a root key has {WORDS} words, and these are {len(words)}")
        from mnemonic import Mnemonic

        language = Mnemonic("english")
        for place, word in enumerate(words, 1):
            if word not in language.wordlist:
                # The word itself may be a part of the key: it stays out of logs.
                raise EncryptionKeyInvalid(f"word {place} is not in the list of words: correct it")
        try:
            return cls(bytes(language.to_entropy(words)))
        except (ValueError, LookupError):
            raise EncryptionKeyInvalid(
                "the checksum of the words does not fit: a word is wrong, or two are swapped"
            ) from None

    @property
    def words(self) -> str:
        from mnemonic import Mnemonic

        return Mnemonic("english").to_mnemonic(self.secret)

    @property
    def id(self) -> str:
        """What names the key without telling it: 8 hexadecimal digits."""
        return derived(self.secret, "key-id", length=4).hex()


def derived(secret: bytes, purpose: str, *, salt: bytes = b"", length: int = KEY_BYTES) -> bytes:
    """Return the key for one purpose: HKDF-SHA256 with the purpose as info."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), length, salt, f"graphmem/v1/{purpose}".encode()).derive(secret)


def stored_root_key(settings: Settings, key_id: str) -> RootKey:
    """Return the root key with an id: of ``GRAPHMEM_ROOT_KEY``, else of its file, else of the keyring.

    Raises:
        EncryptionKeyMissing: it is nowhere.
        EncryptionKeyInvalid: ``GRAPHMEM_ROOT_KEY`` is another key; or its file is open to others, or damaged.
    """
    if settings.root_key is not None:
        key = RootKey.read(settings.root_key.get_secret_value())
        if key.id != key_id:
            raise EncryptionKeyInvalid(
                f"GRAPHMEM_ROOT_KEY has the root key {key.id}, and this instance needs {key_id}",
                key_id=key.id, needed=key_id,
            )  # fmt: skip
        return key
    path = key_path(settings, key_id)
    text = _text_of(path) or _of_keyring(key_id)
    if text is None:
        raise EncryptionKeyMissing(
            f"this instance is sealed with the root key {key_id}, which is neither in {path} nor in the "
            "keyring nor in GRAPHMEM_ROOT_KEY: `graphmem encryption restore` makes it of its 24 words",
            needed=key_id,
        )
    key = RootKey.read(text)
    if key.id != key_id:
        raise EncryptionKeyInvalid(f"{path} has the root key {key.id} in place of {key_id}", needed=key_id)
    return key


def where_root_key_is(settings: Settings, key_id: str) -> str | None:
    """Return where a root key is kept on this machine, None if it is nowhere; nothing of it is compared."""
    if settings.root_key is not None:
        return "GRAPHMEM_ROOT_KEY"
    path = key_path(settings, key_id)
    return str(path) if path.exists() else "the keyring" if _of_keyring(key_id) else None


def keep_root_key(settings: Settings, key: RootKey, place: Place) -> str:
    """Keep a root key on this machine; return where. Raises EncryptionKeyInvalid: it cannot be kept there."""
    if place == "keyring":
        if _KEYRING.put(key.id, key.secret.hex()):
            return "the keyring"
        raise EncryptionKeyInvalid("this machine has no keyring that keeps secrets now: use a file")
    path = key_path(settings, key.id)
    if path.is_relative_to(settings.data_path):
        raise EncryptionKeyInvalid(
            f"{path} is in the data directory, whose copies would hold the root key: set "
            "GRAPHMEM_ROOT_KEY_DIR to another directory",
            setting="GRAPHMEM_ROOT_KEY_DIR",
        )
    try:
        private_directory(path.parent)
        write_private(path, key.secret.hex() + "\n")
    except OSError as exc:
        raise EncryptionKeyInvalid(f"the root key cannot be kept: {cause(exc, path)}") from exc
    return str(path)


def forget_root_key(settings: Settings, key_id: str) -> None:
    path = key_path(settings, key_id)
    if path.exists():
        # What a later file system block may still show is at least not the key.
        with path.open("r+b") as file:
            file.write(bytes(path.stat().st_size))
            flush(file)
        path.unlink()
    _KEYRING.remove(key_id)


def key_path(settings: Settings, key_id: str) -> Path:
    """Return the file of a root key: outside the data directory, so that a copy of that does not hold it."""
    folder = settings.root_key_dir or platformdirs.user_config_path("graphmem", appauthor=False) / "keys"
    return Path(os.path.realpath(folder)) / f"{key_id}.key"


def _text_of(path: Path) -> str | None:
    """Return what the file of a key holds, None if there is no file."""
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            private = is_private(os.fstat(file.fileno()))
            text = file.read(1_000)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise EncryptionKeyInvalid(f"the root key cannot be read: {cause(exc, path)}") from exc
    if not private:
        raise EncryptionKeyInvalid(
            f"other users of this machine may read {path}: run `chmod 600 {path}`. If others may have read "
            "it, run `graphmem encryption rotate` too"
        )
    return text


def _of_keyring(key_id: str) -> str | None:
    try:
        return _KEYRING.get(key_id)
    except KeyringLocked as exc:
        message = f"the keyring does not give out the root key {key_id} ({exc}): unlock it"
        raise EncryptionKeyMissing(message, needed=key_id) from exc

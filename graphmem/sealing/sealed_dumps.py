"""Sealed dumps: the chunks of a dump, each under the key of the owner whose facts it has.

A chunk is authenticated with the id of its dump and its number: one that was moved, swapped or taken from an
earlier dump does not open. What belongs to no owner is sealed with the key of the instance.
"""

import secrets
from typing import Any, Final

from cryptography.exceptions import InvalidTag

from graphmem.errors import DecryptionFailed
from graphmem.sealing.instance_keys import INSTANCE, KEY_ID_BYTES, NONCE_BYTES, InstanceKeys

END: Final = -1  # stands for the number of a chunk where the end of a dump is sealed


class DumpSealer:
    """Seals the chunks of a new dump."""

    def __init__(self, keys: InstanceKeys) -> None:
        self._keys = keys
        self.dump_id = secrets.token_hex(8)
        self.owner = INSTANCE
        """The owner whose facts come next."""

    @property
    def header(self) -> dict[str, str]:
        record = self._keys.record()
        return {"dump": self.dump_id, "instance": record.instance, "root_key": record.root_key}

    def seal(self, number: int, data: bytes) -> bytes:
        key = self._keys.of(self.owner)
        nonce = secrets.token_bytes(NONCE_BYTES)
        return bytes.fromhex(key.id) + nonce + key.dumps.encrypt(nonce, data, _aad(self.dump_id, number))

    def end(self, digest: bytes) -> str:
        """Return the hash of the whole dump sealed: whoever cuts a dump cannot close it again."""
        self.owner = INSTANCE
        return self.seal(END, digest).hex()


class DumpOpener:
    """Opens the chunks of a dump; raises DecryptionFailed: its header does not say which keys do."""

    def __init__(self, keys: InstanceKeys, header: dict[str, Any]) -> None:
        self._keys = keys
        try:
            self._dump_id, instance = str(header["dump"]), str(header["instance"])
        except KeyError:
            raise DecryptionFailed("the header of the dump does not say which keys open it") from None
        own = keys.record().instance
        if instance != own:
            raise DecryptionFailed(
                f"the dump was sealed by the instance {instance}, and these are the keys of {own}: give the "
                "key file of that instance",
                instance=instance,
            )

    def open(self, number: int, sealed: bytes) -> bytes:
        """Return a chunk. Raises KeyDestroyed: its owner was erased; raises DecryptionFailed: it was changed
        or moved."""
        key = self._keys.find(sealed[:KEY_ID_BYTES].hex())
        nonce, rest = sealed[KEY_ID_BYTES:][:NONCE_BYTES], sealed[KEY_ID_BYTES + NONCE_BYTES :]
        try:
            return key.dumps.decrypt(nonce, rest, _aad(self._dump_id, number))
        except (InvalidTag, ValueError):
            what = "the end" if number == END else f"chunk {number + 1}"
            raise DecryptionFailed(
                f"{what} of the dump was changed, moved, or taken from another dump"
            ) from None

    def check_end(self, sealed: str, digest: bytes) -> None:
        """Compare the hash of the whole dump; raises DecryptionFailed: it is another one."""
        try:
            same = self.open(END, bytes.fromhex(sealed)) == digest
        except ValueError:
            same = False
        if not same:
            raise DecryptionFailed("the dump was cut or put together anew")


def _aad(dump_id: str, number: int) -> bytes:
    return f"graphmem-dump\x1f{dump_id}\x1f{number}".encode()

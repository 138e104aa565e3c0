"""Sealed files: segments of 1 MiB under a key of the file's own, which the owner's key wraps.

A sealed file is a head and segments. The head holds the id of the owner's key, the wrapped key of the file,
and the beginning of the nonces. Segments follow the STREAM construction (Hoang, Reyhanitabar, Rogaway and
Vizár, 2015): the nonce of a segment holds its number and whether it is the last one, so a file that is cut,
or whose segments are swapped, does not open. The name of the object is authenticated with the key of the
file: a file does not open under the name of another one.
"""

import hashlib
import hmac
import os
import struct
from collections.abc import Callable
from typing import Final

from cryptography.exceptions import InvalidTag

from graphmem.errors import DecryptionFailed
from graphmem.sealing import instance_keys

MAGIC: Final = b"\x89gmfile1"
SEGMENT_BYTES: Final = 1 << 20
"""Bytes of a segment before it is sealed. Never change it: it decides how stored files are read."""
TAG_BYTES: Final = 16
_PREFIX_BYTES: Final = 7
HEAD_BYTES: Final = len(MAGIC) + instance_keys.KEY_ID_BYTES + instance_keys.WRAPPED_BYTES + _PREFIX_BYTES
_NONCE: Final = struct.Struct(f">{_PREFIX_BYTES}sI?")


def object_name(key: instance_keys.OwnerKey, sha256: str) -> str:
    """Return the name of an owner's object, which does not tell its bytes, by the owner's oldest key."""
    return hmac.new(key.file_names, sha256.encode(), hashlib.sha256).hexdigest()


def plain_size(size: int) -> int:
    """Return how many bytes are sealed in a file of some size; raises DecryptionFailed: no file has it."""
    body = size - HEAD_BYTES
    segments = -(-body // (SEGMENT_BYTES + TAG_BYTES))
    if body < TAG_BYTES or body - segments * TAG_BYTES < (segments - 1) * SEGMENT_BYTES:
        raise DecryptionFailed("a file is not sealed, or is cut off")
    return body - segments * TAG_BYTES


def key_id(head: bytes) -> str:
    """Return the id of the data key that wraps the key of the file with a head."""
    return head[len(MAGIC) :][: instance_keys.KEY_ID_BYTES].hex()


class FileSealer:
    """Seals the bytes of one file as they come: ``write`` takes the head first, and again at the end."""

    def __init__(self, key: instance_keys.OwnerKey, write: Callable[[bytes], None]) -> None:
        self._owner_key, self._write = key, write
        self._secret = os.urandom(32)
        self._cipher = instance_keys.cipher(self._secret)
        self._prefix = os.urandom(_PREFIX_BYTES)
        self._segments = 0
        self._pending = bytearray()
        self._write(bytes(HEAD_BYTES))

    def add(self, chunk: bytes) -> None:
        self._pending += chunk
        # The last segment is known only at the end, so one stays here.
        while len(self._pending) > SEGMENT_BYTES:
            self._segment(bytes(self._pending[:SEGMENT_BYTES]), last=False)
            del self._pending[:SEGMENT_BYTES]

    def finish(self) -> None:
        self._segment(bytes(self._pending), last=True)
        self._pending.clear()

    def head(self, name: str) -> bytes:
        key_id = bytes.fromhex(self._owner_key.id)
        nonce = os.urandom(instance_keys.NONCE_BYTES)
        wrapped = self._owner_key.files.encrypt(nonce, self._secret, _aad(key_id, self._prefix, name))
        return MAGIC + key_id + nonce + wrapped + self._prefix

    def _segment(self, plain: bytes, *, last: bool) -> None:
        nonce = _NONCE.pack(self._prefix, self._segments, last)
        self._write(self._cipher.encrypt(nonce, plain, None))
        self._segments += 1


class FileOpener:
    """Opens the segments of one file, whose first bytes are ``head``; ``size``: of the sealed file. Raises
    DecryptionFailed: it is not sealed, was changed, or belongs under another name; its key was destroyed."""

    def __init__(
        self, keys: instance_keys.InstanceKeys, owner: str, name: str, head: bytes, size: int
    ) -> None:
        if len(head) != HEAD_BYTES or not head.startswith(MAGIC):
            raise DecryptionFailed("a file is not sealed in a sealed instance: store it again")
        self.size = plain_size(size)
        rest = head[len(MAGIC) :]
        key_id, rest = rest[: instance_keys.KEY_ID_BYTES], rest[instance_keys.KEY_ID_BYTES :]
        wrapped, self._prefix = rest[: instance_keys.WRAPPED_BYTES], rest[instance_keys.WRAPPED_BYTES :]
        owner_key = keys.find(key_id.hex())
        try:
            if owner_key.owner != owner:
                raise InvalidTag
            secret = owner_key.files.decrypt(
                wrapped[: instance_keys.NONCE_BYTES],
                wrapped[instance_keys.NONCE_BYTES :],
                _aad(key_id, self._prefix, name),
            )
        except InvalidTag:
            raise DecryptionFailed("a file was changed, or stands under the name of another one") from None
        self._cipher = instance_keys.cipher(secret)
        self._last = -(-self.size // SEGMENT_BYTES) - 1 if self.size else 0

    def open(self, number: int, sealed: bytes) -> bytes:
        """Return the bytes of a segment, from 0 on. Raises DecryptionFailed: it was changed, or is another
        one."""
        try:
            return self._cipher.decrypt(_NONCE.pack(self._prefix, number, number == self._last), sealed, None)
        except InvalidTag:
            raise DecryptionFailed(f"segment {number + 1} of a file was changed") from None


def _aad(key_id: bytes, prefix: bytes, name: str) -> bytes:
    return b"\x1f".join((MAGIC, key_id, prefix, name.encode()))

"""Passwords: hashed by scrypt (RFC 7914) with a salt of each, and compared in constant time."""

import asyncio
import hashlib
import hmac
import secrets
from functools import cache
from typing import Final

LENGTH_MIN: Final = 12  # least number of characters of a password
LENGTH_MAX: Final = 1024
_N, _R, _P = 2**15, 8, 1
_SALT_BYTES: Final = 16
_MEMORY_BYTES: Final = 64 * 1024 * 1024  # what scrypt may take; these parameters take 32 MiB


async def hashed(password: str) -> str:
    """Return the text that is stored for a password: ``scrypt$N$r$p$salt$hash``."""
    return await asyncio.to_thread(_hashed, password)


async def matches(password: str, stored: str | None) -> bool:
    """Return whether a password is the stored one. Without a stored one it takes as long, and is false."""
    return await asyncio.to_thread(_matches, password, stored)


def _hashed(password: str) -> str:
    salt = secrets.token_bytes(_SALT_BYTES)
    return f"scrypt${_N}${_R}${_P}${salt.hex()}${_scrypt(password, salt, _N, _R, _P).hex()}"


def _matches(password: str, stored: str | None) -> bool:
    _, n, r, p, salt, expected = (stored or _of_nobody()).split("$")
    computed = _scrypt(password, bytes.fromhex(salt), int(n), int(r), int(p))
    return hmac.compare_digest(computed, bytes.fromhex(expected)) and stored is not None


@cache
def _of_nobody() -> str:
    return _hashed(secrets.token_urlsafe())


def _scrypt(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    text = password.encode(errors="surrogateescape")
    return hashlib.scrypt(text, salt=salt, n=n, r=r, p=p, maxmem=_MEMORY_BYTES)

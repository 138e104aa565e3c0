"""Secrets that callers send: how they are made, and their digests, which alone are stored."""

import hashlib
import secrets
from typing import Final

KEY_PREFIX: Final = "gm_sk_"
ACCESS_PREFIX: Final = "gm_at_"
REFRESH_PREFIX: Final = "gm_rt_"
RANDOM_BYTES: Final = 32


def make(prefix: str) -> str:
    """Return a new secret: the prefix, then 32 random bytes in base64url (RFC 4648 section 5)."""
    return prefix + secrets.token_urlsafe(RANDOM_BYTES)


def digest(token: str) -> str:
    """Return the SHA-256 of a secret, in hexadecimal digits. 32 random bytes need no salt."""
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()

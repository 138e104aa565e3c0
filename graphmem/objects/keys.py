"""Keys of objects: ``<segment of the owner>/<first two digits of the hash>/<SHA-256 of the bytes>``.

Lower-case letters, digits, ``-`` and ``_`` of the owner stand in the segment as they are. Every other byte of
its UTF-8 is ``%`` and two hexadecimal digits. So no owner leaves its segment, no segment begins with a dot,
and two owners never meet on a file system that ignores case. A segment that would be too long is cut: its
beginning, a dot, and the SHA-256 of the owner.
"""

import hashlib
import re
from typing import Final

OWNER_LENGTH_MAX: Final = 255
SEGMENT_LENGTH_MAX: Final = 120
"""Characters of a segment. A file name has room for 255, a key of S3 for 1,024."""
_BEGINNING_LENGTH: Final = 48
_PLAIN: Final = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_")
SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_KEY = re.compile(r"([^/]+)/([0-9a-f]{2})/(\2[0-9a-f]{62})", re.ASCII)
_WHOLE = re.compile(r"(?:[a-z0-9_-]|%[0-9a-f]{2})+", re.ASCII)
_ESCAPE = re.compile(rb"%([0-9a-f]{2})")


def owner_segment(owner: str) -> str:
    """Return the path segment of an owner. Raises ValueError: it is empty, too long, or has a lone
    surrogate."""
    if not 1 <= len(owner) <= OWNER_LENGTH_MAX:
        raise ValueError(f"an owner has 1 to {OWNER_LENGTH_MAX} characters, not {len(owner)}")
    encoded = owner.encode()
    segment = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in encoded)
    if len(segment) <= SEGMENT_LENGTH_MAX:
        return segment
    return f"{segment[:_BEGINNING_LENGTH]}.{hashlib.sha256(encoded).hexdigest()}"


def owner_of(segment: str) -> str | None:
    """Return the owner of a segment, ``None`` for one that does not hold its owner whole."""
    if not _WHOLE.fullmatch(segment):
        return None
    encoded = _ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode()), segment.encode())
    try:
        owner = encoded.decode()
        return owner if owner_segment(owner) == segment else None
    except ValueError:
        return None


def object_key(owner: str, sha256: str) -> str:
    """Return the key of an object; raises ValueError: the hash is no SHA-256, or the owner has no segment."""
    if not SHA256.fullmatch(sha256):
        raise ValueError(f"{sha256[:100]!r} is no SHA-256 in lower-case hexadecimal digits")
    return key_below(owner_segment(owner), sha256)


def key_below(segment: str, sha256: str) -> str:
    return f"{segment}/{sha256[:2]}/{sha256}"


def parse_key(key: str) -> tuple[str, str] | None:
    """Return segment and hash of a key, ``None`` for what is no key of an object."""
    match = _KEY.fullmatch(key)
    return (match[1], match[3]) if match else None

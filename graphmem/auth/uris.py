"""URIs that strangers send, read one way only."""

import re
from typing import Final, NamedTuple
from urllib.parse import urlsplit

URI_CHARACTERS_LIMIT: Final = 2048
DEFAULT_PORTS: Final = {"http": "80", "https": "443"}

_CHARACTERS = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")
"""RFC 3986: no backslash, blank, control or non-ASCII character; parsers differ about those."""
_AUTHORITY = re.compile(r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{0,5}))?")


class Uri(NamedTuple):
    """A URI in parts. ``host`` is in lower case, IPv6 in brackets; ``port`` is empty where none was given."""

    scheme: str
    host: str
    port: str
    path: str
    query: str


def read_uri(uri: str) -> Uri:
    """Return the parts of an absolute URI without user information and fragment. Raises ValueError: it is
    something else. The message says what, as the end of a sentence."""
    if len(uri) > URI_CHARACTERS_LIMIT:
        raise ValueError(f"is longer than {URI_CHARACTERS_LIMIT} characters")
    if not _CHARACTERS.fullmatch(uri):
        raise ValueError("has a character that no URI has")
    if "#" in uri:
        raise ValueError("has a fragment")
    try:
        parts = urlsplit(uri)
    except ValueError:
        raise ValueError("cannot be read") from None
    if not parts.scheme:
        raise ValueError("is not absolute")
    if "@" in parts.netloc:
        raise ValueError("has user information")
    # Not ``parts.hostname``: for http://[::1].example.org/ that is ::1.
    authority = _AUTHORITY.fullmatch(parts.netloc)
    if parts.netloc and (authority is None or int(authority["port"] or 0) > 65535):
        raise ValueError("has no valid host or port")
    host, port = (authority["host"].lower(), authority["port"] or "") if authority else ("", "")
    return Uri(parts.scheme, host, port, parts.path, parts.query)

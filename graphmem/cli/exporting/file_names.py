"""Names of files that every file system takes, made of the names of entities."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

NAME_BYTES_LIMIT: Final = 120
"""Bytes of a name without its suffix; file systems take 255."""
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)
"""Names of devices on Windows."""
_REFUSED: Final = re.compile(r'[<>:"/\\|?*#^\[\]%]')
"""What no name may have on Windows, or no link in Markdown."""


def file_name(name: str) -> str:
    """Return a name as that of a file: no separators, no control characters, no device, never empty."""
    text = "".join(c if c.isprintable() else " " for c in unicodedata.normalize("NFC", name))
    text = " ".join(_REFUSED.sub("-", text).split())
    text = text.encode()[:NAME_BYTES_LIMIT].decode(errors="ignore").strip(" .")
    return f"{text}_" if _RESERVED.fullmatch(text) else text or "_"


def collision_key(name: str) -> str:
    """Return what two names share that are one on a file system that ignores case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())

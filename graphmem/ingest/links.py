"""Links in a text: their words, and then their address between angle brackets: `the plan <https://…>`."""

from __future__ import annotations

import re
from typing import Final

ADDRESS_CHARACTERS_LIMIT: Final = 4_000
_WRITTEN: Final = re.compile(r" <(?:[a-z][a-z0-9+.-]*:(?!:)|[/.?])[^\s<>]*>", re.IGNORECASE)
_RELATIVE: Final = re.compile(r"(?![a-z][a-z0-9+.-]*:|[/.?])", re.IGNORECASE)
_INNER: Final = re.compile(r"#|javascript:|data:|about:|vbscript:", re.IGNORECASE)
"""What leads to a place on the same page, runs a program, or holds a file."""
_SCHEME: Final = re.compile(r"(?:https?://(?:www\.)?|mailto:|tel:|sip:)", re.IGNORECASE)


def address_after(words: str, address: str) -> str:
    """Return what follows the words of a link: its address, or nothing where the words have it already."""
    address = "".join(address.split())
    if not address or _INNER.match(address) or len(address) > ADDRESS_CHARACTERS_LIMIT:
        return ""
    address = ("./" if _RELATIVE.match(address) else "") + address.replace("<", "%3C").replace(">", "%3E")
    bare = _SCHEME.sub("", address, count=1).rstrip("/")
    visible = "".join(words.split())
    if bare and (bare in visible or bare == re.sub(r"[^\d+]", "", visible)):
        return ""
    return f" <{address}>"


def without_addresses(text: str) -> str:
    """Return a text with the words of its links alone."""
    return _WRITTEN.sub("", text) if " <" in text else text


def parted(text: str) -> tuple[str, str]:
    """Part a text that ends with the addresses of links from these."""
    end = len(text)
    while text.endswith(">", 0, end):
        start = text.rfind(" <", 0, end)
        if start <= 0 or _WRITTEN.fullmatch(text, start, end) is None:
            break
        end = start
    return text[:end], text[end:]

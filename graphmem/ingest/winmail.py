"""What a `winmail.dat` (TNEF) of Outlook says in plain attributes: its text, and the names of its files."""

from __future__ import annotations

import codecs
import struct
from collections.abc import Iterator
from typing import NamedTuple

SIGNATURE = struct.pack("<I", 0x223E9F78)
HEAD = struct.Struct("<BII")
FIRST_ATTRIBUTE = 6
BODY, FILE_NAME, CODEPAGE = 0x0002800C, 0x00018010, 0x00069007


class WinMail(NamedTuple):
    """The text of the message and the names of its files; ``is_whole``: whether no byte is damaged."""

    text: str
    names: list[str]
    is_whole: bool


def read(data: bytes) -> WinMail:
    """Read the attributes of a file; those that are damaged and what follows them are left out."""
    charset, text, names, end = "cp1252", "", [], FIRST_ATTRIBUTE
    for attribute, value, following in _attributes(data):
        end = following
        if attribute == CODEPAGE and len(value) >= 4:
            charset = _charset(int.from_bytes(value[:4], "little"))
        elif attribute in (BODY, FILE_NAME):
            shown = value.rstrip(b"\0").decode(charset, "replace").strip()
            text, names = (shown, names) if attribute == BODY else (text, [*names, shown])
    return WinMail(text, names, data.startswith(SIGNATURE) and end == len(data))


def _attributes(data: bytes) -> Iterator[tuple[int, bytes, int]]:
    position = FIRST_ATTRIBUTE if data.startswith(SIGNATURE) else len(data)
    while position + HEAD.size <= len(data):
        _, attribute, length = HEAD.unpack_from(data, position)
        start = position + HEAD.size
        position = start + length + 2
        value = data[start : start + length]
        if position > len(data) or sum(value) & 0xFFFF != int.from_bytes(
            data[position - 2 : position], "little"
        ):
            return
        yield attribute, value, position


def _charset(codepage: int) -> str:
    try:
        return codecs.lookup(f"cp{codepage}").name
    except LookupError:
        return "utf-8" if codepage == 65001 else "cp1252"

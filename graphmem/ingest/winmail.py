"""The plain text of a `winmail.dat` (TNEF) of Outlook, and the names of its files."""

from __future__ import annotations

import struct

HEAD = struct.Struct("<BII")
FIRST_ATTRIBUTE = 6
BODY, FILE_NAME = 0x0002800C, 0x00018010


def read(data: bytes) -> tuple[list[bytes], list[bytes], bool]:
    """Return the texts, the names of files, and whether all bytes were read: damage ends the reading."""
    found: dict[int, list[bytes]] = {BODY: [], FILE_NAME: []}
    position = FIRST_ATTRIBUTE if data.startswith(b"\x78\x9f\x3e\x22") else len(data) + 1
    while position + HEAD.size <= len(data):
        _, attribute, length = HEAD.unpack_from(data, position)
        end = position + HEAD.size + length
        value = data[position + HEAD.size : end]
        if sum(value) & 0xFFFF != int.from_bytes(data[end : end + 2], "little") or end + 2 > len(data):
            break
        found.get(attribute, []).append(value.rstrip(b"\0"))
        position = end + 2
    return found[BODY], found[FILE_NAME], position == len(data)

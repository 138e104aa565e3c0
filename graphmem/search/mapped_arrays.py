"""Arrays in one file: written one after the other, and mapped.

The file begins with a magic number, the place, the length and the checksum of its header, which stands at
its end. The header is JSON: what the caller says of the file, and of each array its place, type, size and
checksum. Arrays that grow later have room behind them, which is a hole in the file: it takes no space on the
disk.

A file is mapped privately: its pages are the system's to keep or to drop, until one is written. So a copy
goes on in memory behind what the file has, without a seam that each comparison would have to look at.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from graphmem.search.copy_arrays import GrowingArray

_PREFIX: Final = struct.Struct("<8sQQI")
_MAGIC: Final = b"graphmem"
ROOM: Final = 262_144
"""Elements for which there is room behind an array that grows; then it is copied into memory."""
KEPT_BYTES: Final = 31_000_000
"""Blocks of up to so many bytes are used again, and not given back to the system."""
CHECKED_AT_ONCE: Final = 16_000_000
"""Bytes whose checksum is made at once."""


class FileDamaged(Exception):
    """The file is not what its header says, or has none. The message says why."""


class _FileArray:
    """An array that is being written into a file, from a place on."""

    def __init__(self, handle: int, dtype: np.dtype[Any], width: int, offset: int, capacity: int) -> None:
        self._handle, self._dtype, self._width = handle, dtype, width
        self._offset, self._capacity, self._bytes, self._checksum = offset, capacity, 0, 0

    @property
    def described(self) -> dict[str, Any]:
        return {
            "dtype": self._dtype.str, "width": self._width, "offset": self._offset,
            "capacity": self._capacity, "bytes": self._bytes, "checksum": self._checksum,
        }  # fmt: skip

    def extend(self, values: npt.ArrayLike) -> None:
        added = np.ascontiguousarray(values, self._dtype)
        if added.size:
            left = added.view(np.uint8).reshape(-1).data
            self._checksum = zlib.crc32(left, self._checksum)
            while left:
                written = os.pwrite(self._handle, left, self._offset + self._bytes)
                self._bytes += written
                left = left[written:]


class FileOutput:
    """Arrays that are written into an open, empty file. It is nothing until it is completed.

    Every call raises OSError where the disk does.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._arrays: dict[str, _FileArray] = {}
        self._end = mmap.PAGESIZE

    def array(self, name: str, dtype: npt.DTypeLike, width: int = 0, *, most: int, grows: bool) -> _FileArray:
        made = np.dtype(dtype)
        capacity = most + ROOM * grows
        self._arrays[name] = _FileArray(self._handle, made, width, self._end, capacity)
        self._end += -(-capacity * made.itemsize * max(width, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
        return self._arrays[name]

    def complete(self, about: Mapping[str, Any]) -> None:
        """Write the header. The file is not forced onto the disk: its checksums tell what a crash left."""
        arrays = {name: each.described for name, each in self._arrays.items()}
        header = json.dumps({**about, "arrays": arrays}).encode()
        for data, place in (
            (header, self._end),
            (_PREFIX.pack(_MAGIC, self._end, len(header), zlib.crc32(header)), 0),
        ):
            if os.pwrite(self._handle, data, place) != len(data):
                raise OSError("the file was not written whole")


def header_of(handle: int) -> dict[str, Any]:
    """Return what the header of an open file says.

    Raises:
        OSError: the file cannot be read.
        FileDamaged: it has no header.
    """
    prefix, size = os.pread(handle, _PREFIX.size, 0), os.fstat(handle).st_size
    if len(prefix) == _PREFIX.size:
        magic, offset, length, checksum = _PREFIX.unpack(prefix)
        if magic == _MAGIC and offset + length <= size:
            header = os.pread(handle, length, offset)
            if len(header) == length and zlib.crc32(header) == checksum:
                return json.loads(header)
    raise FileDamaged("it has no header")


def mapped(handle: int, header: Mapping[str, Any], *, is_checked: bool) -> dict[str, GrowingArray]:
    """Map the arrays of an open file, by name.

    Args:
        is_checked: the checksums are compared, so that the whole file is read.

    Raises:
        OSError: the file cannot be mapped.
        FileDamaged: an array is not what the header says.
    """
    # Without a reservation, as most of it is never written.
    flags = mmap.MAP_PRIVATE | getattr(mmap, "MAP_NORESERVE", 0)
    memory = mmap.mmap(handle, 0, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    # Freed once, it has the allocator keep what each search takes for a moment: else the system clears pages
    # for it every time, which was a third of a search.
    np.empty(KEPT_BYTES, np.uint8)
    arrays = dict[str, GrowingArray]()
    for name, each in header["arrays"].items():
        dtype, width, offset = np.dtype(each["dtype"]), each["width"], each["offset"]
        row = dtype.itemsize * max(width, 1)
        size, rest = divmod(each["bytes"], row)
        if rest or size > each["capacity"] or offset + each["capacity"] * row > len(memory):
            raise FileDamaged(f"the size of {name} is wrong")
        if is_checked and _checksum(memory, offset, each["bytes"]) != each["checksum"]:
            raise FileDamaged(f"the checksum of {name} is wrong")
        array = np.frombuffer(memory, dtype, each["capacity"] * max(width, 1), offset)
        arrays[name] = GrowingArray.mapped(array.reshape(-1, width) if width else array, size)
    return arrays


def _checksum(memory: mmap.mmap, offset: int, length: int) -> int:
    checksum, whole = 0, memoryview(memory)
    for start in range(offset, offset + length, CHECKED_AT_ONCE):
        part = whole[start : min(start + CHECKED_AT_ONCE, offset + length)]
        checksum = zlib.crc32(part, checksum)
    return checksum

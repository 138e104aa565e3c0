"""Arrays that grow at their end."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class GrowingArray:
    """An array that grows at its end; with a width, its elements are rows."""

    def __init__(self, dtype: npt.DTypeLike, width: int = 0) -> None:
        self._array = np.empty((64, width) if width else 64, dtype)
        self.size = 0

    def extend(self, values: npt.ArrayLike) -> None:
        added = np.asarray(values, self._array.dtype)
        needed = self.size + len(added)
        if needed > len(self._array):
            larger = np.empty((max(needed, len(self._array) * 3 // 2), *self._array.shape[1:]), added.dtype)
            larger[: self.size] = self._array[: self.size]
            self._array = larger
        self._array[self.size : needed] = added
        self.size = needed

    @property
    def values(self) -> npt.NDArray[Any]:
        return self._array[: self.size]

    @property
    def bytes(self) -> int:
        """The memory of its values: the room behind them was never written, so that it takes none."""
        return self.values.nbytes

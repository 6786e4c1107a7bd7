"""Vectors side by side, and those of them that point the way of another."""

import threading
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


class Near(NamedTuple):
    """`likeness` is the cosine: 1 for the same, about 0 for what has nothing to do with it."""

    number: int
    likeness: float


class Shelf:
    """Unit vectors by number. Comparing with all is one multiplication: 2 ms for 10,000. Threads
    may share one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = np.empty(0, dtype=np.int64)
        self._rows = np.empty((0, 0), dtype=np.float32)

    def __len__(self) -> int:
        return len(self._numbers)

    def put(self, numbers: Sequence[int], rows: Array) -> None:
        """Add vectors; a number that is there gets its new one."""
        with self._lock:
            self._keep(~np.isin(self._numbers, list(numbers)))
            before = self._rows if len(self._rows) else rows[:0]
            self._numbers = np.concatenate([self._numbers, np.array(numbers, dtype=np.int64)])
            self._rows = np.concatenate([before, rows])

    def drop(self, numbers: Iterable[int]) -> None:
        with self._lock:
            self._keep(~np.isin(self._numbers, list(numbers)))

    def near(self, vector: Array, *, limit: int, least: float) -> list[Near]:
        """The nearest first, none that is less like it than `least`."""
        with self._lock:
            numbers, rows = self._numbers, self._rows
        if not len(rows):
            return []
        likeness = rows @ vector
        best = np.argsort(-likeness, kind="stable")[:limit]
        found = [Near(int(numbers[at]), float(likeness[at])) for at in best]
        return [near for near in found if near.likeness >= least]

    def _keep(self, which: NDArray[np.bool_]) -> None:
        if not which.all():
            self._numbers, self._rows = self._numbers[which], self._rows[which]


def packed(rows: Array) -> list[bytes]:
    """As they are stored: half as long, and near enough."""
    return [row.astype("<f2").tobytes() for row in rows]


def unpacked(stored: Sequence[bytes]) -> Array:
    width = len(stored[0]) // 2 if stored else 0
    return np.frombuffer(b"".join(stored), dtype="<f2").reshape(-1, width).astype(np.float32)

"""Roster: a list on the device that a launch runs through, kept without holes while entries come and go."""

from __future__ import annotations

import numpy as np


class Roster:
    """Columns of whole numbers under keys; only what changed is uploaded."""

    def __init__(self, rows: int) -> None:
        self.count = 0
        self._values = np.zeros((rows, 64), dtype=np.int32)
        self._keys = np.zeros(64, dtype=np.int64)
        self._where: dict[int, list[int]] = {}
        self._changed: set[int] = set()

    def add(self, key: int, values: np.ndarray) -> None:
        """Append columns (rows, n) under a key."""
        if key in self._where:
            raise KeyError(f"roster: {key} is already listed")
        n = values.shape[1]
        while self.count + n > self._values.shape[1]:
            self._values = np.concatenate([self._values, np.zeros_like(self._values)], axis=1)
            self._keys = np.concatenate([self._keys, np.zeros_like(self._keys)])
        span = slice(self.count, self.count + n)
        self._values[:, span] = values
        self._keys[span] = key
        self._where[key] = list(range(self.count, self.count + n))
        self._changed.update(range(self.count, self.count + n))
        self.count += n

    def remove(self, key: int) -> None:
        """Take out what belongs to a key, if anything does; the last columns move into the holes."""
        for hole in sorted(self._where.pop(key, ()), reverse=True):
            self.count -= 1
            if hole != self.count:
                self._values[:, hole] = self._values[:, self.count]
                moved = int(self._keys[self.count])
                self._keys[hole] = moved
                places = self._where[moved]
                places[places.index(self.count)] = hole
                self._changed.add(hole)

    def __contains__(self, key: int) -> bool:
        return key in self._where

    def upload(self, send, everything: bool) -> None:
        """Call `send(values (rows, n), columns (n,))` with what changed since the last upload, or with everything."""
        columns = np.arange(self.count) if everything else np.array(sorted(self._changed), dtype=np.int64)
        columns = columns[columns < self.count]
        if len(columns):
            send(self._values[:, columns], columns)
        self._changed.clear()

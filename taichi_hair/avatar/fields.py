"""Item: one JSON object with its address in the file, whose fields are checked as they are read."""

from __future__ import annotations

import math

import numpy as np

from .errors import AssetError

REQUIRED = object()


def describe(value) -> str:
    """A value as an error message shows it: short, whatever it is."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


class Item:
    """A JSON object, the file it stands in and its path there, such as `nodes[3]`."""

    __slots__ = ("file", "value", "where")

    def __init__(self, value, where: str, file: str):
        self.file = file
        self.where = where
        if not isinstance(value, dict):
            raise AssetError(file, where, describe(value), "a JSON object")
        self.value = value

    def error(self, key: str, found: str, wanted: str) -> AssetError:
        return AssetError(self.file, f"{self.where}.{key}" if key else self.where, found, wanted)

    def has(self, key: str) -> bool:
        return self.value.get(key) is not None

    def _get(self, key: str, default, wanted: str):
        value = self.value.get(key)
        if value is not None:
            return value
        if default is REQUIRED:
            raise self.error(key, "nothing", wanted)
        return None

    def integer(self, key: str, default=REQUIRED, low: int = 0, below: int | None = None):
        """Whole number in [low, below); `default` where the key is missing or null."""
        value = self.value.get(key)
        if type(value) is int and low <= value and (below is None or value < below):
            return value
        wanted = f"a whole number from {low}" + (f" to {below - 1}" if below is not None else "")
        value = self._get(key, default, wanted)
        if value is None:
            return default
        if isinstance(value, float) and math.isfinite(value) and value == int(value):
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.error(key, describe(value), wanted)
        if value < low or (below is not None and value >= below):
            raise self.error(key, describe(value), wanted)
        return value

    def number(self, key: str, default=REQUIRED) -> float:
        """Finite number."""
        value = self._get(key, default, "a finite number")
        if value is None:
            return default
        return self._finite(key, value)

    def _finite(self, key: str, value) -> float:
        if type(value) is float and -1e30 <= value <= 1e30:
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(key, describe(value), "a finite number")
        try:
            value = float(value)
        except OverflowError:
            value = math.inf
        # 1e30 squared twice still fits a double: lengths and matrix products of such numbers stay finite.
        if not abs(value) <= 1e30:
            raise self.error(key, describe(value), "a finite number")
        return value

    def vector(self, key: str, size: int | None, default=REQUIRED):
        """(size,) finite numbers; any length where size is None."""
        wanted = f"{size} finite numbers" if size else "finite numbers"
        value = self._get(key, default, wanted)
        if value is None:
            return None if default is None else np.array(default, dtype=np.float64)
        if not isinstance(value, list) or (size is not None and len(value) != size):
            raise self.error(key, describe(value), wanted)
        return np.array([self._finite(key, v) for v in value], dtype=np.float64)

    def text(self, key: str, default=""):
        value = self._get(key, default, "a string")
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.error(key, describe(value), "a string")
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        value = self._get(key, default, "true or false")
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.error(key, describe(value), "true or false")
        return value

    def child(self, key: str) -> Item | None:
        """The object under `key`, None where there is none."""
        value = self.value.get(key)
        return None if value is None else Item(value, f"{self.where}.{key}" if self.where else key, self.file)

    def children(self, key: str) -> list[Item]:
        """The objects listed under `key`, an empty list where there is none."""
        value = self.value.get(key)
        where = f"{self.where}.{key}" if self.where else key
        if value is None:
            return []
        if not isinstance(value, list):
            raise AssetError(self.file, where, describe(value), "a list of objects")
        return [Item(v, f"{where}[{i}]", self.file) for i, v in enumerate(value)]

    def indices(self, key: str, below: int) -> list[int]:
        """Whole numbers in [0, below) listed under `key`, an empty list where there is none."""
        value = self.value.get(key)
        wanted = f"a list of indices below {below}"
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.error(key, describe(value), wanted)
        for i, v in enumerate(value):
            if isinstance(v, bool) or not isinstance(v, int) or not 0 <= v < below:
                raise self.error(f"{key}[{i}]", describe(v), f"an index below {below}")
        return list(value)

    def extension(self, name: str) -> Item | None:
        """The object `extensions.<name>`, None where there is none."""
        extensions = self.child("extensions")
        return None if extensions is None else extensions.child(name)

"""Levels of detail: which member lives at which level, by distance, size on the screen or budget of time (NumPy)."""

from __future__ import annotations

import numpy as np

LEVELS = ("full", "reduced", "half", "lut", "frozen", "culled")  # the last two cost nothing to speak of
DISTANCES = (10.0, 20.0, 40.0, 70.0, 120.0)  # metres to which all but the last reach
SIZES = (0.05, 0.025, 0.013, 0.008, 0.0045)  # shares of the picture's height that they need at least
SLACK = 0.1  # share of a limit that a member must be past it before its level changes
COSTS = (1.0, 0.9, 0.47, 0.02, 0.08, 0.0)  # time of a member against one at full level, as measured; see docs/crowd.md


def by_distance(distance: np.ndarray, level: np.ndarray, limits=DISTANCES, slack: float = SLACK) -> np.ndarray:
    """(M,) indices into LEVELS of members at `distance` (M,) metres that are at `level` (M,) now.

    A level changes only where the limit is passed by `slack`, so that who walks along a limit does not flicker.
    """
    limits = np.asarray(limits, dtype=np.float64)
    coarser = np.sum(distance[:, None] > limits * (1.0 + slack), axis=1)
    finer = np.sum(distance[:, None] > limits * (1.0 - slack), axis=1)
    return np.clip(level, coarser, finer)


def screen_size(distance: np.ndarray, height: float = 0.5, view: float = np.radians(50.0)) -> np.ndarray:
    """(M,) share of the picture's height that hair of `height` metres takes, seen under a vertical angle of `view`."""
    return height / (2.0 * np.tan(0.5 * view) * np.maximum(np.asarray(distance, dtype=np.float64), 1e-3))


def by_size(size: np.ndarray, level: np.ndarray, limits=SIZES, slack: float = SLACK) -> np.ndarray:
    """The same by the share of the picture that each takes; `limits` are what all but the last need at least."""
    return by_distance(1.0 / np.maximum(size, 1e-9), level, 1.0 / np.asarray(limits), slack)


def by_budget(
    size: np.ndarray,
    level: np.ndarray,
    full_ms: float,
    budget_ms: float,
    slack: float = SLACK,
    allowed: np.ndarray | None = None,
) -> np.ndarray:
    """(M,) levels so that all members together stay within `budget_ms`: the largest on the screen get the most.

    full_ms: cost of one member at full level. Who is at a finer level already counts as larger by `slack`. allowed:
    (M, LEVELS) which levels each can have, all by default. Nobody is culled.
    """
    costs = full_ms * np.asarray(COSTS)
    out = np.full(len(size), LEVELS.index("frozen"))
    order = np.argsort(-size * (1.0 + slack * (len(LEVELS) - level)), kind="stable")
    left = budget_ms - costs[out].sum()
    for finer in range(LEVELS.index("frozen") - 1, -1, -1):  # everyone one level up, then the next
        able = order if allowed is None else order[allowed[order, finer]]
        more = costs[finer] - costs[out[able]]
        reach = int(np.searchsorted(np.cumsum(np.maximum(more, 0.0)), max(left, 0.0), side="right"))
        out[able[:reach]] = finer
        left -= more[:reach].sum()
        if reach < len(able):
            break
    return out


class Budget:
    """Holds a crowd to a time per frame: measures what it costs and moves members between levels."""

    def __init__(self, milliseconds: float, every: int = 15) -> None:
        if not (np.isfinite(milliseconds) and milliseconds > 0.0):
            raise ValueError(f"budget: found {milliseconds}, wanted a positive number of milliseconds")
        self.milliseconds, self.every = float(milliseconds), every
        self.full_ms: float | None = None  # of one member, as it turned out
        self._frames = 0

    def spent(self, milliseconds: float, level: np.ndarray) -> bool:
        """Take note of a frame; True where it is time to look at the levels again."""
        weight = float(np.sum(np.asarray(COSTS)[level]))
        if weight > 0.0:
            one = milliseconds / weight
            self.full_ms = one if self.full_ms is None else self.full_ms + 0.2 * (one - self.full_ms)
        self._frames += 1
        return self._frames % self.every == 0 and self.full_ms is not None

    def choose(self, size: np.ndarray, level: np.ndarray, allowed: np.ndarray | None = None) -> np.ndarray:
        """(M,) levels for members of that size on the screen, of those that are `allowed` (M, LEVELS)."""
        return by_budget(size, level, self.full_ms, self.milliseconds, allowed=allowed)

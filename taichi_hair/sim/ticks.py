"""Clock: any frame time becomes whole ticks; a hitch runs at most a quarter of a second and says so."""

from __future__ import annotations

import math
from dataclasses import dataclass

LONGEST_FRAME = 0.25  # seconds; what is longer is a hitch, and its rest is dropped
ROUNDING = 1e-6  # ticks; 24 frames of 1/24 s are 120 ticks, whatever their sum rounds to


@dataclass(frozen=True)
class Step:
    """What one frame came to."""

    ticks: int
    dropped: float  # seconds that a hitch lost


class Clock:
    """Counts ticks of 1/rate seconds. Two clocks that were given the same total time have run the same ticks."""

    def __init__(self, rate: float = 120.0) -> None:
        if not (math.isfinite(rate) and rate > 0.0):
            raise ValueError(f"rate: found {rate}, wanted a positive number of ticks a second")
        self.rate = float(rate)
        self.ticks = 0
        self._owed = 0.0  # ticks, below one

    @property
    def tick(self) -> float:
        """Seconds of one tick."""
        return 1.0 / self.rate

    @property
    def time(self) -> float:
        """Seconds simulated."""
        return self.ticks / self.rate

    @property
    def fraction(self) -> float:
        """How far the display time is on its way from the last tick to the next, in [0, 1)."""
        return min(max(self._owed, 0.0), 1.0)

    def advance(self, dt: float) -> Step:
        """Take dt seconds. Zero or negative time is no time; a time that is not finite raises ValueError."""
        if not math.isfinite(dt):
            raise ValueError(f"dt: found {dt}, wanted a finite number of seconds")
        dt = max(float(dt), 0.0)
        dropped = max(dt - LONGEST_FRAME, 0.0)
        self._owed += (dt - dropped) * self.rate
        ticks = math.floor(self._owed + ROUNDING)
        self._owed -= ticks
        self.ticks += ticks
        return Step(ticks, dropped)

"""Track: a motion turned into attach frames and colliders at tick rate, in chunks of one fixed size."""

from __future__ import annotations

import numpy as np

from ..avatar.skeleton import Skeleton
from ..hair import HairRig
from .body import Frames, Motion, frames

CHUNK = 120  # ticks; always the same shape goes through the same arithmetic, so that frames cannot change the bits


class Track:
    """Frames of one motion for one rig, made when they are asked for and kept while they are near."""

    def __init__(self, motion: Motion, skeleton: Skeleton, rig: HairRig, rate: float) -> None:
        self.motion = motion
        self._skeleton, self._rig, self._rate = skeleton, rig, rate
        self._chunks: dict[int, Frames] = {}

    def _chunk(self, index: int) -> Frames:
        if index not in self._chunks:
            ticks = np.arange(index * CHUNK, (index + 1) * CHUNK)
            self._chunks[index] = frames(self._skeleton, self._rig, self.motion.worlds(ticks / self._rate))
            while len(self._chunks) > 3:
                self._chunks.pop(next(iter(self._chunks)))
        return self._chunks[index]

    def ticks(self, start: int, stop: int) -> Frames:
        """Frames of ticks start <= k < stop; tick k is at k / rate seconds."""
        first, last = start // CHUNK, (stop - 1) // CHUNK
        parts = []
        for index in range(first, last + 1):
            base = index * CHUNK
            parts.append(self._chunk(index).part(max(start - base, 0), min(stop - base, CHUNK)))
        if len(parts) == 1:
            return parts[0]
        return Frames(**{name: np.concatenate([vars(p)[name] for p in parts]) for name in vars(parts[0])})

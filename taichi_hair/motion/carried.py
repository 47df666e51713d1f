"""A motion of an avatar, carried over to the same avatar with more nodes at the end: what a hair fitter adds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..avatar.skeleton import Skeleton
from .body import Motion


@dataclass(frozen=True, eq=False)
class Carried:
    """The motion with the skeleton's further nodes riding on their parents in the rest pose."""

    motion: Motion
    skeleton: Skeleton

    @property
    def name(self) -> str:
        return self.motion.name

    @property
    def seconds(self) -> float:
        return self.motion.seconds

    def worlds(self, times: np.ndarray) -> np.ndarray:
        """(T, N, 4, 4) world matrices of all nodes of the longer skeleton."""
        return lengthened(self.motion.worlds(times), self.skeleton)

    def __getattr__(self, name: str):
        if name.startswith("__") or name in ("motion", "skeleton"):
            raise AttributeError(name)
        return getattr(self.motion, name)


def carry(motion: Motion, skeleton: Skeleton) -> Motion:
    """The motion itself where it knows all nodes of the skeleton, else one that carries the further ones along."""
    if isinstance(motion, Carried) and motion.skeleton is skeleton:
        return motion
    return motion if motion.worlds(np.zeros(1)).shape[1] >= len(skeleton) else Carried(motion, skeleton)


def lengthened(worlds: np.ndarray, skeleton: Skeleton) -> np.ndarray:
    """World matrices (..., M, 4, 4) of the first M nodes made (..., N, 4, 4): each further node keeps its rest pose."""
    known = worlds.shape[-3]
    if known >= len(skeleton):
        return worlds
    local = skeleton.rest_local
    more = np.zeros((*worlds.shape[:-3], len(skeleton), 4, 4))
    more[..., :known, :, :] = worlds
    for node in range(known, len(skeleton)):
        parent = int(skeleton.parents[node])
        more[..., node, :, :] = local[node] if parent < 0 else more[..., parent, :, :] @ local[node]
    return more

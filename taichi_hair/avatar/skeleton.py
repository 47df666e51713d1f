"""Skeleton: the node tree with its rest pose, and forward kinematics for a batch of poses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import rotations


@dataclass(frozen=True, eq=False)
class Skeleton:
    """All nodes of the file, in file order. Local transforms are the rest pose."""

    names: tuple[str, ...]
    parents: np.ndarray  # (N,) int, -1 for a root
    translations: np.ndarray  # (N, 3) metres (before the ancestors' scale)
    rotations: np.ndarray  # (N, 4) xyzw
    scales: np.ndarray  # (N, 3)

    def __len__(self) -> int:
        return len(self.parents)

    @cached_property
    def order(self) -> np.ndarray:
        """(N,) nodes so that every parent comes before its children."""
        depth = np.zeros(len(self), dtype=np.int64)
        for node in range(len(self)):
            walk = self.parents[node]
            while walk >= 0:
                depth[node] += 1
                walk = self.parents[walk]
        return np.argsort(depth, kind="stable")

    @cached_property
    def rest_world(self) -> np.ndarray:
        """(N, 4, 4) world matrices of the rest pose."""
        return self.world()

    def local(self, translations=None, rotations_=None, scales=None) -> np.ndarray:
        """(..., N, 4, 4) local matrices; a part that is not given is the rest pose's."""
        t = self.translations if translations is None else np.asarray(translations, dtype=np.float64)
        r = self.rotations if rotations_ is None else np.asarray(rotations_, dtype=np.float64)
        s = self.scales if scales is None else np.asarray(scales, dtype=np.float64)
        shape = np.broadcast_shapes(t.shape[:-1], r.shape[:-1], s.shape[:-1])
        m = np.zeros(shape + (4, 4))
        m[..., :3, :3] = rotations.to_matrix(r) * s[..., None, :]
        m[..., :3, 3] = t
        m[..., 3, 3] = 1.0
        return m

    def world(self, translations=None, rotations_=None, scales=None) -> np.ndarray:
        """(..., N, 4, 4) world matrices of local poses with any leading shape."""
        return self.compose(self.local(translations, rotations_, scales))

    def compose(self, local: np.ndarray) -> np.ndarray:
        """(..., N, 4, 4) world matrices of local matrices (..., N, 4, 4)."""
        world = np.array(local, dtype=np.float64)
        for node in self.order:
            parent = self.parents[node]
            if parent >= 0:
                world[..., node, :, :] = world[..., parent, :, :] @ world[..., node, :, :]
        return world

    def index(self, name: str) -> int:
        """Node of that name; ValueError if there is none or more than one."""
        found = [i for i, n in enumerate(self.names) if n == name]
        if len(found) != 1:
            raise ValueError(f"skeleton: {len(found)} nodes are named {name!r}, wanted exactly one")
        return found[0]

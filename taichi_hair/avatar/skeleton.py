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
    listed: tuple[tuple[int, ...], ...] | None = None  # children as the file lists them

    def __len__(self) -> int:
        return len(self.parents)

    @cached_property
    def depth(self) -> np.ndarray:
        """(N,) number of ancestors of each node."""
        depth = np.full(len(self), -1, dtype=np.int64)
        for node in range(len(self)):
            line = []
            walk = node
            while walk >= 0 and depth[walk] < 0:
                line.append(walk)
                walk = int(self.parents[walk])
            below = -1 if walk < 0 else depth[walk]
            for step, member in enumerate(reversed(line), start=1):
                depth[member] = below + step
        return depth

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Children of each node, in the order the file lists them, which is not always the order of their numbers."""
        if self.listed is not None:
            return self.listed
        found: list[list[int]] = [[] for _ in range(len(self))]
        for node, parent in enumerate(self.parents.tolist()):
            if parent >= 0:
                found[parent].append(node)
        return tuple(tuple(row) for row in found)

    @cached_property
    def order(self) -> np.ndarray:
        """(N,) nodes so that every parent comes before its children."""
        return np.argsort(self.depth, kind="stable")

    @cached_property
    def levels(self) -> tuple[np.ndarray, ...]:
        """Nodes by number of ancestors, roots first: each level depends on the ones before it only."""
        depth = self.depth[self.order]
        cuts = np.flatnonzero(np.diff(depth)) + 1
        return tuple(np.split(self.order, cuts)) if len(self) else ()

    def below(self, nodes) -> np.ndarray:
        """(N,) whether a node is `nodes` (one or several), or hangs from one of them."""
        inside = np.zeros(len(self), dtype=bool)
        inside[nodes] = True
        for level in self.levels[1:]:
            inside[level] |= inside[self.parents[level]]
        return inside

    @cached_property
    def rest_local(self) -> np.ndarray:
        """(N, 4, 4) local matrices of the rest pose."""
        return self.local()

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
        for level in self.levels[1:]:
            world[..., level, :, :] = world[..., self.parents[level], :, :] @ world[..., level, :, :]
        return world

    def index(self, name: str) -> int:
        """Node of that name; ValueError if there is none or more than one."""
        found = [i for i, n in enumerate(self.names) if n == name]
        if len(found) != 1:
            raise ValueError(f"skeleton: {len(found)} nodes are named {name!r}, wanted exactly one")
        return found[0]

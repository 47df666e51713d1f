"""Front locks that the garment hides: seen from the front, how many of their vertices lie behind it, and how deep.

It knows nothing of colliders: it looks at the skinned triangles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import rotations
from ..avatar.avatar import Avatar
from ..hair import HairRig
from ..rig.body import SHOULDERS, TORSO, surfaces

DEEP = 0.001  # metres behind the garment above which a vertex counts as hidden, as the published measurement does
NEAR = 0.020  # metres before or behind the garment within which a vertex passes it
BIN = 0.01  # metres, cells by which triangles are found
VIEW = ("upperChest", "chest", "spine", "hips")  # the first of these that the avatar has turns the view along


@dataclass(frozen=True)
class Occlusion:
    """What the garment did with the front locks, over all poses."""

    count: int  # the most vertices hidden in one pose
    depth_mm: float  # how far the deepest of them lies behind the garment
    near: int  # vertices, summed over poses, within 20 mm of the garment or behind it
    vertices: int  # vertices of the front locks


def front(points: np.ndarray, vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(n,) largest z at which the triangles are met on the line through each of points (n, 3) along z; -inf if none."""
    out = np.full(len(points), -np.inf)
    if not len(triangles) or not len(points):
        return out
    corners = vertices[triangles][..., :2]  # (T, 3, 2)
    low = np.floor((corners.min(axis=1) - points[:, :2].min(axis=0)) / BIN).astype(np.int64)
    high = np.floor((corners.max(axis=1) - points[:, :2].min(axis=0)) / BIN).astype(np.int64)
    place = np.floor((points[:, :2] - points[:, :2].min(axis=0)) / BIN).astype(np.int64)
    size = place.max(axis=0) + 1
    used = np.flatnonzero(((high >= 0) & (low < size)).all(axis=1))
    low, high = np.maximum(low[used], 0), np.minimum(high[used], size - 1)
    wide, tall = (high - low + 1).T
    count = wide * tall
    of = np.repeat(np.arange(len(used)), count)
    k = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    cell = (low[of, 0] + k % wide[of]) * size[1] + low[of, 1] + k // wide[of]
    order = np.argsort(cell, kind="stable")
    cell, of = cell[order], used[of[order]]
    wanted = place[:, 0] * size[1] + place[:, 1]
    first, last = np.searchsorted(cell, wanted), np.searchsorted(cell, wanted, side="right")
    number = last - first
    point = np.repeat(np.arange(len(points)), number)
    pick = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number) + np.repeat(first, number)
    triangle = triangles[of[pick]]
    a, b, c = (vertices[triangle[:, i]] for i in range(3))
    p = points[point]
    d = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (c[:, 0] - a[:, 0]) * (b[:, 1] - a[:, 1])
    safe = np.where(np.abs(d) > 1e-14, d, 1.0)
    v = ((p[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (c[:, 0] - a[:, 0]) * (p[:, 1] - a[:, 1])) / safe
    w = ((b[:, 0] - a[:, 0]) * (p[:, 1] - a[:, 1]) - (p[:, 0] - a[:, 0]) * (b[:, 1] - a[:, 1])) / safe
    hit = (np.abs(d) > 1e-14) & (v >= -1e-9) & (w >= -1e-9) & (v + w <= 1.0 + 1e-9)
    np.maximum.at(out, point[hit], (a + v[:, None] * (b - a) + w[:, None] * (c - a))[hit, 2])
    return out


class FrontLocks:
    """Vertices of hair that lies before the garment at rest, and the garment's triangles: torso and shoulders."""

    def __init__(self, avatar: Avatar, rig: HairRig, chains=None) -> None:
        self.avatar, self.skins = avatar, surfaces(avatar, rig)
        self.node = next((avatar.humanoid[role] for role in VIEW if role in avatar.humanoid), -1)
        garment = self.skins.of(TORSO + SHOULDERS)
        self.triangles = self.skins.triangles[garment[self.skins.triangles].all(axis=1)]
        chosen = range(len(rig.chains)) if chains is None else chains
        rest = self.skins.positions()
        hair = np.flatnonzero(np.isin(self.skins.chain, list(chosen)))
        behind = front(rest[hair], rest, self.triangles)
        # A lock is in front where the garment lies behind it, and not the head: the neck's own depth away at most.
        self.vertices = hair[np.isfinite(behind) & (rest[hair, 2] > behind)]
        self.count, self.depth, self.near = 0, 0.0, 0

    def add(self, worlds: np.ndarray) -> None:
        """One pose: world matrices (N, 4, 4) of all nodes, hair included."""
        if not len(self.vertices) or not len(self.triangles):
            return
        points = self.skins.positions(worlds)
        if self.node >= 0:  # seen from before the chest, wherever it faces
            rest = self.avatar.skeleton.rest_world[self.node]
            turn = rotations.from_matrix(worlds[self.node])
            back = rotations.multiply(rotations.from_matrix(rest), rotations.inverse(turn))
            points = rotations.rotate(back, points - worlds[self.node, :3, 3])
        locks = points[self.vertices]
        depth = front(locks, points, self.triangles) - locks[:, 2]
        self.count = max(self.count, int(np.sum(depth > DEEP)))
        self.depth = max(self.depth, float(depth.max()))
        self.near += int(np.sum(depth > -NEAR))

    def result(self) -> Occlusion | None:
        """What was found; None where no hair lies before a garment, or the avatar names no torso."""
        if not len(self.vertices) or not len(self.triangles):
            return None
        return Occlusion(self.count, 1e3 * max(self.depth, 0.0), self.near, len(self.vertices))


def occlusion(avatar: Avatar, rig: HairRig, poses: np.ndarray, chains=None) -> Occlusion | None:
    """Occlusion of the front locks of these chains (all by default) over poses (T, N, 4, 4)."""
    locks = FrontLocks(avatar, rig, chains)
    for worlds in poses:
        locks.add(worlds)
    return locks.result()

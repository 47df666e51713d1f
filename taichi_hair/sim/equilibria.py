"""Equilibria: where the hair of one style comes to rest, for every sampled rotation of the head; fills a pose table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..avatar.avatar import Avatar
from ..hair import HairRig
from ..motion.turn import HeadMotion, carrying_node
from .crowd import Crowd
from .solvers.lut import PoseTable, samples

RATE = 120.0  # ticks a second


@dataclass(frozen=True, eq=False)
class Sampled(HeadMotion):
    """All sampled rotations of a head, one a tick: members that stand still in it each have their own."""

    seconds: float = len(samples()) / RATE
    name = "sampled"
    loop = False
    over = len(samples()) / RATE

    def turn(self, times: np.ndarray) -> np.ndarray:
        """(T, 4) rotation of the head."""
        q = samples()
        return q[np.clip(np.rint(np.asarray(times) * RATE).astype(int), 0, len(q) - 1)]


def pose_table(avatar: Avatar, rig: HairRig | None = None, *, solver: str = "rod", seconds: float = 5.0) -> PoseTable:
    """The table of one style: each sampled rotation is held for `seconds` and the hair looked at.

    Gravity stays where it is and the body upright, so that hair hangs off a tilted head and lies on the shoulders.
    """
    rig = avatar.hair if rig is None else rig
    if not rig.chains:
        raise ValueError(f"{avatar.name}: no hair chain, wanted at least 1 for a pose table")
    crowd = Crowd(solver, rate=RATE)
    rest = _in_frames(crowd, crowd.add(avatar, rig), avatar)
    count = len(samples())
    ids = crowd.add(avatar, rig, count=count, motion=Sampled(avatar), phase=np.arange(count) / RATE, speed=0.0)
    for _ in range(round(seconds * 60)):
        crowd.advance(1.0 / 60.0)
    poses = _in_frames(crowd, ids, avatar)
    return PoseTable.of(poses[0], rest[1][0], rig.spans, rest[0][0])


def _in_frames(crowd: Crowd, ids: np.ndarray, avatar: Avatar) -> tuple[np.ndarray, np.ndarray]:
    """(M, S, 3) end points and (M, C, 3) roots in the frame of the node that the head motion turns."""
    node = carrying_node(avatar)
    bodies = np.array([crowd.body(i)[node] for i in ids])
    to_head = np.linalg.inv(bodies)

    def local(points):
        return np.einsum("mij,mpj->mpi", to_head[:, :3, :3], points) + to_head[:, None, :3, 3]

    return local(crowd.positions(ids)), local(crowd.roots(ids))

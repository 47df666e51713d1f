"""Equilibria: where the hair of one style comes to rest, for every sampled rotation of the head; fills a pose table."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .. import rotations
from ..avatar.avatar import Avatar
from ..hair import HairRig
from ..motion.turn import HeadMotion, carrying_node
from .crowd import Crowd
from .solvers.lut import PoseTable, samples


@dataclass(frozen=True, eq=False)
class Turned(HeadMotion):
    """A head that is turned and stays so."""

    seconds: float = 1.0 / 120.0
    q: np.ndarray = field(default_factory=lambda: rotations.IDENTITY)
    name = "turned"
    loop = True

    def turn(self, times: np.ndarray) -> np.ndarray:
        """(T, 4) rotation of the head."""
        return np.broadcast_to(self.q, (*np.shape(times), 4))


def pose_table(avatar: Avatar, rig: HairRig | None = None, *, solver: str = "rod", seconds: float = 5.0) -> PoseTable:
    """The table of one style: each sampled rotation is held for `seconds` and the hair looked at.

    Gravity stays where it is and the body upright, so that hair hangs off a tilted head and lies on the shoulders.
    """
    rig = avatar.hair if rig is None else rig
    if not rig.chains:
        raise ValueError(f"{avatar.name}: no hair chain, wanted at least 1 for a pose table")
    crowd = Crowd(solver)
    rest = _in_frames(crowd, crowd.add(avatar, rig), avatar)
    ids = np.concatenate([crowd.add(avatar, rig, motion=Turned(avatar, q=q)) for q in samples()])
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

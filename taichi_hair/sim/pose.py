"""End points back to a posed skeleton: joint rotations and world matrices, for any leading shape (NumPy)."""

from __future__ import annotations

import numpy as np

from .. import rotations
from ..avatar.skeleton import Skeleton
from ..hair import HairRig


def moving_levels(skeleton: Skeleton, rig: HairRig) -> list[np.ndarray]:
    """Nodes that move with the hair, grouped so that every parent is in an earlier group (or not hair at all)."""
    moving = set(int(n) for n in rig.joints)
    depth = np.full(len(skeleton), -1)
    for node in skeleton.order:
        parent = skeleton.parents[node]
        if parent >= 0 and depth[parent] >= 0:
            depth[node] = depth[parent] + 1
        elif int(node) in moving:
            depth[node] = 0
    return [np.flatnonzero(depth == d) for d in range(depth.max() + 1)] if len(moving) else []


def apply_hair(skeleton: Skeleton, rig: HairRig, worlds: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """World matrices (..., N, 4, 4) of a body pose with its hair turned towards end points (..., S, 3).

    Each joint turns the shortest way from its rest direction, carried by the joint above (no twist is added). Segments
    in the order of `rig.joints`.
    """
    worlds = np.array(worlds, dtype=np.float64)
    local = skeleton.local()
    segment = np.full(len(skeleton), -1)
    segment[rig.joints] = np.arange(len(rig.joints))
    tails = np.concatenate([c.tails for c in rig.chains]) if rig.chains else np.zeros((0, 3))
    identity = np.broadcast_to(np.eye(4), (*worlds.shape[:-3], 1, 4, 4))
    worlds = np.concatenate([worlds, identity], axis=-3)  # parent -1 is the scene root
    for nodes in moving_levels(skeleton, rig):
        world = worlds[..., skeleton.parents[nodes], :, :] @ local[nodes]
        joints = np.flatnonzero(segment[nodes] >= 0)
        s = segment[nodes[joints]]
        turn = world[..., joints, :3, :3]
        rest = (turn @ tails[s][:, :, None])[..., 0]
        wanted = positions[..., s, :] - world[..., joints, :, :][..., :3, 3]  # 3 beside `joints` would move its axis
        world[..., joints, :3, :3] = rotations.to_matrix(rotations.from_to(rest, wanted)) @ turn
        worlds[..., nodes, :, :] = world
    return worlds[..., :-1, :, :]


def local_rotations(skeleton: Skeleton, rig: HairRig, worlds: np.ndarray) -> np.ndarray:
    """(..., S, 4) local rotations, xyzw, of the rig's joints in posed world matrices (..., N, 4, 4)."""
    identity = np.broadcast_to(np.eye(4), (*worlds.shape[:-3], 1, 4, 4))
    padded = np.concatenate([worlds, identity], axis=-3)
    joints = rig.joints
    own = rotations.from_matrix(padded[..., joints, :, :])
    parent = rotations.from_matrix(padded[..., skeleton.parents[joints], :, :])
    return rotations.multiply(rotations.inverse(parent), own)

"""Sample poses of strands: bends that a strand takes in motion, for weights to be judged and refined on."""

from __future__ import annotations

import numpy as np

from .. import rotations

DIRECTIONS = 8  # around the strand
EVERY = (1, 2, 2)  # of the profiles below: how many of the directions are passed over
SWING = 0.35  # tip displacement of the sampled bends over the strand's length; 0.14 m for a ponytail of 0.4 m


def bend_profiles(count: int) -> np.ndarray:
    """(3, J) bends of the joints, the sum of the first two being 1: all alike, more at the root, and an S."""
    even = np.full(count, 1.0 / count)
    falling = np.linspace(1.6, 0.4, count)
    wave = np.sin(2.0 * np.pi * (np.arange(count) + 0.5) / count)
    return np.stack([even, falling / falling.sum(), 0.35 * wave / max(np.abs(wave).sum(), 1e-9)])


def sample_ends(places: np.ndarray, swing: float = SWING) -> np.ndarray:
    """(S, J, 3) end points of a strand at rest at `places` (J + 1, 3): bent evenly in eight directions, and by the
    other profiles in four."""
    count = len(places) - 1
    links = np.diff(places, axis=0)
    total = places[-1] - places[0]
    length = float(np.linalg.norm(links, axis=1).sum())
    way = total / max(float(np.linalg.norm(total)), 1e-12)
    side = np.cross(way, np.eye(3)[int(np.argmin(np.abs(way)))])
    side /= np.linalg.norm(side)
    other = np.cross(way, side)
    angles = 2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    axes = np.cos(angles)[:, None] * side + np.sin(angles)[:, None] * other
    ends = []
    for profile, every in zip(bend_profiles(count), EVERY, strict=True):
        chosen = axes[::every]
        turned = _bent(links, chosen, np.broadcast_to(profile, (len(chosen), count)))
        # A bend of a radian moves the tip by half a length: one step towards the wanted displacement is enough.
        reach = np.linalg.norm(turned.sum(axis=1) - links.sum(axis=0), axis=1)
        if np.isclose(profile.sum(), 1.0):
            scale = np.where(reach > 1e-9, swing * length / np.maximum(reach, 1e-9), 1.0)
            turned = _bent(links, chosen, scale[:, None] * profile)
        ends.append(places[0] + np.cumsum(turned, axis=1))
    return np.concatenate(ends)


def _bent(links: np.ndarray, axes: np.ndarray, profiles: np.ndarray) -> np.ndarray:
    """(S, J, 3) links (J, 3) turned about each axis (S, 3), joint by joint by profiles (S, J)."""
    turns = rotations.from_axis_angle(np.broadcast_to(axes[:, None], (*profiles.shape, 3)), np.cumsum(profiles, axis=1))
    return rotations.rotate(turns, np.broadcast_to(links, (*profiles.shape, 3)))


def bone_moves(places: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """(S, J + 1, 3, 4) what each bone does to a point of the rest pose, in the head's frame, for end points (S, J, 3).

    The first is the head, which stays. Each joint turns the shortest way from its rest direction as the joint above
    carries it: the rule by which the simulation poses a skeleton.
    """
    samples, count = ends.shape[:2]
    moves = np.zeros((samples, count + 1, 3, 4))
    moves[:, 0, :, :3] = np.eye(3)
    above = np.tile(np.eye(3), (samples, 1, 1))
    start = np.broadcast_to(places[0], (samples, 3))
    for j in range(count):
        rest = above @ (places[j + 1] - places[j])
        turn = rotations.to_matrix(rotations.from_to(rest, ends[:, j] - start)) @ above
        moves[:, j + 1, :, :3] = turn
        moves[:, j + 1, :, 3] = start - turn @ places[j]
        above, start = turn, ends[:, j]
    return moves


def joint_moves(chains: list[np.ndarray], ends: list[np.ndarray]) -> np.ndarray:
    """(S, 1 + sum J, 3, 4) the moves of several chains posed together: the head first, then each chain's joints."""
    moves = [bone_moves(places, end) for places, end in zip(chains, ends, strict=True)]
    return np.concatenate([moves[0][:, :1], *[m[:, 1:] for m in moves]], axis=1)

"""refine_weights(): a fitted rig's weights lowered in stretch on poses that the rod itself takes in motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..avatar.description import Avatar
from ..hair import HairRig
from ..rig.attach import reweighted
from ..rig.fitted import FittedRig, Refinement
from ..rig.poses import joint_moves, sample_ends
from ..rig.refine import ROUNDS, neighbours_allowed, refined, stretches
from .tune import SEEN, play

POSES = 24  # of the motions, the most different ones
WIDE = 0.6  # swing over length of a further set of sample poses, for motions wider than those seen


def refine_weights(
    avatar: Avatar,
    rig: FittedRig,
    motions: Sequence[str] = SEEN,
    rounds: int = ROUNDS,
    wide: bool = True,
    contact: bool = False,
) -> FittedRig:
    """The rig with weights that stretch less over poses of these motions under the rod, and over sample poses;
    with `contact` the hair meets its colliders in those motions.

    Chains, their settings and the band at the root stay. `refinement` of the result has the figures on those poses.
    """
    if not isinstance(rig, FittedRig) or "plan" not in rig.table:
        raise ValueError("refine_weights: the rig was not made by fit_hair, wanted a FittedRig")
    surface, plan = rig.table["surface"], rig.table["plan"]
    moves = [_moves(rig, poses) for poses in _poses(rig, motions, contact)]
    places = [strand.places for strand in plan.strands]
    moves.append(joint_moves(places, [sample_ends(p) for p in places]))
    if wide:
        moves.append(joint_moves(places, [sample_ends(p, WIDE) for p in places])[::2])
    moves = np.concatenate(moves)
    before = stretches(surface.points, surface.edges, plan.weights, moves)
    allowed = neighbours_allowed(plan.weights, plan.spans, plan.near_root)
    weights = refined(surface.points, surface.edges, plan.weights, moves, plan.fixed, allowed, rounds)
    after = stretches(surface.points, surface.edges, weights, moves)
    return with_weights(rig, weights, Refinement(before, after))


def with_weights(rig: FittedRig, weights: np.ndarray, report: Refinement | None = None) -> FittedRig:
    """The fitted rig with another table (P, C) of weights; chains and colliders stay."""
    surface, plan = rig.table["surface"], rig.table["plan"]
    skeleton = rig.avatar.skeleton
    columns = np.concatenate([[rig.table["node"]], *[rig.chains[c].joints for c in rig.fitted]]).astype(np.int64)
    skins, parts = reweighted(rig.base, skeleton, surface, weights, columns)
    avatar = replace(rig.avatar, skins=skins, parts=parts, hair=HairRig(rig.chains, rig.colliders))
    return replace(
        rig,
        avatar=avatar,
        refinement=report or rig.refinement,
        table={**rig.table, "plan": replace(plan, weights=weights)},
    )


def _poses(rig: FittedRig, motions: Sequence[str], contact: bool) -> list[np.ndarray]:
    """Of each motion the poses (S, N, 4, 4) in which the new chains differ most from each other."""
    joints = np.concatenate([rig.chains[c].joints for c in rig.fitted])
    node = rig.table["node"]
    found = []
    for rows in play(rig.avatar, [rig], motions, contact=contact).values():
        poses = rows[0][0]
        head = poses[:, node] if node >= 0 else np.eye(4)[None]
        local = (np.linalg.inv(head)[:, None] @ poses[:, joints])[:, :, :3, :3].reshape(len(poses), -1)
        chosen = [0]
        apart = np.linalg.norm(local - local[0], axis=1)
        for _ in range(min(POSES // len(motions), len(poses) - 1)):
            chosen.append(int(np.argmax(apart)))
            apart = np.minimum(apart, np.linalg.norm(local - local[chosen[-1]], axis=1))
        found.append(poses[chosen[1:]])
    return found


def _moves(rig: FittedRig, poses: np.ndarray) -> np.ndarray:
    """(S, C, 3, 4) what the head and each new joint do to a rest point, seen from the head."""
    node, rest = rig.table["node"], rig.avatar.skeleton.rest_world
    columns = np.concatenate([[node], *[rig.chains[c].joints for c in rig.fitted]]).astype(np.int64)
    moved = poses[:, columns] @ np.linalg.inv(rest[columns])
    return (np.linalg.inv(moved[:, :1]) @ moved)[:, :, :3]

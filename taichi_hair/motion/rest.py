"""How two rest poses differ: facing, limbs held another way, and the heights of hips, knees and ankles."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .. import rotations
from ..avatar.skeleton import Skeleton

SNAP = np.radians(20.0)  # a body within it of the axes is taken as along them, so that a stoop stays a stoop
LIMB = np.radians(10.0)  # limbs whose rest directions differ by less are compared as they are
HAND = np.radians(30.0)  # the same for hands, whose direction is only that of a finger's root
SIDES = ("left", "right")


def direction(skeleton: Skeleton, roles: dict[str, int], start: str, end: str) -> np.ndarray | None:
    """(3,) unit vector from one role's joint to another's at rest; None where either is missing or they coincide."""
    if start not in roles or end not in roles:
        return None
    v = skeleton.rest_world[roles[end], :3, 3] - skeleton.rest_world[roles[start], :3, 3]
    length = np.linalg.norm(v)
    return v / length if length > 1e-9 else None


def body_axes(skeleton: Skeleton, roles: dict[str, int]) -> np.ndarray:
    """(3, 3) columns left, up and forward of a body at rest; the world's axes where the joints do not tell."""
    left = None
    for limb in ("UpperLeg", "UpperArm", "Shoulder"):
        left = direction(skeleton, roles, f"right{limb}", f"left{limb}") if left is None else left
    up = None
    for top in ("head", "neck", "chest", "spine"):
        up = direction(skeleton, roles, "hips", top) if up is None else up
    if left is None or up is None or np.linalg.norm(np.cross(left, up)) < 0.1:
        return np.eye(3)
    up = up - left * (up @ left)
    up /= np.linalg.norm(up)
    axes = np.stack([left, up, np.cross(left, up)], axis=1)
    near = np.zeros((3, 3))
    near[np.argmax(np.abs(axes), axis=0), range(3)] = np.sign(axes[np.argmax(np.abs(axes), axis=0), range(3)])
    apart = rotations.angle(rotations.from_matrix(near.T @ axes)) if abs(np.linalg.det(near) - 1.0) < 1e-9 else np.pi
    return near if apart < SNAP else axes


def limb_turns(source: Skeleton, own: dict[str, int], target: Skeleton, roles: dict[str, int], facing: np.ndarray):
    """Role -> rotation (4,) in the world that brings the target's limb at rest to where the source's is at rest.

    Empty for two T-poses. Arms and legs are compared from the trunk outwards, each segment after the one above it was
    turned; hands and fingers go with the forearm unless they differ much. `facing` (4,) turns the source's world into
    the target's.
    """
    turns: dict[str, np.ndarray] = {}

    def compare(role: str, end: str, above: np.ndarray, tolerance: float) -> np.ndarray:
        wanted, have = direction(source, own, role, end), direction(target, roles, role, end)
        if wanted is None or have is None:
            return above
        residual = rotations.from_to(rotations.rotate(above, have), rotations.rotate(facing, wanted))
        return rotations.multiply(residual, above) if rotations.angle(residual) > tolerance else above

    for side in SIDES:
        arm = compare(f"{side}UpperArm", f"{side}LowerArm", rotations.IDENTITY, LIMB)
        fore = compare(f"{side}LowerArm", f"{side}Hand", arm, LIMB)
        hand = compare(f"{side}Hand", f"{side}MiddleProximal", fore, HAND)
        thigh = compare(f"{side}UpperLeg", f"{side}LowerLeg", rotations.IDENTITY, LIMB)
        shin = compare(f"{side}LowerLeg", f"{side}Foot", thigh, LIMB)
        found = {"UpperArm": arm, "LowerArm": fore, "Hand": hand, "UpperLeg": thigh, "LowerLeg": shin}
        turns.update({f"{side}{part}": q for part, q in found.items()})
        for role in roles:
            if role.startswith(side) and any(f in role for f in ("Thumb", "Index", "Middle", "Ring", "Little")):
                turns[role] = hand
    return {role: q for role, q in turns.items() if role in roles and rotations.angle(q) > 1e-9}


@dataclass(frozen=True, eq=False)
class Stance:
    """Where a body stands at rest, in the target's axes (y up): the point that moves it, and its ankles."""

    pelvis: np.ndarray  # (3,) metres
    offset: np.ndarray  # (3,) of the pelvis in the hips joint's own frame; zeros where the joint is the pelvis
    drop: float | None  # metres from the pelvis down to the ankles with the limbs held as the target holds them
    ankle: float  # height of the ankles above the floor


def stance(skeleton: Skeleton, roles: dict[str, int], facing: np.ndarray, turns: dict[str, np.ndarray]) -> Stance:
    """The stance of a rest pose. `turns` are `limb_turns` of the source, empty for the target itself."""
    world = skeleton.rest_world
    at = {role: rotations.rotate(facing, world[node, :3, 3]) for role, node in roles.items()}
    hips = at["hips"]
    legs = [f"{side}UpperLeg" for side in SIDES if f"{side}UpperLeg" in at and f"{side}Foot" in at]
    pelvis = hips
    drops = []
    for thigh in legs:
        side = thigh[: -len("UpperLeg")]
        points = [at[thigh], *([at[f"{side}LowerLeg"]] if f"{side}LowerLeg" in at else []), at[f"{side}Foot"]]
        links = [b - a for a, b in pairwise(points)]
        names = [thigh, f"{side}LowerLeg"][: len(links)]
        held = [
            rotations.rotate(rotations.inverse(turns.get(n, rotations.IDENTITY)), v)
            for n, v in zip(names, links, strict=True)
        ]
        drops.append((at[thigh], -sum(v[1] for v in held)))
    offset = np.zeros(3)
    drop = None
    if drops:
        middle = np.mean([p for p, _ in drops], axis=0)
        length = float(np.mean([d for _, d in drops]))
        if abs(hips[1] - middle[1]) > 0.4 * length:  # a hips joint on the floor, say, from which the legs hang
            pelvis = np.array([hips[0], middle[1], middle[2]])
            local = np.linalg.inv(world[roles["hips"]]) @ np.append(
                rotations.rotate(rotations.inverse(facing), pelvis), 1.0
            )
            offset = local[:3]
        drop = float(pelvis[1] - middle[1]) + length
    ankles = [at[f"{side}Foot"][1] for side in SIDES if f"{side}Foot" in at]
    return Stance(pelvis, offset, drop if drop is not None and drop > 1e-6 else None, float(min(ankles, default=0.0)))

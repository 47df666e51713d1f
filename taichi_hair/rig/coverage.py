"""Capsules for parts of the body that no collider covers, measured on what is visible there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import rotations
from ..avatar.avatar import Avatar
from ..hair import Collider
from .body import SHOULDERS, TORSO, UPPER_ARMS, Surfaces

FEWEST = 12  # vertices that say anything about a part of the body
COVERED = 0.04  # of the body's size: a vertex this near to a collider, or inside, is covered
ENOUGH = 0.5  # share of a part's vertices that must be covered
THICKEST = 0.2  # of the body's size: the largest radius that is added; a hiker's pack is no torso
LIMBS = {
    "neck": ("neck", "head"),
    "leftShoulder": ("leftShoulder", "leftUpperArm"),
    "rightShoulder": ("rightShoulder", "rightUpperArm"),
    "leftUpperArm": ("leftUpperArm", "leftLowerArm"),
    "rightUpperArm": ("rightUpperArm", "rightLowerArm"),
}


@dataclass(frozen=True, eq=False)
class Build:
    """A body's size and axes in the rest pose, from its bones alone."""

    size: float  # metres from the lowest torso bone to the head
    left: np.ndarray  # (3,) unit
    up: np.ndarray
    front: np.ndarray


def build_of(avatar: Avatar) -> Build | None:
    """None where the avatar names no head, no torso or no pair of limbs."""
    place = {role: avatar.skeleton.rest_world[node, :3, 3] for role, node in avatar.humanoid.items()}
    torso = [place[role] for role in TORSO if role in place]
    sides = [
        (place[f"left{limb}"], place[f"right{limb}"])
        for limb in ("UpperArm", "Shoulder", "UpperLeg")
        if f"left{limb}" in place and f"right{limb}" in place
    ]
    if "head" not in place or not torso or not sides:
        return None
    up = place["head"] - torso[0]
    size = float(np.linalg.norm(up))
    left = sides[0][0] - sides[0][1]
    up = up / max(size, 1e-12)
    left = left - up * (left @ up)
    width = float(np.linalg.norm(left))
    if size < 1e-6 or width < 1e-3 * size:
        return None
    left = left / width
    return Build(size, left, up, np.cross(left, up))


def distance(points: np.ndarray, a: np.ndarray, b: np.ndarray, radius) -> np.ndarray:
    """(...) from points (..., 3) to the surface of a capsule, negative inside."""
    d = b - a
    v = np.clip((points - a) @ d / max(float(d @ d), 1e-18), 0.0, 1.0)
    return np.linalg.norm(points - a - v[..., None] * d, axis=-1) - radius


def placed(avatar: Avatar, collider: Collider, worlds: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """(a, b, radius) of a sphere or capsule in a pose (N, 4, 4)."""
    world = worlds[collider.node]
    tail = collider.offset if collider.tail is None else collider.tail
    scale = float(np.cbrt(abs(np.linalg.det(world[:3, :3]))))
    a, b = (world[:3, :3] @ point + world[:3, 3] for point in (collider.offset, tail))
    return a, b, collider.radius * scale


def missing(avatar: Avatar, skins: Surfaces, build: Build, colliders) -> tuple[list[Collider], list[str]]:
    """Capsules for torso, neck, shoulders and upper arms where too little of what is visible is covered, and a line
    about each part that has no bone or nothing visible."""
    rest = skins.positions()
    worlds = avatar.skeleton.rest_world
    solids = [placed(avatar, c, worlds) for c in colliders if c.shape in ("sphere", "capsule")]
    found, lines = [], []
    for role in TORSO + SHOULDERS + UPPER_ARMS:
        if role not in avatar.humanoid:
            lines.append(f"{role}: the avatar has no such bone; nothing is added there")
            continue
        points = rest[skins.of((role,))]
        if len(points) < FEWEST:
            lines.append(f"{role}: {len(points)} visible vertices, too few to measure; nothing is added there")
            continue
        gap = np.min([distance(points, *solid) for solid in solids], axis=0) if solids else np.full(len(points), np.inf)
        share = float(np.mean(gap < COVERED * build.size))
        if share >= ENOUGH:
            continue
        new = _limb(avatar, role, points, build) if role in LIMBS else _torso(avatar, role, points, build)
        if new:
            found += new
            lines.append(f"{role}: {share:.0%} of it was covered; {len(new)} added")
        else:
            lines.append(f"{role}: {share:.0%} of it is covered, and the bone it ends at is missing; nothing is added")
    return found, lines


def _local(avatar: Avatar, role: str, a, b, radius: float) -> Collider:
    node = avatar.humanoid[role]
    world = avatar.skeleton.rest_world[node]
    back = np.linalg.inv(world)
    scale = float(np.cbrt(abs(np.linalg.det(world[:3, :3]))))
    offset, tail = (back[:3, :3] @ p + back[:3, 3] for p in (a, b))
    return Collider(f"{role}, fitted", node, "capsule", offset, radius / scale, tail=tail)


def _limb(avatar: Avatar, role: str, points: np.ndarray, build: Build) -> list[Collider]:
    """One capsule from the bone to the next: as thick as three quarters of what is visible around it."""
    first, last = LIMBS[role]
    if last not in avatar.humanoid:
        return []
    a, b = (avatar.skeleton.rest_world[avatar.humanoid[r], :3, 3] for r in (first, last))
    d = b - a
    if np.linalg.norm(d) < 1e-3 * build.size:
        return []
    v = (points - a) @ d / (d @ d)
    beside = points[(v > 0.0) & (v < 1.0)]
    if len(beside) < FEWEST:
        return []
    away = np.percentile(distance(beside, a, b, 0.0), 75)
    return [_local(avatar, role, a, b, float(min(away, THICKEST * build.size)))]


def _torso(avatar: Avatar, role: str, points: np.ndarray, build: Build) -> list[Collider]:
    """Capsules that lie across the body: as deep as it is, as wide as it is, one above the other."""
    axes = np.stack([build.left, build.up, build.front])
    x, y, z = axes @ points.T
    low, high = np.percentile(y, [5, 95])
    deep = 0.5 * float(np.subtract(*np.percentile(z, [95, 5])))
    count = int(np.clip(np.ceil((high - low) / max(1.6 * deep, 1e-9)), 1, 3))
    out = []
    for k in range(count):
        middle = low + (high - low) * (k + 0.5) / count
        here = np.abs(y - middle) <= 0.6 * (high - low) / count
        if here.sum() < FEWEST:
            continue
        left, right = np.percentile(x[here], [95, 5])
        ahead, behind = np.percentile(z[here], [92, 8])
        radius = min(0.5 * (ahead - behind), THICKEST * build.size)
        half = max(0.5 * (left - right) - radius, 0.0)
        center = np.array([0.5 * (left + right), middle, 0.5 * (ahead + behind)])
        a, b = (axes.T @ (center + [side * half, 0.0, 0.0]) for side in (-1.0, 1.0))
        out.append(_local(avatar, role, a, b, float(radius)))
    return out


def poses(avatar: Avatar) -> np.ndarray:
    """(P, N, 4, 4) the rest pose, arms lowered, and the trunk leaned and turned: what skin and cloth do in motion."""
    from ..avatar.constraints import apply_constraints

    skeleton = avatar.skeleton
    own = rotations.from_matrix(skeleton.rest_world)
    out = [skeleton.rest_world]
    build = build_of(avatar)
    if build is None:
        return np.array(out)
    bends = (
        (("leftUpperArm", build.front, -0.9), ("rightUpperArm", build.front, 0.9)),
        (("spine", build.left, 0.3),),
        (("spine", build.up, 0.35),),
    )
    for bend in bends:
        local = skeleton.rotations.copy()
        for role, axis, angle in bend:
            node = avatar.humanoid.get(role, -1)
            if node < 0:
                continue
            turned = rotations.multiply(rotations.from_axis_angle(axis, angle), own[node])
            parent = skeleton.parents[node]
            above = own[parent] if parent >= 0 else rotations.IDENTITY
            local[node] = rotations.multiply(rotations.inverse(above), turned)
        out.append(skeleton.world(rotations_=apply_constraints(skeleton, avatar.constraints, local)))
    return np.array(out)

"""Colliders that match what is visible: measured on the skinned body and clothing, grown or shrunk within bounds.

Nothing here looks at a name. Parts of the body are found by their humanoid role and the bones below it, hair by the
chains that own its weights, and every bound is a share of the body's size, so that scale does not matter.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..avatar.avatar import Avatar
from ..hair import Collider, ColliderFit, HairRig
from .body import SHOULDERS, TORSO, UPPER_ARMS, Surfaces, surfaces
from .coverage import FEWEST, Build, build_of, missing, placed, poses
from .fitted import owner

GROW = 0.05  # of the body's size (2.5 cm of an adult): the most that a radius grows
SHRINK = 0.03
WINDOW = 0.09  # of the body's size: what is farther from a collider's surface is not its cloth
HIGH = 85.0  # percentile over the directions around a collider: a fold may stand out, a seam may lie under
AROUND, ALONG = 12, 4  # bins around and along a collider's axis; the outermost layer in each is what hair meets
TURNS = np.radians([(0, 0), (60, 0), (-60, 0), (0, 25), (0, -25)])  # head yaw and pitch, for what a chain can reach
NARROW = 0.02  # of the body's size: how near a chain must be able to come


def fit_colliders(avatar: Avatar, rig: HairRig | None = None, *, hidden=()) -> HairRig:
    """A rig whose colliders on torso, shoulders and upper arms match the visible body, for the chains that reach them.

    Authored colliders are grown or shrunk; capsules are added where the body is not covered. Chains that cannot reach
    the trunk, such as bangs, and chains that the head does not carry keep their colliders and radii. `hidden` are
    indices of mesh parts that are not shown; what the file itself hides is left out, too. `fit` of the result reports;
    `restored` is the rig as it was. Where bones or geometry are missing the author's settings stay, and the report
    says so.
    """
    rig = avatar.hair if rig is None else rig
    avatar = owner(avatar, rig)
    original = rig.restored
    build = build_of(avatar)
    if build is None:
        line = "no head, torso and pair of limbs are named as human bones: all colliders stay as they are"
        return replace(original, fit=ColliderFit(original, (line,), {}, (), ()))
    skins = surfaces(avatar, original, hidden)
    solids = list(original.colliders)
    fittable = [b for b, c in enumerate(solids) if _on_trunk(avatar, c) and c.shape in ("sphere", "capsule")]
    fitted = _measured(avatar, skins, build, solids, fittable)
    new, lines = missing(avatar, skins, build, [fitted.get(b, c) for b, c in enumerate(solids)])
    fittable += range(len(solids), len(solids) + len(new))
    solids += new
    chosen = _reaching(avatar, original, skins, build, [(b, fitted.get(b, solids[b])) for b in fittable])
    colliders = list(original.colliders)
    place, radii, added = {}, {}, []
    for b in fittable:
        authored, one = solids[b], fitted.get(b, solids[b])
        if b < len(original.colliders) and b not in fitted:
            place[b] = b
            lines.append(f"{authored.name}: nothing visible around it to measure; radius {authored.radius:.4g} stays")
            continue
        place[b] = len(colliders)
        colliders.append(one)
        if b >= len(original.colliders):
            added.append(place[b])
            lines.append(f"{one.name}: added with radius {one.radius:.4g}")
        else:
            radii[place[b]] = (authored.radius, one.radius)
            lines.append(f"{authored.name}: radius {authored.radius:.4g} becomes {one.radius:.4g}")
    for part, why in avatar.hidden.items():
        lines.append(f"mesh {avatar.parts[part].name!r}, part {part}: not shown ({why}); nothing is measured on it")
    chains = []
    for c, chain in enumerate(original.chains):
        if c not in chosen:
            lines.append(f"{chain.name}: cannot reach the trunk; it keeps its colliders")
            chains.append(chain)
            continue
        mine = tuple(place.get(b, b) for b in chain.colliders)
        more = tuple(place[b] for b in chosen[c] if b not in chain.colliders)
        chains.append(replace(chain, colliders=mine + more))
        lines.append(f"{chain.name}: meets {len(mine) + len(more)} colliders along its whole length, {len(more)} more")
    fit = ColliderFit(original, tuple(lines), radii, tuple(added), tuple(sorted(chosen)))
    return replace(original, chains=tuple(chains), colliders=tuple(colliders), fit=fit)


def _on_trunk(avatar: Avatar, collider: Collider) -> bool:
    """Whether the nearest human bone at or above a collider's node is torso, shoulder or upper arm."""
    role_of = {node: role for role, node in avatar.humanoid.items()}
    node = collider.node
    while node >= 0 and node not in role_of:
        node = int(avatar.skeleton.parents[node])
    return node >= 0 and role_of[node] in TORSO + SHOULDERS + UPPER_ARMS


def _measured(
    avatar: Avatar, skins: Surfaces, build: Build, solids: list[Collider], fittable: list[int]
) -> dict[int, Collider]:
    """Colliders with the radius that the outermost visible layer around them asks for."""
    body = skins.of(TORSO + SHOULDERS + UPPER_ARMS)
    if body.sum() < FEWEST or not fittable:
        return {}
    outermost = {b: np.full((ALONG, AROUND), -np.inf) for b in fittable}
    for worlds in poses(avatar):
        points = skins.positions(worlds)[body]
        where = [placed(avatar, solids[b], worlds) for b in fittable]
        parts = [_around(points, a, d, build) for a, d, _ in where]
        gaps = np.array([away - radius for (_, _, radius), (away, _, _) in zip(where, parts, strict=True)])
        nearest = gaps.argmin(axis=0)
        for k, b in enumerate(fittable):
            away, row, column = parts[k]
            mine = (nearest == k) & (np.abs(gaps[k]) < WINDOW * build.size)
            np.maximum.at(outermost[b], (row[mine], column[mine]), away[mine])
    out = {}
    for b in fittable:
        seen = outermost[b][np.isfinite(outermost[b])]
        if len(seen) < 6:
            continue
        scale = placed(avatar, solids[b], avatar.skeleton.rest_world)[2] / max(solids[b].radius, 1e-12)
        radius = solids[b].radius
        bounds = (radius - min(SHRINK * build.size / scale, 0.5 * radius), radius + GROW * build.size / scale)
        wanted = np.percentile(seen, HIGH) / scale
        out[b] = replace(solids[b], radius=float(np.clip(wanted, *bounds)))
    return out


def _around(points: np.ndarray, a: np.ndarray, b: np.ndarray, build: Build):
    """(V,) distance from the axis a b, and the bins (along, around) of points (V, 3)."""
    d = b - a
    length = float(np.linalg.norm(d))
    axis = d / length if length > 1e-6 * build.size else build.left
    v = np.clip((points - a) @ d / max(length * length, 1e-18), 0.0, 1.0)
    away = points - a - v[:, None] * d
    side = np.cross(axis, build.up if abs(axis @ build.up) < 0.9 else build.front)
    side /= np.linalg.norm(side)
    angle = np.arctan2(away @ np.cross(axis, side), away @ side)
    column = np.minimum(((angle / (2.0 * np.pi) + 0.5) * AROUND).astype(int), AROUND - 1)
    return np.linalg.norm(away, axis=1), np.minimum((v * ALONG).astype(int), ALONG - 1), column


def _reaching(
    avatar: Avatar, rig: HairRig, skins: Surfaces, build: Build, colliders: list[tuple[int, Collider]]
) -> dict[int, list[int]]:
    """Chains that own hair, hang on the head and can come near the trunk, with the colliders that each can meet."""
    worlds = avatar.skeleton.rest_world
    head = avatar.humanoid["head"]
    pivot = worlds[head, :3, 3]
    axes = np.stack([build.left, build.up, build.front], axis=1)
    heads = []
    for yaw, pitch in TURNS:
        cy, sy, cp, sp = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
        turn = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]]) @ np.array([[1, 0, 0], [0, cp, -sp], [0, sp, cp]])
        heads.append(axes @ turn @ axes.T)
    on_head = np.append(avatar.skeleton.below(head), False)  # attach -1, the scene root, is not
    owned = np.bincount(skins.chain[skins.chain >= 0], minlength=len(rig.chains))
    chosen = {}
    for c, chain in enumerate(rig.chains):
        carrier = chain
        while carrier.parent is not None:
            carrier = rig.chains[carrier.parent[0]]
        if owned[c] == 0 or not on_head[carrier.attach]:
            continue
        places = worlds[chain.joints]
        ends = (places[:, :3, :3] @ chain.tails[:, :, None])[..., 0] + places[:, :3, 3]
        points = np.concatenate([places[:1, :3, 3], ends])
        length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
        near = []
        for b, collider in colliders:
            a, d, radius = placed(avatar, collider, worlds)
            gap = min(_gap(pivot + turn @ (points[0] - pivot), a, d) for turn in heads) - radius - length
            if gap < NARROW * build.size:
                near.append((b, min(_gap(p, a, d) for p in points) - radius))
        # A chain whose style stays clear of the trunk by more than half its length is an ornament of the head.
        if near and min(gap for _, gap in near) < 0.5 * length and points[-1] @ build.up < points[0] @ build.up:
            chosen[c] = [b for b, _ in near]
    return chosen


def _gap(point: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    d = b - a
    v = np.clip((point - a) @ d / max(float(d @ d), 1e-18), 0.0, 1.0)
    return float(np.linalg.norm(point - a - v * d))

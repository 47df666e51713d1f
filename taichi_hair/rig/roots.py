"""Where hair is held: the head that carries it, what of the head lies under the hair, and where a strand begins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from ..avatar.description import Avatar
from ..avatar.errors import AssetError
from ..avatar.proposals import HEAD
from ..avatar.skinning import skin_vertices
from .surface import Surface, distances

RING = 0.03  # of a strand's size: points this much farther from the head than its nearest one begin the strand, too
LOOSE = 0.35  # of a strand's size: a strand that far from any part of the head is not seen to meet it
SPACING = 0.012  # metres: triangles of the head with longer edges are filled with points
HEAD_HEIGHT = 0.22  # metres: of a grown person's head, chin to crown; used where a file shows no head at all


@dataclass(frozen=True, eq=False)
class Head:
    """The head under the hair. `points` is empty where the file shows none; the ball then stands for it."""

    node: int  # that carries hair; -1 is the scene root
    points: np.ndarray  # (H, 3) metres, rest pose
    centre: np.ndarray  # (3,)
    radius: float
    known: bool  # whether centre and radius come from a head's mesh, not from the hair above it

    @cached_property
    def tree(self) -> cKDTree:
        """For nearest points of the head's mesh."""
        return cKDTree(self.points)

    def height(self, points: np.ndarray) -> np.ndarray:
        """(P,) metres from the head's surface; without a mesh from the ball, 0 inside it."""
        if len(self.points):
            return self.tree.query(points)[0]
        return np.maximum(np.linalg.norm(points - self.centre, axis=1) - self.radius, 0.0)


def attach_node(avatar: Avatar, parts) -> int:
    """The node that carries the hair: the humanoid head, else a node that is named so, else the one that carries most
    of the mesh."""
    if "head" in avatar.humanoid:
        return avatar.humanoid["head"]
    holders = {p.node for p in avatar.parts}
    skeleton = avatar.skeleton
    used = np.zeros(len(skeleton))
    for index in parts:
        part = avatar.parts[index]
        joints = np.asarray(avatar.skins[part.skin].joints)
        np.add.at(used, joints[part.joints], part.weights)
    named = [n for n, name in enumerate(skeleton.names) if HEAD.search(name) and n not in holders]
    if named:
        return max(named, key=lambda n: (used[n], -n))
    return int(np.argmax(used)) if used.any() else -1


def find_head(avatar: Avatar, surface: Surface, node: int, body: Avatar | None = None, skip=()) -> Head:
    """The head's mesh without the selected hair and without what hair chains move. `body` is another file's figure in
    the same place, for hair that comes without one; `skip` are further parts that are no head."""
    selected = set(surface.parts) | set(skip)
    found = _head_points(avatar, node, selected)
    if body is not None:
        other = body.humanoid.get("head", attach_node(body, range(len(body.parts))))
        found = np.concatenate([found, _head_points(body, other, set())])
    hair_top = float(surface.points[:, 1].max())
    if len(found) > 8:
        joint = avatar.skeleton.rest_world[node, 1, 3] if node >= 0 else -np.inf
        if body is not None:
            joint = body.skeleton.rest_world[other, 1, 3] if other >= 0 else -np.inf
        low, high = found.min(axis=0), found.max(axis=0)
        # The neck and what hangs below the head joint is no part of the ball.
        base = max(float(low[1]), min(float(joint), float(high[1]) - 0.3 * (high[1] - low[1])))
        upper = found[found[:, 1] >= base]
        centre = 0.5 * (upper.min(axis=0) + upper.max(axis=0))
        return Head(node, found, centre, 0.5 * float(high[1] - base), True)
    joint = avatar.skeleton.rest_world[node, :3, 3] if node >= 0 else np.zeros(3)
    tall = hair_top - joint[1]
    if not 0.3 * HEAD_HEIGHT < tall < 3.0 * HEAD_HEIGHT:
        tall = HEAD_HEIGHT
    radius = 0.5 * tall
    top = surface.points[surface.points[:, 1] > hair_top - radius]
    middle = 0.5 * (top.min(axis=0) + top.max(axis=0))
    centre = np.array([middle[0], hair_top - 1.05 * radius, middle[2]])
    return Head(node, np.zeros((0, 3)), centre, 0.92 * radius, False)


def _head_points(avatar: Avatar, node: int, selected: set[int]) -> np.ndarray:
    skeleton = avatar.skeleton
    held = ~skeleton.below(avatar.hair.joints)
    if node >= 0:
        held &= skeleton.below(node)
    points = [np.zeros((0, 3))]
    for index, part in enumerate(avatar.parts):
        if index in selected:
            continue
        share = (held[np.asarray(avatar.skins[part.skin].joints)][part.joints] * part.weights).sum(axis=1)
        used = np.zeros(len(part.positions), dtype=bool)
        used[part.triangles] = True
        chosen = (share > 0.5) & used
        if chosen.any():
            rest = skin_vertices(avatar, part)
            points += [rest[chosen], _between(rest[part.triangles[chosen[part.triangles].all(axis=1)]])]
    return np.concatenate(points)


def _between(corners: np.ndarray) -> np.ndarray:
    """(K, 3) points inside large triangles (T, 3, 3), so that a coarse head has no holes between its vertices."""
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1, initial=0.0)
    found = [np.zeros((0, 3))]
    for steps in (2, 4, 8, 16):
        chosen = corners[(longest > SPACING * steps / 2) & ((longest <= SPACING * steps) | (steps == 16))]
        shares = np.array([(a, b) for a in range(steps + 1) for b in range(steps + 1 - a)]) / steps
        bary = np.concatenate([shares, 1.0 - shares.sum(axis=1, keepdims=True)], axis=1)
        found.append(np.einsum("kc,tcx->tkx", bary, chosen).reshape(-1, 3))
    return np.concatenate(found)


def strand_root(avatar: Avatar, surface: Surface, head: Head, graph, root=None) -> tuple[np.ndarray, float]:
    """Points (K,) where a single strand begins, and how sure that is (0 to 1).

    root: where the user says it is, a place (3,) in metres, a node's name, or points as indices; else where the strand
    comes nearest to the head or to the tie that holds it.
    """
    where = f"mesh {avatar.parts[surface.parts[0]].name!r}, root"
    if root is not None:
        return _named_root(avatar, surface, root, where), 1.0
    if len(head.points):
        away = head.tree.query(surface.points)[0]
    else:
        away = head.height(surface.points)
        away = away if away.max() - away.min() > 1e-6 else -surface.points[:, 1]
    nearest = float(away.min())
    if len(head.points) and nearest > LOOSE * surface.size:
        found = f"a strand of {surface.size:.3f} m that stays {nearest:.3f} m away from every part of the head"
        raise AssetError(avatar.file, where, found, "root=, a place (x, y, z) or a node's name")
    seeds = np.flatnonzero(away <= nearest + RING * surface.size)
    # A strand may touch the head again further down: what lies together with the nearest point is the root.
    start = int(np.argmin(away))
    along = distances(graph, [start])
    seeds = seeds[along[seeds] <= 0.25 * float(along[np.isfinite(along)].max())]
    # Sure where the root is an end: the tip is nearly as far from it as it is from anything.
    whole = distances(graph, seeds)
    tip = surface.points[int(np.argmax(np.where(np.isfinite(whole), whole, -1.0)))]
    most = float(np.linalg.norm(surface.points - tip, axis=1).max())
    share = float(np.linalg.norm(surface.points[seeds].mean(axis=0) - tip)) / max(most, 1e-9)
    return seeds, float(np.clip((share - 0.5) / 0.35, 0.0, 1.0))


def _named_root(avatar: Avatar, surface: Surface, root, where: str) -> np.ndarray:
    if isinstance(root, str):
        try:
            place = avatar.skeleton.rest_world[avatar.skeleton.index(root), :3, 3]
        except ValueError:
            found = [i for i, p in enumerate(avatar.parts) if p.name == root]
            if not found:
                raise AssetError(avatar.file, where, repr(root), "a node's or a mesh's name, or a place") from None
            others = np.concatenate([skin_vertices(avatar, i) for i in found])
            away = cKDTree(others).query(surface.points)[0]
            return np.flatnonzero(away <= away.min() + RING * surface.size)
    else:
        given = np.asarray(root)
        if given.dtype.kind in "iu" and given.ndim == 1 and len(given):
            if given.min() < 0 or given.max() >= len(surface.points):
                raise AssetError(avatar.file, where, "points beyond the mesh", f"0 to {len(surface.points) - 1}")
            return np.unique(given)
        place = given.astype(np.float64)
        if place.shape != (3,) or not np.all(np.isfinite(place)):
            raise AssetError(avatar.file, where, f"{root!r}", "a place (x, y, z) in metres")
    away = np.linalg.norm(surface.points - place, axis=1)
    return np.flatnonzero(away <= away.min() + RING * surface.size)

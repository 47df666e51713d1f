"""Which vertices are body or clothing and which are hair, by who owns their weights: never by a name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..avatar.avatar import Avatar
from ..avatar.skinning import skin_vertices
from ..hair import HairRig

TORSO = ("hips", "spine", "chest", "upperChest", "neck")
SHOULDERS = ("leftShoulder", "rightShoulder")
UPPER_ARMS = ("leftUpperArm", "rightUpperArm")
SEEN = 0.1  # alpha below which a material shows nothing


@dataclass(frozen=True, eq=False)
class Surfaces:
    """All vertices that are drawn, part after part, and the node that owns each: the one of its largest weight."""

    avatar: Avatar
    parts: tuple[int, ...]  # indices into avatar.parts
    owner: np.ndarray  # (V,) node
    chain: np.ndarray  # (V,) chain of the rig whose joints own most of the vertex, -1 where no chain owns a half
    role: np.ndarray  # (V,) index into `roles` of the nearest human bone at or above the owner, -1 where there is none
    roles: tuple[str, ...]
    triangles: np.ndarray  # (T, 3)

    def positions(self, worlds: np.ndarray | None = None) -> np.ndarray:
        """(..., V, 3) metres in the pose of world matrices (..., N, 4, 4), the rest pose by default."""
        none = np.zeros((*(() if worlds is None else np.shape(worlds)[:-3]), 0, 3))
        return np.concatenate([none, *[skin_vertices(self.avatar, p, worlds) for p in self.parts]], axis=-2)

    def of(self, roles) -> np.ndarray:
        """(V,) vertices that bones of these roles own and no chain does."""
        wanted = [k for k, role in enumerate(self.roles) if role in roles]
        return np.isin(self.role, wanted) & (self.chain < 0)


def surfaces(avatar: Avatar, rig: HairRig, hidden=()) -> Surfaces:
    """Owners of everything that is drawn. `hidden` are indices of mesh parts that are not shown, beside those that the
    file hides."""
    nodes = len(avatar.skeleton)
    chain_of = np.full(nodes, -1)
    for c, chain in enumerate(rig.chains):
        chain_of[chain.joints] = c
    for node in avatar.skeleton.order:  # what hangs on a hair joint moves with it
        parent = avatar.skeleton.parents[node]
        if chain_of[node] < 0 and parent >= 0 and node not in avatar.humanoid.values():
            chain_of[node] = chain_of[parent]
    roles = tuple(sorted(avatar.humanoid))
    role_of = np.full(nodes, -1)
    for k, role in enumerate(roles):
        role_of[avatar.humanoid[role]] = k
    for node in avatar.skeleton.order:
        if role_of[node] < 0 and avatar.skeleton.parents[node] >= 0:
            role_of[node] = role_of[avatar.skeleton.parents[node]]
    parts, owners, chains, triangles, first = [], [], [], [], 0
    for k, part in enumerate(avatar.parts):
        material = avatar.materials[part.material] if part.material >= 0 else None
        unseen = material is not None and material.alpha_mode == "BLEND" and material.base_color[3] < SEEN
        if k in hidden or k in avatar.hidden or unseen or not len(part.triangles):
            continue
        joints = avatar.skins[part.skin].joints[part.joints]
        owner = joints[np.arange(len(joints)), part.weights.argmax(axis=1)]
        moved = chain_of[joints]
        share = np.where(moved >= 0, part.weights, 0.0).sum(axis=1)
        main = moved[np.arange(len(joints)), np.where(moved >= 0, part.weights, 0.0).argmax(axis=1)]
        parts.append(k)
        owners.append(owner)
        chains.append(np.where(share > 0.5, main, -1))
        triangles.append(part.triangles + first)
        first += len(part.positions)
    none = np.zeros(0, dtype=np.int64)
    owner = np.concatenate([none, *owners])
    return Surfaces(
        avatar,
        tuple(parts),
        owner,
        np.concatenate([none, *chains]),
        role_of[owner] if len(owner) else none,
        roles,
        np.concatenate([np.zeros((0, 3), dtype=np.int64), *triangles]),
    )

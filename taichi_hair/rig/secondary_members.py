"""A fitted rig in a VRM 0.x file: its chains as bone groups of secondaryAnimation, beside those that stay."""

from __future__ import annotations

import copy

import numpy as np

from .. import rotations
from ..avatar.errors import AssetError
from ..avatar.secondary_animation import HALF_TURN
from ..hair import Chain, Collider
from .fitted import FittedRig

CLOSE = 0.75  # of a capsule's radius: how far apart the balls stand that take its place


def secondary_members(content: dict, rig: FittedRig) -> dict:
    """Top-level members of a VRM 0.x file that hold a fitted rig.

    A bone group has one setting for all its joints, so a chain's mean is written; UniVRM swings the node at the end,
    too, as if it were 7 cm long. Bones whose chains the fit replaced leave their groups. Colliders that the file does
    not have become balls, a capsule a row of them.
    """
    vrm = copy.deepcopy(content["extensions"]["VRM"])
    secondary = vrm.get("secondaryAnimation") or {}
    vrm["secondaryAnimation"] = secondary
    groups = secondary["boneGroups"] = list(secondary.get("boneGroups") or [])
    solids = secondary["colliderGroups"] = list(secondary.get("colliderGroups") or [])
    skeleton = rig.avatar.skeleton
    kept = np.zeros(len(skeleton), dtype=bool)
    for number, chain in enumerate(rig.chains):
        if number not in rig.fitted:
            kept[chain.joints] = True
    for group in groups:
        bones = group.get("bones") or []
        group["bones"] = [b for b in bones if not 0 <= b < len(kept) or (skeleton.below(b) & kept).any()]
    members = _collider_groups(rig, solids)
    for number in rig.fitted:
        chain = rig.chains[number]
        used = dict.fromkeys(members[b] for b in chain.colliders)
        groups.append(_bone_group(chain, list(used)))
    return {"extensions.VRM": vrm}


def _bone_group(chain: Chain, colliders: list[int]) -> dict:
    gravity = rotations.rotate(rotations.inverse(HALF_TURN), chain.gravity_dir.mean(axis=0))
    return {
        "comment": chain.name,
        "stiffiness": float(chain.stiffness.mean()),  # spelled so in the specification
        "gravityPower": float(chain.gravity_power.mean()),
        "gravityDir": _vector(gravity),
        "dragForce": float(chain.drag.mean()),
        "center": int(chain.center),
        "hitRadius": float(chain.hit_radius.mean()),
        "bones": [int(chain.joints[0])],
        "colliderGroups": colliders,
    }


def _collider_groups(rig: FittedRig, solids: list[dict]) -> list[int]:
    """The collider group of each collider of the rig; new ones are appended to `solids`."""
    own = [index for index, group in enumerate(solids) for _ in group.get("colliders") or ()]
    base = rig.base.hair.colliders
    members = []
    for index, collider in enumerate(rig.colliders):
        if index < len(base) and collider is base[index] and len(own) == len(base):
            members.append(own[index])
            continue
        members.append(len(solids))
        balls = [{"offset": _vector(at), "radius": float(radius)} for at, radius in _balls(rig, collider)]
        solids.append({"node": int(collider.node), "colliders": balls})
    return members


def _balls(rig: FittedRig, collider: Collider):
    """(centre, radius) of the balls that stand for a collider."""
    if collider.shape not in ("sphere", "capsule", "tapered_capsule") or collider.node < 0:
        where = f"collider {collider.name!r}"
        wanted = "balls and capsules on a node, all that VRM 0.x can come near to"
        raise AssetError(rig.base.file, where, f"a {collider.shape.replace('_', ' ')}", wanted)
    tail = collider.offset if collider.tail is None else collider.tail
    last = collider.radius if collider.tail_radius is None else collider.tail_radius
    length = float(np.linalg.norm(tail - collider.offset))
    count = 1 + int(np.ceil(length / max(CLOSE * min(collider.radius, last), 0.05 * length, 1e-9))) if length else 1
    for share in np.linspace(0.0, 1.0, count) if count > 1 else (0.0,):
        yield collider.offset + share * (tail - collider.offset), collider.radius + share * (last - collider.radius)


def _vector(at: np.ndarray) -> dict:
    """{x, y, z} in Unity's left-handed axes."""
    return {"x": float(at[0]), "y": float(at[1]), "z": -float(at[2])}

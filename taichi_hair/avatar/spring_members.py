"""A rig as VRMC_springBone: the top-level members of a glTF that hold its chains and colliders."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np

from .. import rotations
from ..hair import Chain, Collider, HairRig, Limit
from .own_shapes import OWN, extras_of, stand_in
from .springs import initial_frame


def spring_members(content: dict, rig: HairRig, store: Callable[[bytes], int]) -> dict:
    """Top-level members of a glTF that hold a rig as VRMC_springBone; segments without an end node get one, and
    colliders of the scene root a node that stays where it is. `store` puts bytes into the file and gives the number
    of their buffer view."""
    nodes = copy.deepcopy(content.get("nodes") or [])
    added = len(nodes)
    springs = []
    extras: set[str] = set()
    for chain in rig.chains:
        joints = [_joint(chain, j, extras) for j in range(len(chain))]
        end = int(chain.ends[-1])
        if end < 0:
            end = len(nodes)
            name = (nodes[int(chain.joints[-1])].get("name") or "joint") + "_end"
            nodes.append({"name": name, "translation": [float(v) for v in chain.tails[-1]]})
            holder = nodes[int(chain.joints[-1])]
            holder["children"] = [*(holder.get("children") or []), end]
        joints.append({"node": end})
        spring: dict = {"name": chain.name, "joints": joints}
        if chain.colliders:
            spring["colliderGroups"] = [len(springs)]
        if chain.center >= 0:
            spring["center"] = chain.center
        springs.append(spring)
    scenes, world = None, -1
    if any(c.node < 0 for c in rig.colliders):
        world = len(nodes)
        nodes.append({"name": "world"})
        scenes = copy.deepcopy(content.get("scenes") or [{}])
        scene = scenes[content.get("scene") or 0]
        scene["nodes"] = [*(scene.get("nodes") or []), world]
    colliders = [_collider(c, world, extras, store) for c in rig.colliders]
    groups = [{"name": c.name, "colliders": list(c.colliders)} for c in rig.chains]
    body: dict = {"specVersion": "1.0"}
    if colliders:
        body["colliders"] = colliders
        body["colliderGroups"] = [g for g in groups if g["colliders"]]
        number = {i: n for n, i in enumerate(i for i, g in enumerate(groups) if g["colliders"])}
        for index, spring in enumerate(springs):
            if "colliderGroups" in spring:
                spring["colliderGroups"] = [number[index]]
    if springs:
        body["springs"] = springs
    members: dict = {"extensions.VRMC_springBone": body}
    used = content.get("extensionsUsed")
    used = list(used) if isinstance(used, list) else []
    wanted = ["VRMC_springBone", *sorted(extras)]
    members["extensionsUsed"] = used + [name for name in wanted if name not in used]
    if len(nodes) > added:
        members["nodes"] = nodes
    if scenes is not None:
        members["scenes"] = scenes
    return members


def _joint(chain: Chain, j: int, extras: set[str]) -> dict:
    joint: dict = {
        "node": int(chain.joints[j]),
        "hitRadius": float(chain.hit_radius[j]),
        "stiffness": float(chain.stiffness[j]),
        "gravityPower": float(chain.gravity_power[j]),
        "gravityDir": [float(v) for v in chain.gravity_dir[j]],
        "dragForce": float(chain.drag[j]),
    }
    limit = chain.limits[j] if chain.limits is not None else None
    if limit is not None:
        extras.add("VRMC_springBone_limit")
        joint["extensions"] = {"VRMC_springBone_limit": _limit(limit, chain.tails[j])}
    return joint


def _limit(limit: Limit, tail: np.ndarray) -> dict:
    rotation = rotations.multiply(rotations.inverse(initial_frame(tail)), limit.rotation)
    keys = ("pitch", "yaw") if limit.kind == "spherical" else ("angle",)
    shape = {key: float(angle) for key, angle in zip(keys, limit.angles, strict=True)}
    return {"specVersion": "1.0-draft", "limit": {limit.kind: {**shape, "rotation": [float(v) for v in rotation]}}}


def _collider(collider: Collider, world: int, extras: set[str], store) -> dict:
    """A collider; extended shapes with the stand-in for older readers that the extension's specification proposes."""
    node = world if collider.node < 0 else collider.node
    own = extras_of(collider, store)
    return {"node": node, **_shape(collider, extras), **({} if own is None else {"extras": own})}


def _shape(collider: Collider, extras: set[str]) -> dict:
    offset = [float(v) for v in collider.offset]
    if collider.shape in OWN:
        return {"shape": stand_in(collider)}
    if collider.shape in ("sphere", "capsule"):
        shape: dict = {"offset": offset, "radius": float(collider.radius)}
        if collider.shape == "capsule":
            shape["tail"] = [float(v) for v in collider.tail]
        return {"shape": {collider.shape: shape}}
    extras.add("VRMC_springBone_extended_collider")
    if collider.shape == "plane":
        normal = [float(v) for v in collider.normal]
        extended = {"plane": {"offset": offset, "normal": normal}}
        far = [o - 10000.0 * n for o, n in zip(offset, normal, strict=True)]
        base = {"sphere": {"offset": far, "radius": 10000.0}}
    else:
        kind = collider.shape.removeprefix("inside_")
        body: dict = {"offset": offset, "radius": float(collider.radius), "inside": True}
        base = {"sphere": {"offset": [0.0, -10000.0, 0.0], "radius": 0.0}}
        if kind == "capsule":
            body["tail"] = [float(v) for v in collider.tail]
        extended = {kind: body}
    extension = {"VRMC_springBone_extended_collider": {"specVersion": "1.0", "shape": extended}}
    return {"shape": base, "extensions": extension}

"""VRM animation (VRMC_vrm_animation): which node of the file plays which role."""

from __future__ import annotations

from ..avatar.document import Document
from ..avatar.skeleton import Skeleton
from ..avatar.vrm import BONES, read_humanoid


def read_roles(document: Document, skeleton: Skeleton) -> tuple[list[str], dict[str, int]]:
    """Notes and role -> node of a VRM animation or a VRM 1.0 or 0.x avatar; an empty map for plain glTF.

    Files without `specVersion` are read as version 1.0. Face and gaze tracks are left out: they move no joint.
    """
    animation = document.root.extension("VRMC_vrm_animation")
    if animation is None:
        return [], _avatar_roles(document, skeleton)
    notes = []
    version = animation.text("specVersion", "")
    if version not in ("1.0", "1.0-draft"):
        notes.append(f"VRMC_vrm_animation: specVersion {version or 'is missing'}; read as 1.0")
    humanoid = animation.child("humanoid")
    bones = humanoid.child("humanBones") if humanoid is not None else None
    if bones is None:
        raise animation.error("humanoid", "no humanBones", "the nodes of the human bones")
    roles: dict[str, int] = {}
    owner: dict[int, str] = {}
    for role in bones.value:
        bone = bones.child(role)
        if bone is None:
            continue
        node = bone.integer("node", below=len(skeleton))
        if role not in BONES:
            notes.append(f"{bones.where}: {role!r} is no human bone; left out")
        elif node in owner:
            raise bones.error(role, f"node {node}, which is {owner[node]}", "a node of its own")
        else:
            roles[role] = node
            owner[node] = role
    for part in ("expressions", "lookAt"):
        if animation.has(part):
            notes.append(f"{animation.where}.{part}: moves no joint; left out")
    return notes, roles


def _avatar_roles(document: Document, skeleton: Skeleton) -> dict[str, int]:
    one = document.root.extension("VRMC_vrm")
    if one is not None:
        return read_humanoid(document, skeleton, one)
    zero = document.root.extension("VRM")
    if zero is not None:
        from ..avatar.secondary_animation import read_vrm0

        return read_vrm0(document, skeleton, zero).humanoid
    return {}

"""A VRM animation file: the avatar's skeleton without meshes, its humanoid map, and one animation."""

from __future__ import annotations

import numpy as np

from ..avatar.avatar import Avatar
from ..avatar.gltf import glb_bytes
from ..motion.retarget import avatar_roles
from .export import KEY, Packer, animation_of
from .tracks import Tracks


def vrma_bytes(avatar: Avatar, tracks: Tracks, facts: dict) -> bytes:
    """A .vrma (GLB): body tracks by role for VRM players, hair tracks on nodes with the avatar's own names.

    The skeleton faces +z, whatever the avatar's file does.
    """
    skeleton = avatar.skeleton
    nodes = []
    for node in range(len(skeleton)):
        body: dict = {"name": skeleton.names[node] or f"node{node}"}
        children = [int(c) for c in skeleton.children[node]]
        if children:
            body["children"] = children
        for key, value, rest in (
            ("translation", skeleton.translations[node], (0.0, 0.0, 0.0)),
            ("rotation", skeleton.rotations[node], (0.0, 0.0, 0.0, 1.0)),
            ("scale", skeleton.scales[node], (1.0, 1.0, 1.0)),
        ):
            if not np.array_equal(value, rest):
                body[key] = value.tolist()
        nodes.append(body)
    packer = Packer(0, 0, 0, 0)
    animation = animation_of(packer, tracks)
    animation["extras"] = {KEY: facts}
    bones = {role: {"node": node} for role, node in avatar_roles(avatar).items() if role not in ("leftEye", "rightEye")}
    content = {
        "asset": {"version": "2.0", "generator": f"taichi_hair {facts.get('version', '')}".strip()},
        "extensionsUsed": ["VRMC_vrm_animation"],
        "extensions": {"VRMC_vrm_animation": {"specVersion": "1.0", "humanoid": {"humanBones": bones}}},
        "scene": 0,
        "scenes": [{"nodes": [int(n) for n in np.flatnonzero(skeleton.parents < 0)]}],
        "nodes": nodes,
        "animations": [animation],
        "accessors": packer.accessors,
        "bufferViews": packer.views,
        "buffers": [{"byteLength": len(packer.data)}],
    }
    return glb_bytes(content, bytes(packer.data))

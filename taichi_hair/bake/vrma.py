"""A VRM animation file: a skeleton of human bones without rest rotations, the hair that hangs on it, one animation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import rotations
from ..avatar.avatar import Avatar
from ..avatar.gltf import glb_bytes
from ..avatar.skeleton import Skeleton
from ..motion.retarget import avatar_roles
from .export import KEY, Packer, animation_of
from .tracks import Tracks, body_tracks


@dataclass(frozen=True, eq=False)
class Lean:
    """The skeleton of a VRM animation. Human bones hang on human bones and rest along the world's axes.

    Players work out a bone's turn from the human bone above it and stumble over joints in between, so there are none.
    Hair joints, and what lies between them and the body, keep their rest rotations and names.
    """

    skeleton: Skeleton
    old: np.ndarray  # (M,) nodes of the avatar
    roles: dict[str, int]  # role -> node of this skeleton

    @property
    def new(self) -> dict[int, int]:
        return {int(node): k for k, node in enumerate(self.old)}


def lean(avatar: Avatar) -> Lean:
    """The lean skeleton of an avatar: metres, facing +z, whatever the avatar's own file does."""
    skeleton = avatar.skeleton
    roles = {r: n for r, n in avatar_roles(avatar).items() if r not in ("leftEye", "rightEye")}
    human = set(roles.values())
    kept = set(human)
    for chain in avatar.hair.chains:
        for node in (*chain.joints.tolist(), *[e for e in chain.ends.tolist() if e >= 0]):
            while node >= 0 and node not in kept:
                kept.add(int(node))
                node = int(skeleton.parents[node])
    old = np.array([n for n in skeleton.order.tolist() if n in kept], dtype=np.int64)
    new = {int(n): k for k, n in enumerate(old)}
    world = skeleton.rest_world[old]
    turns = rotations.from_matrix(world)
    turns[[new[n] for n in human]] = rotations.IDENTITY
    parents = np.full(len(old), -1)
    for k, node in enumerate(old.tolist()):
        above = int(skeleton.parents[node])
        while above >= 0 and (above not in human if node in human else above not in kept):
            above = int(skeleton.parents[above])
        parents[k] = new.get(above, -1)
    frame, places = _relative(parents, turns, world[:, :3, 3])
    names = tuple(skeleton.names[n] or f"node{n}" for n in old.tolist())
    lean_skeleton = Skeleton(names, parents, places, frame, np.ones((len(old), 3)))
    return Lean(lean_skeleton, old, {role: new[n] for role, n in roles.items()})


def _relative(parents: np.ndarray, turns: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Local rotations and translations of world rotations (..., M, 4) and places (..., M, 3)."""
    above = np.where((parents >= 0)[:, None], turns[..., parents, :], rotations.IDENTITY)
    at = np.where((parents >= 0)[:, None], places[..., parents, :], 0.0)
    back = rotations.inverse(above)
    return rotations.multiply(back, turns), rotations.rotate(back, places - at)


def lean_tracks(
    avatar: Avatar, bones: Lean, tracks: Tracks, times: np.ndarray, worlds: np.ndarray, skip: set[int] = frozenset()
) -> Tracks:
    """The tracks of a take on the lean skeleton; `worlds` (K, N, 4, 4) at times (K,) give the body, but for the nodes
    of the avatar in `skip`."""
    new, human = bones.new, set(bones.roles.values())
    rest = rotations.from_matrix(avatar.skeleton.rest_world)
    hair = []
    for track in tracks.tracks[: tracks.hair_tracks]:
        node, above = new[track.node], int(bones.skeleton.parents[new[track.node]])
        values = track.values
        if above in human:  # the frame above it rests along the world's axes now
            values = rotations.multiply(rest[bones.old[above]], values)
        hair.append(replace(track, node=node, values=values))
    done = {t.node for t in hair}
    left = {k for k, node in enumerate(bones.old.tolist()) if node in skip}
    body = body_tracks(bones.skeleton, times, *lean_pose(avatar, bones, worlds), skip=done | left)
    return replace(tracks, tracks=(*hair, *body), nodes=tuple(sorted(done)))


def lean_pose(avatar: Avatar, bones: Lean, worlds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Local translations (K, M, 3) and rotations (K, M, 4) of the lean skeleton in poses (K, N, 4, 4) of the avatar."""
    own, nodes = worlds[:, bones.old], sorted(bones.roles.values())
    turns = rotations.from_matrix(own)
    rest = rotations.from_matrix(avatar.skeleton.rest_world[bones.old[nodes]])
    turns[:, nodes] = rotations.multiply(turns[:, nodes], rotations.inverse(rest))
    turns, places = _relative(bones.skeleton.parents, turns, own[..., :3, 3])
    still = np.arange(places.shape[1]) != bones.roles["hips"]
    places[:, still] = bones.skeleton.translations[still]
    return places, turns


def vrma_bytes(bones: Lean, tracks: Tracks, facts: dict) -> bytes:
    """A .vrma (GLB): body tracks by role for VRM players, hair tracks on nodes with the avatar's own names."""
    skeleton = bones.skeleton
    nodes = []
    for node in range(len(skeleton)):
        body: dict = {"name": skeleton.names[node]}
        children = [int(c) for c in skeleton.children[node]]
        if children:
            body["children"] = children
        body["translation"] = skeleton.translations[node].tolist()
        if not np.array_equal(skeleton.rotations[node], rotations.IDENTITY):
            body["rotation"] = np.clip(skeleton.rotations[node], -1.0, 1.0).tolist()  # glTF refuses 1 + 4e-16
        nodes.append(body)
    packer = Packer(0, 0, 0, 0)
    animation = animation_of(packer, tracks)
    animation["extras"] = {KEY: facts}
    human = {role: {"node": node} for role, node in bones.roles.items()}
    content = {
        "asset": {"version": "2.0", "generator": f"taichi_hair {facts.get('version', '')}".strip()},
        "extensionsUsed": ["VRMC_vrm_animation"],
        "extensions": {"VRMC_vrm_animation": {"specVersion": "1.0", "humanoid": {"humanBones": human}}},
        "scene": 0,
        "scenes": [{"nodes": [int(n) for n in np.flatnonzero(skeleton.parents < 0)]}],
        "nodes": nodes,
        "animations": [animation],
        "accessors": packer.accessors,
        "bufferViews": packer.views,
        "buffers": [{"byteLength": len(packer.data)}],
    }
    return glb_bytes(content, bytes(packer.data))

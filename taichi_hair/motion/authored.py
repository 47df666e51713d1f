"""Chains that a clip itself animates: found by joint name, so that the solver can yield to the animator's hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import rotations
from ..avatar.avatar import Avatar
from ..hair import HairRig
from .clip import Clip

STILL = 1e-3  # radians: a track that never leaves its first key by more says nothing, exporters write them for all


def authored_tracks(clip: Clip, avatar: Avatar, roles: dict[str, int]) -> dict[int, dict[int, int]]:
    """Chain -> {avatar node: clip node} of chains of which the clip moves at least one joint.

    A clip's joint is the avatar's where the names are equal, each once in its file, and neither has a humanoid role. A
    track that does not move is no authored motion.
    """
    moving = {t.node for t in clip.tracks if t.path == "rotation" and _moves(t)}
    taken = set(clip.humanoid.values())
    by_name: dict[str, int | None] = {}
    for node, name in enumerate(clip.skeleton.names):
        by_name[name] = None if name in by_name or not name else node
    names = avatar.skeleton.names
    played = set(roles.values())
    found: dict[int, dict[int, int]] = {}
    for c, chain in enumerate(avatar.hair.chains):
        own = {}
        for node in chain.joints.tolist():
            source = by_name.get(names[node])
            if source is not None and source not in taken and node not in played and names.count(names[node]) == 1:
                own[node] = source
        if any(source in moving for source in own.values()):
            found[c] = own
    return found


def _moves(track) -> bool:
    points = track.values[:, 1] if track.interpolation == "CUBICSPLINE" else track.values
    return bool((rotations.angle(rotations.multiply(rotations.inverse(points[0]), points)) > STILL).any())


def without(rig: HairRig, chains) -> HairRig:
    """The rig without some chains. What hangs on a chain that is left out hangs on its joint as on a body's."""
    gone = set(chains)
    kept = [c for c in range(len(rig.chains)) if c not in gone]
    number = {c: k for k, c in enumerate(kept)}
    chains = []
    for c in kept:
        chain = rig.chains[c]
        parent = chain.parent
        if parent is not None:
            parent = (number[parent[0]], parent[1]) if parent[0] in number else None
        chains.append(replace(chain, parent=parent))
    return replace(rig, chains=tuple(chains))


def authored_rotations(
    clip: Clip, avatar: Avatar, tracks: dict[int, dict[int, int]], sampled: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (K,) and their local rotations (T, K, 4), of the clip's local rotations (T, N, 4): change from rest."""
    pairs = {node: source for own in tracks.values() for node, source in own.items()}
    nodes, sources = np.array(list(pairs), dtype=np.int64), np.array(list(pairs.values()), dtype=np.int64)
    change = rotations.multiply(rotations.inverse(clip.skeleton.rotations[sources]), sampled[:, sources])
    return nodes, rotations.multiply(avatar.skeleton.rotations[nodes], change)

"""Overlay: chains as thin tubes and colliders as glass shapes, drawn over the avatars on request."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..avatar.description import Avatar
from .glass import collider_mesh, strips

SIDES = 6  # of a chain's tube
TUBE = 0.0028  # metres, radius of a chain's tube; chosen for looks
TUBE_PIXELS = 1.5  # radius at least, so that chains are seen from afar
KNOT = 1.9  # radius of a joint, times the tube's
ROOT_COLOR = np.array([0.18, 0.02, 0.55])  # linear; strands run from violet at the root ...
TIP_COLOR = np.array([1.0, 0.45, 0.02])  # ... to orange at the tip


@dataclass(frozen=True, eq=False)
class Overlay:
    """Triangles over the picture; those before `first_chain` are colliders, the rest chains."""

    points: np.ndarray  # (V, 3) float32, metres
    normals: np.ndarray  # (V, 3) float32
    colors: np.ndarray  # (V, 4) float32, linear colour and opacity
    triangles: np.ndarray  # (T, 3) int32
    first_chain: int


def empty_overlay() -> Overlay:
    """An overlay with nothing on it."""
    return Overlay(
        np.zeros((1, 3), np.float32),
        np.zeros((1, 3), np.float32),
        np.zeros((1, 4), np.float32),
        np.zeros((1, 3), np.int32),
        0,
    )


def tube_radius(camera, height: int) -> float:
    """Radius in metres that shows a chain at the camera's target in a picture of that height."""
    return max(TUBE, TUBE_PIXELS * 2.0 * np.tan(0.5 * camera.fov) * camera.distance / height)


def overlay(scene, chains: bool = True, colliders: bool = True, tube: float = TUBE) -> Overlay | None:
    """Chains and colliders of all avatars of a scene in the pose it was last updated to; None when there is nothing.

    `tube` is the radius of a chain in metres.
    """
    shapes = []
    for avatar, worlds, offset in zip(scene.avatars, scene.worlds, scene.offsets, strict=True):
        if colliders:
            root = np.eye(4)
            root[:3, 3] = offset
            shapes += [collider_mesh(c, root if c.node < 0 else worlds[c.node]) for c in avatar.hair.colliders]
    split = sum(len(s[3]) for s in shapes)
    for avatar, worlds in zip(scene.avatars, scene.worlds, strict=True):
        if chains and avatar.hair.chains:
            shapes.append(_tubes(*_segments(avatar, worlds), tube))
    if not shapes:
        return None
    starts = np.concatenate([[0], np.cumsum([len(s[0]) for s in shapes])])
    points, normals, colors, triangles = zip(*shapes, strict=True)
    triangles = np.concatenate([t + s for t, s in zip(triangles, starts, strict=False)])
    packed = [np.ascontiguousarray(np.concatenate(x), dtype=np.float32) for x in (points, normals, colors)]
    return Overlay(*packed, np.ascontiguousarray(triangles, dtype=np.int32), split)


def _segments(avatar: Avatar, worlds: np.ndarray):
    """Starts (S, 3), ends (S, 3), places of both along their strand (S, 2) from 0 to 1."""
    starts, ends, along = [], [], []
    for chain in avatar.hair.chains:
        m = worlds[chain.joints]
        starts.append(m[:, :3, 3])
        ends.append(np.einsum("jab,jb->ja", m[:, :3, :3], chain.tails) + m[:, :3, 3])
        steps = np.arange(len(chain) + 1) / len(chain)
        along.append(np.stack([steps[:-1], steps[1:]], axis=1))
    return np.concatenate(starts), np.concatenate(ends), np.concatenate(along)


def _tubes(starts: np.ndarray, ends: np.ndarray, along: np.ndarray, tube: float):
    """Tapering tubes with a knot at each joint."""
    axis = ends - starts
    length = np.linalg.norm(axis, axis=1, keepdims=True)
    axis = np.where(length > 1e-9, axis / np.maximum(length, 1e-9), [0.0, 1.0, 0.0])
    side = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis), axis=1)])
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    other = np.cross(axis, side)
    turn = 2 * np.pi * np.arange(SIDES) / SIDES
    ring = np.cos(turn)[None, :, None] * side[:, None] + np.sin(turn)[None, :, None] * other[:, None]  # (S, SIDES, 3)
    # A knot (a bead of three rings), then the tube: rings at these places along the axis, in tube radii or segments.
    rings = [(-KNOT, 0.0, 0.2), (0.0, 0.0, KNOT), (KNOT, 0.0, 1.0), (0.0, 1.0, 0.6)]
    points, normals, colors = [], [], []
    for beads, share, radius in rings:
        centre = starts + axis * (np.minimum(beads * tube, 0.4 * length) + share * length)
        points.append(centre[:, None] + ring * (radius * tube))
        normals.append(ring)
        place = along[:, :1] + share * (along[:, 1:] - along[:, :1])
        color = ROOT_COLOR + place * (TIP_COLOR - ROOT_COLOR)
        rgba = np.concatenate([color, np.ones((len(color), 1))], axis=1)
        colors.append(np.repeat(rgba[:, None], SIDES, axis=1))
    stacked = [np.stack(x, axis=1).reshape(-1, np.shape(x)[-1]) for x in (points, normals, colors)]
    one = strips(len(rings), SIDES)
    offsets = np.arange(len(starts)) * (len(rings) * SIDES)
    return (*stacked, (one[None] + offsets[:, None, None]).reshape(-1, 3))

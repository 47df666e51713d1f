"""Small clips made by formula on a stick figure, for tests that need a body in motion and no file."""

from __future__ import annotations

import numpy as np

from taichi_hair import rotations
from taichi_hair.avatar.skeleton import Skeleton
from taichi_hair.motion.clip import Clip, KeyTrack


def person(arms_down=False, size=1.0, names=None) -> Skeleton:
    """The required joints of a person 1.5 m tall with identity rest rotations, facing +z."""
    points = {"hips": (None, (0, 0.9, 0)), "spine": ("hips", (0, 0.2, 0)), "head": ("spine", (0, 0.3, 0))}
    for side, x in (("left", 1.0), ("right", -1.0)):
        arm = np.array([0.0, -0.25, 0.0]) if arms_down else np.array([0.25 * x, 0.0, 0.0])
        points[f"{side}UpperArm"] = ("spine", (0.15 * x, 0.25, 0))
        points[f"{side}LowerArm"] = (f"{side}UpperArm", arm)
        points[f"{side}Hand"] = (f"{side}LowerArm", arm)
        points[f"{side}UpperLeg"] = ("hips", (0.1 * x, 0, 0))
        points[f"{side}LowerLeg"] = (f"{side}UpperLeg", (0, -0.42, 0))
        points[f"{side}Foot"] = (f"{side}LowerLeg", (0, -0.42, 0))
    order = list(points)
    parents = np.array([-1 if p is None else order.index(p) for p, _ in points.values()])
    places = size * np.array([at for _, at in points.values()], dtype=float)
    labels = tuple((names or {}).get(role, role) for role in order)
    count = len(order)
    return Skeleton(labels, parents, places, np.tile(rotations.IDENTITY, (count, 1)), np.ones((count, 3)))


def bouncing(seconds=1.0, keys=61, degrees=25.0) -> Clip:
    """The head swings aside and back, and turns about at full speed where the clip begins anew: a kink at its seam."""
    skeleton = person()
    times = np.linspace(0.0, seconds, keys)
    angle = np.radians(degrees) * np.sin(np.pi * times / seconds)
    turn = rotations.from_axis_angle(np.array([0.0, 1.0, 0.0]), angle)
    track = KeyTrack(skeleton.index("head"), "rotation", "LINEAR", times, turn)
    return Clip("bouncing", seconds, skeleton, (track,), {name: i for i, name in enumerate(skeleton.names)})


def nodding(seconds=1.0, keys=31, degrees=25.0, cycle=True) -> Clip:
    """The head nods and looks about once; without `cycle` it ends looking aside."""
    skeleton = person()
    times = np.linspace(0.0, seconds, keys)
    phase = 2.0 * np.pi * times / seconds * (1.0 if cycle else 0.7)
    yaw = rotations.from_axis_angle(np.array([0.0, 1.0, 0.0]), np.radians(degrees) * np.sin(phase))
    pitch = rotations.from_axis_angle(np.array([1.0, 0.0, 0.0]), np.radians(degrees / 2) * (1 - np.cos(phase)))
    node = skeleton.index("head")
    track = KeyTrack(node, "rotation", "LINEAR", times, rotations.multiply(yaw, pitch))
    roles = {name: i for i, name in enumerate(skeleton.names)}
    return Clip("nodding" if cycle else "looking aside", seconds, skeleton, (track,), roles)

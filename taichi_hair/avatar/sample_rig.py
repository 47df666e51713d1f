"""Colliders, spring groups and sleeve constraints of the built-in avatars."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .sample_body import ARM_Y, ARM_Z, bones
from .sample_mesh import other_side


@dataclass(frozen=True)
class Shape:
    """A collider in the rest pose: a sphere at `start`, or a capsule from `start` to `end`; metres, world."""

    group: str
    bone: str
    start: tuple[float, float, float]
    end: tuple[float, float, float] | None
    radius: float


def shapes(cloth: float) -> list[Shape]:
    """Colliders of the body under clothes `cloth` metres thick, a few millimetres inside the visible surface."""
    middle = [
        Shape("head", "head", (0.0, 1.440, 0.006), None, 0.0810),
        Shape("head", "head", (0.0, 1.432, -0.026), None, 0.0790),
        Shape("head", "head", (0.0, 1.368, 0.026), None, 0.0580),
        Shape("neck", "neck", (0.0, 1.270, -0.018), (0.0, 1.325, -0.008), 0.0330),
        Shape("torso", "upperChest", (-0.045, 1.165, -0.016), (0.045, 1.165, -0.016), 0.0640 + cloth),
        Shape("torso", "upperChest", (-0.040, 1.112, -0.002), (0.040, 1.112, -0.002), 0.0680 + cloth),
        Shape("torso", "chest", (-0.034, 1.020, -0.002), (0.034, 1.020, -0.002), 0.0560 + cloth),
        Shape("torso", "spine", (-0.034, 0.945, -0.002), (0.034, 0.945, -0.002), 0.0560 + cloth),
        Shape("hips", "hips", (-0.046, 0.840, -0.010), (0.046, 0.840, -0.010), 0.0780 + cloth),
    ]
    left = [
        Shape("shoulders", "leftShoulder", (0.050, 1.206, -0.018), (0.104, 1.206, -0.016), 0.0380 + cloth),
        Shape("arms", "leftUpperArm", (0.125, ARM_Y, ARM_Z), (0.320, ARM_Y, ARM_Z), 0.0310 + cloth),
        Shape("arms", "leftLowerArm", (0.340, ARM_Y, ARM_Z), (0.525, ARM_Y, ARM_Z), 0.0240 + cloth),
        Shape("hips", "leftUpperLeg", (0.068, 0.780, -0.002), (0.067, 0.470, 0.003), 0.0560),
    ]
    return middle + [s for one in left for s in (one, _mirrored(one))]


def _mirrored(shape: Shape) -> Shape:
    """The shape on the other side."""
    flip = [-1.0, 1.0, 1.0]
    end = None if shape.end is None else tuple(np.multiply(shape.end, flip))
    return Shape(shape.group, other_side(shape.bone), tuple(np.multiply(shape.start, flip)), end, shape.radius)


def sleeve_bones() -> dict[str, tuple[str, np.ndarray, dict]]:
    """Bones of wide sleeves: parent, world position, and the VRM node constraint whose `source` is a bone's name.

    The top turns half-way with the upper arm, so that the shoulder keeps its volume; the sleeve aims at the hand, so
    that it follows the elbow without the forearm's twist; the cuff takes half of the wrist's roll.
    """
    places = bones()
    found = {}
    for side, axis in (("left", "PositiveX"), ("right", "NegativeX")):
        sign = 1.0 if side == "left" else -1.0
        found[f"{side}SleeveTop"] = (
            f"{side}Shoulder",
            places[f"{side}UpperArm"][1],
            {"rotation": {"source": f"{side}UpperArm", "weight": 0.5}},
        )
        found[f"{side}Sleeve"] = (
            f"{side}UpperArm",
            places[f"{side}LowerArm"][1],
            {"aim": {"source": f"{side}Hand", "aimAxis": axis, "weight": 1.0}},
        )
        found[f"{side}Cuff"] = (
            f"{side}LowerArm",
            np.array([sign * 0.440, ARM_Y, ARM_Z]),
            {"roll": {"source": f"{side}Hand", "rollAxis": "X", "weight": 0.5}},
        )
    return found

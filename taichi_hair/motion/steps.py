"""Built-in clips, made by formula on a stick figure: the embedded default of demos, so that nothing is downloaded."""

from __future__ import annotations

import numpy as np

from .. import rotations
from ..avatar.skeleton import Skeleton
from .clip import Clip, KeyTrack

CLIPS = ("stroll", "dance", "look")
KEYS = 30  # a second
X, Y, Z = np.eye(3)
_SHAPE = {  # role: (joint above, metres from it); a person 1.6 m tall in a T-pose, facing +z
    "hips": (None, (0.0, 0.9, 0.0)),
    "spine": ("hips", (0.0, 0.1, 0.0)),
    "chest": ("spine", (0.0, 0.15, 0.0)),
    "neck": ("chest", (0.0, 0.25, 0.0)),
    "head": ("neck", (0.0, 0.08, 0.0)),
    "UpperArm": ("chest", (0.16, 0.2, 0.0)),
    "LowerArm": ("UpperArm", (0.25, 0.0, 0.0)),
    "Hand": ("LowerArm", (0.24, 0.0, 0.0)),
    "UpperLeg": ("hips", (0.09, -0.04, 0.0)),
    "LowerLeg": ("UpperLeg", (0.0, -0.4, 0.0)),
    "Foot": ("LowerLeg", (0.0, -0.38, 0.0)),
}


def stick_figure() -> Skeleton:
    """The skeleton of the built-in clips; its joints are named after their roles."""
    names, parents, places = [], [], []
    for role, (above, at) in _SHAPE.items():
        for side in ("left", "right") if role[0].isupper() else ("",):
            names.append(side + role)
            parents.append(-1 if above is None else names.index((side if above[0].isupper() else "") + above))
            places.append(np.array(at) * ((-1.0, 1.0, 1.0) if side == "right" else (1.0, 1.0, 1.0)))
    count = len(names)
    turns = np.tile(rotations.IDENTITY, (count, 1))
    return Skeleton(tuple(names), np.array(parents), np.array(places), turns, np.ones((count, 3)))


def _turn(axis: np.ndarray, degrees) -> np.ndarray:
    return rotations.from_axis_angle(axis, np.radians(degrees))


def _both(*turns: np.ndarray) -> np.ndarray:
    """The first turn after the second after the third ..."""
    out = turns[-1]
    for q in reversed(turns[:-1]):
        out = rotations.multiply(q, out)
    return out


def _arms(pose: dict, raise_left, raise_right, swing_left, swing_right, bend) -> None:
    """Arms from the T-pose: lowered by 75 degrees less what they are raised, swung forward, bent at the elbow."""
    for side, sign, up, swing in (("left", 1.0, raise_left, swing_left), ("right", -1.0, raise_right, swing_right)):
        pose[f"{side}UpperArm"] = _both(_turn(X, -swing), _turn(Z, sign * (up - 75.0)))
        pose[f"{side}LowerArm"] = _turn(Y, -sign * bend)


def _legs(pose: dict, phase: np.ndarray, stride: float, lift: float) -> None:
    """Legs that swing by `stride` degrees; the knee bends by `lift` while its leg comes forward."""
    for side, shift in (("left", 0.0), ("right", np.pi)):
        swing = stride * np.sin(phase + shift)
        knee = lift * np.clip(np.cos(phase + shift), 0.0, None) ** 2 + 4.0
        pose[f"{side}UpperLeg"] = _turn(X, -swing)
        pose[f"{side}LowerLeg"] = _turn(X, knee)
        pose[f"{side}Foot"] = _turn(X, swing - knee)


def _stroll(t: np.ndarray) -> tuple[dict, np.ndarray]:
    phase = 2.0 * np.pi * t / 1.1
    pose = {"hips": _turn(Y, 4.0 * np.sin(phase)), "chest": _turn(Y, -7.0 * np.sin(phase))}
    pose["head"] = _both(_turn(Y, 3.0 * np.sin(phase)), _turn(X, 2.0 * np.sin(2.0 * phase)))
    _legs(pose, phase, 24.0, 48.0)
    _arms(pose, 0.0 * t, 0.0 * t, -20.0 * np.sin(phase), 20.0 * np.sin(phase), 15.0 + 0.0 * t)
    way = np.stack([0.015 * np.sin(phase), 0.0 * t, 1.2 * t], axis=-1)
    return pose, way


def _dance(t: np.ndarray) -> tuple[dict, np.ndarray]:
    phase = 2.0 * np.pi * t / 4.0
    beat = 4.0 * phase
    pose = {"hips": _both(_turn(Y, 45.0 * np.sin(phase)), _turn(Z, 5.0 * np.sin(beat / 2.0)))}
    pose["chest"] = _both(_turn(Y, 20.0 * np.sin(2.0 * phase)), _turn(Z, -8.0 * np.sin(beat / 2.0)))
    pose["head"] = _both(_turn(Y, 30.0 * np.sin(beat / 2.0)), _turn(X, 10.0 * np.sin(beat)))
    _legs(pose, beat, 9.0, 25.0)
    high = 50.0 + 50.0 * np.sin(2.0 * phase)
    _arms(pose, high, 100.0 - high, 25.0 * np.sin(beat), -25.0 * np.sin(beat), 35.0 + 0.0 * t)
    way = np.stack([0.05 * np.sin(beat / 2.0), 0.0 * t, 0.0 * t], axis=-1)
    return pose, way


def _look(t: np.ndarray) -> tuple[dict, np.ndarray]:
    u = np.clip(t / 0.6, 0.0, 1.0)
    ease = u * u * (3.0 - 2.0 * u)
    pose = {"chest": _turn(Y, 25.0 * ease), "head": _both(_turn(Y, 45.0 * ease), _turn(X, -10.0 * ease))}
    _arms(pose, 0.0 * t, 0.0 * t, 0.0 * t, 0.0 * t, 10.0 + 0.0 * t)
    return pose, np.zeros((len(t), 3))


def _above_floor(figure: Skeleton, pose: dict) -> np.ndarray:
    """(T,) metres by which the lower ankle of a pose is above where ankles are at rest: the hips go down by it."""
    turns = np.repeat(figure.rotations[None], len(next(iter(pose.values()))), axis=0)
    for role, own in pose.items():
        turns[:, figure.index(role)] = own
    feet = [figure.index("leftFoot"), figure.index("rightFoot")]
    return (figure.world(None, turns)[:, feet, 1, 3] - figure.rest_world[feet, 1, 3]).min(axis=1)


_MADE = {"stroll": (_stroll, 1.1), "dance": (_dance, 4.0), "look": (_look, 1.5)}


def made_clip(name: str) -> Clip:
    """The built-in clip "stroll" (a walk cycle that goes forward), "dance" (a cycle) or "look" (no cycle: it ends
    looking over the shoulder)."""
    if name not in _MADE:
        raise ValueError(f"no built-in clip is called {name!r}; there are {', '.join(map(repr, CLIPS))}")
    make, seconds = _MADE[name]
    times = np.linspace(0.0, seconds, round(seconds * KEYS) + 1)
    pose, way = make(times)
    figure = stick_figure()
    tracks = [KeyTrack(figure.index(role), "rotation", "LINEAR", times, turns) for role, turns in pose.items()]
    hips = figure.index("hips")
    way[:, 1] -= _above_floor(figure, pose)
    tracks.append(KeyTrack(hips, "translation", "LINEAR", times, figure.translations[hips] + way))
    roles = {role: node for node, role in enumerate(figure.names)}
    return Clip(name, seconds, figure, tuple(tracks), roles, f"built-in clip {name}")

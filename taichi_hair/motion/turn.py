"""Head motions given by formulas: the standard turn, and others that show one quality of hair each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import rotations
from ..avatar.avatar import Avatar
from ..avatar.constraints import apply_constraints

ELBOWS = 12.0  # degrees that lowered arms bend; chosen for looks


def carrying_node(avatar: Avatar) -> int:
    """The node that a head motion turns: the humanoid head, else the node that carries the most hair, else -1."""
    if "head" in avatar.humanoid:
        return avatar.humanoid["head"]
    free = [chain.attach for chain in avatar.hair.chains if chain.parent is None and chain.attach >= 0]
    return max(sorted(set(free)), key=free.count) if free else -1


def yaw_pitch(yaw: np.ndarray, pitch: np.ndarray, roll: np.ndarray | None = None) -> np.ndarray:
    """Rotations (..., 4): roll about z first, then pitch about x, then yaw about y (radians)."""
    turn = rotations.multiply(
        rotations.from_axis_angle([0.0, 1.0, 0.0], yaw), rotations.from_axis_angle([1.0, 0.0, 0.0], pitch)
    )
    return turn if roll is None else rotations.multiply(turn, rotations.from_axis_angle([0.0, 0.0, 1.0], roll))


def window(t: np.ndarray, seconds: float, ramp: float = 0.25) -> np.ndarray:
    """1 within 0 <= t < seconds, rising and falling linearly over `ramp` seconds at the ends; 0 outside."""
    t = np.asarray(t, dtype=np.float64)
    inside = (t >= 0.0) & (t < seconds)
    return np.where(inside, np.clip(t / ramp, 0.0, 1.0) * np.clip((seconds - t) / ramp, 0.0, 1.0), 0.0)


def lowered_arms(avatar: Avatar, degrees: float) -> np.ndarray:
    """(N, 4, 4) world matrices of the rest pose with both upper arms lowered and the elbows a little bent forward.

    Node constraints follow, so that sleeves hang with the arms.
    """
    skeleton = avatar.skeleton
    own = rotations.from_matrix(skeleton.rest_world)
    local = skeleton.rotations.copy()
    for side, sign in (("left", -1.0), ("right", 1.0)):
        for role, axis, angle in (("UpperArm", [0.0, 0.0, 1.0], degrees), ("LowerArm", [0.0, 1.0, 0.0], ELBOWS)):
            node = avatar.humanoid.get(f"{side}{role}", -1)
            if node >= 0:
                turn = rotations.from_axis_angle(axis, sign * np.radians(angle))
                turned = rotations.multiply(turn, own[node])
                parent = skeleton.parents[node]
                above = own[parent] if parent >= 0 else rotations.IDENTITY
                local[node] = rotations.multiply(rotations.inverse(above), turned)
    return skeleton.world(rotations_=apply_constraints(skeleton, avatar.constraints, local))


@dataclass(frozen=True, eq=False)
class HeadMotion:
    """A head that turns and a body that is carried about, as a pure function of time.

    The turn is about the body's own axes (x left, y up, z forward) through the head joint, whatever axes the head node
    has at rest: `world = T(head) turn R_rest`. Where the head's rest axes are the body's, as in VRM 1.0 files, that is
    the head's rest rotation multiplied on the right by the turn. Hair keeps its rest rotations.

    `arms` lowers the upper arms from the rest pose by so many degrees: 0 measures in the pose that the file has, about
    70 is how a person stands.
    """

    avatar: Avatar
    seconds: float = 12.0
    arms: float = 0.0
    name = "still"
    over = 0.0  # seconds after which the body keeps still; None where it never does

    @property
    def loop(self) -> bool | None:
        """False where the last pose stays after `seconds`; None where the motion goes on."""
        return False if self.over is not None and self.over <= self.seconds else None

    def turn(self, times: np.ndarray) -> np.ndarray:
        """(T, 4) rotation of the head."""
        return np.broadcast_to(rotations.IDENTITY, np.shape(times) + (4,))

    def shift(self, times: np.ndarray) -> np.ndarray:
        """(T, 3) metres: where the whole body is carried."""
        return np.zeros(np.shape(times) + (3,))

    @cached_property
    def _parts(self) -> tuple[int, np.ndarray, np.ndarray]:
        skeleton = self.avatar.skeleton
        node = carrying_node(self.avatar)
        below = skeleton.below(node if node >= 0 else [])
        return node, below, lowered_arms(self.avatar, self.arms) if self.arms else skeleton.rest_world

    def worlds(self, times: np.ndarray) -> np.ndarray:
        """(T, N, 4, 4) world matrices of all nodes at times (T,) in seconds."""
        times = np.atleast_1d(np.asarray(times, dtype=np.float64))
        node, below, rest = self._parts
        worlds = np.repeat(rest[None], len(times), axis=0)
        if node >= 0:
            about = np.tile(np.eye(4), (len(times), 1, 1))
            about[:, :3, :3] = rotations.to_matrix(self.turn(times))
            pivot = rest[node, :3, 3]
            about[:, :3, 3] = pivot - about[:, :3, :3] @ pivot
            worlds[:, below] = about[:, None] @ rest[below]
        worlds[..., :3, 3] += self.shift(times)[:, None]
        return worlds


@dataclass(frozen=True, eq=False)
class HeadTurn(HeadMotion):
    """The standard turn: 4 s of motion, then rest. Yaw 60 degrees at 0.5 Hz, pitch 0.15 rad at 1 Hz, sideways 3 cm at
    0.5 Hz, with ramps of 0.25 s."""

    name = "turn"
    over = 4.0

    def turn(self, times: np.ndarray) -> np.ndarray:
        phase = 2.0 * np.pi * 0.5 * times
        size = window(times, 4.0)
        return yaw_pitch(size * (np.pi / 3.0) * np.sin(phase), size * 0.15 * np.sin(2.0 * phase))

    def shift(self, times: np.ndarray) -> np.ndarray:
        x = window(times, 4.0) * 0.03 * np.sin(2.0 * np.pi * 0.5 * times)
        return np.stack([x, 0.0 * x, 0.0 * x], axis=-1)


@dataclass(frozen=True, eq=False)
class Nod(HeadMotion):
    """A deep nod: pitch 26 degrees at 0.7 Hz for 4 s, then rest."""

    name = "nod"
    over = 4.0

    def turn(self, times: np.ndarray) -> np.ndarray:
        pitch = window(times, 4.0) * np.radians(26.0) * np.sin(2.0 * np.pi * 0.7 * times)
        return yaw_pitch(0.0 * pitch, pitch)


@dataclass(frozen=True, eq=False)
class Tilt(HeadMotion):
    """The head leans over its shoulder by `degrees` within half a second and stays there: what gravity does."""

    degrees: float = 30.0
    name = "tilt"
    over = 0.5

    def turn(self, times: np.ndarray) -> np.ndarray:
        u = np.clip(np.asarray(times) / 0.5, 0.0, 1.0)
        roll = np.radians(self.degrees) * u * u * (3.0 - 2.0 * u)
        return yaw_pitch(0.0 * roll, 0.0 * roll, roll)


@dataclass(frozen=True, eq=False)
class Sideways(HeadMotion):
    """The body sways 15 cm sideways at 0.8 Hz and 8 cm fore and aft at 1.1 Hz for 4 s, then rests."""

    name = "sideways"
    over = 4.0

    def shift(self, times: np.ndarray) -> np.ndarray:
        size = window(times, 4.0)
        x = size * 0.15 * np.sin(2.0 * np.pi * 0.8 * times)
        z = size * 0.08 * np.sin(2.0 * np.pi * 1.1 * times)
        return np.stack([x, 0.0 * x, z], axis=-1)


@dataclass(frozen=True, eq=False)
class Run(HeadMotion):
    """A run of 4 s at 3 m/s, 2.7 steps a second with a bounce of 4 cm and a slight roll and yaw; then it stops."""

    name = "run"
    over = 4.0

    def turn(self, times: np.ndarray) -> np.ndarray:
        size = window(times, 4.0)
        stride = 2.0 * np.pi * 1.35 * times
        return yaw_pitch(size * 0.06 * np.sin(stride), size * 0.04 * np.sin(2.0 * stride), size * 0.03 * np.sin(stride))

    def shift(self, times: np.ndarray) -> np.ndarray:
        t = np.clip(np.asarray(times, dtype=np.float64), 0.0, 4.0)
        ramp = 0.25
        # Integral of the speed, which rises and falls linearly over the ramps.
        rise = np.minimum(t, ramp)
        fall = np.clip(t - (4.0 - ramp), 0.0, ramp)
        z = 3.0 * (rise**2 / (2.0 * ramp) + np.clip(t - ramp, 0.0, 4.0 - 2.0 * ramp) + fall - fall**2 / (2.0 * ramp))
        y = window(times, 4.0) * 0.02 * (1.0 - np.cos(2.0 * np.pi * 2.7 * t))
        return np.stack([0.0 * z, y, z], axis=-1)


@dataclass(frozen=True, eq=False)
class StopTurn(HeadMotion):
    """A turn of 60 degrees within 0.4 s that stops and stays: what hair does after a stop."""

    seconds: float = 6.0
    name = "stop"
    over = 0.4

    def turn(self, times: np.ndarray) -> np.ndarray:
        u = np.clip(np.asarray(times) / 0.4, 0.0, 1.0)
        yaw = (np.pi / 3.0) * u * u * (3.0 - 2.0 * u)
        return yaw_pitch(yaw, 0.0 * yaw)


@dataclass(frozen=True, eq=False)
class Sine(HeadMotion):
    """A small endless yaw of 15 degrees at `hertz`: how far each part of a strand lags behind the head."""

    hertz: float = 1.0
    name = "sine"
    over = None

    def turn(self, times: np.ndarray) -> np.ndarray:
        yaw = np.clip(np.asarray(times) / 0.25, 0.0, 1.0) * np.radians(15.0)
        yaw = yaw * np.sin(2.0 * np.pi * self.hertz * np.asarray(times))
        return yaw_pitch(yaw, 0.0 * yaw)


MOTIONS = {kind.name: kind for kind in (HeadTurn, Nod, Tilt, Sideways, Run, StopTurn, Sine)}

"""Baked: one motion for one kind of avatar at tick rate, as the device keeps it and as the host looks it up (NumPy)."""

from __future__ import annotations

import numpy as np

from .. import rotations
from ..motion.body import Frames, Motion
from ..motion.track import Track
from . import layout as row
from .launch import anchor_records, clip_collider_records, jumps
from .layout import ONE
from .member import Kind

FASTEST = 4.0  # clip seconds a second
MARGIN = 2 * int(FASTEST) + 1  # frames past a round that a tick's path may reach into
LONGEST = 60_000  # ticks; a longer motion is asked for frame by frame instead


def same_side(q: np.ndarray) -> np.ndarray:
    """Quaternions (T, ..., 4) with signs so that every one is on the side of the one before it."""
    flips = np.sum(q[1:] * q[:-1], axis=-1) < 0.0
    sign = np.concatenate([np.ones((1, *flips.shape[1:])), np.where(np.cumsum(flips, axis=0) % 2 == 1, -1.0, 1.0)])
    return q * sign[..., None]


class Baked:
    """Frames of a motion, from 0 to its end, or to a little past one round where it goes round."""

    def __init__(self, kind: Kind, motion: Motion, rate: float) -> None:
        self.motion = motion
        self.rate = rate
        self.loops = bool(motion.loop)
        over = None if self.loops else getattr(motion, "over", None)
        ticks = max((motion.seconds if over is None else over) * rate, 1.0)
        self.period = max(round(ticks * ONE), ONE) if self.loops else 0
        count = int(np.ceil(ticks)) + 1 + (MARGIN if self.loops else 1)
        self.frames = Track(motion, kind.avatar.skeleton, kind.rig, rate).ticks(0, count)
        self.last = (count - 2) * ONE
        self.anchor_start = self.collider_start = 0  # columns on the device
        self.users = 0
        self.key: tuple[int, int, int] | None = None  # of the crowd that has it
        self.source: Motion | None = None  # what the crowd's user named it by

    @staticmethod
    def possible(motion: Motion, rate: float) -> bool:
        """Whether a motion says what comes after its `seconds` (it has `loop`), and is short enough to keep."""
        return getattr(motion, "loop", None) is not None and motion.seconds * rate <= LONGEST

    def finite(self) -> bool:
        return self.frames.finite()

    def anchor_columns(self, centered: np.ndarray) -> np.ndarray:
        """(CLIP_ANCHOR_ROWS, frames x anchors) float64."""
        f = self.frames
        first = f.part(0, 1)
        records = anchor_records(first, f, np.zeros(len(f), dtype=bool), np.zeros(len(centered), dtype=bool))
        out = np.zeros((len(f), row.CLIP_ANCHOR_ROWS, len(centered)))

        def put(at, value):
            out[:, at : at + value.shape[-1]] = np.moveaxis(value, -1, 1)

        out[:, row.CLIP_STEP : row.CLIP_STEP + 3] = records[:, row.STEP : row.STEP + 3]
        out[:, row.CLIP_SCALE] = f.scale
        put(row.CLIP_ATTACH, same_side(f.rotation))
        out[:, row.CLIP_JUMP] = jumps(first, f)[:, None]
        put(row.CLIP_CENTER, f.position - f.center_position)
        put(row.CLIP_CENTER_TURN, same_side(f.center_rotation))
        out[:, row.CLIP_CENTERED] = centered
        return np.moveaxis(out, 0, 1).reshape(row.CLIP_ANCHOR_ROWS, -1)

    def collider_columns(self, kind: Kind) -> np.ndarray:
        """(CLIP_COLLIDER_ROWS, frames x colliders) float64."""
        out = clip_collider_records(self.frames, kind.sizes)
        turn = slice(row.CLIP_TURN, row.CLIP_TURN + 4)
        out[:, turn] = np.moveaxis(same_side(np.moveaxis(out[:, turn], 1, 2)), 2, 1)
        return np.moveaxis(out, 0, 1).reshape(row.CLIP_COLLIDER_ROWS, -1)

    def after(self, phase: int, parts: int) -> int:
        """The phase that many parts of a tick later."""
        return (phase + parts) % self.period if self.loops else min(phase + parts, self.last)

    def at(self, phase: int) -> Frames:
        """The single frame at a phase, unplaced."""
        i, part = divmod(int(phase), ONE)
        if part == 0:
            return self.frames.part(i, i + 1)
        after = vars(self.frames.part(i + 1, i + 2))
        out, f = {}, part / ONE
        for name, a in vars(self.frames.part(i, i + 1)).items():
            turning = name.endswith("rotation")
            out[name] = (
                rotations.slerp(a, after[name], np.full(a.shape[:2], f)) if turning else a + (after[name] - a) * f
            )
        return Frames(**out)

    def positions(self, phases: np.ndarray) -> np.ndarray:
        """(M, A, 3) float64 attach points at phases (M,), unplaced."""
        i, part = np.divmod(phases, ONE)
        p = self.frames.position
        return p[i] + (p[np.minimum(i + 1, len(p) - 1)] - p[i]) * (part / ONE)[:, None, None]

    def seconds(self, phase: int) -> float:
        """The motion's own time at a phase."""
        return phase / ONE / self.rate


def placed_rotation(matrix: np.ndarray) -> tuple[np.ndarray, float]:
    """Rotation (4,) and size of a placement (4, 4)."""
    if np.array_equal(matrix[:3, :3], np.eye(3)):
        return rotations.IDENTITY, 1.0
    return rotations.from_matrix(matrix[:3, :3]), float(np.cbrt(abs(np.linalg.det(matrix[:3, :3]))))

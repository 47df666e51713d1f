"""Member: one avatar of a crowd, its columns in the fields, and what drives it from tick to tick."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..avatar.avatar import Avatar
from ..hair import HairRig
from ..motion.body import Frames, frames, interpolate
from ..motion.track import Track
from .constants import RigConstants
from .launch import ColliderSizes


@dataclass(frozen=True, eq=False)
class Kind:
    """An avatar with a rig, stored once for all its members."""

    avatar: Avatar
    rig: HairRig
    constants: RigConstants
    column: int  # first chain in HairModel
    centered: np.ndarray  # (A,) anchors with a centre
    sizes: ColliderSizes


class Member:
    """Mutable record of one avatar; positions in the fields are plain column numbers."""

    def __init__(self, kind: Kind, placement: np.ndarray, track: Track | None) -> None:
        self.kind = kind
        self.placement = placement  # (4, 4) float64
        self.track = track
        self.start_tick = 0  # tick of the crowd at which the motion's time is 0
        self.joint = self.slot = self.anchor = self.collider = 0
        self.before: Frames | None = None  # frames of the last tick, placed
        self.worlds: np.ndarray | None = None  # last driven pose, unplaced
        self.pending: Frames | None = None  # driven frames that the next ticks move to
        self.teleported = False
        self.problem: str | None = None

    def placed(self, unplaced: Frames) -> Frames:
        return unplaced.moved(self.placement)

    def drive(self, worlds: np.ndarray) -> None:
        """Take a pose (N, 4, 4) from an engine; ticks interpolate towards it."""
        self.worlds = worlds
        self.pending = self.placed(frames(self.kind.avatar.skeleton, self.kind.rig, worlds[None]))

    def frames(self, tick: int, ticks: int, left: int) -> Frames:
        """Placed frames of the next `ticks` ticks after crowd tick `tick`; `left` ticks are left of this frame."""
        if self.track is not None:
            start = tick - self.start_tick + 1
            return self.placed(self.track.ticks(start, start + ticks))
        if self.pending is None:
            return self.before.repeated(ticks)
        if not self.pending.finite():
            return self.pending.repeated(ticks)
        return interpolate(self.before, self.pending, left).part(0, ticks)

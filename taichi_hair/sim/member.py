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
from .layout import ONE
from .reduction import Reduction


@dataclass(frozen=True, eq=False)
class Kind:
    """An avatar with a rig, stored once for all its members."""

    avatar: Avatar
    rig: HairRig
    constants: RigConstants
    column: int  # first chain in HairModel
    centered: np.ndarray  # (A,) anchors with a centre
    sizes: ColliderSizes
    stride: int = 1  # ticks of the crowd that are one of this kind
    seconds: float = 1.0 / 120.0  # of one tick of this kind
    reduction: Reduction | None = None  # where `rig` is a reduced one


class Member:
    """Mutable record of one avatar; positions in the fields are plain column numbers.

    Its body comes from a clip on the device, from a track that the host reads tick by tick, or from an engine. Clip
    times are whole parts of a tick. The host counts them as the device does, from the tick at which it last wrote them.
    """

    def __init__(self, kind: Kind, placement: np.ndarray) -> None:
        self.kind = kind  # what it is
        self.run = kind  # what the device runs of it at its level of detail
        self.placement = placement  # (4, 4) float64
        self.joint = self.slot = self.anchor = self.collider = 0
        self.clip = None  # Baked
        self.pilot = -1  # column of HairClip.pilot
        self.phase = self.owed = 0  # of the clip, at `since`
        self.played = 0  # parts of a tick of its motion, however often it went round
        self.since = 0  # tick of the crowd
        self.speed = self.time_scale = ONE
        self.paused_scale: int | None = None  # time scale to go on with
        self.hidden = self.frozen = False
        self.level = "full"
        self.seat = -1  # column of HairTable.seat, where a table poses it
        self.fade: tuple[np.ndarray, int] | None = None  # (S, 3) way to what was shown at a tick, in attach frames
        self.track: Track | None = None
        self.start_tick = 0  # tick of the crowd at which the track's time is 0
        self._before: Frames | None = None
        self.worlds: np.ndarray | None = None  # last driven pose, unplaced
        self.pending: Frames | None = None  # driven frames that the next ticks move to
        self.teleported = False
        self.told_to_jump = -1  # tick of the crowd at which the device was told
        self.problem: str | None = None

    @property
    def stride(self) -> int:
        """Ticks of the crowd that are run as one."""
        return self.run.stride

    def placed(self, unplaced: Frames) -> Frames:
        return unplaced.moved(self.placement)

    def count(self, tick: int) -> None:
        """Bring phase and owed time to a tick of the crowd."""
        if self.clip is not None and tick > self.since:
            total = self.owed + (tick - self.since) * self.time_scale
            runs, self.owed = divmod(total, self.stride * ONE)
            parts = runs * self.stride * self.speed
            self.phase = self.clip.after(self.phase, parts)
            self.played += parts
        self.since = tick

    def fraction(self, tick: int, share: float) -> float:
        """How far the display is from the tick before last to the last, `share` of a crowd's tick after `tick`."""
        if self.clip is None:
            return share
        self.count(tick)
        return min((self.owed + share * self.time_scale) / (self.stride * ONE), 1.0) if self.time_scale else 1.0

    def before(self, tick: int) -> Frames:
        """Placed single frame of the last tick that ran, at a tick of the crowd."""
        if self.clip is not None:
            self.count(tick)
            return self.placed(self.clip.at(self.phase))
        return self._before

    def scale(self) -> np.ndarray:
        """(A,) scale of each attach node at the tick that was counted last; of a clip's before it is placed."""
        return self._before.scale[0] if self.clip is None else self.clip.frames.scale[self.phase // ONE]

    def keep(self, last: Frames | None) -> None:
        """The placed single frame that the host's next tick follows."""
        self._before = last

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
            return self._before.repeated(ticks)
        if not self.pending.finite():
            return self.pending.repeated(ticks)
        return interpolate(self._before, self.pending, left).part(0, ticks)

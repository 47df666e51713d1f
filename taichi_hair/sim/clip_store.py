"""ClipStore: the baked motions of all crowds of this process, and the columns of those who play them."""

from __future__ import annotations

import numpy as np

from . import layout as row
from .baked import Baked, placed_rotation
from .clips import clip_storage, write_clip, write_pilots
from .member import Kind, Member
from .roster import Roster
from .storage import Pool, write, write_columns


class ClipStore:
    """Owner of the HairClip fields: grows in rare big steps, hands out columns and takes them back."""

    def __init__(self, *, anchors: int = 2048, colliders: int = 8192, pilots: int = 256) -> None:
        self.pools = {"anchor": Pool(anchors), "collider": Pool(colliders), "pilot": Pool(pilots)}
        self._active: Roster | None = None
        self.centered = False  # whether any motion has had a centre; without, kernels are compiled without
        self._allocate()

    def _allocate(self) -> None:
        self.clip, self._block = clip_storage(*(p.capacity for p in self.pools.values()))
        self._active = None

    def _grow(self) -> None:
        if any(p.short for p in self.pools.values()):
            names = ("anchor", "collider", "pilot", "place")
            old = {name: getattr(self.clip, name).to_numpy() for name in names}
            self._block.destroy()
            for p in self.pools.values():
                p.grow()
            self._allocate()
            for name in names:
                write(getattr(self.clip, name), old[name])

    def add(self, baked: Baked, kind: Kind) -> None:
        """Keep a motion on the device."""
        anchor, collider = baked.anchor_columns(kind.centered), baked.collider_columns(kind)
        count = collider.shape[1]
        baked.anchor_start = self.pools["anchor"].take(anchor.shape[1])
        baked.collider_start = self.pools["collider"].take(count)
        self._grow()
        if not count:
            collider = np.zeros((len(collider), 1))  # an array without elements is none to a kernel
        starts = baked.anchor_start, baked.collider_start
        write_clip(self.clip, *(np.ascontiguousarray(v, dtype=np.float32) for v in (anchor, collider)), *starts, count)
        self.centered = self.centered or bool(kind.centered.any())

    def drop(self, baked: Baked, kind: Kind) -> None:
        """Forget a motion."""
        count = len(baked.frames)
        self.pools["anchor"].give(baked.anchor_start, count * kind.constants.anchors)
        self.pools["collider"].give(baked.collider_start, count * len(kind.sizes))

    def seat(self, members: list[Member]) -> None:
        """Give members that play a clip their columns."""
        for m in members:
            m.pilot = self.pools["pilot"].take(1)
        self._grow()

    def unseat(self, member: Member) -> None:
        self.pools["pilot"].give(member.pilot, 1)
        member.pilot = -1

    def write_pilots(self, members: list[Member]) -> None:
        """What the host says about members that play clips."""
        if not members:
            return
        pilot = np.zeros((len(members), row.PILOT_ROWS), dtype=np.int32)
        place = np.zeros((len(members), row.PLACE_ROWS), dtype=np.float32)
        for k, m in enumerate(members):
            c = m.clip
            pilot[k] = (
                c.anchor_start,
                c.collider_start,
                m.phase,
                m.speed,
                c.period,
                c.last,
                m.time_scale,
                m.owed,
                m.stride,
                m.anchor,
                m.kind.constants.anchors,
                m.collider,
                0 if m.frozen else len(m.kind.sizes),  # what is only carried meets nothing
                2 if m.frozen else m.teleported,
            )
            place[k, row.PLACE_TURN : row.PLACE_TURN + 4], place[k, row.PLACE_SIZE] = placed_rotation(m.placement)
            if m.teleported:
                m.teleported, m.told_to_jump = False, m.since
        write_pilots(self.clip, pilot, place, np.array([m.pilot for m in members], dtype=np.int32))

    def use(self, active: Roster) -> None:
        """The pilots that the next launch poses."""

        def send(values, columns):
            write_columns(self.clip.active, values, columns)

        active.upload(send, self._active is not active)
        self._active = active


_shared: ClipStore | None = None


def shared_clips() -> ClipStore:
    """The clips of this process, made when the first crowd asks for them."""
    global _shared
    if _shared is None:
        _shared = ClipStore()
    return _shared

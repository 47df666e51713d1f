"""Playing: who plays what in a crowd. Clips run on the device, bodies that an engine moves on the host."""

from __future__ import annotations

import numpy as np

from ..motion.body import Frames, Motion, Still
from ..motion.carried import carry
from ..motion.track import Track
from . import layout as row
from .baked import FASTEST, Baked
from .clip_store import shared_clips
from .clips import pose_members
from .launch import anchor_records, collider_records, jumps
from .layout import ONE
from .member import Kind, Member
from .quick import launch
from .roster import Roster
from .storage import Storage
from .ticks import Clock

SERIAL_MEMBERS = 100  # below it, waking a second CPU thread to pose them costs more than it saves


def _key(kind: Kind, source: Motion | None) -> tuple[int, int, int]:
    """What a motion of a kind is kept under; `source`: what the caller named it by."""
    return id(kind.avatar), id(kind.rig), 0 if source is None else id(source)


class Playing:
    """The bodies of a crowd: what each plays, and the anchors and colliders of a launch."""

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self.storage, self.clock = storage, clock
        self.store = shared_clips()
        self.hosted: dict[int, Member] = {}  # those whose body the host moves
        self.rushed: dict[int, Member] = {}  # those whose time runs faster than the crowd's
        self.baked: dict[tuple[int, int, int], Baked] = {}
        self.active = Roster(1)  # pilots that are posed
        self.forget = lambda clip: None  # what else is kept of a clip that is gone

    def pose(self, i: int, m: Member) -> None:
        """Pose a member in every launch from now on."""
        if m.clip is not None and m.seat < 0 and i not in self.active:
            self.active.add(i, np.array([[m.pilot]]))

    def rush(self, i: int, m: Member) -> None:
        """Keep account of whose time runs fast."""
        self.rushed.pop(i, None)
        if m.time_scale > ONE:
            self.rushed[i] = m

    def parts(self) -> int:
        """Launches that one tick of the crowd needs: those whose time runs fast run several ticks in it."""
        return -(-max((m.time_scale for m in self.rushed.values()), default=ONE) // ONE)

    def launch(self, tick: int, ticks: int, left: int, between: bool) -> None:
        """Anchors and colliders of the ticks after crowd tick `tick`, or of what fast members owe `between` two."""
        self._upload_hosted(tick, ticks, left, between)
        count = self.active.count
        if count:
            self.store.use(self.active)
            needs = self.storage.model.solid, self.store.centered
            fields, serial = (self.storage.state, self.store.clip), count < SERIAL_MEMBERS
            launch(pose_members, *fields, count, ticks, not between, serial, *needs)

    def cast(self, members: dict[int, Member], motion: Motion | None, phase, speed) -> None:
        """Give members a motion: on the device where it can be kept there, else tick by tick from the host."""
        carried = {}
        for m in members.values():
            skeleton = m.kind.avatar.skeleton
            if id(skeleton) not in carried:
                known = self.baked.get(_key(m.kind, motion))
                if known is None:
                    own = carry(motion or Still(skeleton, seconds=self.clock.tick), skeleton)
                carried[id(skeleton)] = own if known is None else known.motion
        phases = np.broadcast_to(np.asarray(phase, dtype=np.float64), (len(members),))
        speeds = np.broadcast_to(np.asarray(speed, dtype=np.float64), (len(members),))
        if not (np.isfinite(phases).all() and (speeds >= 0.0).all() and (speeds <= FASTEST).all()):
            raise ValueError(f"motion: phase {phase} and speed {speed}, wanted finite seconds and 0 to {FASTEST:g}")
        for i, m in members.items():
            self.uncast(i, m)
        new = []
        for (i, m), start_at, pace in zip(members.items(), phases, speeds, strict=True):
            m.start_tick = m.since = self.clock.ticks
            m.owed = 0
            own = carried[id(m.kind.avatar.skeleton)]
            clip = self._clip(m.kind, own, motion)
            if clip is None:
                if start_at != 0.0 or pace != 1.0:
                    raise ValueError(
                        f"motion {own.name!r}: does not say what follows its end, so phase and speed are its own"
                    )
                m.track = Track(own, m.kind.avatar.skeleton, m.kind.rig, self.clock.rate)
                self.hosted[i] = m
                continue
            m.clip, m.speed = clip, round(pace * ONE)
            clip.users += 1
            m.played = m.phase = clip.after(0, max(round(start_at * self.clock.rate * ONE), 0))
            new.append(m)
        self.store.seat(new)

    def _clip(self, kind: Kind, motion: Motion, source: Motion | None) -> Baked | None:
        """The motion as the device keeps it; None where it cannot. `source`: what the caller named it by."""
        if not kind.constants.anchors or not Baked.possible(motion, self.clock.rate):
            return None
        key = _key(kind, source)
        if key not in self.baked:
            baked = Baked(kind, motion, self.clock.rate)
            if not baked.finite():
                return None
            self.store.add(baked, kind)
            baked.key, baked.source = key, source
            self.baked[key] = baked
        return self.baked[key]

    def uncast(self, i: int, m: Member) -> None:
        """Take a member's motion away."""
        if m.clip is not None:
            m.count(self.clock.ticks)
            m.clip.users -= 1
            if not m.clip.users:
                self.forget(m.clip)
                self.store.drop(m.clip, m.kind)
                del self.baked[m.clip.key]
            self.store.unseat(m)
            self.active.remove(i)
        self.hosted.pop(i, None)
        m.clip = m.track = None

    def tell(self, members: dict[int, Member]) -> None:
        """Write what the host has changed of members that play clips, and pose those that are seen."""
        for m in members.values():
            m.count(self.clock.ticks)
        self.store.write_pilots([m for m in members.values() if m.clip is not None])
        for i, m in members.items():
            if not m.hidden:
                self.pose(i, m)

    def attach_points(self, members: list[Member]) -> np.ndarray:
        """(M, A, 3) float64 world positions of the attach nodes of members of one kind at the last tick."""
        points = np.zeros((len(members), members[0].kind.constants.anchors, 3))
        played: dict[int, list[int]] = {}
        for k, m in enumerate(members):
            if m.clip is not None:
                m.count(self.clock.ticks)
                played.setdefault(id(m.clip), []).append(k)
            else:
                points[k] = m.before(self.clock.ticks).position[0]
        for group in played.values():
            phases = np.array([members[k].phase for k in group])
            points[group] = members[group[0]].clip.positions(phases)
        placements = np.array([m.placement for m in members])
        for k, m in enumerate(members):
            if m.clip is not None and not np.array_equal(m.placement[:3, :3], np.eye(3)):
                points[k] = points[k] @ m.placement[:3, :3].T
        return points + placements[:, None, :3, 3]

    def _upload_hosted(self, tick: int, ticks: int, left: int, between: bool) -> None:
        """Anchors and colliders of the members whose body the host moves."""
        members = [m for m in self.hosted.values() if m.kind.constants.anchors and not m.hidden]
        if not members:
            return
        anchors, colliders, anchor_columns, collider_columns = [], [], [], []
        for m in members:
            last = m.before(tick)
            if m.time_scale == 0 or between:
                m.start_tick += 0 if between else ticks
                following, held = last.repeated(ticks), True
            else:
                following: Frames = m.frames(tick, ticks, left)
                held = not following.finite()
                if held:
                    m.problem = "its pose is not finite: the last good state is kept"
                    following = last.repeated(ticks)
            rigid = jumps(last, following)
            rigid[0] |= m.teleported
            rigid |= m.frozen
            record = anchor_records(last, following, rigid, m.kind.centered)
            record[:, row.HOLD] = held
            anchors.append(record)
            anchor_columns.append(m.anchor + np.arange(m.kind.constants.anchors))
            if len(m.kind.sizes):
                colliders.append(collider_records(last, following, m.kind.sizes, record))
                collider_columns.append(m.collider + np.arange(len(m.kind.sizes)))
            m.keep(following.part(ticks - 1, ticks))
            m.teleported = m.teleported and held
        store = self.storage
        store.write_ticks("anchor", np.concatenate(anchors, axis=2), np.concatenate(anchor_columns))
        if colliders:
            store.write_ticks("collider", np.concatenate(colliders, axis=2), np.concatenate(collider_columns))

"""Crowd: avatars in, time in, hair out. The only object that owns fields and advances them."""

from __future__ import annotations

import logging
import weakref
from time import perf_counter

import numpy as np

from ..avatar.avatar import Avatar
from ..hair import HairRig
from ..motion.body import Motion
from ..motion.carried import lengthened
from ..rig.fitted import owner
from . import layout as row
from .baked import FASTEST
from .layout import ONE
from .levels import Levels
from .lod import Budget
from .member import Kind, Member
from .playing import Playing
from .quick import launch
from .reading import Readers
from .roster import Roster
from .settling import settle
from .solvers.kinds import CONTACTS, SOLVERS
from .solvers.step import carry_frozen, run_frame, run_phases
from .start import give_back, placements, release, start
from .storage import shared_storage, write_columns
from .tables import Tables
from .ticks import Clock, Step

log = logging.getLogger("taichi_hair")

SERIAL_MEMBERS = 100  # the same for posing them
BONE_LENGTHS = ("measured", "exact")
SERIAL_FAMILIES = 1200  # below it, waking a second CPU thread costs more than it saves (measured, see benchmarks)


class Crowd(Levels, Readers):
    """Hair of many avatars under one solver.

    solver: "rod" (ours), "arc" (the published update) or "spring-bone" (VRM 1.0 reference). contact: "segment" (whole
    segments, no rebound), "end" (end points as the VRM reference, `spring-bone` only) or "off"; by default "end" for
    `spring-bone` and "segment" for the others. rate: ticks a second. sag_free: the authored style already carries
    gravity. keep_overlap: hair that lies inside a collider in the rest pose may stay as deep as that; without it, it is
    pushed out in the first tick, which changes the style (the end points of `spring-bone` always are). bone_length:
    what `spring-bone` takes for a bone's length, "measured" anew in each tick as three-vrm does, or "exact". phases:
    run one kernel per phase instead of the frame kernel (same bits, slower).
    """

    def __init__(
        self,
        solver: str = "rod",
        *,
        rate: float = 120.0,
        contact: str | None = None,
        sag_free: bool = True,
        keep_overlap: bool = True,
        bone_length: str = "measured",
        phases: bool = False,
    ) -> None:
        if solver not in SOLVERS:
            raise ValueError(f"solver: {solver!r} is unknown, wanted one of {', '.join(SOLVERS)}")
        contact = contact or ("end" if solver == "spring-bone" else "segment")
        if contact not in CONTACTS:
            raise ValueError(f"contact: {contact!r} is unknown, wanted one of {', '.join(CONTACTS)}")
        if contact == "end" and solver != "spring-bone":
            raise ValueError(f"contact: 'end' belongs to spring-bone, wanted 'segment' or 'off' for {solver}")
        self.solver, self.contact, self.sag_free, self.phases = solver, contact, sag_free, phases
        if bone_length not in BONE_LENGTHS:
            raise ValueError(f"bone_length: {bone_length!r} is unknown, wanted one of {', '.join(BONE_LENGTHS)}")
        self.keep_overlap, self.bone_length = keep_overlap, bone_length
        self.clock = Clock(rate)
        self._storage = shared_storage()
        self._members: dict[int, Member] = {}
        self._kinds: dict[tuple[int, int, int, bool], Kind] = {}
        self._families = Roster(2)  # FAMILY_START and FAMILY_SIZE of every chain family that is simulated
        self._frozen = Roster(2)  # families that are only carried
        self._playing = Playing(self._storage, self.clock)
        self._tables = Tables(self._storage, self._playing.store)
        self._playing.forget = self._tables.forget
        self._budget: Budget | None = None
        self.frame_ms = 0.0  # milliseconds that the last `advance` took; a GPU may still be at work
        self._next = 0
        weakref.finalize(self, release, self._storage, self._playing, self._tables, self._members, self._kinds)

    @property
    def time(self) -> float:
        """Seconds simulated."""
        return self.clock.time

    @property
    def ids(self) -> np.ndarray:
        """(M,) ids of all members, oldest first."""
        return np.array(list(self._members), dtype=np.int64)

    @property
    def problems(self) -> dict[int, str]:
        """Members whose input was not finite in the last frame: they keep their last good state."""
        return {i: m.problem for i, m in self._playing.hosted.items() if m.problem}

    def add(
        self,
        avatar: Avatar,
        rig: HairRig | None = None,
        *,
        count: int = 1,
        motion: Motion | None = None,
        at: np.ndarray | None = None,
        phase: float | np.ndarray = 0.0,
        speed: float | np.ndarray = 1.0,
    ) -> np.ndarray:
        """Add `count` members of one avatar; returns their ids (count,), which are a group to pass to every other call.

        rig: the file's own hair unless given. motion: plays from now on; without one the avatar stands in its rest pose
        until `play` or `drive` is called. at: (3,) or (count, 3) positions in metres, or (4, 4) or (count, 4, 4)
        placements. phase: seconds, and speed: motion seconds a second, of the motion, one for all or (count,).
        """
        rig = avatar.hair if rig is None else rig
        avatar = owner(avatar, rig)
        kind = self._kind(avatar, rig)
        places = placements(at, count)
        members = []
        pools = self._storage.state_pools
        for placement in places:
            member = Member(kind, placement)
            member.joint = pools["joint"].take(kind.constants.joint.shape[1])
            member.slot = pools["slot"].take(len(kind.constants.chain_anchor))
            member.anchor = pools["anchor"].take(kind.constants.anchors)
            member.collider = pools["collider"].take(len(kind.sizes))
            members.append(member)
        self._storage.grow_state()
        ids = np.arange(self._next, self._next + count, dtype=np.int64)
        self._next += count
        self._members.update(zip(ids.tolist(), members, strict=True))
        self._playing.cast({i: self._members[i] for i in ids.tolist()}, motion, phase, speed)
        self._start(members)
        for i, member in zip(ids.tolist(), members, strict=True):
            self._simulate(i, member)
        return ids

    def remove(self, ids) -> None:
        """Take members out; their columns are used again by the next of the same kind."""
        for i in self._wanted(ids):
            member = self._members.pop(i)
            self._rest(i)
            self._tables.unseat([member])
            self._playing.uncast(i, member)
            self._playing.rushed.pop(i, None)
            give_back(self._storage, member)

    def play(
        self, ids, motion: Motion | None, *, phase: float | np.ndarray = 0.0, speed: float | np.ndarray = 1.0
    ) -> None:
        """Other motions from now on; hair is carried over rigidly. `phase` and `speed` as in `add`."""
        wanted = self._wanted(ids)
        posed = [i for i in wanted if self._members[i].seat >= 0]
        self.set_level(posed, "full")
        before = [self._members[i].before(self.clock.ticks) for i in wanted]
        self._playing.cast({i: self._members[i] for i in wanted}, motion, phase, speed)
        for i, last in zip(wanted, before, strict=True):
            member = self._members[i]
            member.teleported = True
            member.keep(last)
            anchors = member.anchor + np.arange(member.kind.constants.anchors)
            write_columns(self._storage.state.attach, last.rotation[0].T, anchors)
        self._settle(wanted)
        self._tell(wanted)
        self.set_level([i for i in posed if self._members[i].clip is not None], "lut")

    def pause(self, ids=None) -> None:
        """Let time stand still for members: body and hair."""
        for i in self._wanted(ids):
            member = self._members[i]
            member.count(self.clock.ticks)
            if member.paused_scale is None:
                member.paused_scale, member.time_scale = member.time_scale, 0
        self._tell(ids)

    def resume(self, ids=None) -> None:
        """Go on after `pause`."""
        for i in self._wanted(ids):
            member = self._members[i]
            member.count(self.clock.ticks)
            if member.paused_scale is not None:
                member.time_scale, member.paused_scale = member.paused_scale, None
        self._tell(ids)

    def set_time_scale(self, ids, scale: float) -> None:
        """Slow or fast motion, 0 to 4: whole ticks come less or more often, so that each still means the same."""
        if not 0.0 <= scale <= FASTEST:
            raise ValueError(f"time scale: found {scale}, wanted 0 to {FASTEST:g}")
        for i in self._wanted(ids):
            member = self._members[i]
            if member.clip is None:
                raise ValueError(f"time scale: the body of member {i} is not on the device, its owner sets its time")
            member.count(self.clock.ticks)
            member.time_scale, member.paused_scale = round(scale * ONE), None
            self._playing.rush(i, member)
        self._tell(ids)

    def reset(self, ids=None) -> None:
        """Hair at rest on the present pose; motions start again from their beginning."""
        members = [self._members[i] for i in self._wanted(ids)]
        for m in members:
            m.start_tick = m.since = self.clock.ticks
            m.phase = m.owed = m.played = 0
        self._start(members)

    def settle(self, ids=None, seconds: float = 3.0) -> None:
        """Let the hair of members at level "full" come to rest on the pose that their bodies hold: `seconds` of
        standing still, of which the crowd's clock and its other members know nothing.

        A clip that begins in a pose where the rest shape lies inside the body needs it, or contact throws the hair out
        in the first ticks. Costs as much as `seconds` of simulation.
        """
        if not 0.0 < seconds <= 60.0:
            raise ValueError(f"settle: found {seconds} seconds, wanted more than 0 and at most 60")
        aside = Crowd(
            self.solver,
            rate=self.clock.rate,
            contact=self.contact,
            sag_free=self.sag_free,
            keep_overlap=self.keep_overlap,
            bone_length=self.bone_length,
            phases=self.phases,
        )
        settle(self, self._wanted(ids), seconds, aside)
        aside.remove(aside.ids)

    def teleport(self, ids, at: np.ndarray | None = None) -> None:
        """Announce a jump: in the next tick the hair is carried rigidly. `at` moves the members as in `add`."""
        wanted = self._wanted(ids)
        places = placements(at, len(wanted)) if at is not None else [None] * len(wanted)
        for i, placement in zip(wanted, places, strict=True):
            self._members[i].teleported = True
            if placement is not None:
                self._members[i].placement = placement
        self._tell(wanted)

    def drive(self, member: int, worlds: np.ndarray) -> None:
        """World matrices (N, 4, 4) of an engine that owns the body; the next ticks interpolate towards them."""
        i = self._wanted(member)[0]
        m = self._members[i]
        worlds = np.asarray(worlds, dtype=np.float64)
        base = getattr(m.kind.rig, "base", None)
        if base is not None and worlds.shape == (len(base.skeleton), 4, 4):
            worlds = lengthened(worlds, m.kind.avatar.skeleton)
        wanted = (len(m.kind.avatar.skeleton), 4, 4)
        if worlds.shape != wanted:
            raise ValueError(f"drive: worlds have shape {worlds.shape}, wanted {wanted}")
        if m.clip is not None or m.track is not None:
            if m.seat >= 0:
                self.set_level(i, "full")
            m.keep(m.before(self.clock.ticks))
            m.teleported = m.teleported or m.told_to_jump == self.clock.ticks
            self._playing.uncast(i, m)
            self._playing.hosted[i] = m
            self._settle([i])
        m.drive(worlds)

    def advance(self, dt: float) -> Step:
        """Run the whole ticks that dt seconds complete. A hitch runs at most 0.25 s and is logged."""
        begin = perf_counter()
        start = self.clock.ticks
        step = self.clock.advance(dt)
        if step.dropped > 0.0:
            log.warning("a frame of %.3f s is a hitch: %.3f s of it were dropped", dt, step.dropped)
        done = 0
        for member in self._playing.hosted.values():
            member.problem = None
        parts = self._playing.parts()
        if parts > 1:
            for k in range(step.ticks * parts):
                self._launch(start + k // parts, 1, step.ticks - k // parts, k % parts > 0)
            done = step.ticks
        while done < step.ticks:
            ticks = min(step.ticks - done, row.TICKS_PER_LAUNCH)
            self._launch(start + done, ticks, step.ticks - done, False)
            done += ticks
        if step.ticks:
            for member in self._playing.hosted.values():
                member.pending = None
        self.frame_ms = 1e3 * (perf_counter() - begin)
        return step

    # ---- inside ----

    def _start(self, members: list[Member]) -> None:
        start(self._storage, members, self.clock.ticks)
        self._playing.store.write_pilots([m for m in members if m.clip is not None])

    def _tell(self, ids) -> None:
        self._playing.tell({i: self._members[i] for i in self._wanted(ids)})

    def _launch(self, tick: int, ticks: int, left: int, between: bool) -> None:
        """Run ticks after crowd tick `tick`, or only what fast members owe `between` two of the crowd's."""
        store = self._storage
        self._tables.launch(ticks, self.clock.tick, between)
        if not self._families.count + self._frozen.count:
            return
        self._playing.launch(tick, ticks, left, between)
        solver, contact = SOLVERS[self.solver], CONTACTS[self.contact]
        if solver != SOLVERS["spring-bone"] and not any(k.constants.pair.size for k in self._kinds.values()):
            contact = CONTACTS["off"]  # nothing to meet: the same bits from a kernel that compiles sooner
        if self._frozen.count:
            store.use("frozen", self._frozen)
            launch(
                carry_frozen, store.model, store.state, self._frozen.count, ticks, self._frozen.count < SERIAL_FAMILIES
            )
        if not self._families.count:
            return
        store.use("family", self._families)
        families = self._families.count
        args = (store.model, store.state, families, ticks, self.clock.tick)
        if self.phases:
            run_phases(*args, solver, contact)
        else:
            launch(run_frame, *args, solver, contact, families < SERIAL_FAMILIES)

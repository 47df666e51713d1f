"""Crowd: avatars in, time in, hair out. The only object that owns fields and advances them."""

from __future__ import annotations

import logging
import weakref

import numpy as np

from ..avatar.avatar import Avatar
from ..hair import HairRig
from ..motion.body import Frames, Motion, Still
from ..motion.carried import carry, lengthened
from ..motion.track import Track
from ..rig.fitted import owner
from . import layout as row
from .constants import build
from .launch import anchor_records, collider_records, collider_sizes, jumps, rest_state
from .member import Kind, Member
from .pose import apply_hair, local_rotations
from .solvers.kinds import CONTACTS, SOLVERS
from .solvers.step import run_frame, run_phases
from .storage import read, shared_storage, write
from .ticks import Clock, Step

log = logging.getLogger("taichi_hair")

BONE_LENGTHS = ("measured", "exact")
SERIAL_FAMILIES = 1200  # below it, waking a second CPU thread costs more than it saves (measured, see benchmarks)


class Crowd:
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
        self._kinds: dict[tuple[int, int], Kind] = {}
        self._next = 0
        self._list_families()
        weakref.finalize(self, _release, self._storage, self._members, self._kinds)

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
        return {i: m.problem for i, m in self._members.items() if m.problem}

    def add(
        self,
        avatar: Avatar,
        rig: HairRig | None = None,
        *,
        count: int = 1,
        motion: Motion | None = None,
        at: np.ndarray | None = None,
    ) -> np.ndarray:
        """Add `count` members of one avatar; returns their ids (count,).

        rig: the file's own hair unless given. motion: plays from now on; without one the avatar stands in its rest pose
        until `drive` is called. at: (3,) or (count, 3) positions in metres, or (4, 4) or (count, 4, 4) placements.
        """
        rig = avatar.hair if rig is None else rig
        avatar = owner(avatar, rig)
        kind = self._kind(avatar, rig)
        motion = carry(motion or Still(avatar.skeleton), avatar.skeleton)
        track = Track(motion, avatar.skeleton, rig, self.clock.rate)
        placements = _placements(at, count)
        ids = []
        pools = self._storage.state_pools
        for placement in placements:
            member = Member(kind, placement, track)
            member.start_tick = self.clock.ticks
            member.joint = pools["joint"].take(kind.constants.joint.shape[1])
            member.slot = pools["slot"].take(len(kind.constants.chain_anchor))
            member.anchor = pools["anchor"].take(kind.constants.anchors)
            member.collider = pools["collider"].take(len(rig.colliders))
            self._members[self._next] = member
            ids.append(self._next)
            self._next += 1
        self._storage.grow_state()
        for i in ids:
            self._start(self._members[i])
        self._list_families()
        return np.array(ids, dtype=np.int64)

    def remove(self, ids) -> None:
        """Take members out; their columns are used again by the next of the same kind."""
        for i in self._wanted(ids):
            _give_back(self._storage, self._members.pop(i))
        self._list_families()

    def reset(self, ids=None) -> None:
        """Hair at rest on the present pose; motions start again from their beginning."""
        for i in self._wanted(ids):
            self._members[i].start_tick = self.clock.ticks
            self._start(self._members[i])

    def teleport(self, ids, at: np.ndarray | None = None) -> None:
        """Announce a jump: in the next tick the hair is carried rigidly. `at` moves the members as in `add`."""
        wanted = self._wanted(ids)
        placements = _placements(at, len(wanted)) if at is not None else [None] * len(wanted)
        for i, placement in zip(wanted, placements, strict=True):
            self._members[i].teleported = True
            if placement is not None:
                self._members[i].placement = placement

    def drive(self, member: int, worlds: np.ndarray) -> None:
        """World matrices (N, 4, 4) of an engine that owns the body; the next ticks interpolate towards them."""
        m = self._members[self._wanted(member)[0]]
        worlds = np.asarray(worlds, dtype=np.float64)
        base = getattr(m.kind.rig, "base", None)
        if base is not None and worlds.shape == (len(base.skeleton), 4, 4):
            worlds = lengthened(worlds, m.kind.avatar.skeleton)
        wanted = (len(m.kind.avatar.skeleton), 4, 4)
        if worlds.shape != wanted:
            raise ValueError(f"drive: worlds have shape {worlds.shape}, wanted {wanted}")
        m.track = None
        m.drive(worlds)

    def advance(self, dt: float) -> Step:
        """Run the whole ticks that dt seconds complete. A hitch runs at most 0.25 s and is logged."""
        start = self.clock.ticks
        step = self.clock.advance(dt)
        if step.dropped > 0.0:
            log.warning("a frame of %.3f s is a hitch: %.3f s of it were dropped", dt, step.dropped)
        done = 0
        for member in self._members.values():
            member.problem = None
        while done < step.ticks:
            ticks = min(step.ticks - done, row.TICKS_PER_LAUNCH)
            self._launch(start + done, ticks, step.ticks - done)
            done += ticks
        if step.ticks:
            for member in self._members.values():
                member.pending = None
        return step

    def positions(self, ids=None, *, interpolated: bool = False) -> np.ndarray:
        """(M, S, 3) float64 world end points of every segment, metres, in the order of the rig's joints.

        All ids must be of one kind. interpolated: on the way between the last two ticks, for display.
        """
        members = self._same_kind(ids)
        columns = np.concatenate([m.joint + m.kind.constants.columns for m in members])
        local = read(self._storage.state.joint, columns, row.POSITION, 3).T.astype(np.float64)
        if interpolated:
            before = read(self._storage.state.joint, columns, row.BEFORE, 3).T.astype(np.float64)
            local = before + (local - before) * self.clock.fraction
        local = local.reshape(len(members), -1, 3)
        for k, m in enumerate(members):
            anchors = np.repeat(m.kind.constants.chain_anchor, m.kind.rig.spans[:, 1])
            local[k] += m.before.position[0, anchors] + m.placement[:3, 3]
        return local

    def roots(self, ids=None) -> np.ndarray:
        """(M, C, 3) float64 world positions of the joint of each chain's first segment, metres."""
        members = self._same_kind(ids)
        out = []
        for m in members:
            columns = m.slot + np.arange(len(m.kind.constants.chain_anchor))
            local = read(self._storage.state.chain, columns, row.ROOT_BEFORE, 3).T.astype(np.float64)
            out.append(local + m.before.position[0, m.kind.constants.chain_anchor] + m.placement[:3, 3])
        return np.array(out)

    def elapsed(self, member: int) -> float:
        """Seconds of its motion that a member has played."""
        return (self.clock.ticks - self._members[self._wanted(member)[0]].start_tick) / self.clock.rate

    def body(self, member: int) -> np.ndarray:
        """(N, 4, 4) placed world matrices of the body at the last tick, hair in its rest pose."""
        m = self._members[self._wanted(member)[0]]
        if m.track is not None:
            worlds = m.track.motion.worlds(np.array([self.elapsed(member)]))[0]
        else:
            worlds = m.worlds
        return m.placement @ worlds

    def pose(self, member: int) -> np.ndarray:
        """(N, 4, 4) world matrices of all nodes with the hair where it is."""
        m = self._members[self._wanted(member)[0]]
        return apply_hair(m.kind.avatar.skeleton, m.kind.rig, self.body(member), self.positions(member)[0])

    def rotations(self, ids=None) -> np.ndarray:
        """(M, S, 4) local rotations, xyzw, of the rig's joints."""
        wanted = self._wanted(ids)
        kind = self._same_kind(ids)[0].kind
        return np.array([local_rotations(kind.avatar.skeleton, kind.rig, self.pose(i)) for i in wanted])

    def overlaps(self, member: int) -> list[tuple[str, str, float]]:
        """(joint, collider, metres) that overlap in the rest pose; contact keeps that much allowance."""
        kind = self._members[self._wanted(member)[0]].kind
        names = kind.avatar.skeleton.names
        joints = kind.rig.joints
        return [(names[joints[s]], kind.rig.colliders[b].name, deep) for s, b, deep in kind.constants.overlaps]

    # ---- inside ----

    def _wanted(self, ids) -> list[int]:
        wanted = list(self._members) if ids is None else [int(i) for i in np.atleast_1d(ids)]
        for i in wanted:
            if i not in self._members:
                raise KeyError(f"crowd: there is no member {i}")
        return wanted

    def _same_kind(self, ids) -> list[Member]:
        members = [self._members[i] for i in self._wanted(ids)]
        if not members:
            raise KeyError("crowd: no members")
        if any(m.kind is not members[0].kind for m in members):
            raise ValueError("crowd: ids of different avatars or rigs in one call, wanted ids of one kind")
        return members

    def _kind(self, avatar: Avatar, rig: HairRig) -> Kind:
        key = (id(avatar), id(rig))
        if key not in self._kinds:
            c = build(
                avatar.skeleton,
                rig,
                solver=SOLVERS[self.solver],
                h=self.clock.tick,
                sag_free=self.sag_free,
                keep_overlap=self.keep_overlap,
                measured=self.bone_length == "measured",
            )
            column = self._storage.add_model(
                c.joint, c.chain, c.span, c.pair, c.pair_number, c.allowance, c.grid, c.path
            )
            centered = np.zeros(c.anchors, dtype=bool)
            for chain, anchor in zip(rig.chains, c.chain_anchor, strict=True):
                centered[anchor] = chain.center >= 0
            self._kinds[key] = Kind(avatar, rig, c, column, centered, collider_sizes(rig.colliders))
        return self._kinds[key]

    def _start(self, m: Member) -> None:
        c = m.kind.constants
        if m.track is not None:
            tick = self.clock.ticks - m.start_tick
            m.before = m.placed(m.track.ticks(tick, tick + 1))
        joint, chain = rest_state(c.joint, c.chain, c.chain_anchor, m.before)
        write(self._storage.state.joint, joint, m.joint)
        write(self._storage.state.chain, chain, m.slot)
        count = len(c.chain_anchor)
        slot = np.zeros((row.STATE_SLOT_ROWS, count))
        slot[row.MODEL] = m.kind.column + np.arange(count)
        slot[row.START] = m.joint + np.arange(count)
        slot[row.STRIDE] = count
        slot[row.ANCHOR] = m.anchor + c.chain_anchor
        slot[row.COLLIDERS] = m.collider
        slot[row.BLOCK] = m.joint
        write(self._storage.state.slot, slot, m.slot)
        m.teleported = False

    def _list_families(self) -> None:
        members = self._members.values()
        order = np.concatenate([np.zeros(0, dtype=np.int64), *[m.slot + m.kind.constants.order for m in members]])
        sizes = np.concatenate([np.zeros(0, dtype=np.int64), *[m.kind.constants.sizes for m in members]])
        self._families = np.zeros((row.FAMILY_ROWS, len(order)), dtype=np.int64)
        self._families[row.FAMILY_START, : len(sizes)] = np.cumsum(sizes) - sizes
        self._families[row.FAMILY_SIZE, : len(sizes)] = sizes
        self._families[row.FAMILY_ORDER] = order
        self._family_count = len(sizes)

    def _launch(self, tick: int, ticks: int, left: int) -> None:
        members = [m for m in self._members.values() if m.kind.constants.anchors]
        if not members:
            return
        anchors, colliders, anchor_columns, collider_columns = [], [], [], []
        for m in members:
            following: Frames = m.frames(tick, ticks, left)
            held = not following.finite()
            if held:
                m.problem = "its pose is not finite: the last good state is kept"
                following = m.before.repeated(ticks)
            rigid = jumps(m.before, following)
            rigid[0] |= m.teleported
            record = anchor_records(m.before, following, rigid, m.kind.centered)
            record[:, row.HOLD] = held
            anchors.append(record)
            anchor_columns.append(m.anchor + np.arange(m.kind.constants.anchors))
            if len(m.kind.sizes):
                colliders.append(collider_records(m.before, following, m.kind.sizes, m.kind.centered))
                collider_columns.append(m.collider + np.arange(len(m.kind.sizes)))
            m.before = following.part(ticks - 1, ticks)
            m.teleported = m.teleported and held
        store = self._storage
        store.write_ticks("anchor", np.concatenate(anchors, axis=2), np.concatenate(anchor_columns))
        if colliders:
            store.write_ticks("collider", np.concatenate(colliders, axis=2), np.concatenate(collider_columns))
        store.use_families(self._families)
        count = self._family_count
        args = (store.model, store.state, count, ticks, self.clock.tick)
        solver, contact = SOLVERS[self.solver], CONTACTS[self.contact]
        if self.phases:
            run_phases(*args, solver, contact)
        else:
            run_frame(*args, solver, contact, count < SERIAL_FAMILIES)


def _give_back(storage, member: Member) -> None:
    constants, pools = member.kind.constants, storage.state_pools
    pools["joint"].give(member.joint, constants.joint.shape[1])
    pools["slot"].give(member.slot, len(constants.chain_anchor))
    pools["anchor"].give(member.anchor, constants.anchors)
    pools["collider"].give(member.collider, len(member.kind.rig.colliders))


def _release(storage, members: dict[int, Member], kinds: dict[tuple[int, int], Kind]) -> None:
    """What a crowd that is gone held."""
    for member in members.values():
        _give_back(storage, member)
    for kind in kinds.values():
        storage.drop_model(kind.column)


def _placements(at, count: int) -> list[np.ndarray]:
    """Placement matrices from positions or matrices, for one or for all."""
    if count < 1:
        raise ValueError(f"count: found {count}, wanted at least 1")
    if at is None:
        return [np.eye(4)] * count
    at = np.asarray(at, dtype=np.float64)
    if at.shape in ((3,), (count, 3)):
        out = np.tile(np.eye(4), (count, 1, 1))
        out[:, :3, 3] = at
    elif at.shape in ((4, 4), (count, 4, 4)):
        out = np.broadcast_to(at, (count, 4, 4)).copy()
    else:
        raise ValueError(f"at: found shape {at.shape}, wanted (3,), ({count}, 3), (4, 4) or ({count}, 4, 4)")
    if not np.isfinite(out).all():
        raise ValueError("at: found a number that is not finite")
    return list(out)

"""Retargeted: a clip as it plays on one avatar; the arrays of the transfer, and what is to be said about it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property

import numpy as np

from .. import rotations
from ..avatar.avatar import Avatar
from ..avatar.constraints import Constraint, apply_constraints
from ..hair import HairRig
from .authored import authored_rotations, without
from .clip import Clip
from .rest import SIDES, Stance

CYCLE_DEGREES = 5.0  # a clip whose last pose is within it of the first, joint by joint, is a cycle ...
CYCLE_HIPS = 0.02  # ... where the hips end within this share of their height
CHECKED = 120  # poses that a report looks at
KNEE, SEAT = 0.06, 0.12  # radius of a knee and of the seat, as a share of the hips' height (a person's, roughly)


@dataclass(frozen=True)
class RetargetReport:
    """What a transfer must not have; empty tuples and zeros are good."""

    clip: str
    avatar: str
    seconds: float
    missing: tuple[str, ...] = ()  # required joints that the clip lacks
    invalid: int = 0  # numbers that are not finite in the poses looked at
    hair: tuple[str, ...] = ()  # hair joints that the transfer moves
    cycle: bool = False
    gap_degrees: float = 0.0  # largest turn of a joint from the last pose to the first
    gap_hips_mm: float = 0.0  # height of the hips, last pose to first

    @property
    def good(self) -> bool:
        """Whether nothing required is missing, no number invalid and no hair joint moved."""
        return not (self.missing or self.invalid or self.hair)

    def to_dict(self) -> dict:
        return {**asdict(self), "good": self.good}


@dataclass(frozen=True, eq=False)
class Plan:
    """Constant arrays of one transfer. Pairs are the P joints that are transferred."""

    clip: Clip
    source: np.ndarray  # (P,) places in `needed` of the clip's joints
    target: np.ndarray  # (P,) nodes of the avatar
    facing: np.ndarray  # (4,) the clip's world to the avatar's
    post: np.ndarray  # (P, 4) the avatar's world rotation is facing * clip's world rotation * post
    scale: float
    hips: int  # the avatar's hips
    here: Stance
    there: Stance
    probes: np.ndarray  # (K,) places in `needed` of joints that are looked at: hips first, then ankles and knees
    probe_offset: np.ndarray  # (3,) of the pelvis in the clip's hips
    ankles_s: tuple[int, ...]  # places of the ankles in `probes`
    points: tuple[tuple[int, int, float], ...]  # (probe, avatar node, share) of ankles (share 0) and knees
    lines: tuple[tuple[np.ndarray, np.ndarray], ...]  # clip nodes needed, level by level, with their parents' places
    needed: np.ndarray  # (M,) clip nodes needed, parents first
    levels: tuple[np.ndarray, ...]  # avatar nodes from hips to all pairs, level by level
    ground: bool
    rest: np.ndarray = field(default_factory=lambda: np.zeros(3))  # (3,) pelvis of the clip at rest, avatar's axes
    floor: float = 0.0
    ankle: float = 0.0  # height of the clip's ankles above its floor at rest
    sunk: float = 0.0  # metres (at most 0) at which the clip's feet stand under the floor that its rest pose stands on

    @classmethod
    def build(cls, clip: Clip, avatar: Avatar, own, roles, pairs, facing, post, scale, here, there, ground) -> Plan:
        probes, points, ankles = [own["hips"]], [(0, roles["hips"], SEAT)], []
        for side in SIDES:
            for part, share in (("Foot", 0.0), ("LowerLeg", KNEE)):
                role = f"{side}{part}"
                if role in own and role in roles:
                    points.append((len(probes), roles[role], share))
                    if part == "Foot":
                        ankles.append(len(probes))
                    probes.append(own[role])
        source = np.array([s for _, s, _ in pairs], dtype=np.int64)
        needed = _closure(clip.skeleton.parents, [*source.tolist(), *probes])
        order = [n for n in clip.skeleton.order.tolist() if n in needed]
        place = {n: k for k, n in enumerate(order)}
        depth = clip.skeleton.depth
        lines = []
        for d in sorted({int(depth[n]) for n in order})[1:]:
            level = [n for n in order if depth[n] == d]
            lines.append(
                (np.array([place[n] for n in level]), np.array([place[int(clip.skeleton.parents[n])] for n in level]))
            )
        target = np.array([t for _, _, t in pairs], dtype=np.int64)
        moved = _closure(avatar.skeleton.parents, [*target.tolist(), *[n for _, n, _ in points]])
        depth = avatar.skeleton.depth
        levels = tuple(
            np.array([n for n in moved if depth[n] == d], dtype=np.int64)
            for d in sorted({int(depth[n]) for n in moved})
        )
        return cls(
            clip=clip,
            source=np.array([place[int(s)] for s in source]),
            target=target,
            facing=facing,
            post=post,
            scale=float(scale),
            hips=roles["hips"],
            here=here,
            there=there,
            probes=np.array([place[p] for p in probes]),
            probe_offset=here.offset,
            ankles_s=tuple(ankles),
            points=tuple(points),
            lines=tuple(lines),
            needed=np.array(order, dtype=np.int64),
            levels=levels,
            ground=ground,
        )

    def placed(self, rest: np.ndarray, floor: float, ankle: float, sunk: float = 0.0) -> Plan:
        """The plan with the clip's pelvis at rest (3,) and its floor, both in the avatar's axes."""
        return replace(self, rest=rest, floor=floor, ankle=ankle, sunk=sunk)

    def source_world(self, times: np.ndarray, loop: bool) -> tuple[np.ndarray, np.ndarray]:
        """World matrices (T, M, 4, 4) of the needed nodes of the clip, and its local rotations (T, N, 4)."""
        t, r, s = self.clip.sample(times, loop)
        own = self.needed
        world = np.zeros((len(t), len(own), 4, 4))
        world[..., :3, :3] = rotations.to_matrix(r[:, own]) * s[:, own, None, :]
        world[..., :3, 3] = t[:, own]
        world[..., 3, 3] = 1.0
        for level, parents in self.lines:
            world[:, level] = world[:, parents] @ world[:, level]
        return world, r

    def points_of(self, world: np.ndarray) -> np.ndarray:
        """(T, K, 3) places of the probes in the avatar's axes; the first one is the pelvis."""
        places = world[..., :3, 3][:, self.probes]
        if self.probe_offset.any():
            places[:, 0] += world[:, self.probes[0], :3, :3] @ self.probe_offset
        return rotations.rotate(self.facing, places)

    def source_points(self, times: np.ndarray, loop: bool) -> np.ndarray:
        """(T, K, 3) `points_of` the clip at times (T,)."""
        return self.points_of(self.source_world(times, loop)[0])


def _closure(parents: np.ndarray, nodes) -> set[int]:
    found: set[int] = set()
    for node in nodes:
        while node >= 0 and node not in found:
            found.add(int(node))
            node = int(parents[node])
    return found


@dataclass(frozen=True, eq=False)
class Retargeted:
    """A clip on an avatar: a Motion. Build it with `retarget`."""

    name: str
    seconds: float
    clip: Clip
    avatar: Avatar
    loop: bool
    travel: str
    plan: Plan
    authored: dict[int, dict[int, int]]  # chain -> {avatar node: clip node}: chains that the clip animates
    constraints: tuple[Constraint, ...]
    notes: tuple[str, ...]
    report: RetargetReport

    @property
    def rig(self) -> HairRig:
        """The avatar's rig without the chains that the clip animates; the same object where it animates none."""
        return without(self.avatar.hair, self.authored) if self.authored else self.avatar.hair

    def body(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Local translations (T, N, 3) and rotations (T, N, 4) of the transfer: no authored hair, no constraints."""
        return self._pose(np.atleast_1d(np.asarray(times, dtype=np.float64)))[:2]

    def locals(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Local translations (T, N, 3) and rotations (T, N, 4) at times (T,): body, authored hair, constraints."""
        times = np.atleast_1d(np.asarray(times, dtype=np.float64))
        places, turns = self._own(times)
        if self.travel == "close" and self.report.cycle:
            share = self.clip.local_time(times, self.loop) / self.seconds
            lift, left, nodes = self._open
            part = np.broadcast_to(share[:, None], (len(times), len(nodes)))
            step = rotations.slerp(rotations.IDENTITY, np.broadcast_to(left, (*part.shape, 4)), part)
            turns[:, nodes] = rotations.multiply(turns[:, nodes], step)
            places[:, self.plan.hips] += share[:, None] * lift
        if self.constraints:
            turns = apply_constraints(self.avatar.skeleton, self.constraints, turns, places)
        return places, turns

    def _own(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        places, turns, sampled = self._pose(times)
        if self.authored:
            nodes, own = authored_rotations(self.clip, self.avatar, self.authored, sampled)
            turns[:, nodes] = own
        return places, turns

    @cached_property
    def _open(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the last pose of a cycle lacks to the first: hips (3,), and rotations (K, 4) of nodes (K,)."""
        places, turns = replace(self, loop=False)._own(np.array([0.0, self.seconds]))
        left = rotations.multiply(rotations.inverse(turns[1]), turns[0])
        nodes = np.flatnonzero(rotations.angle(left) > 1e-9)
        return places[0, self.plan.hips] - places[1, self.plan.hips], left[nodes], nodes

    def worlds(self, times: np.ndarray) -> np.ndarray:
        """(T, N, 4, 4) world matrices of all nodes at times (T,) in seconds, node constraints obeyed."""
        places, turns = self.locals(times)
        return self.avatar.skeleton.world(places, turns)

    def _pose(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        plan, skeleton = self.plan, self.avatar.skeleton
        world, sampled = plan.source_world(times, self.loop)
        wanted = rotations.multiply(plan.facing, rotations.from_matrix(world[:, plan.source]))
        wanted = rotations.multiply(wanted, plan.post)
        turns = np.repeat(skeleton.rotations[None], len(times), axis=0)
        whole = np.zeros((len(times), len(skeleton) + 1, 4))
        whole[:, -1] = rotations.IDENTITY  # parent -1 is the scene root
        given = np.full(len(skeleton), -1)
        given[plan.target] = np.arange(len(plan.target))
        for level in plan.levels:
            above = whole[:, skeleton.parents[level]]
            k = given[level]
            own = np.where((k >= 0)[None, :, None], wanted[:, k], rotations.multiply(above, skeleton.rotations[level]))
            whole[:, level] = own
            moved = level[k >= 0]
            turns[:, moved] = rotations.multiply(rotations.inverse(above[:, k >= 0]), own[:, k >= 0])
        places = np.repeat(skeleton.translations[None], len(times), axis=0)
        pelvis = self._pelvis(times, plan.points_of(world), whole)
        self._set_hips(places, pelvis, whole)
        return places, turns, sampled

    def _set_hips(self, places: np.ndarray, pelvis: np.ndarray, whole: np.ndarray) -> None:
        plan, skeleton = self.plan, self.avatar.skeleton
        scale = np.linalg.norm(skeleton.rest_world[plan.hips, :3, :3], axis=0)
        at = pelvis - rotations.rotate(whole[:, plan.hips], plan.there.offset * scale)
        parent = int(skeleton.parents[plan.hips])
        if parent >= 0:
            inverse = np.linalg.inv(skeleton.rest_world[parent])
            at = at @ inverse[:3, :3].T + inverse[:3, 3]
        places[:, plan.hips] = at

    def _pelvis(self, times: np.ndarray, points: np.ndarray, whole: np.ndarray) -> np.ndarray:
        """(T, 3) where the avatar's pelvis is: the clip's way in proportion, closed, kept or removed, on the ground."""
        plan = self.plan
        way = points[:, 0] - plan.rest
        way[:, 1] -= plan.sunk
        if self.travel == "remove":
            way[:, [0, 2]] = 0.0
        elif self.loop or self.travel == "close":
            left = self._leftover
            laps = np.floor(times / self.seconds) if self.seconds > 0.0 else np.zeros(len(times))
            if self.travel == "close":
                share = self.clip.local_time(times, self.loop) / max(self.seconds, 1e-9)
                way[:, [0, 2]] -= share[:, None] * left[[0, 2]]
            else:
                way[:, [0, 2]] += laps[:, None] * left[[0, 2]]
        pelvis = plan.there.pelvis + plan.scale * way
        if plan.ground and plan.ankles_s:
            pelvis[:, 1] += self._lift(points, whole, pelvis)
        return pelvis

    @property
    def _leftover(self) -> np.ndarray:
        """(3,) what the clip's pelvis has moved from its first to its last pose, in the avatar's axes."""
        ends = self.plan.source_points(np.array([0.0, self.seconds]), False)[:, 0]
        return ends[1] - ends[0]

    def _lift(self, points: np.ndarray, whole: np.ndarray, pelvis: np.ndarray) -> np.ndarray:
        """(T,) metres to raise the hips, so that the lowest of ankles, knees and seat clears the floor as in the clip.

        Fades out where the clip's body is in the air: there its own height counts.
        """
        plan, skeleton = self.plan, self.avatar.skeleton
        scale = np.linalg.norm(skeleton.rest_world[:, :3, :3], axis=1)  # (N, 3)
        at: dict[int, np.ndarray] = {
            plan.hips: pelvis - rotations.rotate(whole[:, plan.hips], plan.there.offset * scale[plan.hips])
        }

        def place(node: int) -> np.ndarray:
            if node not in at:
                parent = int(skeleton.parents[node])
                link = skeleton.translations[node] * scale[parent]
                at[node] = place(parent) + rotations.rotate(whole[:, parent], link)
            return at[node]

        height = plan.there.pelvis[1]
        have, wanted = [], []
        for probe, node, share in plan.points:
            if share == 0.0:
                rest = plan.there.ankle, plan.ankle * plan.scale
            else:
                rest = share * height, share * height
            have.append((pelvis if probe == 0 else place(node))[:, 1] - rest[0])
            wanted.append(plan.scale * (points[:, probe, 1] - plan.floor) - rest[1])
        have, wanted = np.min(have, axis=0), np.min(wanted, axis=0)
        u = np.clip((wanted / height - 0.1) / 0.3, 0.0, 1.0)
        return (wanted - have) * (1.0 - u * u * (3.0 - 2.0 * u))

    def finished(self, loop: bool | None) -> Retargeted:
        """The motion with its report, and looping decided by whether it is a cycle where `loop` is None."""
        once = replace(self, loop=False, travel="remove")
        ends = np.array([0.0, self.seconds])
        places, turns = once.body(ends)
        moved = self.plan.target
        gap = np.degrees(rotations.angle(rotations.multiply(rotations.inverse(turns[0, moved]), turns[1, moved]))).max()
        parent = int(self.avatar.skeleton.parents[self.plan.hips])
        size = np.linalg.norm(self.avatar.skeleton.rest_world[parent, :3, 0]) if parent >= 0 else 1.0
        hips = float(abs(places[1, self.plan.hips] - places[0, self.plan.hips]).max() * size)
        cycle = bool(self.seconds > 0.0 and gap < CYCLE_DEGREES and hips < CYCLE_HIPS * self.plan.there.pelvis[1])
        motion = replace(self, loop=cycle if loop is None else bool(loop))
        looked = np.linspace(0.0, max(self.seconds, 1e-6), CHECKED)
        worlds = motion.worlds(looked)
        body = motion.body(looked)[1]
        hair = self.avatar.hair.joints
        rest = self.avatar.skeleton.rotations
        touched = [int(j) for j in hair if not np.array_equal(body[:, j], np.broadcast_to(rest[j], body[:, j].shape))]
        report = replace(
            self.report,
            invalid=int((~np.isfinite(worlds)).sum()),
            hair=tuple(self.avatar.skeleton.names[j] or str(j) for j in touched),
            cycle=cycle,
            gap_degrees=float(gap),
            gap_hips_mm=1e3 * hips,
        )
        return replace(motion, report=report)

"""Take: the hair of one avatar recorded as local rotations, at the times that become keys; loops closed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .. import rotations
from ..avatar.avatar import Avatar
from ..hair import HairRig
from ..motion.body import Motion
from ..motion.carried import Carried, carry
from ..motion.played import Retargeted
from ..rig.fitted import owner
from ..sim.crowd import Crowd
from ..sim.pose import apply_hair, local_rotations

RATE = 120.0  # ticks a second, at least; chosen so that every key falls on a tick
PERIODIC = 1e-4  # metres: a loop is warm when no end point is further from where it was one round before
WARM_SECONDS = 20.0  # the longest warm-up; hair that has not come round by then is closed as it is, and reported
ROUNDS = (1, 2, 3, 4)  # hair may take several rounds of the body's to come round: at 2.7 steps a second it often does
FADE = 0.5  # share of a loop over which its end's continuation fades into its beginning
SETTLE_SECONDS = 3.0  # before a take that is played once, in the first pose
STEP = 0.05  # m/s: a smaller change of velocity from one key to the next is not seen, whatever is usual
CLIP_SHARE = 0.5  # of a step at the seam: where hair that only rides along has as much of it, the clip is the cause
CALM = 2e-3  # metres a second below which hair counts as settled
Weight = float | Sequence[tuple[float, float]]  # a number, or keys (seconds, weight) with straight lines between


@dataclass(frozen=True)
class Seam:
    """What a loop's end does to its beginning: the largest over all end points and joints."""

    raw_mm: float  # before closing: end point one round later, against where it began
    raw_degrees: float
    position_mm: float  # after closing, from the last pose to the first
    step_mm_s: float  # change of an end point's velocity across the seam
    step_degrees_s: float  # change of a joint's turning speed across the seam
    usual_mm_s: float  # the largest such change of an end point between neighbouring keys elsewhere, to compare with
    laps: int  # rounds of warm-up
    rounds: int  # of the body in one loop of the hair
    body_step_mm_s: float  # step_mm_s of hair that rode on its carriers without moving: the clip's own seam
    body_usual_mm_s: float  # usual_mm_s of such hair
    body_step_degrees_s: float  # change of the turning speed of the nodes that carry hair across the seam: the clip's
    cause: str  # "" where the step is no larger than usual; else "clip" (its last and first pose) or "closing"


@dataclass(frozen=True, eq=False)
class Take:
    """Recorded hair: K poses. A loop's last pose is its first."""

    times: np.ndarray  # (K,) seconds from 0
    joints: np.ndarray  # (S,) nodes
    rotations: np.ndarray  # (K, S, 4) local, xyzw, without sign flips
    positions: np.ndarray  # (K, S, 3) metres: end points of the poses, in the world of `body`
    body: np.ndarray  # (K, N, 4, 4) world matrices that the hair hangs on, hair included
    rig: HairRig  # chains of `joints`, in order
    loop: bool
    solver: str
    seam: Seam | None
    notes: tuple[str, ...] = ()


class Ticks:
    """A motion read at ticks: a loop comes round on exactly the same tick, a single take waits in its first pose."""

    def __init__(self, motion: Motion, seconds: float, rate: float, loop: bool, wait: int):
        self.motion, self.rate, self.loop, self.wait = motion, rate, loop, wait
        self.name, self.seconds = motion.name, seconds
        self.count = round(seconds * rate)

    def at(self, tick: np.ndarray) -> np.ndarray:
        """(T,) seconds of the motion at ticks (T,)."""
        tick = np.mod(tick, self.count) if self.loop else np.clip(tick - self.wait, 0, self.count)
        return tick / self.rate

    def worlds(self, times: np.ndarray) -> np.ndarray:
        return self.motion.worlds(self.at(np.round(np.asarray(times) * self.rate)))


def in_place(motion: Motion, loop: bool) -> Motion:
    """The motion as a loop needs it: a clip that walks away comes back to where it began."""
    if isinstance(motion, Carried):
        return replace(motion, motion=in_place(motion.motion, loop))
    if not isinstance(motion, Retargeted):
        return motion
    return replace(motion, loop=False, travel="close" if loop and motion.travel == "keep" else motion.travel)


def played(motion: Motion) -> Retargeted | None:
    """The retargeted clip that a motion is, or carries on to joints that were added later; None for other motions."""
    inner = motion.motion if isinstance(motion, Carried) else motion
    return inner if isinstance(inner, Retargeted) else None


def is_cycle(motion: Motion) -> tuple[bool, str]:
    """Whether a motion ends as it begins, and a sentence on what is apart where it does not."""
    clip = played(motion)
    if clip is not None:
        r = clip.report
        return r.cycle, f"last pose to first: {r.gap_degrees:.1f} degrees in one joint, hips {r.gap_hips_mm:.0f} mm"
    ends = motion.worlds(np.array([0.0, motion.seconds]))
    moved = float(np.linalg.norm(ends[1, :, :3, 3] - ends[0, :, :3, 3], axis=-1).max(initial=0.0))
    return moved < 0.02, f"last pose to first: a joint {1e3 * moved:.0f} mm away"


def take(
    avatar: Avatar,
    rig: HairRig,
    motion: Motion,
    *,
    loop: bool | None = None,
    fps: float = 60.0,
    solver: str = "rod",
    contact: str | None = None,
    blend: Mapping[str, Weight] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Take:
    """Simulate a motion and record its hair `fps` times a second.

    loop: rounds are simulated until the hair comes round within 0.1 mm, then the last one is kept and closed; a motion
    that is no cycle is recorded once instead, with a note. By default cycles are looped. blend: chain name -> weight of
    the clip's own tracks against the simulation (1 is the clip alone) where the clip animates that chain; without it
    the simulation yields to the clip there. progress: called with seconds simulated.
    """
    if not 5.0 <= fps <= 240.0:
        raise ValueError(f"fps: found {fps:g}, wanted 5 to 240")
    if not motion.seconds > 0.0:
        raise ValueError(f"{motion.name}: a motion of {motion.seconds:g} s, wanted one with a length to bake")
    avatar = owner(avatar, rig)
    motion = carry(motion, avatar.skeleton)
    cycle, apart = is_cycle(motion)
    notes = []
    if loop and not cycle:
        notes.append(f"not a cycle, so it was recorded once ({apart})")
    loop = cycle if loop is None else bool(loop) and cycle
    motion = in_place(motion, loop)
    keyed, weights, remarks = _yielding(rig, motion, blend or {})
    notes += remarks
    rig = keyed
    keys = max(1, round(motion.seconds * fps))
    if not rig.chains:
        return _nothing(avatar, rig, motion, keys, loop, solver, notes)
    step = int(np.ceil(RATE / fps - 0.05))
    rate = keys * step / motion.seconds
    wait = 0 if loop else round(SETTLE_SECONDS * rate)
    ticks = Ticks(motion, motion.seconds, rate, loop, wait)
    crowd = Crowd(solver=solver, contact=contact, rate=rate)
    (member,) = crowd.add(avatar, rig, motion=ticks)

    def advance(count: int) -> np.ndarray:
        crowd.advance(count / rate)
        if progress:
            progress(crowd.time)
        return crowd.positions(member)[0]

    if loop:
        points, after, laps, rounds = _rounds(crowd, member, advance, keys, ticks.seconds)
        if rounds is None:
            rounds = 1
            late = _not_round(rig, points, after)
            notes.append(f"{late} never came round in {laps} rounds; the end was faded into the beginning")
    else:
        if not _settle(advance, crowd.positions(member)[0], wait, step, rate):
            notes.append(f"the hair still moved after {SETTLE_SECONDS:g} s in the first pose")
        points, rounds = np.array([crowd.positions(member)[0], *[advance(step) for _ in range(keys)]]), 1
    crowd.remove(member)
    times = np.arange(keys * rounds + 1) * step / rate
    body = motion.worlds(within(times, motion.seconds))
    turns = _turns(avatar, rig, body, points)
    seam = None
    if loop:
        fps = keys / motion.seconds
        turns, seam = _closed(avatar, rig, body, turns, _turns(avatar, rig, body, after), fps, laps, rounds)
        if seam.cause:
            notes.append(_told(seam))
    turns = _blended(avatar, rig, motion, turns, times, weights)
    poses = posed(avatar, rig, body, turns)
    return Take(times, rig.joints, turns, end_points(rig, poses), poses, rig, loop, solver, seam, tuple(notes))


def _nothing(avatar: Avatar, rig: HairRig, motion: Motion, keys: int, loop: bool, solver: str, notes) -> Take:
    """The take of a clip that animates every chain itself: poses of the body and no rotation of ours."""
    times = np.linspace(0.0, motion.seconds, keys + 1)
    empty = np.zeros((keys + 1, 0, 4))
    remark = "the clip animates every chain itself; there was nothing to simulate"
    body = motion.worlds(times)
    return Take(times, rig.joints, empty, empty[..., :3], body, rig, loop, solver, None, (*notes, remark))


def within(times: np.ndarray, seconds: float) -> np.ndarray:
    """Times (K,) of several rounds as times of one; the very last one stays at the end."""
    inside = np.mod(times, seconds)
    inside[np.abs(inside - seconds) < 1e-9] = 0.0
    inside[-1] = seconds
    return inside


def _turns(avatar: Avatar, rig: HairRig, body: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(K, S, 4) local rotations that take the hair of body poses to end points (K, S, 3)."""
    return _continuous(local_rotations(avatar.skeleton, rig, apply_hair(avatar.skeleton, rig, body, points)))


def _rounds(crowd, member, advance, keys: int, seconds: float):
    """End points (K + 1, S, 3) of the last rounds of warm-up that make a loop, those of the same number after them,
    how many went before, and how many make the loop; None where the hair does not come round."""
    most = max(2 * ROUNDS[-1], int(np.ceil(WARM_SECONDS / seconds)))
    done = [np.array([crowd.positions(member)[0]])]
    step = round(crowd.clock.rate * seconds / keys)

    def once() -> None:
        done.append(np.array([advance(step) for _ in range(keys)]))

    while len(done) - 1 < most:
        once()
        for rounds in ROUNDS:
            enough = len(done) - 1 >= 2 * rounds
            if enough and np.linalg.norm(done[-1] - done[-1 - rounds], axis=-1).max() < PERIODIC:
                return *_pair(done, once, rounds), len(done) - 1 - rounds, rounds
    return *_pair(done, once, 1), len(done) - 1, None


def _told(seam: Seam) -> str:
    step = f"at the seam an end point's velocity steps by {seam.step_mm_s:.0f} mm/s (elsewhere {seam.usual_mm_s:.0f})"
    if seam.cause == "clip":
        own = f"{seam.body_step_mm_s:.0f} (elsewhere {seam.body_usual_mm_s:.0f})"
        return f"{step}: the clip's own last and first pose make it, hair that rode along stiffly would step by {own}"
    return f"{step}: the hair was not round, and the closing makes it"


def _not_round(rig: HairRig, points: np.ndarray, after: np.ndarray) -> str:
    """Names of the chains that are not where they were a round before."""
    away = np.linalg.norm(after - points, axis=-1).max(axis=0)
    spans = zip(rig.spans, rig.chains, strict=True)
    return ", ".join(chain.name for (start, count), chain in spans if away[start : start + count].max() >= PERIODIC)


def _pair(done: list, once, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """The last rounds and, simulated now, as many after them; each with the pose it starts from."""
    before = done[-1 - rounds][-1:]
    loop = np.concatenate([before, *done[len(done) - rounds :]])
    start = len(done)
    for _ in range(rounds):
        once()
    return loop, np.concatenate([loop[-1:], *done[start:]])


def _settle(advance, points: np.ndarray, wait: int, step: int, rate: float) -> bool:
    """Run the waiting ticks in the first pose; whether the hair is calm at their end."""
    speed, left = np.inf, wait
    while left > 0:
        count = min(step, left)
        now = advance(count)
        speed = np.linalg.norm(now - points, axis=-1).max() * rate / count
        points, left = now, left - count
    return bool(speed < CALM)


def _continuous(q: np.ndarray) -> np.ndarray:
    """The same rotations (K, S, 4) with signs such that neighbours in time are near each other."""
    flips = np.sum(q[1:] * q[:-1], axis=-1) < 0.0
    sign = np.where(np.cumsum(flips, axis=0) % 2 == 1, -1.0, 1.0)
    out = q.copy()
    out[1:] *= sign[..., None]
    return out


def _closed(avatar, rig, body, turns, after, fps: float, laps: int, rounds: int) -> tuple[np.ndarray, Seam]:
    """A loop of rotations (K, S, 4) and what its seam is like.

    It begins as what came after it, `after`, and fades into itself: the last pose is the first, and speeds go on.
    """
    first = rotations.multiply(rotations.inverse(turns[-1]), turns[0])
    raw = np.linalg.norm(
        end_points(rig, posed(avatar, rig, body[[0]], turns[[0]]))
        - end_points(rig, posed(avatar, rig, body[[0]], turns[[-1]])),
        axis=-1,
    ).max()
    u = np.clip(np.linspace(0.0, 1.0, len(turns)) / FADE, 0.0, 1.0)
    share = np.broadcast_to((u * u * (3.0 - 2.0 * u))[:, None], turns.shape[:2])
    closed = _continuous(rotations.slerp(after, turns, share))
    closed[-1] = closed[0] * np.sign(np.sum(closed[0] * closed[-1], axis=-1, keepdims=True))
    ends = end_points(rig, posed(avatar, rig, body, closed))
    jump = np.linalg.norm(ends[-1] - ends[0], axis=-1).max()
    change, ridden = _steps(ends, fps), _steps(_carried(avatar, rig, body), fps)
    worst = int(change[-1].argmax())
    cause = ""
    if change[-1, worst] > max(change[:-1].max(initial=0.0), STEP):
        cause = "clip" if ridden[-1, worst] > CLIP_SHARE * change[-1, worst] else "closing"
    carriers = sorted({int(c.attach) for c in rig.chains if c.attach >= 0})
    carrier = rotations.from_matrix(body[:, carriers]) if carriers else np.tile(rotations.IDENTITY, (len(body), 1, 1))
    return closed, Seam(
        raw_mm=float(1e3 * raw),
        raw_degrees=float(np.degrees(rotations.angle(first).max())),
        position_mm=float(1e3 * jump),
        step_mm_s=float(1e3 * change[-1, worst]),
        step_degrees_s=_turn_step(closed, fps),
        usual_mm_s=float(1e3 * change[:-1].max(initial=0.0)),
        laps=laps,
        rounds=rounds,
        body_step_mm_s=float(1e3 * ridden[-1].max(initial=0.0)),
        body_usual_mm_s=float(1e3 * ridden[:-1].max(initial=0.0)),
        body_step_degrees_s=_turn_step(carrier, fps),
        cause=cause,
    )


def _turn_step(q: np.ndarray, fps: float) -> float:
    """Degrees a second by which the turning speed of rotations (K, J, 4) changes from the last key to the first."""
    turning = rotations.multiply(rotations.inverse(q[[-2, 0]]), q[[-1, 1]])
    rate = 2.0 * turning[..., :3] * np.sign(turning[..., 3:]) * fps  # small angles: axis times angle
    return float(np.degrees(np.linalg.norm(rate[1] - rate[0], axis=-1).max()))


def _steps(points: np.ndarray, fps: float) -> np.ndarray:
    """(K - 1, S) metres a second by which velocities of points (K, S, 3) change at keys 1 to the last: the seam."""
    velocity = np.diff(points, axis=0) * fps
    return np.linalg.norm(np.diff(np.concatenate([velocity, velocity[:1]]), axis=0), axis=-1)


def _carried(avatar: Avatar, rig: HairRig, body: np.ndarray) -> np.ndarray:
    """(K, S, 3) end points of hair that keeps its rest shape on the nodes that carry it."""
    turns = np.broadcast_to(avatar.skeleton.rotations[rig.joints], (len(body), len(rig.joints), 4))
    return end_points(rig, posed(avatar, rig, body, turns))


def posed(avatar: Avatar, rig: HairRig, body: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """(K, N, 4, 4) world matrices of body poses with local hair rotations (K, S, 4): what a player computes."""
    skeleton = avatar.skeleton
    moving = skeleton.below(rig.joints)
    worlds = np.concatenate([body, np.broadcast_to(np.eye(4), (len(body), 1, 4, 4))], axis=1)
    local = np.repeat(skeleton.rest_local[None], len(body), axis=0)
    local[:, rig.joints, :3, :3] = rotations.to_matrix(turns) * skeleton.scales[rig.joints][:, None, :]
    for node in skeleton.order[moving[skeleton.order]].tolist():
        worlds[:, node] = worlds[:, skeleton.parents[node]] @ local[:, node]
    return worlds[:, :-1]


def end_points(rig: HairRig, worlds: np.ndarray) -> np.ndarray:
    """(K, S, 3) end points of all segments in world matrices (K, N, 4, 4)."""
    tails = np.concatenate([np.zeros((0, 3)), *[c.tails for c in rig.chains]])
    frame = worlds[:, rig.joints]
    return (frame[..., :3, :3] @ tails[..., None])[..., 0] + frame[..., :3, 3]


def _yielding(rig: HairRig, motion: Motion, blend: Mapping[str, Weight]):
    """The rig that is simulated, {chain of it: weight} of those that are blended, and what is to be said."""
    clip = played(motion)
    own = {clip.avatar.hair.chains[c].name for c in clip.authored} if clip is not None else set()
    unknown = set(blend) - {chain.name for chain in rig.chains}
    if unknown:
        raise ValueError(f"blend: no chain is named {', '.join(sorted(unknown))}")
    useless = sorted(set(blend) - own)
    notes = [f"blend: the clip does not animate {', '.join(useless)}; simulated"] if useless else []
    gone = [c for c, chain in enumerate(rig.chains) if chain.name in own and blend.get(chain.name, 1.0) == 1.0]
    if gone:
        notes.append("yielded to the clip's own tracks: " + ", ".join(rig.chains[c].name for c in gone))
    mixed = {name: weight for name, weight in blend.items() if name in own and weight != 1.0}
    if mixed:
        notes.append("blended with the clip's own tracks: " + ", ".join(mixed))
    from ..motion.authored import without

    return (without(rig, gone) if gone else rig), mixed, notes


def _blended(avatar, rig: HairRig, motion, turns, times, weights: Mapping[str, Weight]) -> np.ndarray:
    """Rotations between the simulated (0) and the clip's own (1), chain by chain."""
    if not weights:
        return turns
    own = played(motion).locals(within(times, motion.seconds))[1]
    out = turns.copy()
    for (start, count), chain in zip(rig.spans, rig.chains, strict=True):
        weight = weights.get(chain.name)
        if weight is None:
            continue
        keys = np.atleast_2d(np.array([(0.0, weight)] if np.ndim(weight) == 0 else weight, dtype=np.float64))
        w = np.interp(times, keys[:, 0], np.clip(keys[:, 1], 0.0, 1.0))
        span = slice(start, start + count)
        out[:, span] = rotations.slerp(
            turns[:, span], own[:, chain.joints], np.broadcast_to(w[:, None], (len(w), count))
        )
    return _continuous(out)

"""One run of every solver on the same avatar and motion, and all measures of it: measure() and record()."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from ..avatar.avatar import Avatar
from ..hair import HairRig
from ..motion.body import Motion, anchors
from ..motion.carried import carry
from ..motion.turn import HeadTurn, Sine, StopTurn
from ..rig.fitted import owner
from ..sim.backend import current
from ..sim.crowd import Crowd
from ..sim.pose import apply_hair
from ..sim.settling import settle_into
from ..version import __version__
from . import motion as strands
from .contact import swept_contact
from .occlusion import FrontLocks
from .report import Report, SolverReport, per_100mm
from .stretch import HairMesh, moved_nodes
from .trace import Trace, rigid_hair

SOLVERS = ("spring-bone", "arc", "rod")
FRAME = 1.0 / 60.0  # seconds of one update; every second one is a sample
SAMPLES = 30  # a second
SHAKE_SECONDS = 6.0  # of the run for the lag: two to swing in, four periods to read


@dataclass(frozen=True, eq=False)
class Recording:
    """Samples of one avatar's hair under one solver, 30 times a second from time 0."""

    trace: Trace
    body: np.ndarray  # (T, N, 4, 4) world matrices of all nodes, hair at rest
    poses: np.ndarray  # (T, N, 4, 4) the same with the hair where it is
    update_ms: np.ndarray  # (frames,) host time of each update of 1/60 s, motion and contact included


def record(avatar: Avatar, rig: HairRig, motion: Motion, seconds: float, crowd: Crowd) -> Recording:
    """Play a motion on a new member of a crowd, and take it out again.

    The first updates compile the kernels; they are run before the clock is read, and the hair starts anew after them,
    settled where the motion does not begin in the rest pose.
    """
    avatar = owner(avatar, rig)
    motion = carry(motion, avatar.skeleton)
    (member,) = crowd.add(avatar, rig, motion=motion)
    for _ in range(4):
        crowd.advance(FRAME)
    crowd.reset(member)
    settle_into(crowd, int(member), motion)
    samples = round(seconds * SAMPLES) + 1
    t = np.arange(samples) / SAMPLES
    positions, roots, update = [], [], []
    for sample in range(samples):
        for _ in range(2 if sample else 0):
            begin = perf_counter()
            crowd.advance(FRAME)
            update.append(1e3 * (perf_counter() - begin))
        positions.append(crowd.positions(member)[0])
        roots.append(crowd.roots(member)[0])
    crowd.remove(member)
    body = motion.worlds(t)
    ends = np.array(positions)
    carried, carried_origins, turns = rigid_hair(rig, body)
    trace = Trace(t, ends, np.array(roots), carried, carried_origins, turns, rig.spans)
    return Recording(trace, body, apply_hair(avatar.skeleton, rig, body, ends), np.array(update))


def hair_chains(avatar: Avatar, rig: HairRig) -> list[int]:
    """Chains that the head carries; all of them where the file names no head or the head carries none.

    Skirts, ribbons on the back and cables are springs of the same file, but no hair.
    """
    if "head" in avatar.humanoid:
        below = moved_nodes(avatar, np.array([avatar.humanoid["head"]]))
        pairs, index = anchors(rig)
        chosen = [c for c in range(len(rig.chains)) if pairs[index[c]][0] >= 0 and below[pairs[index[c]][0]]]
        if chosen:
            return chosen
    return list(range(len(rig.chains)))


def measure(
    avatar: Avatar,
    rig: HairRig | None = None,
    motion: Motion | None = None,
    seconds: float = 12.0,
    solvers: Sequence[str] = SOLVERS,
    contact: bool = True,
    chains: Sequence[int] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Report:
    """All figures of every solver on one avatar.

    motion: the standard head turn unless given; it is played for `seconds`. contact: with the solver's own contact, or
    without any. Lag and overshoot come from two short runs of their own, a shake at 1 Hz and a turn that stops, in free
    air: they tell how the solver moves hair, and a shoulder in the way would hide it. chains: indices into rig.chains;
    by default those of `hair_chains`. The mesh edges measured are those that these chains move. progress: called as
    (solvers done, solvers in all, the next one).

    Figures that cost time are per avatar: one update is 1/60 s of a crowd of this avatar alone, its motion included.
    """
    rig = avatar.hair if rig is None else rig
    avatar = owner(avatar, rig)
    if not rig.chains:
        raise ValueError(f"{avatar.name}: no hair chain, wanted at least 1 to measure")
    if not (np.isfinite(seconds) and seconds >= 1.0):
        raise ValueError(f"measure: seconds is {seconds}, wanted at least 1")
    motion = HeadTurn(avatar, seconds) if motion is None else motion
    chosen = hair_chains(avatar, rig) if chains is None else [int(c) for c in chains]
    if not chosen or min(chosen) < 0 or max(chosen) >= len(rig.chains):
        raise ValueError(f"measure: chains are {chosen}, wanted some of 0 to {len(rig.chains) - 1}")
    found, notes = {}, _left_out(rig, chosen)
    for k, solver in enumerate(solvers):
        if progress:
            progress(k, len(solvers), solver)
        found[solver], remark = _measure_solver(avatar, rig, motion, seconds, solver, contact, chosen)
        notes += remark
    if progress:
        progress(len(solvers), len(solvers), "")
    return Report(avatar.name, motion.name, float(seconds), current().name, __version__, found, tuple(notes))


def _measure_solver(
    avatar: Avatar, rig: HairRig, motion: Motion, seconds: float, solver: str, contact: bool, chains: list[int]
) -> tuple[SolverReport, list[str]]:
    crowd = Crowd(solver=solver, contact=None if contact else "off")
    main = record(avatar, rig, motion, seconds, crowd)
    trace = main.trace.select(chains)
    mesh, locks = HairMesh(avatar, rig, chains), FrontLocks(avatar, rig, chains)
    for pose in main.poses:
        mesh.add(pose)
        locks.add(pose)
    hidden = locks.result()
    worst = mesh.worst()
    free = Crowd(solver=solver, contact="off")
    shake = record(avatar, rig, Sine(avatar, SHAKE_SECONDS), SHAKE_SECONDS, free).trace.select(chains)
    stop = StopTurn(avatar)
    stopped = strands.after_stop(record(avatar, rig, stop, stop.seconds, free).trace.select(chains))
    # Contact is over within a sample of the mesh: it is looked at in every tick.
    touched = swept_contact(avatar, rig, motion, seconds, crowd, chains, between=1)
    swing, p99 = strands.swing(trace), mesh.percentile()
    report = SolverReport(
        swing_mm=swing,
        stretch_p99=p99,
        stretch_worst=worst[0] if worst else None,
        stretch_per_100mm=per_100mm(p99, swing),
        settle_mm=strands.settle(trace),
        sag_mm=strands.sag(trace),
        curl_deg=strands.curl(trace),
        curl_rest_deg=strands.curl_rest(trace),
        lag_deg=strands.lag(shake),
        overshoot_pct=stopped[0] if stopped else None,
        swings=stopped[1] if stopped else None,
        contact_depth_mm=touched.depth_mm if touched else None,
        contact_count=touched.count if touched else None,
        contact_near=touched.near if touched else None,
        occlusion_count=hidden.count if hidden else None,
        occlusion_depth_mm=hidden.depth_mm if hidden else None,
        occlusion_near=hidden.near if hidden else None,
        length_error=strands.length_error(trace),
        update_ms_p50=float(np.percentile(main.update_ms, 50)),
        update_ms_p95=float(np.percentile(main.update_ms, 95)),
    )
    remarks = []
    if worst:
        remarks.append(f"worst edge, {solver}: mesh {worst[1]}, vertices {worst[2][0]} and {worst[2][1]}")
    if mesh.skipped:
        remarks.append(f"{solver}: {mesh.skipped} edges have no length at rest and are left out of the stretch")
    return report, remarks


def _left_out(rig: HairRig, chosen: list[int]) -> list[str]:
    names = [chain.name for c, chain in enumerate(rig.chains) if c not in chosen]
    return [f"not measured: {', '.join(names)}"] if names else []

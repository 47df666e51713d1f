"""Hair inside colliders: depth, count and near passes of whole segments over a run."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..avatar.avatar import Avatar
from ..avatar.skeleton import Skeleton
from ..hair import Collider, HairRig
from ..motion.body import Frames, Motion, frames, mean_scale
from ..rig.shapes import gap
from ..sim.crowd import Crowd
from ..sim.settling import settle_into
from .trace import Trace, rigid_hair

DEEP = 0.001  # metres: overlaps above this are counted, as the published measurements do
BETWEEN = 4  # poses looked at within each tick
NEAR = 0.020  # metres: closer passes count as near, to show that contact could have taken place


@dataclass(frozen=True)
class Contact:
    """What a run's segments did with their chain's colliders, rest overlap forgiven."""

    depth_mm: float  # the deepest overlap
    count: int  # samples of segments more than 1 mm inside a collider
    near: int  # samples of segments within 20 mm of a collider's surface, or inside
    between_mm: float | None = None  # the deepest overlap on straight lines between two ticks; not sampled: None


def contact(
    trace: Trace, rig: HairRig, skeleton: Skeleton, worlds: np.ndarray, chains=None, allowance: bool = True
) -> Contact | None:
    """Overlap of every segment with the colliders of its chain, in every sample; None where no chain has a collider.

    `worlds` (T, N, 4, 4) are the body's poses at the trace's samples; `chains` are the trace's chains as indices into
    rig.chains (all by default). A pair of segment and collider that overlaps in the rest pose keeps that overlap as an
    allowance: it is the style that the artist made.
    """
    indices = range(len(rig.chains)) if chains is None else chains
    body, rest_body = frames(skeleton, rig, worlds), frames(skeleton, rig, skeleton.rest_world[None])
    rest_ends, rest_origins, _ = rigid_hair(rig, skeleton.rest_world[None])
    links = trace.links()
    depths, nearest = [], []
    for c, which in enumerate(indices):
        chain = rig.chains[which]
        if not chain.colliders:
            continue
        first, count = trace.spans[c]
        ends = trace.positions[:, first : first + count]
        radius = chain.hit_radius * mean_scale(worlds[:, chain.joints])
        rest_first = rig.spans[which, 0]
        rest_end = rest_ends[:, rest_first : rest_first + count]
        rest_start = np.concatenate([rest_origins[:, which : which + 1], rest_end[:, :-1]], axis=1)
        rest_radius = chain.hit_radius * mean_scale(skeleton.rest_world[chain.joints])[None]
        deepest, closest = np.full(ends.shape[:2], -np.inf), np.full(ends.shape[:2], np.inf)
        for b in chain.colliders:
            collider = rig.colliders[b]
            between = _gap(collider, body, b, ends - links[:, first : first + count], ends, radius)
            allowed = np.maximum(0.0, -_gap(collider, rest_body, b, rest_start, rest_end, rest_radius))
            deepest = np.maximum(deepest, -between - (allowed if allowance else 0.0))
            closest = np.minimum(closest, between)
        depths.append(deepest.ravel())
        nearest.append(closest.ravel())
    if not depths:
        return None
    depth, near = np.concatenate(depths), np.concatenate(nearest)
    return Contact(1e3 * max(0.0, float(depth.max())), int(np.sum(depth > DEEP)), int(np.sum(near <= NEAR)))


def swept_contact(
    avatar: Avatar,
    rig: HairRig,
    motion: Motion,
    seconds: float,
    crowd: Crowd,
    chains=None,
    fps: float = 120.0,
    allowance: bool = True,
    between: int = BETWEEN,
) -> Contact | None:
    """The same over a run of its own, every frame of 1 / fps seconds and between frames.

    `between_mm` looks at `between` - 1 poses on the way from each frame to the next, the body as its motion has it at
    that instant and the hair on straight lines, as a display interpolates it: a strand that changes sides of a collider
    between two frames shows there, as deep as the collider is thick. Hair that is hit within a frame shows, too, by
    half of what the collider moves in it, since it does not start to move with the frame.
    """
    (member,) = crowd.add(avatar, rig, motion=motion)
    settle_into(crowd, int(member), motion)
    times, positions, roots = [], [], []  # at time 0 the hair is put on, before any contact
    start = crowd.clock.ticks
    for _ in range(round(seconds * fps)):
        crowd.advance(1.0 / fps)
        times.append((crowd.clock.ticks - start) / crowd.clock.rate)
        positions.append(crowd.positions(member)[0])
        roots.append(crowd.roots(member)[0])
    crowd.remove(member)
    run = (np.array(times), np.array(positions), np.array(roots))
    return between_ticks(avatar, rig, motion, *run, chains, allowance, between)


def between_ticks(avatar, rig, motion, times, positions, roots, chains=None, allowance=True, between=BETWEEN):
    """Contact of end points (T, S, 3) and roots (T, C, 3) at rising times (T,), and on the way between them."""
    f = np.arange(between) / between
    t = np.append((times[:-1, None] + f * np.diff(times)[:, None]).ravel(), times[-1])
    at = np.append((np.arange(len(times) - 1)[:, None] + f).ravel(), len(times) - 1.0)
    low = np.minimum(at.astype(int), len(times) - 2)
    share = (at - low)[:, None, None]
    indices = range(len(rig.chains)) if chains is None else chains
    found = None
    for part in np.array_split(np.arange(len(t)), max(1, len(t) // 480)) if between > 1 else ():
        worlds = motion.worlds(t[part])
        ends = positions[low[part]] * (1.0 - share[part]) + positions[low[part] + 1] * share[part]
        origins = roots[low[part]] * (1.0 - share[part]) + roots[low[part] + 1] * share[part]
        trace = Trace(t[part], ends, origins, *rigid_hair(rig, worlds), rig.spans)
        one = contact(trace.select(list(indices)), rig, avatar.skeleton, worlds, list(indices), allowance)
        if one is None:
            return None  # no chain has a collider
        found = one if found is None else max(found, one, key=lambda c: c.depth_mm)
    at_frames = motion.worlds(times)
    trace = Trace(times, positions, roots, *rigid_hair(rig, at_frames), rig.spans).select(list(indices))
    main = contact(trace, rig, avatar.skeleton, at_frames, list(indices), allowance)
    return main if found is None else replace(main, between_mm=found.depth_mm)


def _gap(collider: Collider, body: Frames, b: int, start: np.ndarray, end: np.ndarray, radius: np.ndarray):
    """(T, J) metres between the surfaces, negative inside."""
    place = (
        body.collider_a[:, b, None],
        body.collider_b[:, b, None],
        body.collider_radius[:, b, None],
        body.collider_tail_radius[:, b, None],
        body.collider_rotation[:, b, None],
        body.collider_scale[:, b, None],
    )
    return gap(collider, *place, start, end, radius)

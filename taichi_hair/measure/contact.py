"""Hair inside colliders: depth, count and near passes of whole segments over a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..avatar.skeleton import Skeleton
from ..hair import HairRig
from ..motion.body import Frames, frames, mean_scale
from .trace import Trace, rigid_hair

DEEP = 0.001  # metres: overlaps above this are counted, as the published measurements do
NEAR = 0.020  # metres: closer passes count as near, to show that contact could have taken place


@dataclass(frozen=True)
class Contact:
    """What a run's segments did with their chain's colliders, rest overlap forgiven."""

    depth_mm: float  # the deepest overlap
    count: int  # samples of segments more than 1 mm inside a collider
    near: int  # samples of segments within 20 mm of a collider's surface, or inside


def clearance(shape: str, a: np.ndarray, b: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """(...) metres from a collider's axis, or plane, to the segment from start to end (..., 3), its nearest point.

    `a` and `b` (..., 3) are a capsule's ends, a sphere's centre twice, or a plane's point and unit normal. For shapes
    that hold hair inside it is the segment's farthest point instead, and negative. In every case hair overlaps the
    collider by what `clearance` falls short of `margin`.
    """
    if shape in ("sphere", "capsule"):
        return segment_distance(start, end, a, b)
    if shape == "plane":
        return np.minimum(np.sum((start - a) * b, axis=-1), np.sum((end - a) * b, axis=-1))
    if shape in ("inside_sphere", "inside_capsule"):
        # The distance to a segment is convex, so the farthest point of the strand is one of its ends.
        return -np.maximum(segment_distance(start, start, a, b), segment_distance(end, end, a, b))
    raise ValueError(f"contact: shape {shape!r} is not known, wanted sphere, capsule, plane or an inside one")


def margin(shape: str, collider_radius: np.ndarray, hair_radius: np.ndarray) -> np.ndarray:
    """(...) the clearance at which hair just touches the collider."""
    if shape == "plane":
        return hair_radius + 0.0 * collider_radius
    return hair_radius + (-collider_radius if shape.startswith("inside") else collider_radius)


def segment_distance(p0: np.ndarray, p1: np.ndarray, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """(...) smallest distance between the segments p0 p1 and q0 q1 (..., 3), either of which may have no length."""
    d, e, r = p1 - p0, q1 - q0, p0 - q0
    dd, ee, de = _dot(d, d), _dot(e, e), _dot(d, e)
    dr, er = _dot(d, r), _dot(e, r)
    tiny = 1e-18  # square metres: segments shorter than a nanometre are points
    safe_d, safe_e = np.maximum(dd, tiny), np.maximum(ee, tiny)
    inner = dd * ee - de * de
    crossing = np.where(inner > 1e-12 * safe_d * safe_e, (de * er - dr * ee) / np.maximum(inner, 1e-300), 0.0)
    # Nearest on q to the clamped crossing, then nearest on p to that: exact (Ericson, Real-Time Collision, 5.1.9).
    v = np.where(ee > tiny, np.clip((de * np.clip(crossing, 0.0, 1.0) + er) / safe_e, 0.0, 1.0), 0.0)
    u = np.where(dd > tiny, np.clip((de * v - dr) / safe_d, 0.0, 1.0), 0.0)
    gap = r + u[..., None] * d - v[..., None] * e
    return np.sqrt(_dot(gap, gap))


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
            shape = rig.colliders[b].shape
            gap = _gap(shape, body, b, ends - links[:, first : first + count], ends, radius)
            allowed = np.maximum(0.0, -_gap(shape, rest_body, b, rest_start, rest_end, rest_radius))
            deepest = np.maximum(deepest, -gap - (allowed if allowance else 0.0))
            closest = np.minimum(closest, gap)
        depths.append(deepest.ravel())
        nearest.append(closest.ravel())
    if not depths:
        return None
    depth, gap = np.concatenate(depths), np.concatenate(nearest)
    return Contact(1e3 * max(0.0, float(depth.max())), int(np.sum(depth > DEEP)), int(np.sum(gap <= NEAR)))


def _gap(shape: str, body: Frames, b: int, start: np.ndarray, end: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """(T, J) metres between the surfaces, negative inside."""
    a, tail = body.collider_a[:, b, None], body.collider_b[:, b, None]
    return clearance(shape, a, tail, start, end) - margin(shape, body.collider_radius[:, b, None], radius)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.sum(a * b, axis=-1)

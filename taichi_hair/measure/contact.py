"""Hair inside colliders: depth, count and near passes of whole segments over a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..avatar.skeleton import Skeleton
from ..hair import Collider, HairRig
from ..motion.body import Frames, frames, mean_scale
from ..rig.shapes import gap
from .trace import Trace, rigid_hair

DEEP = 0.001  # metres: overlaps above this are counted, as the published measurements do
NEAR = 0.020  # metres: closer passes count as near, to show that contact could have taken place


@dataclass(frozen=True)
class Contact:
    """What a run's segments did with their chain's colliders, rest overlap forgiven."""

    depth_mm: float  # the deepest overlap
    count: int  # samples of segments more than 1 mm inside a collider
    near: int  # samples of segments within 20 mm of a collider's surface, or inside


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

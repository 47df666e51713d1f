"""How far a segment of hair is from a collider, for arrays of any leading shape, in NumPy float64."""

from __future__ import annotations

import numpy as np

from .. import rotations
from ..hair import Collider

BISECTIONS = 40
SAMPLES = 65  # points of a segment that are looked up in a surface's grid


def gap(collider: Collider, a, b, radius, tail_radius, rotation, scale, start, end, hair) -> np.ndarray:
    """(...) metres between the surfaces of a collider and of a segment of radius `hair`, negative where they overlap.

    `start` and `end` (..., 3) are the segment's. The rest says where the collider is, as `motion.body.Frames` has it:
    a, b (..., 3), radius and tail_radius (...), rotation (..., 4), scale (...), all in metres.
    A plane and the inside shapes are convex for the hair, so that its worst point is one of its ends.
    """
    if collider.shape == "plane":
        return np.minimum(_dot(start - a, b), _dot(end - a, b)) - hair
    if collider.shape in ("inside_sphere", "inside_capsule"):
        worst = np.maximum(segment_distance(start, start, a, b), segment_distance(end, end, a, b))
        return radius - worst - hair
    if collider.shape == "tapered_capsule":
        return tapered_distance(start, end, a, b, radius, tail_radius) - hair
    if collider.shape in ("sphere", "capsule"):
        return segment_distance(start, end, a, b) - radius - hair
    back = rotations.inverse(rotation)
    p, q = rotations.rotate(back, start - a), rotations.rotate(back, end - a)
    if collider.shape == "box":
        return box_distance(p, q, collider.half_size * np.asarray(scale)[..., None]) - radius - hair
    if collider.shape == "surface":
        u = np.linspace(0.0, 1.0, SAMPLES)
        points = p[..., None, :] + u[:, None] * (q - p)[..., None, :]
        size = np.asarray(scale, dtype=np.float64)
        depth = grid_distance(collider.surface, points / size[..., None, None]).min(axis=-1) * size
        return depth - np.maximum(radius, hair)
    raise ValueError(f"collider {collider.name!r}: shape {collider.shape!r} is not known")


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
    between = r + u[..., None] * d - v[..., None] * e
    return np.sqrt(_dot(between, between))


def tapered_distance(p0, p1, a, b, radius, tail_radius) -> np.ndarray:
    """(...) distance from the segment p0 p1 to the capsule a b whose radius goes linearly from one end to the other.

    |p(u) - q(v)| - r(v) is convex in u and v together, so that the least over v is convex in u: golden section.
    """
    e, grow = b - a, tail_radius - radius
    ee = np.maximum(_dot(e, e), 1e-18)
    slant = np.maximum(ee - grow * grow, 1e-12 * ee)

    def at(u):
        w = p0 + u[..., None] * (p1 - p0) - a
        v0 = _dot(w, e) / ee
        off = np.sqrt(np.maximum(_dot(w, w) - v0 * v0 * ee, 0.0))
        v = np.clip(v0 + grow * off / np.sqrt(ee * slant), 0.0, 1.0)
        away = w - v[..., None] * e
        return np.sqrt(_dot(away, away)) - radius - v * grow

    shape = np.broadcast_shapes(np.shape(p0), np.shape(a))[:-1]
    low, high = np.zeros(shape), np.ones(shape)
    share = (np.sqrt(5.0) - 1.0) / 2.0
    for _ in range(BISECTIONS):
        left, right = high - share * (high - low), low + share * (high - low)
        first = at(left) < at(right)
        low, high = np.where(first, low, left), np.where(first, right, high)
    return np.minimum(at(0.5 * (low + high)), np.minimum(at(np.zeros(shape)), at(np.ones(shape))))


def box_distance(p: np.ndarray, q: np.ndarray, half: np.ndarray) -> np.ndarray:
    """(...) signed distance from the segment p q, in the box's own axes, to a box of half edges `half` (..., 3)."""

    def at(u):
        outside = np.abs(p + u[..., None] * (q - p)) - half
        out = np.maximum(outside, 0.0)
        return np.sqrt(_dot(out, out)) + np.minimum(outside.max(axis=-1), 0.0)

    shape = np.shape(p)[:-1]
    low, high = np.zeros(shape), np.ones(shape)
    for _ in range(BISECTIONS):  # the distance to a convex body is convex along a line
        third = (high - low) / 3.0
        left = at(low + third) <= at(high - third)
        high, low = np.where(left, high - third, high), np.where(left, low, low + third)
    return np.minimum(at(0.5 * (low + high)), np.minimum(at(np.zeros(shape)), at(np.ones(shape))))


def grid_distance(surface, points: np.ndarray) -> np.ndarray:
    """(...) signed distance at points (..., 3) from the grid's first corner, local units, by trilinear interpolation.

    Outside the grid the distance to the grid is added: no less than the truth by more than a cell.
    """
    grid, cell = surface.distance, surface.cell
    size = np.array(grid.shape)
    where = np.asarray(points) / cell
    inside = np.clip(where, 0.0, size - 1.0)
    beyond = np.linalg.norm((where - inside) * cell, axis=-1)
    low = np.minimum(inside.astype(np.int64), size - 2)
    f = inside - low
    found = 0.0
    for corner in np.ndindex(2, 2, 2):
        weight = np.prod(np.where(corner, f, 1.0 - f), axis=-1)
        i = low + corner
        found = found + weight * grid[i[..., 0], i[..., 1], i[..., 2]]
    return found + beyond


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.sum(a * b, axis=-1)

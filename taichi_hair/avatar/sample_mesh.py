"""Surfaces from rings: splines, lofts, normals and bone weights, the tools the built-in avatars are made with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np


@dataclass(frozen=True, eq=False)
class Surface:
    """A piece of mesh in the rest pose: metres, y up, facing +z, counter-clockwise triangles seen from outside."""

    positions: np.ndarray  # (V, 3)
    triangles: np.ndarray  # (T, 3)
    uvs: np.ndarray  # (V, 2)
    normals: np.ndarray  # (V, 3) unit
    weights: Mapping[str, np.ndarray] = field(default_factory=dict)  # bone name to (V,), sums to 1 over the bones

    def weighted(self, weights: Mapping[str, np.ndarray]) -> Surface:
        """The same surface carried by other bones."""
        return replace(self, weights=dict(weights))

    def on(self, bone: str) -> Surface:
        """The same surface carried by one bone."""
        return self.weighted({bone: np.ones(len(self.positions))})


def smoothstep(low: float, high: float, x: np.ndarray) -> np.ndarray:
    """0 below `low`, 1 above `high`, with level ends between; shape of x."""
    t = np.clip((np.asarray(x, dtype=np.float64) - low) / (high - low), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def bump(x: np.ndarray, centre: float, width: float) -> np.ndarray:
    """Bell of height 1 and standard deviation `width`; shape of x."""
    return np.exp(-0.5 * ((np.asarray(x) - centre) / width) ** 2)


def table(rows, x: np.ndarray) -> np.ndarray:
    """Columns 1.. of `rows` (K, 1 + C), whose column 0 rises, at x (...): (..., C).

    Cubic Hermite with the limited slopes of Fritsch and Butland (1984): smooth, never beyond its neighbours.
    """
    rows = np.asarray(rows, dtype=np.float64)
    keys, values = rows[:, 0], rows[:, 1:]
    step = np.diff(keys)[:, None]
    slope = np.diff(values, axis=0) / step
    tangent = np.zeros_like(values)
    tangent[0], tangent[-1] = slope[0], slope[-1]
    if len(keys) > 2:
        before, after = slope[:-1], slope[1:]
        same = before * after > 0.0
        w0, w1 = 2.0 * step[1:] + step[:-1], step[1:] + 2.0 * step[:-1]
        safe = np.where(same, w0 / np.where(same, before, 1.0) + w1 / np.where(same, after, 1.0), 1.0)
        tangent[1:-1] = np.where(same, (w0 + w1) / safe, 0.0)
    x = np.asarray(x, dtype=np.float64)
    k = np.clip(np.searchsorted(keys, x, side="right") - 1, 0, len(keys) - 2)
    h = step[k, 0][..., None]
    t = np.clip((x - keys[k])[..., None] / h, 0.0, 1.0)
    a, b = values[k], values[k + 1]
    ta, tb = tangent[k] * h, tangent[k + 1] * h
    t2, t3 = t * t, t * t * t
    return (2 * t3 - 3 * t2 + 1) * a + (t3 - 2 * t2 + t) * ta + (3 * t2 - 2 * t3) * b + (t3 - t2) * tb


def spline(points, count: int) -> np.ndarray:
    """`count` points (count, 3), even by length, on the centripetal Catmull-Rom curve through `points` (K, 3)."""
    p = np.asarray(points, dtype=np.float64)
    p = np.concatenate([2 * p[:1] - p[1:2], p, 2 * p[-1:] - p[-2:-1]])
    knots = np.concatenate([[0.0], np.cumsum(np.sqrt(np.linalg.norm(np.diff(p, axis=0), axis=1)))])
    fine = np.linspace(knots[1], knots[-2], 24 * len(points))
    k = np.clip(np.searchsorted(knots, fine, side="right") - 1, 1, len(p) - 3)
    t = fine[:, None]
    t0, t1, t2, t3 = (knots[k + i][:, None] for i in (-1, 0, 1, 2))
    p0, p1, p2, p3 = (p[k + i] for i in (-1, 0, 1, 2))
    a1 = (t1 - t) / (t1 - t0) * p0 + (t - t0) / (t1 - t0) * p1
    a2 = (t2 - t) / (t2 - t1) * p1 + (t - t1) / (t2 - t1) * p2
    a3 = (t3 - t) / (t3 - t2) * p2 + (t - t2) / (t3 - t2) * p3
    b1 = (t2 - t) / (t2 - t0) * a1 + (t - t0) / (t2 - t0) * a2
    b2 = (t3 - t) / (t3 - t1) * a2 + (t - t1) / (t3 - t1) * a3
    return resample((t2 - t) / (t2 - t1) * b1 + (t - t1) / (t2 - t1) * b2, count)


def lengths(path: np.ndarray) -> np.ndarray:
    """Length along `path` (K, 3) from its start to each point: (K,)."""
    return np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])


def resample(path: np.ndarray, count: int) -> np.ndarray:
    """`count` points (count, 3) evenly spaced by length along a fine polyline (K, 3)."""
    along = lengths(path)
    return points_at(path, np.linspace(0.0, along[-1], count))


def points_at(path: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Points (..., 3) at `distance` (...) along a fine polyline (K, 3)."""
    along = lengths(path)
    return np.stack([np.interp(distance, along, path[:, c]) for c in range(3)], axis=-1)


def ring_angles(count: int) -> np.ndarray:
    """`count` angles round a ring, in radians from 0 on."""
    return 2.0 * np.pi * np.arange(count) / count


def power(x: np.ndarray, exponent) -> np.ndarray:
    """|x| to the exponent with the sign of x: turns a circle into a superellipse."""
    return np.sign(x) * np.abs(x) ** exponent


def normals_of(positions: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Area-weighted vertex normals (V, 3)."""
    a, b, c = (positions[triangles[:, i]] for i in range(3))
    face = np.cross(b - a, c - a)
    total = np.stack(
        [np.bincount(triangles.ravel(), np.repeat(face[:, i], 3), minlength=len(positions)) for i in range(3)], axis=1
    )
    size = np.linalg.norm(total, axis=1, keepdims=True)
    return total / np.where(size > 1e-20, size, 1.0)


def surface(positions, triangles, uvs=None) -> Surface:
    """A Surface with computed normals."""
    positions = np.asarray(positions, dtype=np.float64)
    triangles = np.asarray(triangles, dtype=np.int64)
    uvs = np.zeros((len(positions), 2)) if uvs is None else uvs
    return Surface(positions, triangles, uvs, normals_of(positions, triangles))


def grid_triangles(rows: int, columns: int, closed: bool) -> np.ndarray:
    """Triangles of a grid of vertices (row major), counter-clockwise when rows go up and columns go right."""
    last = columns if closed else columns - 1
    r, c = np.meshgrid(np.arange(rows - 1), np.arange(last), indexing="ij")
    n = (c + 1) % columns
    a, b, d, e = r * columns + c, r * columns + n, (r + 1) * columns + n, (r + 1) * columns + c
    return np.stack([np.stack([a, b, d], -1), np.stack([a, d, e], -1)], axis=2).reshape(-1, 3)


def loft(rings: np.ndarray, start: str = "flat", end: str = "flat", skip: np.ndarray | None = None) -> Surface:
    """Tube through `rings` (R, N, 3); `start` and `end` are "flat" (a fan to the ring's centre) or "open".

    A first or last ring whose points coincide becomes one vertex. The rings may turn either way: the side that encloses
    the volume becomes the outside. `skip` (R - 1, N) marks quads to leave out. v runs along the tube, u round it and
    back.
    """
    rings = np.asarray(rings, dtype=np.float64)
    ends = {"start": rings[0].mean(axis=0), "end": rings[-1].mean(axis=0)}
    middles = rings.mean(axis=1)
    along = lengths(middles)
    along = along / max(along[-1], 1e-9)
    pointed = [np.abs(ring - ring[:1]).max() < 1e-7 for ring in (rings[0], rings[-1])]
    kept = slice(1 if pointed[0] else 0, -1 if pointed[1] else None)
    rings, v = rings[kept], along[kept]
    rows, columns = rings.shape[:2]
    triangles = grid_triangles(rows, columns, True)
    if skip is not None:
        triangles = triangles[~np.repeat(np.asarray(skip).ravel(), 2)]
    fold = 1.0 - np.abs(1.0 - 2.0 * np.arange(columns) / columns)
    uvs = [np.stack([np.tile(fold, rows), np.repeat(v, columns)], axis=1)]
    positions, parts = [rings.reshape(-1, 3)], [triangles]
    for i, (name, row) in enumerate((("start", 0), ("end", rows - 1))):
        if (start, end)[i] == "open" and not pointed[i]:
            continue
        tip = rows * columns + len(positions) - 1
        positions.append(ends[name][None])
        uvs.append(np.array([[0.5, float(i)]]))
        at = row * columns + np.arange(columns)
        fan = np.stack([np.full(columns, tip), np.roll(at, -1), at], axis=1)
        parts.append(fan[:, ::-1] if i else fan)
    positions, uvs = np.concatenate(positions), np.concatenate(uvs)
    triangles = np.concatenate(parts)
    area = np.cross(
        positions[triangles[:, 1]] - positions[triangles[:, 0]], positions[triangles[:, 2]] - positions[triangles[:, 0]]
    )
    if np.einsum("ij,ij->", area, positions[triangles[:, 0]] - positions.mean(axis=0)) < 0.0:
        triangles = triangles[:, ::-1]
        area = -area
    triangles = triangles[np.linalg.norm(area, axis=1) > 1e-12]
    return compact(surface(positions, triangles, uvs))


def compact(piece: Surface) -> Surface:
    """The piece without the vertices that no triangle uses."""
    used, index = np.unique(piece.triangles, return_inverse=True)
    weights = {bone: w[used] for bone, w in piece.weights.items()}
    return Surface(piece.positions[used], index.reshape(-1, 3), piece.uvs[used], piece.normals[used], weights)


def sheet(grid: np.ndarray) -> Surface:
    """Open sheet through a grid of points (R, C, 3), facing the viewer when rows go up and columns go right."""
    rows, columns = grid.shape[:2]
    v, u = np.meshgrid(np.linspace(0, 1, rows), np.linspace(0, 1, columns), indexing="ij")
    return surface(grid.reshape(-1, 3), grid_triangles(rows, columns, False), np.stack([u.ravel(), v.ravel()], axis=1))


def merge(*pieces: Surface) -> Surface:
    """Several pieces as one, vertices kept apart."""
    starts = np.cumsum([0] + [len(p.positions) for p in pieces])
    weights: dict[str, np.ndarray] = {}
    for piece, start in zip(pieces, starts, strict=False):
        for bone, w in piece.weights.items():
            weights.setdefault(bone, np.zeros(starts[-1]))[start : start + len(w)] = w
    return Surface(
        np.concatenate([p.positions for p in pieces]),
        np.concatenate([p.triangles + s for p, s in zip(pieces, starts, strict=False)]),
        np.concatenate([p.uvs for p in pieces]),
        np.concatenate([p.normals for p in pieces]),
        weights,
    )


def other_side(name: str) -> str:
    """Bone name of the mirrored side: "left..." with "right...", "....L" with "....R"."""
    for a, b in (("left", "right"), ("right", "left")):
        if name.startswith(a):
            return b + name[len(a) :]
    for a, b in ((".L", ".R"), (".R", ".L")):
        if a in name:
            return name.replace(a, b)
    return name


def mirror(piece: Surface) -> Surface:
    """The piece mirrored in x, with the bones of the other side."""
    flip = np.array([-1.0, 1.0, 1.0])
    return Surface(
        piece.positions * flip,
        piece.triangles[:, ::-1],
        piece.uvs,
        piece.normals * flip,
        {other_side(bone): w for bone, w in piece.weights.items()},
    )


def both(piece: Surface) -> Surface:
    """The piece and its mirror image."""
    return merge(piece, mirror(piece))


def along_bones(bones, borders, widths, x: np.ndarray) -> dict[str, np.ndarray]:
    """Weights of B bones in a row along coordinate x (V,), blended over +-width at the B - 1 rising borders."""
    left = np.ones(len(x))
    weights: dict[str, np.ndarray] = {}
    for bone, border, width in zip(bones, borders, widths, strict=False):
        step = smoothstep(border - width, border + width, x)
        weights[bone] = weights.get(bone, 0.0) + left * (1.0 - step)
        left = left * step
    weights[bones[-1]] = weights.get(bones[-1], 0.0) + left
    return weights


def mix(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray], share: np.ndarray) -> dict[str, np.ndarray]:
    """Weights a where share (V,) is 0, b where it is 1."""
    return {k: a.get(k, 0.0) * (1.0 - share) + b.get(k, 0.0) * share for k in (*a, *(k for k in b if k not in a))}

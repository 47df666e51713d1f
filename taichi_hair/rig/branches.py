"""Branches of fused hair: tips of the distance field with what leads to them, and wide sheets cut side by side."""

from __future__ import annotations

import numpy as np
from scipy.cluster.vq import kmeans2
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from .surface import Surface

MOST_TIPS = 40
NARROW = 0.3  # width over length below which a branch is one lock however wide it is: a bulging tail
SHARE = 0.35  # of a tip's distance: branches that part farther out than that are tufts of one lock


def tips_of(graph: csr_matrix, distance: np.ndarray, least: float) -> np.ndarray:
    """Points (K,) that are farther than all around them, each standing out by at least `least` metres, and by a share
    of its own distance, from the level at which its branch joins one with a farther tip; the farthest point first."""
    order = np.argsort(-distance, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    parent = np.full(len(distance), -1)
    tip = np.arange(len(distance))
    found: list[int] = []

    def find(v: int) -> int:
        while parent[v] != v:
            parent[v] = parent[parent[v]]
            v = parent[v]
        return v

    for v in order.tolist():
        parent[v] = v
        for u in graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist():
            if rank[u] >= rank[v]:
                continue
            a, b = find(u), find(v)
            if a == b:
                continue
            if distance[tip[a]] < distance[tip[b]]:
                a, b = b, a
            if distance[tip[b]] - distance[v] >= max(least, SHARE * distance[tip[b]]):
                found.append(int(tip[b]))
            parent[b] = a
    roots = {find(v) for v in range(len(distance))}
    found += [int(tip[r]) for r in roots]
    return np.array(sorted(set(found), key=lambda v: -distance[v]))


def branch_labels(graph: csr_matrix, distance: np.ndarray, least: float) -> np.ndarray:
    """(P,) number of the branch of each point of a connected piece: the tip for whose way from the root the point is
    the least detour."""
    tips = tips_of(graph, distance, least)[:MOST_TIPS]
    if len(tips) == 1:
        return np.zeros(len(distance), dtype=np.int64)
    way = dijkstra(graph, directed=False, indices=tips)
    detour = way + distance[None] - distance[tips][:, None]
    return np.argmin(np.where(np.isfinite(detour), detour, np.inf), axis=0)


def split_wide(surface: Surface, rows: np.ndarray, roots: np.ndarray, distance: np.ndarray, widest: float):
    """The points (K,) of a branch as lists of points, cut side by side where it is wider than `widest` metres.

    `roots` (K, 3) are the places where each point's way to the head ends: points of one lock share them. Width is
    measured across the lock at equal distance from the root.
    """
    if len(rows) < 24:
        return [rows]
    spread = across(surface, rows, distance)
    count = int(np.clip(np.ceil(spread / widest), 1, 8))
    length = float(distance[rows].max())
    if count == 1 or spread < NARROW * length:
        return [rows]
    mark = np.concatenate([0.5 * beside(roots, distance[rows]), beside(surface.points[rows], distance[rows])], axis=1)
    label = kmeans2(mark, _starts(mark, count), minit="matrix", iter=20)[1]
    parts = [rows[label == k] for k in range(count)]
    return [p for p in parts if len(p)]


def beside(points: np.ndarray, along: np.ndarray, steps: int = 12) -> np.ndarray:
    """(K, 3) offsets from the mean of the points at an equal distance: where across the lock a point lies."""
    place = along / max(float(along.max()), 1e-12) * (steps - 1)
    low = np.minimum(place.astype(np.int64), steps - 2)
    share = place - low
    total = np.bincount(low, 1.0 - share, steps) + np.bincount(low + 1, share, steps)
    mean = np.empty((steps, 3))
    for k in range(3):
        sums = np.bincount(low, (1.0 - share) * points[:, k], steps) + np.bincount(low + 1, share * points[:, k], steps)
        full = total > 1e-9
        mean[:, k] = np.interp(np.arange(steps), np.flatnonzero(full), sums[full] / total[full])
    return points - (mean[low] * (1.0 - share)[:, None] + mean[low + 1] * share[:, None])


def across(surface: Surface, rows: np.ndarray, distance: np.ndarray) -> float:
    """Metres: how wide a branch is at equal distances, the mean over its length of the widest direction's extent."""
    along = distance[rows]
    step = np.minimum((along / max(float(along.max()), 1e-12) * 12).astype(np.int64), 11)
    widths, shares = [], []
    for k in range(12):
        points = surface.points[rows[step == k]]
        if len(points) >= 3:
            widths.append(3.0 * float(np.sqrt(np.linalg.eigvalsh(np.cov(points.T))[-1])))
            shares.append(len(points))
    return float(np.average(widths, weights=shares)) if widths else 0.0


def _starts(values: np.ndarray, count: int) -> np.ndarray:
    """(count, D) rows far from each other, the one farthest from the mean first."""
    chosen = [int(np.argmax(np.linalg.norm(values - values.mean(axis=0), axis=1)))]
    away = np.linalg.norm(values - values[chosen[0]], axis=1)
    while len(chosen) < count:
        chosen.append(int(np.argmax(away)))
        away = np.minimum(away, np.linalg.norm(values - values[chosen[-1]], axis=1))
    return values[chosen]

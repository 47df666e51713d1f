"""Piece: a lock found in the surface, with its axis; and where it begins: where it leaves the scalp."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial import cKDTree

from .centreline import Curve, axis_of, level_line
from .roots import Head
from .strand import strand_width
from .surface import Surface, distances

BACK = 0.6  # head radii before the place where a lock surely hangs within which it may begin
SLANT = 0.15  # head radii: a root that reaches farther along its lock on one side than on another by this is levelled
REACH = 1.5  # head radii behind a lock in which what is held counts
KEPT = 0.4  # of what is held behind a lock: where a level root would let go of more, the hold is no band across it
DEEP = 0.8  # of the way behind a lock: what lies deeper is where levels along it are measured from


@dataclass(frozen=True, eq=False)
class Piece:
    """A lock found: its points, distance along the surface from where it is held, and its axis."""

    points: np.ndarray  # (K,) of the surface
    curve: Curve
    turns: float
    width: float
    length: float
    hollow: bool  # the axis lies outside the hair
    island: int
    area: float


def rooted(surface: Surface, head: Head, graph: csr_matrix, pieces: list[Piece], distance: np.ndarray, on_scalp):
    """The pieces grown back to where they leave the scalp (`on_scalp` (P,) bool), and the distance (P,) from there.

    What decides that hair hangs is generous about what still lies on the head; a lock that does hang begins earlier, at
    the tie or where it parts from the scalp, and a longer chain bends its mesh less.
    """
    loose = np.flatnonzero((distance == 0.0) & ~on_scalp)
    if not len(loose) or not pieces:
        return pieces, distance
    rows = np.concatenate([p.points for p in pieces])
    whose = np.full(len(surface.points), -1)
    whose[rows] = np.repeat(np.arange(len(pieces)), [len(p.points) for p in pieces])
    inside = np.zeros(len(surface.points), dtype=bool)
    inside[loose] = inside[rows] = True
    index = np.flatnonzero(inside)
    number = np.full(len(surface.points), -1)
    number[index] = np.arange(len(index))
    way, _, source = dijkstra(
        graph[index][:, index],
        directed=False,
        indices=number[rows],
        min_only=True,
        return_predecessors=True,
        limit=BACK * head.radius,
    )
    grown = np.isfinite(way[number[loose]])
    owner = whose[index[source[number[loose[grown]]]]]
    held = distance == 0.0
    held[loose[grown]] = False
    # A piece of its own keeps a hold: its points that are farthest back.
    _, label = connected_components(graph, directed=False)
    back = np.where(np.isfinite(way), way, -1.0)
    for part in np.setdiff1d(label[loose[grown]], label[held]).tolist():
        mine = loose[grown][label[loose[grown]] == part]
        reach = back[number[mine]]
        held[mine[reach >= reach.max() - 0.05 * head.radius]] = True
    distance = np.where(np.isfinite(distance), distances(graph, np.flatnonzero(held)), distance)
    more = [np.concatenate([p.points, loose[grown][owner == k]]) for k, p in enumerate(pieces)]
    return [measured(surface, points, distance) for points in more], distance


def measured(surface: Surface, rows: np.ndarray, distance: np.ndarray) -> Piece:
    """The piece of these points with its axis, from where it is held to its tip."""
    points, along = surface.points[rows], distance[rows]
    local = Surface(points, np.zeros((0, 2), dtype=np.int64), np.zeros((0, 3), dtype=np.int64), (), (), ())
    local.__dict__["areas"] = surface.areas[rows]
    width = strand_width(local, along)
    start = along - along.min()
    curve, turns = axis_of(level_line(points, start, surface.areas[rows]), width)
    gap = cKDTree(points).query(curve.at(np.linspace(0.1, 0.9, 17) * curve.length))[0]
    hollow = bool(np.median(gap) > 0.45 * max(width, 1e-6) and np.median(gap) > 0.02)
    island = int(np.bincount(surface.islands[rows]).argmax())
    return Piece(rows, curve, turns, width, curve.length, hollow, island, float(surface.areas[rows].sum()))


def levelled(surface: Surface, head: Head, graph: csr_matrix, pieces: list[Piece], distance: np.ndarray):
    """The pieces with level roots, and the distance (P,) from there; the very same where there is nothing to level.

    A lock that parts slowly from the head is held on its inner side far below where its outer side is free: its root
    is slanted, and the strip between tears when the lock swings. Each piece gets one root, across itself, at the level
    along it that agrees best with what is held; a slant of less than `SLANT` is left as it is.
    """
    held = distance == 0.0
    reach = REACH * head.radius
    index, owner, depth = _behind(surface, graph, pieces, held, reach)
    changed = held.copy()
    for k, piece in enumerate(pieces):
        back = index[owner == k]
        if not len(back) or depth[owner == k].max() < SLANT * head.radius:
            continue
        both = np.concatenate([piece.points, back])
        far = depth[owner == k]
        own = graph[both][:, both]
        deep = len(piece.points) + np.flatnonzero(far >= DEEP * far.max())
        level = dijkstra(own, directed=False, indices=deep, min_only=True)
        known = np.isfinite(level)
        if not known[: len(piece.points)].all():
            continue
        free = np.arange(len(both)) < len(piece.points)
        area = surface.areas[both]
        order = np.argsort(level)
        # Area that would change sides if the root were put just behind each point.
        wrong = np.cumsum(np.where(free[order], area[order], -area[order])) + area[~free].sum()
        root = float(level[order[int(np.argmin(wrong))]])
        slant = float(level[~free & known].max() - level[free].min())
        kept = area[~free & known & (level <= root)].sum()
        if slant < SLANT * head.radius or kept < KEPT * area[~free].sum():
            continue
        changed[both[known & (level <= root)]] = True
        changed[both[known & (level > root)]] = False
    if (changed == held).all() or not changed.any():
        return pieces, distance
    found = distances(graph, np.flatnonzero(changed))
    distance = np.where(np.isfinite(distance), found, distance)
    every = [np.concatenate([p.points, index[owner == k]]) for k, p in enumerate(pieces)]
    rows = [points[~changed[points]] for points in every]
    return [measured(surface, r, distance) if len(r) >= 4 else p for r, p in zip(rows, pieces, strict=True)], distance


def _behind(surface: Surface, graph: csr_matrix, pieces: list[Piece], held: np.ndarray, reach: float):
    """Held points within `reach` of a piece: their numbers, the nearest piece, and metres from it."""
    rows = np.concatenate([p.points for p in pieces])
    whose = np.full(len(surface.points), -1)
    whose[rows] = np.repeat(np.arange(len(pieces)), [len(p.points) for p in pieces])
    inside = held.copy()
    inside[rows] = True
    index = np.flatnonzero(inside)
    number = np.full(len(surface.points), -1)
    number[index] = np.arange(len(index))
    way, _, source = dijkstra(
        graph[index][:, index],
        directed=False,
        indices=number[rows],
        min_only=True,
        return_predecessors=True,
        limit=reach,
    )
    behind = np.isfinite(way) & held[index]
    return index[behind], whose[index[source[behind]]], way[behind]

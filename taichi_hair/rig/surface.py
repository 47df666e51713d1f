"""The selected hair as one welded surface: points, edges, islands and distances along it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial import cKDTree

from ..avatar.description import Avatar
from ..avatar.errors import AssetError
from ..avatar.skinning import skin_vertices

WELD = 2e-5  # of the selection's size: vertices nearer than this are one point, split for normals or texture only


@dataclass(frozen=True, eq=False)
class Surface:
    """Welded points of one or several mesh parts in the rest pose, in metres."""

    points: np.ndarray  # (P, 3)
    edges: np.ndarray  # (E, 2) distinct, smaller first
    triangles: np.ndarray  # (T, 3)
    parts: tuple[int, ...]  # indices into Avatar.parts
    vertices: tuple[np.ndarray, ...]  # per part: the selected vertices of the part
    owners: tuple[np.ndarray, ...]  # per part: (len(vertices),) their points

    @cached_property
    def lengths(self) -> np.ndarray:
        """(E,) metres."""
        return np.linalg.norm(self.points[self.edges[:, 0]] - self.points[self.edges[:, 1]], axis=1)

    @cached_property
    def graph(self) -> csr_matrix:
        """(P, P) symmetric, edge lengths; an edge without length counts as a nanometre."""
        return edge_graph(len(self.points), self.edges, np.maximum(self.lengths, 1e-9))

    @cached_property
    def islands(self) -> np.ndarray:
        """(P,) number of the connected piece of each point, the largest piece first."""
        _, label = connected_components(self.graph, directed=False)
        order = np.argsort(-np.bincount(label), kind="stable")
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return rank[label]

    @cached_property
    def areas(self) -> np.ndarray:
        """(P,) square metres: a third of the triangles around each point."""
        a, b, c = (self.points[self.triangles[:, k]] for k in range(3))
        area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
        total = np.bincount(self.triangles.ravel(), np.repeat(area / 3.0, 3), len(self.points))
        return np.maximum(total, 1e-12)

    @cached_property
    def size(self) -> float:
        """Metres: diagonal of the bounding box."""
        return float(np.linalg.norm(np.ptp(self.points, axis=0)))

    def part_of(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Edges among chosen points (P,) bool, renumbered, and the numbers of those points."""
        index = np.flatnonzero(chosen)
        new = np.full(len(self.points), -1)
        new[index] = np.arange(len(index))
        inside = chosen[self.edges].all(axis=1)
        return new[self.edges[inside]], index


def edge_graph(count: int, edges: np.ndarray, lengths: np.ndarray) -> csr_matrix:
    """Symmetric matrix of edge lengths; of an edge that is given twice the shorter length counts."""
    edges = np.sort(np.asarray(edges).reshape(-1, 2), axis=1)
    order = np.lexsort((lengths, edges[:, 1], edges[:, 0]))
    edges, lengths = edges[order], np.asarray(lengths)[order]
    first = np.ones(len(edges), dtype=bool)
    first[1:] = np.any(edges[1:] != edges[:-1], axis=1)
    edges, lengths = edges[first], lengths[first]
    row, column = np.concatenate([edges, edges[:, ::-1]]).T
    return coo_matrix((np.tile(lengths, 2), (row, column)), shape=(count, count)).tocsr()


def distances(graph: csr_matrix, sources: np.ndarray) -> np.ndarray:
    """(P,) metres along the surface to the nearest of the source points; infinite where nothing leads there."""
    return dijkstra(graph, directed=False, indices=np.asarray(sources), min_only=True)


def read_surface(avatar: Avatar, parts: Sequence[int], faces: np.ndarray | None = None) -> Surface:
    """Weld the given parts of an avatar in the rest pose. `faces` (bool over the triangles of a single part) selects
    some of them. Points that no selected triangle uses are left out."""
    points, owners, vertices, triangles, total = [], [], [], [], 0
    for index in parts:
        part = avatar.parts[index]
        faced = part.triangles if faces is None else part.triangles[faces]
        used, corner = np.unique(faced, return_inverse=True)
        where = f"mesh {part.name!r}, primitive {part.primitive}"
        if not len(used):
            raise AssetError(avatar.file, where, "no triangle", "a mesh with triangles")
        rest = skin_vertices(avatar, part)[used]
        if not np.all(np.isfinite(rest)):
            bad = int(used[np.argmax(~np.isfinite(rest).all(axis=1))])
            raise AssetError(avatar.file, where, f"vertex {bad} at a place that is not finite", "finite positions")
        points.append(rest)
        vertices.append(used)
        triangles.append(corner.reshape(-1, 3) + total)
        total += len(used)
    everything = np.concatenate(points)
    size = float(np.linalg.norm(np.ptp(everything, axis=0)))
    if size < 1e-6:
        raise AssetError(avatar.file, f"mesh {avatar.parts[parts[0]].name!r}", "all vertices in one place", "a shape")
    joined = welded(everything, WELD * size)
    count = int(joined.max()) + 1
    place = np.stack([np.bincount(joined, everything[:, k], count) for k in range(3)], axis=1)
    place /= np.bincount(joined, minlength=count)[:, None]
    start = 0
    for rows in points:
        owners.append(joined[start : start + len(rows)])
        start += len(rows)
    faces_ = joined[np.concatenate(triangles)]
    pairs = np.sort(np.concatenate([faces_[:, [0, 1]], faces_[:, [1, 2]], faces_[:, [2, 0]]]), axis=1)
    edges = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    return Surface(place, edges, faces_, tuple(parts), tuple(vertices), tuple(owners))


def welded(points: np.ndarray, reach: float) -> np.ndarray:
    """(V,) number of the point that each vertex belongs to: vertices within `reach` of each other are one."""
    pairs = cKDTree(points).query_pairs(reach, output_type="ndarray")
    near = coo_matrix((np.ones(len(pairs)), pairs.T), shape=(len(points), len(points)))
    return connected_components(near, directed=False)[1]


def bridged(surface: Surface, reach: float) -> tuple[csr_matrix, np.ndarray]:
    """The surface's graph with islands joined where they come within `reach` metres of each other, and the number of
    the joined piece (P,) that each point belongs to. Each pair of islands is joined at its nearest points."""
    label = surface.islands
    count = int(label.max()) + 1
    if count == 1:
        return surface.graph, label
    tree = cKDTree(surface.points)
    pairs = tree.query_pairs(reach, output_type="ndarray")
    pairs = pairs[label[pairs[:, 0]] != label[pairs[:, 1]]]
    gap = np.linalg.norm(surface.points[pairs[:, 0]] - surface.points[pairs[:, 1]], axis=1)
    order = np.argsort(gap, kind="stable")
    pairs, gap = pairs[order], gap[order]
    key = np.sort(label[pairs], axis=1) @ np.array([count, 1])
    _, first = np.unique(key, return_index=True)
    edges = np.concatenate([surface.edges, pairs[first]])
    lengths = np.concatenate([np.maximum(surface.lengths, 1e-9), np.maximum(gap[first], 1e-9)])
    graph = edge_graph(len(surface.points), edges, lengths)
    return graph, connected_components(graph, directed=False)[1]

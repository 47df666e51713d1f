"""Stretch of the skinned mesh: for each edge its largest length over a run, against its length at rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..avatar.avatar import Avatar, MeshPart, Skin
from ..hair import HairRig

SHORTEST = 1e-6  # metres: shorter edges at rest have no length that a file's 32-bit positions could tell


def unique_edges(triangles: np.ndarray) -> np.ndarray:
    """(E, 2) vertex pairs, smaller index first: each edge of triangles (T, 3) once, none from a vertex to itself."""
    triangles = np.asarray(triangles, dtype=np.int64).reshape(-1, 3)
    pairs = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    return pairs[pairs[:, 0] != pairs[:, 1]]


class EdgeStretch:
    """Collects each edge's largest stretch, frame by frame.

    `edges` (E, 2) and `rest_lengths` (E,) leave out the edges without length at rest; `skipped` counts those.
    """

    def __init__(self, edges: np.ndarray, rest: np.ndarray):
        """Edges (E, 2) of vertices whose rest positions are `rest` (V, 3) metres."""
        edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
        lengths = _lengths(edges, np.asarray(rest, dtype=np.float64))
        kept = lengths > SHORTEST
        self.edges, self.rest_lengths, self.skipped = edges[kept], lengths[kept], int(np.sum(~kept))
        self.vertices = len(rest)
        self.frames = 0
        self.largest = np.zeros(len(self.edges))  # ratio to the rest length

    def add(self, positions: np.ndarray) -> None:
        """One frame of vertex positions (V, 3), or several (F, V, 3)."""
        positions = np.asarray(positions)
        frames = positions[None] if positions.ndim == 2 else positions
        if frames.ndim != 3 or frames.shape[1:] != (self.vertices, 3):
            raise ValueError(f"stretch: positions have shape {positions.shape}, wanted ({self.vertices}, 3)")
        for frame in frames:
            lengths = _lengths(self.edges, frame)
            if not np.all(np.isfinite(lengths)):
                raise ValueError(f"stretch: frame {self.frames} holds positions that are not finite, wanted metres")
            np.maximum(self.largest, lengths / self.rest_lengths, out=self.largest)
            self.frames += 1

    def percentile(self, share: float = 99.0) -> float | None:
        """Percent that this share of the edges stayed below, each at its own worst; None without edges or frames."""
        return 100.0 * float(np.percentile(self.largest, share) - 1.0) if self._measured() else None

    def worst(self) -> float | None:
        """Percent by which the worst edge was stretched at its worst."""
        return 100.0 * float(self.largest.max() - 1.0) if self._measured() else None

    def worst_edge(self) -> tuple[int, int] | None:
        """The two vertices of the worst edge."""
        return tuple(int(v) for v in self.edges[np.argmax(self.largest)]) if self._measured() else None

    def _measured(self) -> bool:
        return self.frames > 0 and len(self.edges) > 0


def _lengths(edges: np.ndarray, positions: np.ndarray) -> np.ndarray:
    return np.linalg.norm(positions[edges[:, 0]] - positions[edges[:, 1]], axis=-1)


class Blend:
    """Linear blend skinning of chosen vertices for many poses, as one matrix product in float64.

    The device's skinning is in float32, whose rounding (a tenth of a micrometre at head height) would show as stretch
    on the short edges of a dense hair mesh.
    """

    def __init__(self, part: MeshPart, skin: Skin, vertices: np.ndarray):
        """The vertices (V,) of a part."""
        joints, weights = part.joints[vertices], part.weights[vertices].astype(np.float64)
        used, column = np.unique(np.where(weights > 0.0, joints, joints[:, :1]), return_inverse=True)
        self.nodes = np.asarray(skin.joints)[used]
        self.inverse_bind = np.asarray(skin.inverse_bind, dtype=np.float64)[used]
        # Row of a vertex: its weight for a bone times its homogeneous position, in that bone's four columns.
        share = np.zeros((len(vertices), len(used)))
        np.add.at(share, (np.arange(len(vertices))[:, None], column.reshape(joints.shape)), weights)
        points = np.concatenate([part.positions[vertices], np.ones((len(vertices), 1))], axis=1)
        self.rows = (share[:, :, None] * points[:, None, :]).reshape(len(vertices), -1)

    def positions(self, worlds: np.ndarray) -> np.ndarray:
        """(V, 3) positions for node matrices (N, 4, 4)."""
        bones = worlds[self.nodes] @ self.inverse_bind
        return self.rows @ np.swapaxes(bones[:, :3, :], 1, 2).reshape(-1, 3)


@dataclass
class Piece:
    """The edges of one mesh part that hair moves."""

    name: str
    blend: Blend
    vertices: np.ndarray  # (V,) of the part, in the order of the stretch's own vertices
    stretch: EdgeStretch


class HairMesh:
    """All edges of an avatar's mesh that its hair touches: at least one end is weighted to a joint of a chain."""

    def __init__(self, avatar: Avatar, rig: HairRig, chains=None):
        """Of the given chains (indices into rig.chains) or of all."""
        chosen = rig.chains if chains is None else [rig.chains[c] for c in chains]
        moved = moved_nodes(avatar, np.concatenate([c.joints for c in chosen]) if chosen else np.zeros(0, dtype=int))
        rest = avatar.skeleton.rest_world
        self.avatar = avatar
        self.pieces: list[Piece] = []
        for part in avatar.parts:
            skin = avatar.skins[part.skin]
            touched = np.any((part.weights > 0.0) & moved[np.asarray(skin.joints)][part.joints], axis=1)
            edges = unique_edges(part.triangles)
            edges = edges[touched[edges].any(axis=1)]
            if len(edges) == 0:
                continue
            vertices, compact = np.unique(edges, return_inverse=True)
            blend = Blend(part, skin, vertices)
            stretch = EdgeStretch(compact.reshape(-1, 2), blend.positions(rest))
            self.pieces.append(Piece(part.name, blend, vertices, stretch))

    @property
    def vertices(self) -> int:
        """How many vertices are looked at."""
        return sum(len(piece.vertices) for piece in self.pieces)

    @property
    def edges(self) -> int:
        """How many edges are looked at."""
        return sum(len(piece.stretch.edges) for piece in self.pieces)

    @property
    def skipped(self) -> int:
        """How many edges have no length at rest and are left out."""
        return sum(piece.stretch.skipped for piece in self.pieces)

    def add(self, worlds: np.ndarray) -> None:
        """One pose: world matrices (N, 4, 4) of all nodes, hair included."""
        for piece in self.pieces:
            piece.stretch.add(piece.blend.positions(worlds))

    def percentile(self, share: float = 99.0) -> float | None:
        """Percent, over the edges of all parts together, each at its own worst."""
        largest = [p.stretch.largest for p in self.pieces if p.stretch.frames and len(p.stretch.largest)]
        return 100.0 * float(np.percentile(np.concatenate(largest), share) - 1.0) if largest else None

    def worst(self) -> tuple[float, str, tuple[int, int]] | None:
        """(percent, mesh part, the part's two vertices) of the worst edge."""
        measured = [p for p in self.pieces if p.stretch.worst() is not None]
        if not measured:
            return None
        piece = max(measured, key=lambda p: p.stretch.worst())
        a, b = piece.stretch.worst_edge()
        return piece.stretch.worst(), piece.name, (int(piece.vertices[a]), int(piece.vertices[b]))


def moved_nodes(avatar: Avatar, joints: np.ndarray) -> np.ndarray:
    """(N,) whether a node is one of `joints` or hangs below one."""
    return avatar.skeleton.below(joints)

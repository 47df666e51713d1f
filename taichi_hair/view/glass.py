"""Glass: colliders of every shape as triangles, at their true size."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .. import rotations
from ..hair import Collider, Surface

RINGS = 10  # of a half sphere
ROUND = 20  # corners of a ring
COLOR = np.array([0.03, 0.45, 0.42, 0.85])  # linear and opacity
PLANE_SIZE = 0.5  # metres, half side of the square that stands for a plane
FINEST = 48  # cells along a grid's longest edge that are drawn


def collider_mesh(collider: Collider, world: np.ndarray):
    """Points (V, 3), normals (V, 3), colours (V, 4) and triangles (T, 3) of a collider whose node is at `world`."""
    linear = world[:3, :3]
    start = linear @ collider.offset + world[:3, 3]
    scale = float(np.cbrt(abs(np.linalg.det(linear))))
    own = rotations.IDENTITY if collider.rotation is None else collider.rotation
    if collider.shape == "plane":
        made = _plane(start, linear @ collider.normal)
    elif collider.shape == "box":
        made = _box(start, linear @ rotations.to_matrix(own), collider.half_size + collider.radius)
    elif collider.shape == "surface":
        points, normals, triangles = contour(collider.surface, float(collider.radius))
        turn = linear @ rotations.to_matrix(own)
        made = points @ turn.T + start, normals @ turn.T / max(scale, 1e-12), triangles
    else:
        end = start if collider.tail is None else linear @ collider.tail + world[:3, 3]
        tail_radius = collider.radius if collider.tail_radius is None else collider.tail_radius
        made = _capsule(start, end, collider.radius * scale, tail_radius * scale)
    points, normals, triangles = made
    return points, normals, np.repeat(COLOR[None], len(points), axis=0), triangles


def strips(rings: int, corners: int) -> np.ndarray:
    """(T, 3) triangles between neighbouring rings of equal corner count."""
    r, k = np.meshgrid(np.arange(rings - 1), np.arange(corners), indexing="ij")
    a, b = (r * corners + k).ravel(), (r * corners + (k + 1) % corners).ravel()
    return np.concatenate([np.stack([a, b, a + corners], 1), np.stack([b, b + corners, a + corners], 1)])


def _capsule(start: np.ndarray, end: np.ndarray, radius: float, tail_radius: float):
    """Two caps and the cone that touches both spheres; a sphere inside the other leaves the larger one."""
    axis = end - start
    length = float(np.linalg.norm(axis))
    axis = axis / length if length > 1e-9 else np.array([0.0, 1.0, 0.0])
    side = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    side /= np.linalg.norm(side)
    frame = np.stack([side, axis, np.cross(side, axis)], axis=1)
    # Where the cone touches: its normal leans towards the thinner end by the difference of the radii per length.
    lean = np.arcsin(np.clip((radius - tail_radius) / max(length, 1e-12), -1.0, 1.0)) if length > 1e-9 else 0.0
    pitch = np.concatenate([np.linspace(-0.5 * np.pi, lean, RINGS), np.linspace(lean, 0.5 * np.pi, RINGS)])
    turn = 2 * np.pi * np.arange(ROUND) / ROUND
    unit = np.stack(
        [
            np.cos(pitch)[:, None] * np.cos(turn),
            np.repeat(np.sin(pitch)[:, None], ROUND, axis=1),
            np.cos(pitch)[:, None] * np.sin(turn),
        ],
        axis=-1,
    )
    normals = (unit @ frame.T).reshape(-1, 3)
    centres = np.repeat(np.stack([start] * RINGS + [end] * RINGS), ROUND, axis=0)
    sizes = np.repeat([radius] * RINGS + [tail_radius] * RINGS, ROUND)[:, None]
    return centres + sizes * normals, normals, strips(2 * RINGS, ROUND)


def _plane(point: np.ndarray, normal: np.ndarray):
    """A square that stands for a plane."""
    normal = normal / np.linalg.norm(normal)
    side = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    side /= np.linalg.norm(side)
    other = np.cross(normal, side)
    corners = [point + PLANE_SIZE * (a * side + b * other) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    return np.array(corners), np.repeat(normal[None], 4, 0), np.array([[0, 1, 2], [0, 2, 3]])


def _box(centre: np.ndarray, turn: np.ndarray, half: np.ndarray):
    """Six faces with corners of their own, so that each is flat; edges are drawn sharp, at the box's full size."""
    points, normals, triangles = [], [], []
    for axis in range(3):
        u, v = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3]
        for sign in (-1.0, 1.0):
            out = sign * np.eye(3)[axis]
            first = len(points)
            for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                points.append((out + a * u + sign * b * v) * half)
                normals.append(out)
            triangles += [[first, first + 1, first + 2], [first, first + 2, first + 3]]
    points, normals = np.array(points) @ turn.T + centre, np.array(normals) @ turn.T
    return points, normals / np.linalg.norm(normals, axis=1, keepdims=True), np.array(triangles)


@lru_cache(maxsize=16)
def contour(surface: Surface, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points (V, 3) and normals (V, 3) in the grid's axes from its first corner, and triangles (T, 3): where the
    distance is `level`.

    Surface nets (Gibson 1998): one point in each cell that the surface passes, the mean of where it cuts the edges.
    """
    step = max(1, (max(surface.distance.shape) - 1) // FINEST)
    grid = np.asarray(surface.distance[::step, ::step, ::step], dtype=np.float64) - level
    cell = surface.cell * step
    if min(grid.shape) < 2:
        return np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)
    inside, cells = grid < 0.0, np.array(grid.shape) - 1
    total, count = np.zeros((*cells, 3)), np.zeros(cells)
    cuts = []
    for axis in range(3):
        low, high = _ends(grid, axis)
        cut = _ends(inside, axis)[0] != _ends(inside, axis)[1]
        share = np.where(cut, low / np.where(cut, low - high, 1.0), 0.0)
        at = np.stack(np.meshgrid(*[np.arange(n) for n in cut.shape], indexing="ij"), axis=-1) + 0.0
        at[..., axis] += share
        b, c = (axis + 1) % 3, (axis + 2) % 3
        for i in (0, 1):  # the four cells about each edge
            for j in (0, 1):
                here, there = [slice(None)] * 3, [slice(None)] * 3
                for k, shift in ((b, i), (c, j)):
                    here[k] = slice(shift, cells[k] + shift)
                    there[k] = slice(0, cells[k])
                mine = cut[tuple(here)]
                total[tuple(there)] += at[tuple(here)] * mine[..., None]
                count[tuple(there)] += mine
        cuts.append(cut)
    number = np.cumsum(count.ravel() > 0).reshape(count.shape) - 1
    points = cell * total[count > 0] / count[count > 0][:, None]
    triangles = [np.zeros((0, 3), dtype=np.int64)]
    for axis, cut in enumerate(cuts):
        b, c = (axis + 1) % 3, (axis + 2) % 3
        where = np.argwhere(cut)
        where = where[(where[:, [b, c]] > 0).all(axis=1) & (where[:, [b, c]] < cells[[b, c]]).all(axis=1)]
        quad = []
        for i, j in ((1, 1), (0, 1), (0, 0), (1, 0)):
            at = where.copy()
            at[:, b] -= i
            at[:, c] -= j
            quad.append(number[tuple(at.T)])
        p, q, r, s = quad
        flip = ~inside[tuple(where.T)]  # the surface faces where the distance grows
        q, s = np.where(flip, s, q), np.where(flip, q, s)
        triangles += [np.stack([p, q, r], axis=1), np.stack([p, r, s], axis=1)]
    return points, _slopes(grid, points / cell), np.concatenate(triangles)


def _ends(values: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    return np.take(values, range(values.shape[axis] - 1), axis), np.take(values, range(1, values.shape[axis]), axis)


def _slopes(grid: np.ndarray, at: np.ndarray) -> np.ndarray:
    """(V, 3) unit directions in which the distance grows most, at places (V, 3) in cells."""
    nearest = np.clip(np.round(at).astype(np.int64), 0, np.array(grid.shape) - 1)
    slope = np.stack([g[tuple(nearest.T)] for g in np.gradient(grid)], axis=1)
    return slope / np.maximum(np.linalg.norm(slope, axis=1, keepdims=True), 1e-12)

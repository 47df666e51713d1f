"""The suit: torso and arms as one seamless surface, from which skin and tops are cut."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .sample_body import ARM_Y, ARM_Z, COLUMNS, arm_rings, body_weights, torso_rings
from .sample_mesh import Surface, compact, merge, ring_angles, smoothstep, surface

_HOLE = np.arange(-5, 6)  # columns of the left armhole
_HOLE_ROWS = 6
_HOLE_LOW, _HOLE_HIGH = 1.160, 1.243  # metres


def suit(
    bottom: float,
    neckline: Callable[[np.ndarray], np.ndarray],
    arm_end: float,
    offset: Callable[[np.ndarray], np.ndarray],
    rows: int = 14,
    upper: int = 8,
    sleeve: Callable[[np.ndarray], np.ndarray] | None = None,
    hem: float = 0.006,
) -> Surface:
    """Torso and both arms as one smooth piece: skin or a garment cut from the body's shape.

    `bottom` is the height of the lower edge, `neckline` the height of the upper edge at ring angles (C,), `arm_end` the
    |x| where the sleeves end, `offset` the distance (V,) from the body at rest positions (V, 3). `sleeve` reshapes the
    left sleeve's points (V, 3). Edges are folded inward by `hem` metres. `rows` and `upper` count the rings below and
    above the armhole.
    """
    torso = _torso(bottom, neckline(ring_angles(COLUMNS)), rows, upper)
    low, high = rows - 1, rows - 1 + _HOLE_ROWS
    grid = np.arange(torso.shape[0] * COLUMNS).reshape(-1, COLUMNS)
    # Round the left armhole: along the bottom to the front, up, back over the top, down.
    loop = np.concatenate(
        [grid[low, _HOLE[:-1]], grid[low:high, _HOLE[-1]], grid[high, _HOLE[:0:-1]], grid[high:low:-1, _HOLE[0]]]
    )
    points = torso.reshape(-1, 3)
    arm = _arm(points[loop], arm_end).reshape(-1, 3)
    mirrored = np.array([-1.0, 1.0, 1.0])
    positions = np.concatenate([points, arm, arm * mirrored])
    across = (COLUMNS // 2 - np.arange(COLUMNS)) % COLUMNS
    ids = len(points) + np.arange(len(arm)).reshape(-1, len(loop))
    left = np.concatenate([loop[None], ids])
    right = np.concatenate([(loop // COLUMNS * COLUMNS + across[loop % COLUMNS])[None], ids + len(arm)])
    kept = np.ones((len(grid) - 1, COLUMNS), dtype=bool)
    kept[low:high, _HOLE[:-1]] = kept[low:high, COLUMNS // 2 - 1 - _HOLE[:-1]] = False
    body = _quads(grid)[np.repeat(kept.ravel(), 2)]
    triangles = np.concatenate([body[:, ::-1], _quads(left)[:, ::-1], _quads(right)])
    edges, inner = (grid[0], grid[-1], left[-1], right[-1]), (grid[2], grid[-2], left[-3], right[-3])
    positions = _relax(positions, triangles, np.concatenate(edges))
    positions = positions + surface(positions, triangles).normals * offset(positions)[:, None]
    if sleeve is not None:
        for arm_ids, side in ((left[1:].ravel(), np.ones(3)), (right[1:].ravel(), mirrored)):
            positions[arm_ids] = sleeve(positions[arm_ids] * side) * side
    return _hemmed(positions, triangles, edges, inner, hem)


def _torso(bottom: float, top: np.ndarray, rows: int, upper: int) -> np.ndarray:
    """Rings (R, COLUMNS, 3) from `bottom` to the neckline `top` (COLUMNS,); the sides keep the armhole's rows."""
    below = np.linspace(bottom, _HOLE_LOW, rows)
    hole = np.linspace(_HOLE_LOW, _HOLE_HIGH, _HOLE_ROWS + 1)[1:]
    level = np.concatenate([below, hole])[:, None]
    above = _HOLE_HIGH + np.linspace(0.0, 1.0, upper + 1)[1:, None] * np.maximum(top - _HOLE_HIGH, 0.004)
    y = np.concatenate([np.broadcast_to(level, (len(level), COLUMNS)), above])
    # Where the neckline dips below the armhole's upper end, the whole column is pressed together.
    return torso_rings(bottom + (y - bottom) * np.minimum((top - bottom) / (y[-1] - bottom), 1.0))


def _arm(edge: np.ndarray, arm_end: float) -> np.ndarray:
    """Rings (R, N, 3) of the left arm that grow out of the armhole's points `edge` (N, 3) and become round and even."""
    around = np.unwrap(np.arctan2(edge[:, 1] - ARM_Y, edge[:, 2] - ARM_Z))
    even = around.mean() - np.pi + 2.0 * np.pi * (np.arange(len(edge)) + 0.5) / len(edge)
    first = np.array([0.120, 0.134, 0.150, 0.170])
    rest = np.linspace(0.19, arm_end, 26)[1:] if arm_end > 0.25 else np.linspace(0.17, arm_end, 10)[1:]
    reach = np.concatenate([first, rest])
    arm = arm_rings(reach, around + (even - around) * smoothstep(0.10, 0.22, reach)[:, None])
    arm = edge + (arm - edge) * smoothstep(0.100, 0.158, reach)[:, None, None]
    share = smoothstep(-0.4, 1.0, np.linspace(0.25, 1.0, len(first)))[:, None]
    arm[: len(first), :, 0] = edge[:, 0] + (first[:, None] - edge[:, 0]) * share
    return arm


def _quads(ids: np.ndarray) -> np.ndarray:
    """Triangles over closed rings of vertex numbers (R, C)."""
    a, b = ids, np.roll(ids, -1, axis=1)
    quads = np.stack([np.stack([a[:-1], b[:-1], b[1:]], -1), np.stack([a[:-1], b[1:], a[1:]], -1)], axis=2)
    return quads.reshape(-1, 3)


def _relax(positions, triangles, fixed) -> np.ndarray:
    """Shoulders smoothed: each vertex near the armhole moves to the mean of its neighbours, several times over."""
    edges = np.unique(
        np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1), axis=0
    )
    degree = np.maximum(np.bincount(edges.ravel(), minlength=len(positions)), 1)[:, None]
    x = np.abs(positions[:, 0])
    share = smoothstep(0.060, 0.095, x) * (1.0 - smoothstep(0.150, 0.200, x)) * smoothstep(1.11, 1.16, positions[:, 1])
    share[fixed] = 0.0
    for _ in range(14):
        total = np.stack(
            [
                np.bincount(edges[:, 0], positions[edges[:, 1], c], minlength=len(positions))
                + np.bincount(edges[:, 1], positions[edges[:, 0], c], minlength=len(positions))
                for c in range(3)
            ],
            axis=1,
        )
        positions = positions + np.where(degree > 1, (0.6 * share)[:, None] * (total / degree - positions), 0.0)
    return positions


def _hemmed(positions, triangles, edges, inner, hem: float) -> Surface:
    """Open edges turned inward by `hem` metres and led back inside to the rings `inner`, so that cloth looks thick."""
    body = surface(positions, triangles)
    weights = body_weights(positions)
    pieces = [body.weighted(weights)]
    for edge, ring in zip(edges, inner, strict=True):
        lip = positions[edge] - body.normals[edge] * hem
        back = positions[ring] - body.normals[ring] * hem
        rings = np.stack([positions[edge], lip, back])
        strip = surface(rings.reshape(-1, 3), _quads(np.arange(rings[..., 0].size).reshape(rings.shape[:2])))
        if np.einsum("ij,ij->", strip.normals[: len(edge)], positions[edge] - positions[ring]) < 0:
            strip = surface(strip.positions, strip.triangles[:, ::-1])
        carried = {bone: np.tile(w[edge], 3) for bone, w in weights.items()}
        pieces.append(strip.weighted(carried))
    return compact(merge(*pieces))

"""Bows, cords, badges and buttons of the built-in avatars."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from .sample_body import body_weights, front_z
from .sample_mesh import Surface, loft, merge, ring_angles, spline, table


def bow(centre, facing, up, size: float, tails: float = 1.0) -> Surface:
    """A bow: two loops, a knot and two ends, in metres; carried by nothing yet."""
    centre = np.asarray(centre, dtype=np.float64)
    facing = np.asarray(facing, dtype=np.float64) / np.linalg.norm(facing)
    side = np.cross(up, facing)
    side /= np.linalg.norm(side)
    up = np.cross(facing, side)
    angle = ring_angles(14)
    t = np.linspace(0.0, 1.0, 14)
    high, thick = (
        np.moveaxis(
            table(
                [
                    (0.0, 0.10, 0.10),
                    (0.25, 0.26, 0.16),
                    (0.65, 0.44, 0.20),
                    (0.88, 0.40, 0.16),
                    (0.97, 0.24, 0.10),
                    (1.0, 0.02, 0.02),
                ],
                t,
            ),
            -1,
            0,
        )
        * size
    )
    pieces = []
    for sign in (-1.0, 1.0):
        middle = (
            centre
            + np.outer(t, side * sign * size)
            + np.outer(0.18 * size * np.sin(np.pi * 0.5 * t), up)
            - np.outer(0.20 * size * t**2, facing)
        )
        rings = (
            middle[:, None]
            + (high[:, None] * np.sin(angle))[..., None] * up
            + (thick[:, None] * np.cos(angle))[..., None] * facing
        )
        pieces.append(loft(rings))
        if tails:
            path = spline(
                [
                    centre,
                    centre + side * sign * 0.20 * size - up * 0.45 * size * tails + facing * 0.06 * size,
                    centre + side * sign * 0.42 * size - up * 1.15 * size * tails,
                ],
                12,
            )
            wide = table([(0.0, 0.08), (0.3, 0.15), (0.9, 0.24), (1.0, 0.20)], np.linspace(0, 1, 12))[..., 0] * size
            flat = (
                path[:, None]
                + (wide[:, None] * np.cos(angle))[..., None] * side
                + (0.05 * size * np.sin(angle))[None, :, None] * facing
            )
            pieces.append(loft(flat))
    ball = np.linspace(-1.0, 1.0, 9)
    radius = np.sqrt(np.clip(1.0 - ball**2, 0.0, 1.0)) ** 0.7
    knot = (
        centre
        + (ball * 0.19 * size)[:, None, None] * up
        + (radius[:, None] * np.cos(angle))[..., None] * side * 0.17 * size
        + (radius[:, None] * np.sin(angle))[..., None] * facing * 0.20 * size
    )
    pieces.append(loft(knot))
    return merge(*pieces)


def cord(points, radius: float) -> Surface:
    """A round cord through `points`, thicker at its end."""
    path = spline(points, 14)
    size = radius * table([(0.0, 1.0), (0.84, 1.0), (0.88, 1.7), (1.0, 1.6)], np.linspace(0, 1, 14))[..., 0]
    a = ring_angles(8)
    along = np.gradient(path, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    u = np.cross(along, [0.0, 0.0, 1.0])
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    v = np.cross(along, u)
    rings = path[:, None] + size[:, None, None] * (
        np.cos(a)[None, :, None] * u[:, None] + np.sin(a)[None, :, None] * v[:, None]
    )
    piece = loft(rings)
    return piece.weighted(body_weights(piece.positions))


def badge(outline: np.ndarray, lift: float, thick: float) -> Surface:
    """A pad with the outline (N, 2) in x and y, star-shaped about its middle, laid on the torso's front.

    Its face lies `lift` metres off the body; it is `thick` metres thick.
    """
    middle = outline.mean(axis=0)
    flat = np.stack([middle + (outline - middle) * f for f in (1.0, 0.97, 0.8, 0.6, 0.4, 0.2, 0.0)])
    z = front_z(flat[..., 0], flat[..., 1]) + lift
    rings = np.concatenate([flat, z[..., None]], axis=-1)
    rings[0, :, 2] -= 0.3 * thick
    base = rings[:1] - [0.0, 0.0, thick]
    piece = loft(np.concatenate([base, rings]), "open", "flat")
    return piece.weighted(body_weights(piece.positions))


def disc(x: float, y: float, radius: float) -> np.ndarray:
    """Outline (16, 2) of a round badge."""
    angle = ring_angles(16)
    return np.stack([x + radius * np.cos(angle), y + radius * np.sin(angle)], axis=1)


def star(x: float, y: float, radius: float) -> np.ndarray:
    """Outline (40, 2) of a five-pointed star with a point on top."""
    corner = np.radians(90.0 + 36.0 * np.arange(11))
    reach = np.where(np.arange(11) % 2 == 0, 1.0, 0.48) * radius
    points = np.stack([x + reach * np.cos(corner), y + reach * np.sin(corner)], axis=1)
    return np.concatenate([np.linspace(a, b, 4, endpoint=False) for a, b in pairwise(points)])


def slab(x0: float, x1: float, x2: float, y0: float, y1: float) -> np.ndarray:
    """Outline (N, 2) of a pocket: half widths at the bottom, at a third of its height and at the top."""
    height = np.array([y0, y0 + (y1 - y0) / 3.0, y1])
    right = np.stack([np.array([x0, x1, x2]), height], axis=1)
    corners = np.concatenate([right, right[::-1] * [-1.0, 1.0], right[:1]])
    return np.concatenate([np.linspace(a, b, 6, endpoint=False) for a, b in pairwise(corners)])

"""The centre line of a strand: from distances along its surface to a smooth curve with joints on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d

BINS = 64  # level sets that are averaged into the raw line
FINE = 200  # points of the finished curve
CHUNK = 512  # points that are looked up at a time: what they need stays in the cache
CURLS = 1.25  # turns of the raw line from which it counts as a curl or wave around an axis
STEADY = 0.05  # of the length: turns are counted on a line that is averaged over this, so that uneven rows do not count
THIN = 6.0  # length over width from which a line's turns are those of a curl; of a wide lock they are its unevenness
ROOT_LEAD = 0.2  # of a segment, chosen: a half spreads the first turn as wide as the others, but shortens the chain
BEND = 0.35  # chosen: how much curvature draws joints together; 0 spaces them by arc length alone


@dataclass(frozen=True, eq=False)
class Curve:
    """A polyline with its arc length; straight on beyond both ends."""

    points: np.ndarray  # (K, 3)
    s: np.ndarray  # (K,) metres from the start

    @property
    def length(self) -> float:
        return float(self.s[-1])

    def at(self, s) -> np.ndarray:
        """(..., 3) points at arc lengths (...), straight on outside [0, length]."""
        s = np.asarray(s, dtype=np.float64)
        inside = np.stack([np.interp(s, self.s, self.points[:, k]) for k in range(3)], axis=-1)
        if not s.size or (s.min() >= 0.0 and s.max() <= self.length):
            return inside
        low, high = np.minimum(s, 0.0)[..., None], np.maximum(s - self.length, 0.0)[..., None]
        return inside + low * self.tangent(0.0) + high * self.tangent(self.length)

    def tangent(self, s) -> np.ndarray:
        """(..., 3) unit directions from root to tip."""
        s = np.clip(np.asarray(s, dtype=np.float64), 0.0, self.length)
        k = np.clip(np.searchsorted(self.s, s, side="right") - 1, 0, len(self.s) - 2)
        step = self.points[k + 1] - self.points[k]
        return step / np.maximum(np.linalg.norm(step, axis=-1, keepdims=True), 1e-12)

    def nearest(self, points: np.ndarray, guess: np.ndarray, reach: float) -> np.ndarray:
        """(P,) arc length of the nearest place on the curve, looked for within `reach` of a guess (P,).

        Beyond the ends the curve goes straight on, so that points of the root and tip keep their order.
        """
        points = np.asarray(points, dtype=np.float64)
        found = np.clip(guess, 0.0, self.length)
        middle = self.points.mean(axis=0)  # squares of distances are differences: about it they lose fewest digits
        start, way = self.points[:-1] - middle, np.diff(self.points, axis=0)
        square = np.einsum("kx,kx->k", way, way)
        offset, begin = np.einsum("kx,kx->k", start, way), np.einsum("kx,kx->k", start, start)
        low, high = np.zeros(len(way)), np.ones(len(way))
        low[0], high[-1] = -np.inf, np.inf
        for first in range(0, len(points), CHUNK):
            rows = slice(first, first + CHUNK)
            at = points[rows] - middle
            dot = at @ way.T - offset  # (rows, K)
            along = np.clip(dot / np.maximum(square, 1e-18), low, high)
            s = self.s[:-1] + along * np.diff(self.s)
            away = begin - 2.0 * (at @ start.T)  # squared, less that of the point itself
            away += along * (along * square - 2.0 * dot)
            away[np.abs(s - guess[rows, None]) > reach] = np.inf
            best = np.argmin(away, axis=1)[:, None]
            known = np.isfinite(np.take_along_axis(away, best, axis=1)[:, 0])
            found[rows][known] = np.take_along_axis(s, best, axis=1)[known, 0]
        return found


def polyline(points: np.ndarray, count: int | None = None) -> Curve:
    """A Curve through points (K, 3), with `count` even steps where given."""
    points = np.asarray(points, dtype=np.float64)
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    kept = np.concatenate([[True], np.diff(s) > 1e-12])
    points, s = points[kept], s[kept]
    if len(points) < 2:
        points = np.concatenate([points[:1], points[:1] + [[0.0, -1e-6, 0.0]]])
        s = np.array([0.0, 1e-6])
    if count is None:
        return Curve(points, s)
    even = np.linspace(0.0, s[-1], count)
    return polyline(np.stack([np.interp(even, s, points[:, k]) for k in range(3)], axis=1))


def level_line(points: np.ndarray, distance: np.ndarray, weight: np.ndarray, bins: int = BINS) -> Curve:
    """Means of the points between equal steps of the distance, root first; the far end is the farthest tenth of a
    step's mean. `weight` (P,) is each point's share, its area for one, so that dense rows of a mesh do not pull."""
    top = float(distance.max())
    bins = int(np.clip(bins, 4, max(4, len(points) // 3)))
    step = np.minimum((distance / max(top, 1e-12) * bins).astype(np.int64), bins - 1)
    total = np.bincount(step, weight, bins)
    used = total > 0.0
    centre = np.stack([np.bincount(step, weight * points[:, k], bins) for k in range(3)], axis=1)
    centre = centre[used] / total[used][:, None]
    first = points[distance <= 1e-9].mean(axis=0) if np.any(distance <= 1e-9) else points[np.argmin(distance)]
    last = points[distance >= top - 0.1 * top / bins].mean(axis=0)
    return polyline(np.concatenate([first[None], centre, last[None]]))


def turning(curve: Curve) -> float:
    """Radians by which the direction turns along the curve, in all."""
    steps = np.diff(curve.points, axis=0)
    steps /= np.linalg.norm(steps, axis=1, keepdims=True)
    cosine = np.sum(steps[1:] * steps[:-1], axis=1)
    return float(np.sum(np.arccos(np.clip(cosine, -1.0, 1.0))))


def smoothed(curve: Curve, reach: float) -> Curve:
    """The curve averaged over a Gaussian of `reach` metres; its ends stay in place.

    The points are mirrored through the ends, so that a straight line stays what it is.
    """
    fine = polyline(curve.points, FINE)
    sigma = reach / max(fine.length / (FINE - 1), 1e-12)
    if sigma < 0.3:
        return fine
    pad = min(int(4 * sigma) + 1, FINE - 1)
    head, tail = fine.points[0], fine.points[-1]
    before = 2.0 * head - fine.points[pad:0:-1]
    after = 2.0 * tail - fine.points[-2 : -pad - 2 : -1]
    rows = gaussian_filter1d(np.concatenate([before, fine.points, after]), sigma, axis=0, mode="nearest")
    return polyline(rows[pad : pad + FINE], FINE)


def axis_of(line: Curve, width: float) -> tuple[Curve, float]:
    """(axis, turns): the line averaged over the strand's width, and over one turn where it winds about an axis.

    A curl's raw line is its helix; averaged over one turn it is the helix's axis, which the curl keeps its shape
    around. Waves and the lobes of a braid go the same way.
    """
    base = smoothed(line, max(0.5 * width, 0.02 * line.length))
    turns = turning(smoothed(line, max(0.5 * width, STEADY * line.length))) / (2.0 * np.pi)
    if turns < CURLS or line.length < THIN * width:
        return base, min(turns, 1.0)
    period = base.length / turns
    axis = smoothed(line, 0.45 * period)
    # The ends of a helix lie off its axis by the radius; without them the axis is straight at its ends, too.
    inner = axis.s[(axis.s > 0.06 * axis.length) & (axis.s < 0.94 * axis.length)]
    middle = polyline(axis.at(inner))
    start, end = middle.at(0.0), middle.at(middle.length)
    start = start - middle.tangent(0.0) * float((start - line.points[0]) @ middle.tangent(0.0))
    last = middle.tangent(middle.length)
    end = end + last * max(float((line.points[-1] - end) @ last), 0.0)
    return polyline(np.concatenate([start[None], middle.points, end[None]]), FINE), turns


def place_joints(curve: Curve, band: float, count: int) -> np.ndarray:
    """(count + 1,) arc lengths of the joints and of the end, from just below the held `band` to the tip, closer where
    the curve bends.

    The first joint stands a share of a segment below the band, so that its turn has room on both sides, as others have.
    Steps are equal in arc length plus a share of the turned angle, so that a straight part gets few joints and an arc
    enough to follow it.
    """
    start = band + ROOT_LEAD * (curve.length - band) / (count + ROOT_LEAD)
    s = np.linspace(start, curve.length, 400)
    way = curve.tangent(s)
    turn = np.arccos(np.clip(np.sum(way[1:] * way[:-1], axis=1), -1.0, 1.0))
    turn = gaussian_filter1d(turn, 12.0, mode="nearest")
    total = turn.sum()
    density = 1.0 / len(turn) + (BEND * turn / np.pi if total > 1e-6 else 0.0)
    walked = np.concatenate([[0.0], np.cumsum(density)])
    return np.interp(np.linspace(0.0, walked[-1], count + 1), walked, s)

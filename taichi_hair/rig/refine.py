"""Weights that do not tear: a descent that lowers the stretch of the worst edges over sampled poses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from .weights import INFLUENCES, limited

POWERS = (5, 13)  # of the means over edges and poses: the upper part of all, and nearly the worst
FOLLOW = 0.02  # chosen: price of a vertex that leaves where its first weights take it, per squared share of the swing
ROUNDS = 120
STEP = 0.03


@dataclass(frozen=True)
class Stretches:
    """Percent by which edges are stretched over the sampled poses, each at its own worst."""

    p99: float
    worst: float


def stretches(points: np.ndarray, edges: np.ndarray, weights: np.ndarray, moves: np.ndarray) -> Stretches:
    """Of points (P, 3) skinned by weights (P, C) with bone moves (S, C, 3, 4)."""
    rest = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    kept = rest > 1e-6
    if not kept.any():
        return Stretches(0.0, 0.0)
    first, second = edges[kept].T
    most, sparse = np.zeros(len(first)), csr_matrix(weights)
    for move in moves:
        posed = posed_points(points, sparse, move)
        link = posed[first] - posed[second]
        np.maximum(most, np.einsum("ex,ex->e", link, link), out=most)
    most = np.sqrt(most) / rest[kept]
    return Stretches(100.0 * float(np.percentile(most, 99.0) - 1.0), 100.0 * float(most.max() - 1.0))


def posed_points(points: np.ndarray, weights: np.ndarray, move: np.ndarray) -> np.ndarray:
    """(P, 3) points under bone moves (C, 3, 4); the weights (P, C) may be a sparse matrix."""
    blend = (weights @ move.reshape(len(move), 12)).reshape(-1, 3, 4)
    return np.einsum("pij,pj->pi", blend[:, :, :3], points) + blend[:, :, 3]


def refined(
    points: np.ndarray,
    edges: np.ndarray,
    weights: np.ndarray,
    moves: np.ndarray,
    fixed: np.ndarray,
    allowed: np.ndarray,
    rounds: int = ROUNDS,
) -> np.ndarray:
    """Weights (P, C) with less stretch of the worst edges over bone moves (S, C, 3, 4).

    Fixed points (P,) keep their weights, and a weight stays 0 where it is not `allowed` (P, C). Among equals the
    weights win under which a vertex stays nearer to where its first weights take it, so that the hair keeps swinging
    as far as its chain. Projected descent with momentum and a decaying step; the best weights met are given back.
    """
    rest = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    edges, rest = edges[rest > 1e-6], rest[rest > 1e-6]
    free = np.flatnonzero(~fixed)
    if not len(free) or not len(edges):
        return weights
    columns, shares = _support(weights, allowed)
    # Edges between fixed points never stretch: they and their points only count.
    counts = (len(edges) * len(moves), len(points) * len(moves))
    moving = ~fixed[edges].all(axis=1)
    edges, rest = edges[moving], rest[moving]
    chosen = np.unique(np.concatenate([edges.ravel(), free]))
    place = np.full(len(points), -1)
    place[chosen] = np.arange(len(chosen))
    best = shares.copy()
    best[chosen] = _descent(
        points[chosen],
        place[edges],
        rest,
        (columns[chosen], shares[chosen], allowed[chosen] & ~fixed[chosen, None], ~fixed[chosen]),
        moves,
        rounds,
        counts,
    )
    table = np.zeros_like(weights)
    np.add.at(table, (np.arange(len(points))[:, None], columns), np.where(best > 0.0, best, 0.0))
    table = limited(table)
    return np.where(fixed[:, None], weights, table)


def _descent(points, edges, rest, support, moves, rounds: int, counts: tuple[int, int]) -> np.ndarray:
    """(P, K) the best shares met. support: columns (P, K), first shares (P, K), where weight may go (P, C), free (P,);
    counts: of edges and of points, times poses, over which the costs are means."""
    columns, shares, allowed, free = support
    homogeneous = np.concatenate([points, np.ones((len(points), 1))], axis=1)
    # Where each bone alone would take each point: (P, K, 3 S), from which a blend is a weighted sum.
    alone = np.empty((len(points), columns.shape[1], 3 * len(moves)), dtype=np.float32)
    for k in range(columns.shape[1]):
        for s, move in enumerate(moves):
            alone[:, k, 3 * s : 3 * s + 3] = (move[columns[:, k]] @ homogeneous[:, :, None])[..., 0]
    start = np.einsum("pkd,pk->pd", alone, shares.astype(np.float32))
    off = (start.reshape(len(points), -1, 3) - points[:, None]).astype(np.float64)
    scale = max(float(np.sqrt(np.sum(off**2) / counts[1])), 1e-9)
    rows = np.arange(len(edges))
    signs = np.ones(len(edges), dtype=np.float32)
    ends = (np.concatenate([signs, -signs]), (np.tile(rows, 2), edges.T.ravel()))
    difference = coo_matrix(ends, shape=(len(edges), len(points))).tocsr()
    problem = (difference, difference.T.tocsr(), rest.astype(np.float32), alone, start, scale, counts)
    live = allowed[np.arange(len(points))[:, None], columns] | ((shares > 0.0) & free[:, None])
    best, best_cost, momentum = shares, np.inf, np.zeros_like(shares)
    squares = np.zeros_like(shares)
    for step in range(rounds):
        cost, gradient = _cost(problem, shares)
        if cost < best_cost:
            best, best_cost = shares.copy(), cost
        gradient = np.where(live, gradient, 0.0)
        even = gradient.sum(axis=1, keepdims=True) / np.maximum(live.sum(axis=1, keepdims=True), 1)
        gradient = np.where(live, gradient - even, 0.0)
        momentum = 0.9 * momentum + 0.1 * gradient
        squares = 0.98 * squares + 0.02 * np.sum(gradient**2, axis=1, keepdims=True)
        size = STEP * (1.0 - step / rounds) / (np.sqrt(squares) + 0.1 * np.sqrt(squares.max()) + 1e-12)
        shares = np.where(live, _simplex(shares - size * momentum, live), shares)
    return best


def _support(weights: np.ndarray, allowed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(P, K) columns and weights of the K = 4 entries of each row that may carry weight, those that do first."""
    rank = weights + np.where(allowed, 1e-6, 0.0)
    columns = np.argsort(-rank, axis=1, kind="stable")[:, : min(INFLUENCES, weights.shape[1])]
    return columns, np.take_along_axis(weights, columns, axis=1)


def _cost(problem, shares: np.ndarray) -> tuple[float, np.ndarray]:
    """Cost and its gradient (P, K): power means of edge stretch over all poses, and what following costs."""
    difference, back, rest, alone, start, scale, counts = problem
    posed = np.einsum("pkd,pk->pd", alone, shares.astype(np.float32))
    link = (difference @ posed).reshape(len(rest), -1, 3)  # (E, S, 3)
    length = np.sqrt(np.einsum("esi,esi->es", link, link))
    share = length * (1.0 / rest)[:, None]
    share -= 1.0
    np.maximum(share, 0.0, out=share)
    top = max(float(share.max()), 1e-9)
    share *= 1.0 / top
    value, slope = 0.0, 0.0
    fourth = share * share
    fourth *= fourth
    for power, raised in zip(POWERS, (fourth, fourth * fourth * fourth), strict=True):
        total = float(np.sum(raised * share, dtype=np.float64))
        mean = top * (total / counts[0]) ** (1.0 / power)
        value += mean
        slope = slope + raised * (mean / max(total, 1e-300) / top)  # d mean / d over
    np.maximum(length, 1e-9, out=length)
    length *= rest[:, None]
    link *= (slope / length)[..., None]
    away = posed - start
    off = float(np.vdot(away, away)) / counts[1] / scale**2
    onto = back @ link.reshape(len(rest), -1) + (2.0 * FOLLOW / (scale**2 * counts[1])) * away
    return value + FOLLOW * off, np.einsum("pkd,pd->pk", alone, onto).astype(np.float64)


def _simplex(values: np.ndarray, live: np.ndarray) -> np.ndarray:
    """Rows moved to the nearest point with entries >= 0 that sum to 1; entries that are not live count as 0."""
    masked = np.where(live, values, -np.inf)
    ordered = -np.sort(-masked, axis=1)
    finite = np.where(np.isfinite(ordered), ordered, 0.0)
    excess = np.cumsum(finite, axis=1) - 1.0
    rank = np.arange(1, values.shape[1] + 1)
    inside = np.isfinite(ordered) & (ordered - excess / rank > 0.0)
    count = np.maximum(inside.sum(axis=1), 1)
    shift = np.take_along_axis(excess, count[:, None] - 1, axis=1) / count[:, None]
    return np.where(live, np.maximum(values - shift, 0.0), 0.0)


def neighbours_allowed(weights: np.ndarray, spans: list[tuple[int, int]], band: np.ndarray) -> np.ndarray:
    """(P, C) where weight may go: to columns that carry some and to those beside them on the same chain. `spans` are
    (first column, count) of the chains; the head (column 0) stands before every chain's first joint, and only points
    within `band` (P,) may take it."""
    used = weights > 0.0
    allowed = used.copy()
    for first, count in spans:
        block = used[:, first : first + count]
        allowed[:, first : first + count - 1] |= block[:, 1:]
        allowed[:, first + 1 : first + count] |= block[:, :-1]
        allowed[:, 0] |= block[:, 0]
        allowed[:, first] |= used[:, 0]
    allowed[:, 0] &= band | used[:, 0]
    return allowed

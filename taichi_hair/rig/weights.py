"""Skin weights of a strand: smooth from joint to joint, the root band on the head, no more than four a vertex."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

INFLUENCES = 4  # glTF's one set


def along_chain(s: np.ndarray, knots: np.ndarray, band: float) -> np.ndarray:
    """(P, J + 1) weights of points at arc lengths (P,): column 0 is the head, column j + 1 the segment from knots[j].

    knots: (J + 1,) arc lengths of the joints and the tip. Each segment weighs most in its middle and fades linearly to
    the middles of its neighbours, so that a joint's turn is spread evenly over the length around it: least stretch for
    a given bend. Below `band` the head alone holds.
    """
    middles = 0.5 * (knots[1:] + knots[:-1])
    first = min(band, float(middles[0]) - 1e-9)
    centres = np.concatenate([[first], middles])
    place = np.interp(s, centres, np.arange(len(centres)))
    low = np.minimum(place.astype(np.int64), len(centres) - 2)
    share = place - low
    weights = np.zeros((len(s), len(centres)))
    rows = np.arange(len(s))
    weights[rows, low] = 1.0 - share
    weights[rows, low + 1] += share
    return weights


def limited(weights: np.ndarray, count: int = INFLUENCES) -> np.ndarray:
    """(P, C) weights with only the `count` largest of each row kept; rows sum to 1."""
    if weights.shape[1] > count:
        least = np.partition(weights, -count, axis=1)[:, -count][:, None]
        weights = np.where(weights >= np.maximum(least, 1e-4), weights, 0.0)
        extra = (weights > 0.0).sum(axis=1) > count  # equal weights at the limit
        for row in np.flatnonzero(extra):
            order = np.argsort(-weights[row], kind="stable")
            weights[row, order[count:]] = 0.0
    return weights / weights.sum(axis=1, keepdims=True)


def as_influences(weights: np.ndarray, count: int = INFLUENCES) -> tuple[np.ndarray, np.ndarray]:
    """(P, count) columns and (P, count) weights of a dense table (P, C), the largest first; unused ones are 0."""
    columns = weights.shape[1]
    order = np.argsort(-weights, axis=1, kind="stable")[:, : min(count, columns)]
    values = np.take_along_axis(weights, order, axis=1)
    if columns < count:
        pad = ((0, 0), (0, count - columns))
        order, values = np.pad(order, pad), np.pad(values, pad)
    order = np.where(values > 0.0, order, 0)
    return order, values / values.sum(axis=1, keepdims=True)


def spread(values: np.ndarray, edges: np.ndarray, rounds: int, fixed: np.ndarray | None = None) -> np.ndarray:
    """(P, C) values averaged with their neighbours along edges, `rounds` times by half; fixed rows (P,) stay."""
    values = np.array(values, dtype=np.float64)
    rows, columns = np.concatenate([edges, edges[:, ::-1]]).T
    count = np.bincount(rows, minlength=len(values))
    mean = csr_matrix((1.0 / count[rows], (rows, columns)), shape=(len(values), len(values)))
    alone = count == 0
    for _ in range(rounds):
        mixed = 0.5 * (values + mean @ values)
        mixed[alone] = values[alone]
        values = mixed if fixed is None else np.where(fixed[:, None], values, mixed)
    return values

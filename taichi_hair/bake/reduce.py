"""Keys that can go: the fewest of uniform samples from which straight rotation keeps within a stated error."""

from __future__ import annotations

import numpy as np

from .. import rotations
from ..hair import HairRig


def kept_keys(times: np.ndarray, turns: np.ndarray, reach: np.ndarray, error: float) -> np.ndarray:
    """Indices (M,) of the keys of J joints that are enough, first and last included.

    turns (K, J, 4) without sign flips; reach (J,) metres from each joint to what it moves furthest. Between two kept
    keys the turns of all joints differ from the interpolated ones so little that angles times reaches sum to at most
    `error` metres: an upper bound of the error of an end point that hangs on all of them.
    """
    kept = {0, len(times) - 1}
    open_spans = [(0, len(times) - 1)]
    while open_spans:
        a, b = open_spans.pop()
        if b - a < 2:
            continue
        inside = np.arange(a + 1, b)
        u = (times[inside] - times[a]) / (times[b] - times[a])
        between = rotations.slerp(turns[a][None], turns[b][None], np.broadcast_to(u[:, None], (len(u), turns.shape[1])))
        wrong = rotations.angle(rotations.multiply(rotations.inverse(between), turns[inside])) @ reach
        worst = int(np.argmax(wrong))
        if wrong[worst] > error:
            at = int(inside[worst])
            kept.add(at)
            open_spans += [(a, at), (at, b)]
    return np.array(sorted(kept))


def reaches(rig: HairRig, scale: np.ndarray) -> np.ndarray:
    """(S,) metres from each joint of a rig to the tip of its chain along the strand; scale (S,) of each joint."""
    out = []
    for (start, count), chain in zip(rig.spans, rig.chains, strict=True):
        lengths = np.linalg.norm(chain.tails, axis=1) * scale[start : start + count]
        out.append(np.cumsum(lengths[::-1])[::-1])
    return np.concatenate(out) if out else np.zeros(0)


def interpolated(times: np.ndarray, kept: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """(K, J, 4) what a player makes of the kept keys at all times (K,)."""
    k = np.clip(np.searchsorted(kept, np.arange(len(times)), side="right") - 1, 0, len(kept) - 2)
    a, b = kept[k], kept[k + 1]
    u = (times - times[a]) / (times[b] - times[a])
    return rotations.slerp(turns[a], turns[b], np.broadcast_to(u[:, None], turns.shape[:2]))

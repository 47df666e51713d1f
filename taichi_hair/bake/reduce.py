"""Keys that can go: the fewest of uniform samples from which straight rotation keeps within a stated error."""

from __future__ import annotations

import numpy as np

from .. import rotations
from ..avatar.skeleton import Skeleton
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


def reaches(skeleton: Skeleton, rig: HairRig) -> tuple[np.ndarray, np.ndarray]:
    """(S,) metres from each joint of a rig to the furthest tip that it moves, along the strands; (C,) how many chains
    deep the deepest strand is that each chain belongs to: so many errors may add up at its tip."""
    at = skeleton.rest_world[:, :3, 3]
    scale = np.linalg.norm(skeleton.rest_world[:, :3, 0], axis=-1)
    reach = [np.zeros(len(chain)) for chain in rig.chains]
    beyond: list[dict[int, float]] = [{} for _ in rig.chains]  # segment -> reach of what hangs on it, from its joint
    below = np.ones(len(rig.chains), dtype=np.int64)
    for c in range(len(rig.chains) - 1, -1, -1):  # chains come after the chain that carries them
        chain = rig.chains[c]
        lengths = np.linalg.norm(chain.tails, axis=1) * scale[chain.joints]
        furthest = 0.0
        for j in range(len(chain) - 1, -1, -1):
            furthest = max(lengths[j] + furthest, beyond[c].get(j, 0.0))
            reach[c][j] = furthest
        if chain.parent is not None:
            p, segment = chain.parent
            away = float(np.linalg.norm(at[chain.joints[0]] - at[rig.chains[p].joints[segment]])) + furthest
            beyond[p][segment] = max(beyond[p].get(segment, 0.0), away)
            below[p] = max(below[p], below[c] + 1)
    depth = below.copy()
    for c, chain in enumerate(rig.chains):
        if chain.parent is not None:
            depth[c] = depth[chain.parent[0]]
    return np.concatenate([np.zeros(0), *reach]), depth


def interpolated(times: np.ndarray, kept: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """(K, J, 4) what a player makes of the kept keys at all times (K,)."""
    k = np.clip(np.searchsorted(kept, np.arange(len(times)), side="right") - 1, 0, len(kept) - 2)
    a, b = kept[k], kept[k + 1]
    u = (times - times[a]) / (times[b] - times[a])
    return rotations.slerp(turns[a], turns[b], np.broadcast_to(u[:, None], turns.shape[:2]))

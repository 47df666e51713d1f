"""Trace: what one run of one avatar's hair looked like, sample by sample, in the form that the measures read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..hair import HairRig
from ..motion.body import anchors


@dataclass(frozen=True, eq=False)
class Trace:
    """T samples of S end points on C chains, world metres. `carried` is the same hair if it were rigid: the authored
    rest shape on the moving head, which is what every measure compares with."""

    t: np.ndarray  # (T,) seconds, rising
    positions: np.ndarray  # (T, S, 3) end points
    origins: np.ndarray  # (T, C, 3) joint that each chain starts from
    carried: np.ndarray  # (T, S, 3) end points of the rigid hair
    carried_origins: np.ndarray  # (T, C, 3)
    turns: np.ndarray  # (T, C, 3, 3) rotation of the frame that carries each chain
    spans: np.ndarray  # (C, 2) first segment and number of segments of each chain

    def __post_init__(self):
        samples, segments, chains = len(self.t), int(self.spans[:, 1].sum()), len(self.spans)
        wanted = {
            "positions": (samples, segments, 3),
            "origins": (samples, chains, 3),
            "carried": (samples, segments, 3),
            "carried_origins": (samples, chains, 3),
            "turns": (samples, chains, 3, 3),
        }
        if samples < 2 or np.any(np.diff(self.t) <= 0.0):
            raise ValueError(f"trace: {samples} samples, wanted at least 2 with rising times")
        if chains == 0:
            raise ValueError("trace: no chain, wanted at least 1")
        for name, shape in wanted.items():
            array = getattr(self, name)
            if array.shape != shape:
                raise ValueError(f"trace: {name} has shape {array.shape}, wanted {shape}")
            if not np.all(np.isfinite(array)):
                raise ValueError(f"trace: {name} holds values that are not finite, wanted metres")

    def select(self, chains) -> Trace:
        """The same run with these chains only."""
        chains = np.asarray(chains, dtype=np.int64)
        segments = np.concatenate([np.arange(first, first + count) for first, count in self.spans[chains]])
        counts = self.spans[chains, 1]
        return Trace(
            t=self.t,
            positions=self.positions[:, segments],
            origins=self.origins[:, chains],
            carried=self.carried[:, segments],
            carried_origins=self.carried_origins[:, chains],
            turns=self.turns[:, chains],
            spans=np.stack([np.cumsum(counts) - counts, counts], axis=1),
        )

    @cached_property
    def deviation(self) -> np.ndarray:
        """(T, S, 3) metres from the rigid hair, in the axes of the frame that carries each chain."""
        turns = np.repeat(self.turns, self.spans[:, 1], axis=1)
        return np.einsum("tsji,tsj->tsi", turns, self.positions - self.carried)

    @cached_property
    def tips(self) -> np.ndarray:
        """(C,) last segment of each chain."""
        return self.spans[:, 0] + self.spans[:, 1] - 1

    @cached_property
    def lengths(self) -> np.ndarray:
        """(C,) metres along each chain at rest."""
        links = np.linalg.norm(self.carried_links()[0], axis=-1)
        return np.add.reduceat(links, self.spans[:, 0])

    def links(self) -> np.ndarray:
        """(T, S, 3) each segment from its joint to its end point."""
        return _links(self.positions, self.origins, self.spans)

    def carried_links(self) -> np.ndarray:
        """(T, S, 3) the same of the rigid hair."""
        return _links(self.carried, self.carried_origins, self.spans)

    def moving(self) -> np.ndarray:
        """(T,) whether the body moves between a sample and either neighbour: the rigid hair and its frame say so."""
        step = np.max(np.abs(np.diff(self.carried, axis=0)), axis=(1, 2)) > 1e-9
        step |= np.max(np.abs(np.diff(self.turns, axis=0)), axis=(1, 2, 3)) > 1e-9
        return np.concatenate([step, [False]]) | np.concatenate([[False], step])


def _links(ends: np.ndarray, origins: np.ndarray, spans: np.ndarray) -> np.ndarray:
    starts = np.concatenate([ends[:, :1], ends[:, :-1]], axis=1)
    starts[:, spans[:, 0]] = origins
    return ends - starts


def rigid_hair(rig: HairRig, worlds: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """End points (T, S, 3), origins (T, C, 3) and carrying rotations (T, C, 3, 3) of hair in its rest pose.

    `worlds` (T, N, 4, 4) are a motion's node matrices, which hold the hair at rest.
    """
    joints = rig.joints
    tails = np.concatenate([chain.tails for chain in rig.chains])
    frames = worlds[:, joints]
    ends = (frames[..., :3, :3] @ tails[..., None])[..., 0] + frames[..., :3, 3]
    origins = frames[:, rig.spans[:, 0], :3, :][..., 3]
    pairs, index = anchors(rig)
    nodes = np.array([node for node, _ in pairs], dtype=np.int64)[index]
    turns = np.where((nodes >= 0)[:, None, None], worlds[:, nodes, :3, :3], np.eye(3))
    scale = np.linalg.norm(turns, axis=-2, keepdims=True)
    return ends, origins, turns / scale

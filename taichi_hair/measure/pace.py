"""match_swing(): the rod made slower, chain by chain, until it swings about as wide as the file's spring bone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..avatar.description import Avatar
from ..hair import HairRig
from ..rig.fitted import owner
from ..rig.parameters import at_frequency, rod_parameters
from .tune import LEAST_SWING, SEEN, UNSEEN, chosen_chains, play, with_own_avatar

FACTORS = tuple(np.linspace(1.0, 0.7, 11))  # of the frequency; below 0.7 a strand no longer moves as its file says


@dataclass(frozen=True, eq=False)
class Pace:
    """The rig, and per chain of `chains` what was done: share of the frequency, and swings against the spring bone."""

    rig: HairRig
    chains: tuple[int, ...]
    factors: tuple[float, ...]
    before: dict[str, tuple[float, ...]]  # motion -> per chain, the rod's swing over the spring bone's
    after: dict[str, tuple[float, ...]]


def match_swing(
    avatar: Avatar,
    rig: HairRig,
    *,
    share: float = 0.8,
    chains: Sequence[int] | None = None,
    seen: Sequence[str] = SEEN,
    unseen: Sequence[str] = UNSEEN,
) -> Pace:
    """A rig whose rods swing at least `share` times as wide as its spring bones in every motion of `seen`.

    The highest frequency that does it is taken, no higher than the one that the file's settings give; damping and
    profile stay. Where none of the tried ones does it, the one that comes nearest. Motions of `unseen` only report. A
    motion in which the spring bone does not swing says nothing. chains: by default those that a fitter made.
    """
    if not 0.0 < share <= 1.0:
        raise ValueError(f"match_swing: share is {share}, wanted more than 0, at most 1")
    avatar = owner(avatar, rig)
    chosen = chosen_chains(avatar, rig, chains)
    bases = {c: rod_parameters(rig.chains[c], avatar.skeleton) for c in chosen}

    def slowed(factors) -> HairRig:
        rows = list(rig.chains)
        for c, factor in zip(chosen, factors, strict=True):
            rows[c] = replace(rows[c], rod=at_frequency(bases[c], bases[c].frequency * float(factor)))
        return replace(rig, chains=tuple(rows))

    every = (*seen, *unseen)
    wanted = {m: rows[0][1][chosen] for m, rows in play(avatar, [rig], every, solver="spring-bone").items()}
    played = play(avatar, [slowed([f] * len(chosen)) for f in FACTORS], every)
    ratio = {m: np.array([row[1][chosen] for row in rows]) / np.maximum(wanted[m], 1e-9) for m, rows in played.items()}
    told = [m for m in seen if (wanted[m] >= LEAST_SWING).any()]
    best = []
    for k in range(len(chosen)):
        own = [ratio[m][:, k] for m in told if wanted[m][k] >= LEAST_SWING]
        least = np.min(own, axis=0) if own else np.ones(len(FACTORS))
        enough = np.flatnonzero(least >= share)
        best.append(int(enough[0]) if len(enough) else int(np.argmax(least)))
    every_chain = range(len(chosen))
    return Pace(
        with_own_avatar(slowed([FACTORS[b] for b in best])),
        tuple(chosen),
        tuple(float(FACTORS[b]) for b in best),
        {m: tuple(float(ratio[m][0, k]) for k in every_chain) for m in every},
        {m: tuple(float(ratio[m][best[k], k]) for k in every_chain) for m in every},
    )

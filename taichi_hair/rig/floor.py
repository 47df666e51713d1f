"""A floor for hair: one plane, at rest in the avatar's own world, that no strand's end passes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..avatar.avatar import Avatar
from ..hair import Collider, HairRig

NAME = "floor"
FRICTION = 0.4  # hair that lies on a floor drags a little; chosen for looks


def with_floor(avatar: Avatar, rig: HairRig | None = None, height: float = 0.0, *, chains=None) -> HairRig:
    """The rig with a level floor at `height` metres in the avatar's world, where retargeted feet stand at 0.

    chains: indices of those that meet it; all of them by default. A rig that has a floor gets it moved. As with every
    plane, the ends of segments meet it, thick as their hit radius.
    """
    rig = avatar.hair if rig is None else rig
    if not np.isfinite(height):
        raise ValueError(f"with_floor: height is {height}, wanted metres")
    floor = Collider(
        NAME, -1, "plane", np.array([0.0, float(height), 0.0]), normal=np.array([0.0, 1.0, 0.0]), friction=FRICTION
    )
    known = [b for b, c in enumerate(rig.colliders) if c.node < 0 and c.name == NAME]
    place = known[0] if known else len(rig.colliders)
    colliders = (*rig.colliders[:place], floor, *rig.colliders[place + 1 :])
    chosen = set(range(len(rig.chains))) if chains is None else set(chains)
    if chosen - set(range(len(rig.chains))):
        raise ValueError(f"with_floor: chains are {sorted(chosen)}, wanted 0 to {len(rig.chains) - 1}")
    grown = tuple(_meeting(chain, place, c in chosen) for c, chain in enumerate(rig.chains))
    return replace(rig, chains=grown, colliders=colliders)


def _meeting(chain, place: int, meets: bool):
    others = tuple(b for b in chain.colliders if b != place)
    wanted = (*others, place) if meets else others
    return chain if wanted == chain.colliders else replace(chain, colliders=wanted)

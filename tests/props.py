"""A strand and things that move about it on their own: avatars with one more node per collider, and their motions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from rigs import Given, strand

from taichi_hair import rotations
from taichi_hair.avatar.avatar import Avatar
from taichi_hair.avatar.skeleton import Skeleton
from taichi_hair.hair import Collider, HairRig

RATE = 120.0


def among(colliders: list[Collider], links=(0.06,) * 5, **settings) -> Avatar:
    """A strand (straight down from y = 1.4 at z = -0.1 by default) and colliders, each on a node of its own."""
    avatar = strand(links, **{"bend": 0.0, **settings})
    s, n = avatar.skeleton, len(colliders)
    skeleton = Skeleton(
        names=(*s.names, *[f"prop_{k}" for k in range(n)]),
        parents=np.append(s.parents, np.full(n, -1)),
        translations=np.vstack([s.translations, np.zeros((n, 3))]),
        rotations=np.vstack([s.rotations, np.tile(rotations.IDENTITY, (n, 1))]),
        scales=np.vstack([s.scales, np.ones((n, 3))]),
    )
    props = tuple(replace(c, node=len(s) + k) for k, c in enumerate(colliders))
    chain = replace(avatar.hair.chains[0], colliders=tuple(range(n)))
    return replace(avatar, skeleton=skeleton, hair=HairRig((chain,), props))


def carried(avatar: Avatar, places: np.ndarray, turns: np.ndarray | None = None) -> Given:
    """The first prop at places (T, 3), turned by (T, 4), tick by tick; everything else in its rest pose."""
    worlds = np.repeat(avatar.skeleton.rest_world[None], len(places), axis=0)
    node = avatar.hair.colliders[0].node
    worlds[:, node, :3, 3] = places
    if turns is not None:
        worlds[:, node, :3, :3] = rotations.to_matrix(turns)
    return Given(worlds, RATE)


def points(crowd, ids) -> np.ndarray:
    """(J + 1, 3) root and end points of the only chain."""
    return np.concatenate([crowd.roots(ids)[0], crowd.positions(ids)[0]])

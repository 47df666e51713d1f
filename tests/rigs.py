"""Small avatars and motions for tests: skeletons with hair and nothing to draw."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from taichi_hair import rotations
from taichi_hair.avatar.avatar import Avatar
from taichi_hair.avatar.skeleton import Skeleton
from taichi_hair.hair import ArcParameters, Chain, Collider, HairRig, RodParameters

DOWN = np.array([0.0, -9.81, 0.0])


@dataclass(frozen=True, eq=False)
class Given:
    """A motion that was written down: worlds (T, N, 4, 4) at `rate` a second; past its end the last pose stays."""

    given: np.ndarray
    rate: float
    name: str = "given"
    seconds: float = 1.0

    def worlds(self, times: np.ndarray) -> np.ndarray:
        index = np.clip(np.rint(np.asarray(times) * self.rate).astype(int), 0, len(self.given) - 1)
        return self.given[index]


def avatar_of(skeleton: Skeleton, chains, colliders=()) -> Avatar:
    """An avatar that has hair and nothing to draw."""
    return Avatar(
        name="rig",
        path=None,
        skeleton=skeleton,
        skins=(),
        parts=(),
        materials=(),
        images=(),
        humanoid={},
        hair=HairRig(tuple(chains), tuple(colliders)),
    )


def arc_numbers(count: int, k: float = 800.0, c: float = 34.0, follow: float = 0.0) -> ArcParameters:
    return ArcParameters(np.full(count, k), np.full(count, c), np.full(count, follow), DOWN)


def rod_numbers(count: int, frequency: float = 0.85, damping: float = 0.4) -> RodParameters:
    return RodParameters(frequency, damping, 0.5, 0.0, 2.0, 0.03, np.ones(count), DOWN)


def strand(
    links=(0.06, 0.06, 0.06, 0.06),
    *,
    bend: float = 0.2,
    head=(0.0, 1.4, 0.0),
    offset=(0.0, 0.0, -0.1),
    colliders=(),
    radius: float = 0.01,
    scale: float = 1.0,
    **settings,
) -> Avatar:
    """A head (node 0) with one chain that hangs down and bends forward by `bend` radians a joint (nodes 1...)."""
    n = len(links)
    translations = np.array([head, offset, *[[0.0, -length, 0.0] for length in links]])
    turns = np.tile(rotations.IDENTITY, (n + 2, 1))
    turns[2:] = rotations.from_axis_angle([1.0, 0.0, 0.0], bend)
    skeleton = Skeleton(
        names=("head", *[f"hair_{j}" for j in range(n)], "hair_end"),
        parents=np.arange(-1, n + 1),
        translations=translations,
        rotations=turns,
        scales=np.concatenate([np.full((1, 3), scale), np.ones((n + 1, 3))]),
    )
    numbers = {
        "stiffness": np.full(n, 1.0),
        "drag": np.full(n, 0.4),
        "gravity_power": np.full(n, 0.2),
        "arc": arc_numbers(n),
        "rod": rod_numbers(n),
        **settings,
    }
    chain = Chain(
        name="strand",
        joints=np.arange(1, n + 1),
        ends=np.arange(2, n + 2),
        tails=translations[2:],
        attach=0,
        gravity_dir=np.tile([0.0, -1.0, 0.0], (n, 1)),
        hit_radius=np.full(n, radius),
        colliders=tuple(range(len(colliders))),
        **numbers,
    )
    return avatar_of(skeleton, [chain], colliders)


def branched() -> Avatar:
    """A trunk of eight links with a branch of seven on its fourth."""
    trunk = strand(np.full(8, 0.05))
    skeleton = trunk.skeleton
    n = len(skeleton)
    first = trunk.hair.chains[0]
    grown = replace(
        skeleton,
        names=(*skeleton.names, *[f"branch_{j}" for j in range(8)]),
        parents=np.concatenate([skeleton.parents, [first.joints[3]], np.arange(n, n + 7)]),
        translations=np.concatenate([skeleton.translations, [[0.02, -0.01, 0.0]], np.tile([0.01, -0.04, 0.0], (7, 1))]),
        rotations=np.concatenate([skeleton.rotations, np.tile([0.0, 0.0, 0.0, 1.0], (8, 1))]),
        scales=np.ones((n + 8, 3)),
    )
    branch = replace(
        first,
        name="branch",
        joints=np.arange(n, n + 7),
        ends=np.arange(n + 1, n + 8),
        tails=np.tile([0.01, -0.04, 0.0], (7, 1)),
        attach=int(first.joints[3]),
        parent=(0, 3),
        **{k: getattr(first, k)[:7] for k in ("stiffness", "drag", "gravity_power", "gravity_dir", "hit_radius")},
        arc=None,
        rod=None,
    )
    return avatar_of(grown, [first, branch])


def sphere(center, radius: float, node: int = -1) -> Collider:
    return Collider("ball", node, "sphere", np.asarray(center, dtype=np.float64), radius)


def capsule(a, b, radius: float, node: int = -1) -> Collider:
    return Collider("rod", node, "capsule", np.asarray(a, np.float64), radius, np.asarray(b, np.float64))

"""What a body pose means to the hair: attach frames of chains and world colliders, for a batch of times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .. import rotations
from ..avatar.skeleton import Skeleton
from ..hair import HairRig


class Motion(Protocol):
    """Anything that can say where the nodes are at a time. A pure function: the same times give the same bits.

    A motion may also say what comes after its `seconds`: `loop` True, it goes round; False, the last pose stays. Such a
    motion is kept on the device; any other is asked again and again while it plays.
    """

    name: str
    seconds: float

    def worlds(self, times: np.ndarray) -> np.ndarray:
        """(T, N, 4, 4) float64 world matrices of all nodes at times (T,) in seconds; hair in its rest pose."""
        ...


@dataclass(frozen=True)
class Still:
    """One pose for ever: the rest pose unless another (N, 4, 4) is given."""

    skeleton: Skeleton
    name: str = "still"
    seconds: float = 1.0
    loop: bool = True
    pose: np.ndarray | None = None

    def worlds(self, times: np.ndarray) -> np.ndarray:
        pose = self.skeleton.rest_world if self.pose is None else self.pose
        return np.broadcast_to(pose, (len(times), *pose.shape))


@dataclass(frozen=True, eq=False)
class Frames:
    """Attach frames and colliders of one avatar at T times. An anchor is a node that carries chains.

    Positions are world metres in float64; the simulation takes differences of them before it rounds.
    """

    position: np.ndarray  # (T, A, 3)
    rotation: np.ndarray  # (T, A, 4)
    scale: np.ndarray  # (T, A) relative to the rest pose
    center_position: np.ndarray  # (T, A, 3) of the node whose motion gives no inertia; zeros where it is the world
    center_rotation: np.ndarray  # (T, A, 4)
    collider_a: np.ndarray  # (T, B, 3) centre, start of the axis, point of a plane, or corner of a surface's grid
    collider_b: np.ndarray  # (T, B, 3) end of the axis; the unit normal of a plane
    collider_radius: np.ndarray  # (T, B)
    collider_tail_radius: np.ndarray  # (T, B) the same as the radius where a capsule is not tapered
    collider_rotation: np.ndarray  # (T, B, 4) of boxes and surfaces
    collider_scale: np.ndarray  # (T, B) metres per local unit

    def __len__(self) -> int:
        return len(self.position)

    def part(self, start: int, stop: int) -> Frames:
        """Frames start <= t < stop."""
        return Frames(**{name: value[start:stop] for name, value in vars(self).items()})

    def moved(self, matrix: np.ndarray) -> Frames:
        """The same frames under a placement: rotation and uniform scale of a (4, 4) matrix. Its translation is left
        out on purpose: only differences of positions matter, and they keep their bits wherever an avatar stands."""
        turn = matrix[:3, :3]
        size = np.cbrt(abs(np.linalg.det(turn)))
        q = rotations.from_matrix(turn)
        if np.array_equal(turn, np.eye(3)):
            return self
        return Frames(
            position=self.position @ turn.T,
            rotation=rotations.multiply(q, self.rotation),
            scale=self.scale * size,
            center_position=self.center_position @ turn.T,
            center_rotation=rotations.multiply(q, self.center_rotation),
            collider_a=self.collider_a @ turn.T,
            collider_b=self.collider_b @ turn.T,
            collider_radius=self.collider_radius * size,
            collider_tail_radius=self.collider_tail_radius * size,
            collider_rotation=rotations.multiply(q, self.collider_rotation),
            collider_scale=self.collider_scale * size,
        )

    def repeated(self, count: int) -> Frames:
        """One frame, `count` times."""
        return Frames(**{name: np.repeat(value[:1], count, axis=0) for name, value in vars(self).items()})

    def finite(self) -> bool:
        """Whether every number is one."""
        return all(np.isfinite(value).all() for value in vars(self).values())


def anchors(rig: HairRig) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Distinct (attach, center) node pairs of a rig's chains, and (C,) which one carries each chain.

    A chain that hangs on another chain's joint is carried, like that chain, by the node above them both: no bent
    parent may define a rest direction.
    """
    pairs: list[tuple[int, int]] = []
    index = np.zeros(len(rig.chains), dtype=np.int64)
    for c, chain in enumerate(rig.chains):
        root = chain
        while root.parent is not None:
            root = rig.chains[root.parent[0]]
        pair = (int(root.attach), int(chain.center))
        if pair not in pairs:
            pairs.append(pair)
        index[c] = pairs.index(pair)
    return pairs, index


def mean_scale(matrices: np.ndarray) -> np.ndarray:
    """(...) one length factor of world matrices (..., 4, 4): the cube root of their volume factor."""
    return np.cbrt(np.abs(np.linalg.det(matrices[..., :3, :3])))


def frames(skeleton: Skeleton, rig: HairRig, worlds: np.ndarray) -> Frames:
    """Frames of world matrices (T, N, 4, 4)."""
    pairs, _ = anchors(rig)
    count = len(worlds)
    nodes = np.array([a for a, _ in pairs], dtype=np.int64)
    centers = np.array([c for _, c in pairs], dtype=np.int64)
    identity = np.broadcast_to(np.eye(4), (count, 1, 4, 4))
    padded = np.concatenate([worlds, identity], axis=1)  # node -1 is the scene root
    attach = padded[:, nodes]
    rest = np.concatenate([skeleton.rest_world, np.eye(4)[None]])[nodes]
    center = padded[:, centers]
    b = len(rig.colliders)
    a_points, b_points, radii = np.zeros((count, b, 3)), np.zeros((count, b, 3)), np.zeros((count, b))
    tail_radii, scales = np.zeros((count, b)), np.ones((count, b))
    turns = np.tile(rotations.IDENTITY, (count, b, 1))
    for k, collider in enumerate(rig.colliders):
        world = padded[:, collider.node]
        turn, shift = world[:, :3, :3], world[:, :3, 3]
        a_points[:, k] = turn @ collider.offset + shift
        if collider.shape == "plane":
            normal = rotations.rotate(rotations.from_matrix(turn), collider.normal)
            b_points[:, k] = normal
        else:
            tail = collider.offset if collider.tail is None else collider.tail
            b_points[:, k] = turn @ tail + shift
        scales[:, k] = mean_scale(world)
        radii[:, k] = collider.radius * scales[:, k]
        tail_radii[:, k] = radii[:, k]
        if collider.tail_radius is not None:
            tail_radii[:, k] = collider.tail_radius * scales[:, k]
        if collider.shape in ("box", "surface"):
            own = rotations.IDENTITY if collider.rotation is None else collider.rotation
            turns[:, k] = rotations.multiply(rotations.from_matrix(turn), own)
    return Frames(
        position=attach[..., :3, 3],
        rotation=rotations.from_matrix(attach),
        scale=mean_scale(attach) / np.maximum(mean_scale(rest), 1e-30),
        center_position=center[..., :3, 3],
        center_rotation=rotations.from_matrix(center),
        collider_a=a_points,
        collider_b=b_points,
        collider_radius=radii,
        collider_tail_radius=tail_radii,
        collider_rotation=turns,
        collider_scale=scales,
    )


def interpolate(before: Frames, after: Frames, steps: int) -> Frames:
    """`steps` frames on the way from one single frame to another; the last one is `after`. Rotations go by slerp."""
    if steps == 1:
        return after
    t = np.arange(1, steps + 1) / steps
    out = {}
    for name, a in vars(before).items():
        b = getattr(after, name)
        if name.endswith("rotation"):
            value = rotations.slerp(a, b, np.broadcast_to(t[:, None], (steps, a.shape[1])))
        else:
            value = a + (b - a) * t.reshape(-1, *([1] * (a.ndim - 1)))
        value[-1] = b[0]
        out[name] = value
    return Frames(**out)

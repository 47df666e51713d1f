"""The avatar that is timed: a head with hair all around, a torso of capsules, and a head that turns for ever."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import rotations
from ..avatar.avatar import Avatar
from ..avatar.skeleton import Skeleton
from ..hair import Chain, Collider, HairRig
from ..motion.turn import HeadMotion, yaw_pitch
from ..sim.solvers.lut import PoseTable, samples

HIPS, CHEST, NECK, HEAD = range(4)
# node, start, end, radius, metres in the node's frame: head, neck, chest, shoulders, waist, arms
CAPSULES = (
    (HEAD, (0.0, 0.09, 0.0), (0.0, 0.10, 0.0), 0.095),
    (NECK, (0.0, -0.02, 0.0), (0.0, 0.07, 0.0), 0.045),
    (CHEST, (-0.06, 0.10, 0.0), (0.06, 0.10, 0.0), 0.10),
    (CHEST, (0.07, 0.19, 0.0), (0.19, 0.17, 0.0), 0.055),
    (CHEST, (-0.07, 0.19, 0.0), (-0.19, 0.17, 0.0), 0.055),
    (CHEST, (0.0, -0.10, 0.0), (0.0, 0.05, 0.0), 0.105),
    (CHEST, (0.19, 0.17, 0.0), (0.30, -0.05, 0.02), 0.045),
    (CHEST, (-0.19, 0.17, 0.0), (-0.30, -0.05, 0.02), 0.045),
)


def bench_avatar(chains: int = 12, joints: int = 6, capsules: int = 8, seed: int = 1) -> Avatar:
    """`chains` strands of `joints` segments of about 5 cm around a head, each against all of `capsules` capsules."""
    rng = np.random.default_rng(seed)
    names = ["hips", "chest", "neck", "head"]
    parents = [-1, HIPS, CHEST, NECK]
    places = [[0.0, 0.95, 0.0], [0.0, 0.25, 0.0], [0.0, 0.22, 0.0], [0.0, 0.09, 0.01]]
    turns = [rotations.IDENTITY] * 4
    colliders = []
    for k in range(capsules):
        node, a, b, radius = CAPSULES[k % len(CAPSULES)]
        up = np.array([0.0, 0.004 * (k // len(CAPSULES)), 0.0])
        colliders.append(Collider(f"capsule {k}", node, "capsule", np.array(a) + up, radius, np.array(b) + up))
    strands = []
    for c in range(chains):
        yaw = 2.0 * np.pi * (c + 0.5) / chains + 0.1 * (rng.random() - 0.5)
        pitch = 1.15 + 0.1 * (rng.random() - 0.5)
        length = 0.05 * (0.9 + 0.2 * rng.random())
        bend = pitch / min(4, joints)
        first = len(names)
        for j in range(joints + 1):
            names.append(f"hair {c} {j}")
            parents.append(HEAD if j == 0 else first + j - 1)
            places.append([0.1 * np.sin(yaw), 0.12, 0.1 * np.cos(yaw)] if j == 0 else [0.0, -length, 0.0])
            angle = bend if 1 <= j <= 4 else 0.03
            turns.append(
                yaw_pitch(np.array(yaw), np.array(-pitch))
                if j == 0
                else rotations.from_axis_angle([1.0, 0.0, 0.0], np.array(angle))
            )
        strands.append(
            Chain(
                name=f"strand {c}",
                joints=np.arange(first, first + joints),
                ends=np.arange(first + 1, first + joints + 1),
                tails=np.tile([0.0, -length, 0.0], (joints, 1)),
                attach=HEAD,
                stiffness=np.full(joints, 1.0),
                drag=np.full(joints, 0.4),
                gravity_power=np.full(joints, 0.2),
                gravity_dir=np.tile([0.0, -1.0, 0.0], (joints, 1)),
                hit_radius=np.full(joints, 0.012),
                colliders=tuple(range(capsules)),
            )
        )
    skeleton = Skeleton(tuple(names), np.array(parents), np.array(places), np.array(turns), np.ones((len(names), 3)))
    return Avatar(
        name=f"{chains} chains of {joints} joints, {capsules} capsules",
        path=None,
        skeleton=skeleton,
        skins=(),
        parts=(),
        materials=(),
        images=(),
        humanoid={"hips": HIPS, "chest": CHEST, "neck": NECK, "head": HEAD},
        hair=HairRig(tuple(strands), tuple(colliders)),
    )


@dataclass(frozen=True, eq=False)
class Turning(HeadMotion):
    """The standard turn without its ramps, for ever: 60 degrees at 0.5 Hz with a nod at 1 Hz."""

    seconds: float = 2.0
    loop = True
    over = None
    name = "turning"

    def turn(self, times: np.ndarray) -> np.ndarray:
        """(T, 4) rotation of the head."""
        phase = np.pi * np.asarray(times)
        return yaw_pitch((np.pi / 3.0) * np.sin(phase), 0.15 * np.sin(2.0 * phase))


def bench_table(avatar: Avatar) -> PoseTable:
    """A pose table for timing: strands that lean back towards where down is; what it holds does not change its cost."""
    rig, rest = avatar.hair, avatar.skeleton.rest_world
    head = rest[HEAD, :3, 3]
    joints = np.array([rest[c.joints[0], :3, 3] - head for c in rig.chains])
    world = rest[rig.joints]
    tails = np.concatenate([c.tails for c in rig.chains])
    ends = (world[:, :3, :3] @ tails[:, :, None])[..., 0] + world[:, :3, 3] - head
    down = rotations.rotate(rotations.inverse(samples()), np.array([0.0, -1.0, 0.0]))
    along = np.concatenate([np.linspace(0.0, 0.1, len(c)) for c in rig.chains])
    return PoseTable.of(ends + along[:, None] * down[:, None], joints, rig.spans, ends)

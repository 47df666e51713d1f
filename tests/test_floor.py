"""A floor for hair: a plane in the avatar's world, met by strands that come down to it, and never written unasked."""

from __future__ import annotations

import numpy as np
import pytest
from moves import nodding

from taichi_hair.avatar.samples import sample
from taichi_hair.avatar.saving import to_bytes
from taichi_hair.bake.bake import bake
from taichi_hair.bake.export import facts_of, undo
from taichi_hair.bake.take import take
from taichi_hair.motion.clip import load_clip
from taichi_hair.motion.retarget import retarget
from taichi_hair.rig.floor import with_floor


def test_a_floor_is_one_plane_for_all_chains_and_can_be_moved():
    avatar = sample("twin-tails")
    rig = with_floor(avatar, height=0.1)
    floor = rig.colliders[-1]
    assert len(rig.colliders) == len(avatar.hair.colliders) + 1
    assert floor.node == -1 and floor.shape == "plane" and floor.offset.tolist() == [0.0, 0.1, 0.0]
    assert all(chain.colliders[-1] == len(rig.colliders) - 1 for chain in rig.chains)
    moved = with_floor(avatar, rig, 0.2, chains=[0])
    assert len(moved.colliders) == len(rig.colliders) and moved.colliders[-1].offset[1] == 0.2
    assert [len(rig.colliders) - 1 in chain.colliders for chain in moved.chains] == [True] + [False] * (
        len(rig.chains) - 1
    )
    with pytest.raises(ValueError, match="height"):
        with_floor(avatar, height=np.nan)
    with pytest.raises(ValueError, match="chains"):
        with_floor(avatar, chains=[99])


def test_kneeling_hair_lies_on_the_floor_and_not_below(assets):
    """A bow down to the ground: locks hang through where the floor is unless there is one."""
    avatar = sample("layered")
    motion = retarget(load_clip(assets / "vrma" / "fm_002_dogeza.vrma"), avatar)
    lowest = []
    for rig in (avatar.hair, with_floor(avatar)):
        taken = take(avatar, rig, motion, loop=False, fps=30.0)
        radius = np.concatenate([chain.hit_radius for chain in taken.rig.chains])
        lowest.append(float((taken.positions[..., 1] - radius).min()))
    assert lowest[0] < -0.05 and lowest[1] > -1e-4


def test_a_bake_with_a_floor_writes_none(tmp_path):
    avatar = sample("ponytail")
    path = tmp_path / "out.vrm"
    bake(avatar, None, retarget(nodding(), avatar), path, floor=0.0)
    assert facts_of(path)[0]["floor"] == 0.0
    assert undo(path) == to_bytes(avatar, path)

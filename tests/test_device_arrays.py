"""Arrays on the device are what the host's readers say, at every level of detail, and skinned vertices follow."""

from __future__ import annotations

import numpy as np
import pytest

import taichi_hair as th
from taichi_hair import rotations
from taichi_hair.avatar.skinning import skin_vertices
from taichi_hair.measure.bench_rig import Turning, bench_avatar
from taichi_hair.measure.skin import Skinner
from taichi_hair.sim.crowd import Crowd
from taichi_hair.sim.solvers.lut import PoseTable, samples


def placements() -> np.ndarray:
    out = np.tile(np.eye(4), (6, 1, 1))
    out[:, :3, 3] = np.random.default_rng(2).uniform(-10_000.0, 10_000.0, (6, 3))
    for k in range(3):
        out[k, :3, :3] = (1.0 + 0.2 * k) * rotations.to_matrix(rotations.from_axis_angle([0.0, 1.0, 0.1], 1.0 + k))
    return out


def rest_table(avatar) -> PoseTable:
    """All rotations of the head have the rest pose."""
    crowd = Crowd("rod")
    member = crowd.add(avatar)
    head = avatar.skeleton.rest_world[avatar.humanoid["head"], :3, 3]
    rest, roots = crowd.positions(member)[0] - head, crowd.roots(member)[0] - head
    return PoseTable.of(np.repeat(rest[None], len(samples()), axis=0), roots, avatar.hair.spans, rest)


def test_they_are_what_the_host_reads():
    avatar = bench_avatar(3, 8, 2)
    crowd = Crowd("rod")
    crowd.use_table(avatar, rest_table(avatar))
    ids = crowd.add(avatar, count=6, motion=Turning(avatar), at=placements(), phase=np.arange(6) * 0.13, speed=0.9)
    crowd.drive(int(ids[5]), avatar.skeleton.rest_world)
    for i, level in zip(ids[:5], ("full", "reduced", "half", "lut", "frozen"), strict=True):
        crowd.set_level(i, level)
    arrays = crowd.on_device(ids)
    for frames in (1, 7, 40):
        for _ in range(frames):
            crowd.advance(1 / 60)
        arrays.update()
        places = arrays.places[:, None]
        assert np.abs(arrays.positions.to_numpy() + places - crowd.positions(ids)).max() < 2e-5
        bodies = np.array([crowd.pose(i) for i in ids])[:, :, :3]
        bodies[..., 3] -= places
        assert (
            np.abs(arrays.worlds.to_numpy().reshape(6, -1, 3, 4) - bodies).max() < 5e-4
        )  # between two frames of a clip
        found, wanted = arrays.rotations.to_numpy(), crowd.rotations(ids)
        apart = rotations.angle(rotations.multiply(rotations.inverse(found), wanted))
        assert apart.max() < 2e-3  # angles near 0 cost half the digits of f32


@pytest.mark.parametrize("name", ["ponytail", "layered"])
def test_skinned_vertices_without_a_host_between(name):
    avatar = th.sample(name)
    crowd = Crowd("rod")
    motion = th.retarget(th.made_clip("stroll"), avatar, travel="remove", loop=True)
    ids = crowd.add(avatar, count=2, motion=motion, at=[[3.0, 0.0, 1.0], [-200.0, 0.0, 5.0]], phase=[0.0, 0.5])
    for _ in range(20):
        crowd.advance(1 / 60)
    arrays = crowd.on_device(ids)
    skinner = Skinner(avatar, copies=2)
    skinner.update_from(arrays.worlds)
    points = skinner.points.to_numpy().reshape(2, -1, 3)
    for k, i in enumerate(ids):
        pose = crowd.pose(i)
        pose[:, :3, 3] -= arrays.places[k]
        wanted = np.concatenate([skin_vertices(avatar, part, pose) for part in avatar.parts])
        assert np.abs(points[k] - wanted).max() < 1e-4
    with pytest.raises(ValueError, match="worlds have shape"):
        Skinner(avatar).update_from(arrays.worlds)


def test_members_of_one_kind_only():
    one, other = bench_avatar(2, 3, 0), bench_avatar(3, 3, 0)
    crowd = Crowd("rod")
    crowd.add(one), crowd.add(other)
    with pytest.raises(ValueError, match="one kind"):
        crowd.on_device()

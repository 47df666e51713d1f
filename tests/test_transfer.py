"""A fitted style on another head: it lies on the scalp, swings there, and says how it was placed."""

from __future__ import annotations

import numpy as np
import pytest

from taichi_hair.avatar.avatar import load
from taichi_hair.avatar.errors import AssetError
from taichi_hair.avatar.samples import sample
from taichi_hair.avatar.skinning import skin_vertices
from taichi_hair.motion.turn import HeadTurn
from taichi_hair.rig.fit import fit_hair
from taichi_hair.rig.roots import Head
from taichi_hair.rig.transfer import align, transfer, without_parts
from taichi_hair.rig.write import write_rig
from taichi_hair.sim.crowd import Crowd


@pytest.fixture(scope="module")
def moved():
    rig = fit_hair(sample("twin-tails"), "tails", joints=6, chains="auto", refine=False)
    target = without_parts(sample("ponytail"), ["hair", "ponytail", "hair_tie"])
    return rig, target, transfer(rig, target)


def test_alike_heads_need_no_change(moved):
    _, _, (_, placement) = moved
    assert np.allclose(placement.scale, 1.0, atol=0.05)
    assert np.linalg.norm(placement.offset) < 0.02
    assert placement.gap < 0.006


def test_the_style_keeps_its_chains_and_swings(moved):
    rig, target, (there, _) = moved
    assert len(there.fitted) == len(rig.fitted)
    assert len(there.avatar.parts) == len(target.parts) + 1
    crowd = Crowd(solver="rod")
    (member,) = crowd.add(target, there, motion=HeadTurn(target))
    crowd.advance(0.25)
    still = there.avatar.skeleton.rest_world
    assert np.abs(crowd.pose(member) - still).max() > 0.05
    crowd.remove(None)


def test_rest_pose_of_the_moved_hair_follows_its_own_joints(moved):
    _, _, (there, _) = moved
    surface = there.table["surface"]
    points = skin_vertices(there.avatar, surface.parts[0])
    assert np.abs(points[: len(surface.owners[0])] - surface.points[surface.owners[0]]).max() < 1e-3


def test_scale_and_offset_are_found():
    random = np.random.default_rng(1)
    ball = random.normal(size=(4000, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    ball *= [0.09, 0.11, 0.10]
    a = Head(0, ball + [0.0, 1.5, 0.0], np.array([0.0, 1.5, 0.0]), 0.11, True)
    b = Head(0, 1.5 * ball + [0.2, 1.0, 0.1], np.array([0.2, 1.0, 0.1]), 0.165, True)
    placement = align(a, b)
    assert np.allclose(placement.scale, 1.5, atol=0.05)
    assert np.allclose(placement.apply(np.array([[0.0, 1.61, 0.0]])), [[0.2, 1.165, 0.1]], atol=0.01)


def test_unknown_parts_are_named():
    with pytest.raises(AssetError, match="wig"):
        without_parts(sample("ponytail"), "wig")


def test_a_transferred_style_is_written_and_read_back(tmp_path):
    rig = fit_hair(sample("twin-tails"), "tails", joints=4, chains="auto", refine=False)
    target = sample("ponytail")
    there, _ = transfer(rig, target)
    again = load(write_rig(there, tmp_path / "both.vrm"))
    assert [c.name for c in again.hair.chains] == [c.name for c in there.chains]
    added = len(there.avatar.parts) - 1
    assert np.abs(skin_vertices(again, added) - skin_vertices(there.avatar, added)).max() < 1e-5
    assert len(again.parts) == len(target.parts) + 1

"""Skinning in NumPy: batches of poses, blended joints, normals under uneven scale."""

from __future__ import annotations

import numpy as np
import pytest
from glb import QUAD, QUAD_TRIANGLES, Glb

from taichi_hair import rotations
from taichi_hair.avatar.avatar import load
from taichi_hair.avatar.skinning import skin_vertices


def strip() -> Glb:
    """Four vertices between two joints, 1 apart; the upper two follow both joints by half."""
    glb = Glb()
    joints = glb.line(2, step=(0.0, 1.0, 0.0))
    inverse = np.stack([np.eye(4), np.eye(4)])
    inverse[0, 1, 3], inverse[1, 1, 3] = -1.0, -2.0
    glb.add("skins", {"joints": joints, "inverseBindMatrices": glb.accessor(inverse.swapaxes(1, 2).reshape(2, 16))})
    attributes = {
        "JOINTS_0": glb.accessor([[0, 1, 0, 0]] * 4, "u1"),
        "WEIGHTS_0": glb.accessor([[1, 0, 0, 0], [1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0]]),
    }
    glb.node("mesh", mesh=glb.mesh(QUAD + [0.0, 1.0, 0.0], QUAD_TRIANGLES, attributes=attributes), skin=0)
    return glb


def test_the_rest_pose_is_what_was_bound():
    avatar = strip().load()
    np.testing.assert_allclose(skin_vertices(avatar, 0), QUAD + [0.0, 1.0, 0.0], atol=1e-12)


def test_half_the_weight_goes_half_the_way():
    avatar = strip().load()
    moves = avatar.skeleton.translations.copy()
    moves[1] += [0.0, 0.0, 0.4]
    posed = skin_vertices(avatar, avatar.parts[0], avatar.skeleton.world(moves))
    np.testing.assert_allclose(posed[:, 2], [0.0, 0.0, 0.2, 0.2], atol=1e-12)


def test_a_batch_of_poses_is_each_pose():
    avatar = strip().load()
    turns = np.tile(avatar.skeleton.rotations, (5, 1, 1))
    turns[:, 1] = rotations.from_axis_angle(np.array([1.0, 0.0, 0.0]), np.linspace(0.0, 2.0, 5))
    worlds = avatar.skeleton.world(None, turns)
    positions, normals = skin_vertices(avatar, 0, worlds, normals=True)
    assert positions.shape == normals.shape == (5, 4, 3)
    for i in range(5):
        np.testing.assert_allclose(positions[i], skin_vertices(avatar, 0, worlds[i]), atol=1e-12)
        np.testing.assert_allclose(normals[i], skin_vertices(avatar, 0, worlds[i], normals=True)[1], atol=1e-12)


@pytest.mark.parametrize("scale", [[1.0, 4.0, 1.0], [-1.0, 1.0, 1.0], [2.0, 2.0, 0.5]])
def test_normals_stay_at_right_angles_to_the_surface_and_outside(scale):
    glb = Glb()
    tilted = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    outward = np.array([0.0, -1.0, 1.0]) / np.sqrt(2.0)
    attributes = {"NORMAL": glb.accessor([outward] * 3)}
    glb.node("n", mesh=glb.mesh(tilted, [[0, 1, 2]], attributes=attributes), scale=scale)
    avatar = glb.load()
    positions, normals = skin_vertices(avatar, 0, normals=True)
    np.testing.assert_allclose(normals @ (positions[1] - positions[0]), 0.0, atol=1e-7)
    np.testing.assert_allclose(normals @ (positions[2] - positions[0]), 0.0, atol=1e-7)
    # A point just outside is still outside after the scale.
    assert (normals @ (outward * scale) > 0.0).all()


def test_golden_trajectories_name_the_bones_that_are_read(assets, peers):
    files = sorted((peers / "three-vrm" / "golden").glob("file-*.npz"))
    assert files
    for golden in files:
        name = golden.stem.removeprefix("file-") + ".vrm"
        (path,) = assets.rglob(name)
        avatar = load(path)
        names = avatar.skeleton.names
        pairs = {(names[j], names[e]) for c in avatar.hair.chains for j, e in zip(c.joints, c.ends, strict=True)}
        with np.load(golden) as data:
            assert {tuple(row) for row in data["bones"]} <= pairs, name

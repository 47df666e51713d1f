"""Skinning on the device against the slow NumPy reference."""

from __future__ import annotations

import figures
import numpy as np
import pytest

from taichi_hair import rotations
from taichi_hair.avatar.avatar import load
from taichi_hair.avatar.skinning import skin_vertices
from taichi_hair.measure.skin import Skinner


def posed(avatar, seed=1):
    """World matrices of a random pose: every joint turned by up to half a radian."""
    rng = np.random.default_rng(seed)
    turn = rotations.from_axis_angle(
        rng.normal(size=(len(avatar.skeleton), 3)), rng.uniform(0, 0.5, len(avatar.skeleton))
    )
    return avatar.skeleton.world(rotations_=rotations.multiply(avatar.skeleton.rotations, turn))


def reference(avatar, worlds):
    """Positions and normals (V, 3) of all parts."""
    pairs = [skin_vertices(avatar, p, worlds, normals=True) for p in avatar.parts]
    return np.concatenate([p for p, _ in pairs]), np.concatenate([n for _, n in pairs])


def test_a_vertex_halfway_between_two_joints_moves_half_as_far():
    nodes = figures.skeleton([-1, -1], [[0, 0, 0], [0, 0, 0]])
    mesh = figures.part([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2]], joints=[[0, 1]] * 3, weights=[[0.5, 0.5]] * 3)
    worlds = np.tile(np.eye(4), (2, 1, 1))
    worlds[1, :3, 3] = (0.0, 0.0, 4.0)
    moved = Skinner(figures.avatar([mesh], [figures.flat([1, 1, 1])], nodes)).positions(worlds)[0]
    np.testing.assert_allclose(moved, [[1, 0, 2], [0, 1, 2], [0, 0, 3]], atol=1e-6)


def test_random_poses_equal_the_reference():
    avatar = figures.tailed()
    worlds = posed(avatar)
    skinner = Skinner(avatar)
    skinner.update(worlds)
    points, normals = reference(avatar, worlds)
    assert np.abs(points - reference(avatar, avatar.skeleton.rest_world)[0]).max() > 0.05  # the pose moves something
    np.testing.assert_allclose(skinner.points.to_numpy(), points, atol=2e-6)
    np.testing.assert_allclose(skinner.normals.to_numpy(), normals, atol=2e-6)


def test_normals_stay_perpendicular_under_uneven_and_mirrored_scale():
    avatar = figures.avatar([figures.ball()], [figures.flat([1, 1, 1])])
    worlds = np.diag([-2.0, 0.5, 1.0, 1.0])[None]
    skinner = Skinner(avatar)
    skinner.update(worlds)
    # A sphere becomes an ellipsoid: its normal at p is the gradient of x^2/4 + y^2/0.25 + z^2.
    p = skinner.points.to_numpy().astype(float)
    n = p / np.array([4.0, 0.25, 1.0])
    np.testing.assert_allclose(skinner.normals.to_numpy(), n / np.linalg.norm(n, axis=1, keepdims=True), atol=1e-5)


def test_copies_take_their_own_poses():
    avatar = figures.tailed()
    worlds = np.stack([posed(avatar, seed) for seed in (1, 2, 3)])
    together = Skinner(avatar, copies=3).positions(worlds)
    for k in range(3):
        assert np.array_equal(together[k], Skinner(avatar).positions(worlds[k])[0])


def test_chosen_parts_only():
    avatar = figures.tailed()
    skinner = Skinner(avatar, parts=avatar.parts[2:])
    points = skinner.positions(avatar.skeleton.rest_world)[0]
    np.testing.assert_allclose(points, skin_vertices(avatar, 2), atol=2e-6)
    assert skinner.starts.tolist() == [0, 561]


def test_seed_san_rest_pose_equals_the_reference(assets):
    avatar = load(assets / "seed-san" / "seed-san.vrm")
    worlds = posed(avatar)
    skinner = Skinner(avatar)
    skinner.update(worlds)
    points, normals = reference(avatar, worlds)
    np.testing.assert_allclose(skinner.points.to_numpy(), points, atol=5e-6)
    error = np.linalg.norm(skinner.normals.to_numpy() - normals, axis=1)
    assert np.quantile(error, 0.999) < 1e-4 and error.max() < 1e-2


@pytest.mark.parametrize("shape", [(4, 4), (2, 5, 4, 4), (6, 4, 4)])
def test_a_wrong_shape_is_named(shape):
    with pytest.raises(ValueError, match=r"figure.*shape.*wanted \(1, 5, 4, 4\)"):
        Skinner(figures.tailed()).positions(np.zeros(shape))


def test_joints_beyond_the_skin_are_refused():
    mesh = figures.part([[0, 0, 0]] * 3, [[0, 1, 2]], joints=[[7]] * 3, name="cape")
    with pytest.raises(ValueError, match=r"cape.*reach from 7 to 7.*1 joints"):
        Skinner(figures.avatar([mesh], [figures.flat([1, 1, 1])]))


def test_reading_before_skinning_is_an_error():
    with pytest.raises(RuntimeError, match="call update"):
        _ = Skinner(figures.tailed()).points

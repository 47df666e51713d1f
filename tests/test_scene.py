"""Scenes: several avatars in any pose, which parts are hair, chains and colliders over the picture."""

from __future__ import annotations

from dataclasses import replace

import figures
import numpy as np
import pytest

from taichi_hair.avatar.avatar import load
from taichi_hair.view import surface
from taichi_hair.view.camera import Camera, frame
from taichi_hair.view.overlay import overlay, tube_radius
from taichi_hair.view.raster import Raster
from taichi_hair.view.scene import Scene, hair_parts


def test_update_moves_the_picture():
    avatar = figures.tailed()
    scene = Scene(avatar)
    camera = frame(scene.positions(), "side")
    raster = Raster(scene)
    first = raster.picture(camera, 80, 120)
    turned = avatar.skeleton.rotations.copy()
    turned[2] = [np.sin(0.5), 0, 0, np.cos(0.5)]  # the tail swings about x
    scene.update(avatar.skeleton.world(rotations_=turned))
    second = raster.picture(camera, 80, 120)
    scene.update(avatar.skeleton.rest_world)
    assert (first != second).any(axis=-1).mean() > 0.02
    assert np.array_equal(first, raster.picture(camera, 80, 120))


def test_avatars_stand_side_by_side_each_in_its_own_pose():
    avatar, other = figures.tailed(), figures.avatar([figures.square()], [figures.flat([1, 1, 1])])
    scene = Scene([avatar, other, avatar], offsets=[[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    worlds = [avatar.skeleton.rest_world, other.skeleton.rest_world, avatar.skeleton.rest_world + 0.0]
    worlds[2][:, 1, 3] += 0.5
    scene.update(worlds)
    alone = Scene(avatar).positions()
    np.testing.assert_allclose(scene.positions(0), alone, atol=1e-6)
    np.testing.assert_allclose(scene.positions(1), other.parts[0].positions + [1, 0, 0], atol=1e-6)
    np.testing.assert_allclose(scene.positions(2), alone + [2, 0.5, 0], atol=1e-5)
    assert len(scene.positions()) == 2 * len(alone) + 4


def test_an_update_for_the_wrong_number_of_avatars_is_refused():
    with pytest.raises(ValueError, match="2 avatars, update\\(\\) got matrices for 1"):
        Scene([figures.tailed(), figures.tailed()]).update([np.eye(4)[None]])
    with pytest.raises(ValueError, match="offsets have shape"):
        Scene(figures.tailed(), offsets=[0, 0, 0])


def test_an_avatar_without_meshes_is_named():
    with pytest.raises(ValueError, match="figure: the avatar has no mesh"):
        Scene(replace(figures.tailed(), parts=()))


def test_hair_is_found_by_its_weights_or_named():
    avatar = figures.tailed()
    assert hair_parts(avatar) == [2]
    flags = Scene(avatar).surfaces.table[:, surface.HAIR]
    assert flags.tolist() == [0, 0, 1]
    assert Scene(avatar, hair=["body"]).surfaces.table[:, surface.HAIR].tolist() == [1, 0, 0]
    with pytest.raises(ValueError, match="no mesh is named wig"):
        Scene(avatar, hair=["wig"])


def test_a_cap_of_the_tails_material_on_the_head_is_hair_and_a_skirt_is_not():
    avatar = figures.tailed()
    cap = replace(avatar.parts[1], material=2, name="cap")
    assert hair_parts(replace(avatar, parts=(*avatar.parts, cap))) == [2, 3]
    skirt = replace(avatar.hair.chains[0], joints=np.array([0]), ends=np.array([1]), tails=np.zeros((1, 3)), attach=-1)
    assert hair_parts(replace(avatar, hair=avatar.hair.with_chains([skirt]))) == []


def test_seed_san_has_the_hair_band_on_its_hair_alone(assets):
    avatar = load(assets / "seed-san" / "seed-san.vrm")
    flags = Scene(avatar).surfaces.table[:, surface.HAIR]
    assert [m.name for m, f in zip(avatar.materials, flags, strict=True) if f] == ["hair"]


def test_the_head_is_what_follows_the_head_node():
    scene = Scene(figures.tailed())
    low, high = scene.head_points().min(axis=0), scene.head_points().max(axis=0)
    np.testing.assert_allclose([low[1], high[1]], [1.2, 1.6], atol=1e-5)  # a ball of 0.2 m around (0, 1.4, 0)
    headless = Scene(replace(figures.tailed(), humanoid={}))
    assert headless.head_points()[:, 1].min() > 1.4


def test_the_hair_is_the_head_and_what_hangs_from_it():
    scene = Scene(figures.tailed())
    low, high = scene.hair_points().min(axis=0), scene.hair_points().max(axis=0)
    np.testing.assert_allclose([low[1], high[1]], [1.0, 1.6], atol=1e-5)  # the tail's ball reaches from 1.4 to 1.0
    np.testing.assert_allclose(low[2], -0.5, atol=1e-5)


def test_chains_stay_visible_from_afar():
    near, far = Camera(distance=1.0), Camera(distance=50.0)
    assert tube_radius(near, 720) == pytest.approx(0.0028)
    # 1.5 pixels at 50 m with 0.5 rad in 720 pixels: 1.5 * 2 tan(0.25) * 50 / 720.
    assert tube_radius(far, 720) == pytest.approx(0.0532, abs=1e-4)
    assert np.abs(overlay(Scene(figures.tailed()), colliders=False, tube=0.05).points[:, 0]).max() > 0.04


def test_colourless_avatars_become_clay_with_tinted_hair():
    from taichi_hair.avatar.description import Material

    white = Material("white", np.ones(4))
    table = Scene(figures.tailed((white, white, white))).surfaces.table
    np.testing.assert_allclose(table[0, :3], surface.CLAY, atol=1e-6)
    np.testing.assert_allclose(table[2, :3], surface.CLAY_HAIR, atol=1e-6)
    coloured = Scene(figures.tailed((white, Material("red", np.array([1.0, 0, 0, 1])), white))).surfaces.table
    assert coloured[0, :3].tolist() == [1, 1, 1]


def test_overlays_hold_chains_and_colliders_where_they_are():
    scene = Scene(figures.tailed())
    both = overlay(scene)
    chains = overlay(scene, colliders=False)
    assert chains.first_chain == 0 and both.first_chain == len(both.triangles) - len(chains.triangles) > 0
    points = chains.points
    # The strand starts at (0, 1.4, -0.3) and goes 0.2, 0.2 and 0.1 m down; tubes are thinner than 6 mm.
    assert np.abs(points[:, [0, 2]] - [0, -0.3]).max() < 0.006
    np.testing.assert_allclose([points[:, 1].max(), points[:, 1].min()], [1.4, 0.9], atol=0.007)
    ball = both.points[: 20 * 20]
    np.testing.assert_allclose(np.linalg.norm(ball - [0, 1.0, 0], axis=1), 0.25, atol=1e-6)
    bar = both.points[400:800]
    axis = np.clip(bar[:, 1], 1.4, 1.6)
    distance = np.linalg.norm(bar - np.stack([0 * axis, axis, 0 * axis], axis=1), axis=1)
    np.testing.assert_allclose(distance, 0.1, atol=1e-6)
    assert overlay(scene, chains=False, colliders=False) is None


def test_overlays_follow_the_pose_and_show_through_the_body():
    avatar = figures.tailed()
    scene = Scene(avatar, offsets=[[1.0, 0, 0]])
    np.testing.assert_allclose(overlay(scene).points.mean(axis=0)[0], 1.0, atol=0.02)
    camera = frame(scene.positions(), "front")
    raster = Raster(scene)
    plain, marked = raster.picture(camera, 80, 120), raster.picture(camera, 80, 120, overlay=overlay(scene))
    changed = (plain != marked).any(axis=-1)
    assert 0.02 < changed.mean() < 0.9


def test_an_unknown_alpha_mode_is_named():
    materials = [figures.flat([1, 1, 1], alpha_mode="ADD"), figures.flat([1, 1, 1]), figures.flat([1, 1, 1])]
    with pytest.raises(
        ValueError, match=r"figure, material 'flat': alpha mode 'ADD', wanted one of OPAQUE, MASK, BLEND"
    ):
        Scene(figures.tailed(materials))

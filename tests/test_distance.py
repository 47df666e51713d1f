"""Signed distance grids: exact distances of known bodies, the disk cache, and hair that stays outside the cloth."""

from __future__ import annotations

import numpy as np
import pytest

import taichi_hair as th
from taichi_hair.rig import distance as home
from taichi_hair.rig.body import surfaces
from taichi_hair.rig.distance import bake, signed_distance, surface_colliders
from taichi_hair.rig.shapes import grid_distance

CUBE = np.array([[x, y, z] for x in (-1.0, 1) for y in (-1.0, 1) for z in (-1.0, 1)])
FACES = [
    (0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
    (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3),
]  # fmt: skip


def test_a_cube_of_edge_two():
    """Over a face, an edge and a corner, and inside: the distances are exact, and the side is right everywhere."""
    corners = CUBE[np.array(FACES)]
    points = np.array([[2.0, 0.1, 0.2], [2.0, 2.0, 0.3], [2.0, 2.0, 2.0], [0.9, 0.1, 0.2], [0.0, 0.0, 0.5]])
    wanted = [1.0, np.sqrt(2.0), np.sqrt(3.0), -0.1, -0.5]
    assert np.allclose(signed_distance(points, corners, 0.1), wanted, atol=1e-9)
    rng = np.random.default_rng(3)
    many = rng.uniform(-2.0, 2.0, (4000, 3))
    q = np.abs(many) - 1.0
    truth = np.linalg.norm(np.maximum(q, 0.0), axis=1) + np.minimum(q.max(axis=1), 0.0)
    assert np.abs(signed_distance(many, corners, 0.1) - truth).max() < 5e-3


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TAICHI_HAIR_CACHE", str(tmp_path))
    return tmp_path


def test_a_grid_of_the_chest_is_kept_on_disk(folder, monkeypatch):
    avatar = th.sample("layered")
    skins = surfaces(avatar, avatar.hair)
    corner, surface = bake(avatar, skins, "upperChest", 20)
    assert len(list(folder.iterdir())) == 1
    assert max(surface.distance.shape) == 20
    # Points of the shirt lie on the zero of the grid, points 2 cm out of it 2 cm outside, within a cell.
    world = avatar.skeleton.rest_world[avatar.humanoid["upperChest"]]
    own = skins.of(("upperChest",))
    points = (skins.positions()[own] - world[:3, 3]) @ world[:3, :3]
    assert np.abs(grid_distance(surface, points - corner)).mean() < surface.cell
    monkeypatch.setattr(home, "signed_distance", lambda *_: pytest.fail("it is on disk"))
    again = bake(avatar, skins, "upperChest", 20)
    assert np.array_equal(again[1].distance, surface.distance)


def test_surfaces_keep_hair_out(folder):
    """Front locks that meet the shirt itself, and nothing else, through a head turn: fewer are hidden, less deep."""
    from taichi_hair.measure.contact import swept_contact
    from taichi_hair.measure.occlusion import occlusion
    from taichi_hair.measure.run import record
    from taichi_hair.sim.crowd import Crowd

    avatar = th.sample("layered")
    bare = avatar.hair.with_chains([th.Chain(**{**vars(c), "colliders": ()}) for c in avatar.hair.chains])
    rig = surface_colliders(avatar, bare, chains=(3, 4), resolution=32, push_out=0.008)
    assert [c.shape for c in rig.colliders[-2:]] == ["surface"] * 2
    motion = th.HeadTurn(avatar)
    hidden = [occlusion(avatar, r, record(avatar, r, motion, 3.0, Crowd("rod")).poses, (3, 4)) for r in (bare, rig)]
    assert hidden[0].count > 50
    assert hidden[1].count < 0.4 * hidden[0].count and hidden[1].depth_mm < 0.5 * hidden[0].depth_mm
    found = swept_contact(avatar, rig, motion, 3.0, Crowd("rod"), (3, 4))
    assert found.near > 300 and found.depth_mm < 2.0


def test_a_resolution_that_no_grid_has_is_refused():
    avatar = th.sample("layered")
    with pytest.raises(ValueError, match="resolution is 200, wanted 8 to 128"):
        surface_colliders(avatar, resolution=200)

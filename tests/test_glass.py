"""Colliders as glass: every shape at its true size, where its node is, facing outward."""

from __future__ import annotations

from dataclasses import replace

import figures
import numpy as np
import pytest

from taichi_hair import rotations
from taichi_hair.hair import SHAPES, Collider, Surface
from taichi_hair.view.glass import PLANE_SIZE, collider_mesh, contour
from taichi_hair.view.overlay import overlay
from taichi_hair.view.scene import Scene

AT = np.array([0.2, 0.3, 0.4])


def outward(points, normals, triangles):
    """Cosines between the triangles' own normals and those of their corners."""
    p = points[triangles]
    own = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    size = np.linalg.norm(own, axis=1)
    big = size > 1e-3 * size.max()
    return np.abs(np.einsum("tx,tx->t", own / np.maximum(size, 1e-30)[:, None], normals[triangles].mean(axis=1)))[big]


def ball(radius=0.3, cells=24):
    x = np.linspace(-0.5, 0.5, cells + 1)
    where = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=-1)
    return Surface((np.linalg.norm(where, axis=-1) - radius).astype(np.float32), 1.0 / cells)


def test_a_tapered_capsule_touches_both_spheres_and_the_cone_between():
    one = Collider("cone", 0, "tapered_capsule", AT, 0.2, tail=AT + [0.0, 0.5, 0.0], tail_radius=0.1)
    points, normals, _, triangles = collider_mesh(one, np.eye(4))
    y = points[:, 1] - AT[1]
    across = np.linalg.norm(points[:, [0, 2]] - AT[[0, 2]], axis=1)
    # sin of the lean is (0.2 - 0.1) / 0.5 = 0.2; on the cone the distance to the slanted line is nil.
    lean = np.arcsin(0.2)
    line = across * np.cos(lean) + y * np.sin(lean)
    assert line.max() == pytest.approx(0.2, abs=1e-9)
    lower = y < 0.2 * np.sin(lean) + 1e-9
    np.testing.assert_allclose(np.hypot(across[lower], y[lower]), 0.2, atol=1e-9)
    np.testing.assert_allclose(np.hypot(across[~lower], y[~lower] - 0.5), 0.1, atol=1e-9)
    assert outward(points, normals, triangles).min() > 0.95
    inner = collider_mesh(replace(one, tail=AT + [0.0, 0.05, 0.0]), np.eye(4))[0]
    assert np.linalg.norm(inner - AT, axis=1).max() == pytest.approx(0.2, abs=1e-9)  # the small one lies inside


def test_a_box_is_turned_scaled_and_as_large_as_its_rounding():
    turn = rotations.from_axis_angle(np.array([0.0, 0.0, 1.0]), 0.5 * np.pi)
    one = Collider("box", 0, "box", AT, 0.01, half_size=np.array([0.1, 0.2, 0.3]), rotation=turn)
    world = np.diag([2.0, 2.0, 2.0, 1.0])
    world[:3, 3] = [1.0, 0.0, 0.0]
    points, normals, _, triangles = collider_mesh(one, world)
    np.testing.assert_allclose(points.min(axis=0), 2 * AT + [1, 0, 0] - [0.42, 0.22, 0.62], atol=1e-9)
    np.testing.assert_allclose(points.max(axis=0), 2 * AT + [1, 0, 0] + [0.42, 0.22, 0.62], atol=1e-9)
    np.testing.assert_allclose(outward(points, normals, triangles), 1.0, atol=1e-9)


def test_a_surface_is_drawn_where_its_distance_is_its_radius():
    one = Collider("chest", 0, "surface", AT, 0.05, surface=ball())
    points, normals, _, triangles = collider_mesh(one, np.eye(4))
    middle = AT + 0.5
    np.testing.assert_allclose(np.linalg.norm(points - middle, axis=1), 0.35, atol=0.004)
    p = points[triangles]
    own = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    assert (np.einsum("tx,tx->t", own, p.mean(axis=1) - middle) > 0).all()  # every triangle faces out
    assert np.linalg.norm(own, axis=1).sum() / 2 == pytest.approx(4 * np.pi * 0.35**2, rel=0.02)
    assert (np.einsum("vx,vx->v", normals, points - middle) > 0.3).all()
    empty = contour(Surface(np.ones((4, 4, 4), np.float32), 0.1), 0.0)
    assert len(empty[0]) == len(empty[2]) == 0


def test_every_shape_is_in_the_overlay_and_the_floor_too():
    avatar = figures.tailed()
    more = {
        "plane": {"normal": np.array([0.0, 1.0, 0.0])},
        "box": {"half_size": np.full(3, 0.1)},
        "surface": {"surface": ball()},
        "tapered_capsule": {"tail": AT + 0.1, "tail_radius": 0.02},
        "capsule": {"tail": AT + 0.1},
        "inside_capsule": {"tail": AT + 0.1},
    }
    for shape in SHAPES:
        one = Collider(shape, -1, shape, AT, 0.05, **more.get(shape, {}))
        scene = Scene(replace(avatar, hair=replace(avatar.hair, colliders=(one,))), offsets=[[1.0, 0, 0]])
        made = overlay(scene, chains=False)
        assert made is not None and np.isfinite(made.points).all() and len(made.triangles), shape
        assert np.abs(made.points.mean(axis=0) - AT - [1.0, 0, 0]).max() < 0.6  # in the avatar's own world
    plane = collider_mesh(Collider("floor", -1, "plane", AT, normal=np.array([0.0, 1.0, 0.0])), np.eye(4))[0]
    assert np.ptp(plane[:, 0]) == pytest.approx(2 * PLANE_SIZE) and np.ptp(plane[:, 1]) == 0.0

"""Front locks behind the garment: against a slow ray caster and a lock moved by hand."""

from __future__ import annotations

import numpy as np
import pytest

import taichi_hair as th
from taichi_hair.measure.occlusion import FrontLocks, front, occlusion


def test_front_of_one_triangle():
    """The plane through (0, 0, 1), (2, 0, 1) and (0, 2, 3): z = 1 + y."""
    corners = np.array([[0.0, 0, 1], [2, 0, 1], [0, 2, 3]])
    points = np.array([[0.5, 0.5, 9.0], [0.1, 1.8, -4.0], [1.5, 1.5, 0.0], [-0.1, 0.5, 0.0]])
    found = front(points, corners, np.array([[0, 1, 2]]))
    assert np.allclose(found, [1.5, 2.8, -np.inf, -np.inf])


def test_front_against_a_slow_search():
    rng = np.random.default_rng(8)
    vertices = rng.uniform(-0.1, 0.1, (120, 3))
    triangles = rng.integers(0, 120, (80, 3))
    points = rng.uniform(-0.1, 0.1, (60, 3))
    found = front(points, vertices, triangles)
    for p, z in zip(points, found, strict=True):
        best = -np.inf
        for a, b, c in vertices[triangles]:
            m = np.stack([(b - a)[:2], (c - a)[:2]], axis=1)
            if abs(np.linalg.det(m)) > 1e-12:
                v, w = np.linalg.solve(m, p[:2] - a[:2])
                if v >= 0 and w >= 0 and v + w <= 1:
                    best = max(best, (a + v * (b - a) + w * (c - a))[2])
        assert z == pytest.approx(best)


@pytest.fixture(scope="module")
def avatar():
    return th.sample("layered")


def pushed(avatar, back: float) -> np.ndarray:
    """Node matrices with the front locks' joints moved back by `back` metres."""
    worlds = avatar.skeleton.rest_world.copy()
    for chain in avatar.hair.chains[3:5]:
        worlds[chain.joints[1:], 2, 3] -= back
    return worlds


def test_the_rest_pose_hides_nothing(avatar):
    found = occlusion(avatar, avatar.hair, pushed(avatar, 0.0)[None])
    assert found.vertices > 300
    assert (found.count, found.depth_mm) == (0, 0.0)
    assert occlusion(avatar, avatar.hair, pushed(avatar, 0.015)[None]).near > 30


def test_locks_pushed_into_the_shirt_are_counted_as_deep_as_they_are(avatar):
    at_50, at_70 = (occlusion(avatar, avatar.hair, pushed(avatar, b)[None]) for b in (0.05, 0.07))
    assert at_50.count > 30 and at_70.count > at_50.count
    assert at_70.depth_mm - at_50.depth_mm == pytest.approx(20.0, abs=6.0)
    assert at_70.depth_mm < 70.0
    both = FrontLocks(avatar, avatar.hair)
    for back in (0.07, 0.0):
        both.add(pushed(avatar, back))
    assert both.result().count == at_70.count


def test_a_body_that_turns_is_seen_from_its_own_front(avatar):
    turn = np.diag([-1.0, 1.0, -1.0, 1.0])
    assert occlusion(avatar, avatar.hair, (turn @ pushed(avatar, 0.0))[None]).count == 0
    a = occlusion(avatar, avatar.hair, pushed(avatar, 0.06)[None])
    b = occlusion(avatar, avatar.hair, (turn @ pushed(avatar, 0.06))[None])
    assert (a.count, a.near) == (b.count, b.near)


def test_without_front_locks_there_is_nothing_to_measure(avatar):
    assert occlusion(avatar, avatar.hair, pushed(avatar, 0.0)[None], chains=[7]) is None


def test_a_fit_keeps_the_locks_before_the_shirt(avatar):
    """Standard head turn: with fitted colliders nothing is hidden beyond 1 mm; with the file's, spring bones are."""
    from taichi_hair.measure.run import record
    from taichi_hair.sim.crowd import Crowd

    motion, rig = th.HeadTurn(avatar), th.fit_colliders(avatar)
    found = {}
    for solver, which in (("rod", rig), ("spring-bone", avatar.hair)):
        poses = record(avatar, which, motion, 4.0, Crowd(solver)).poses
        found[solver] = occlusion(avatar, which, poses)
    assert found["rod"].count == 0 and found["rod"].near > 500
    assert found["spring-bone"].count > 20 and found["spring-bone"].depth_mm > 20.0

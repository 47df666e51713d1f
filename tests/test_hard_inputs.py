"""No input makes the state infinite or breaks a length."""

from __future__ import annotations

import numpy as np
import pytest
from rigs import Given, sphere, strand

from taichi_hair import rotations
from taichi_hair.sim.crowd import Crowd
from taichi_hair.sim.solvers.kinds import SOLVERS


def placed(avatar, turns, shifts) -> np.ndarray:
    """(T, N, 4, 4) the rest pose turned about the head and shifted, tick by tick."""
    rest = avatar.skeleton.rest_world
    head = rest[0, :3, 3]
    m = np.tile(np.eye(4), (len(turns), 1, 1))
    m[:, :3, :3] = rotations.to_matrix(turns)
    m[:, :3, 3] = head + shifts - (m[:, :3, :3] @ head)
    return m[:, None] @ rest


def wild(name: str, avatar, ticks: int = 600) -> np.ndarray:
    t = np.arange(ticks) / 120.0
    rng = np.random.default_rng(3)
    still = np.tile(rotations.IDENTITY, (ticks, 1))
    none = np.zeros((ticks, 3))
    if name == "spin at 100 rev/s":
        return placed(avatar, rotations.from_axis_angle([0, 1, 0], 2 * np.pi * 100 * t), none)
    if name == "half turn in one tick":
        return placed(avatar, rotations.from_axis_angle([0, 1, 0], np.where(t > 1, np.pi, 0.0)), none)
    if name == "shake at 100 m/s^2":
        x = 100.0 / (2 * np.pi * 3) ** 2 * np.sin(2 * np.pi * 3 * t)
        return placed(avatar, still, np.stack([x, 0 * x, 0 * x], axis=1))
    if name == "jumps":
        return placed(avatar, still, np.cumsum(rng.choice([0.0, 5.0, -5.0], (ticks, 3), p=[0.98, 0.01, 0.01]), axis=0))
    return placed(avatar, rotations.normalise(rng.normal(size=(ticks, 4))), rng.normal(size=(ticks, 3)))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "name", ["spin at 100 rev/s", "half turn in one tick", "shake at 100 m/s^2", "jumps", "a random frame each tick"]
)
def test_wild_heads(solver, name):
    avatar = strand(colliders=(sphere([0, -0.3, 0], 0.1, node=0),))
    crowd = Crowd(solver, contact="segment")
    ids = crowd.add(avatar, motion=Given(wild(name, avatar), 120.0))
    worst = 0.0
    for _ in range(150):
        crowd.advance(4 / 120)
        points = np.concatenate([crowd.roots(ids)[0], crowd.positions(ids)[0]])
        assert np.isfinite(points).all()
        worst = max(worst, np.abs(np.linalg.norm(np.diff(points, axis=0), axis=1) / 0.06 - 1).max())
    assert worst < 5e-6
    for _ in range(14 * 10):
        crowd.advance(1 / 10)
    before = crowd.positions(ids)
    crowd.advance(1 / 30)
    assert np.abs(crowd.positions(ids) - before).max() < 1e-6  # it comes to rest


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("links", [(0.06,), (0.06, 0.0, 0.06), (0.0, 0.0), (1e-6, 0.1, 1e-6)])
def test_scales_and_short_links(solver, scale, links):
    avatar = strand(np.array(links) / scale, scale=scale, offset=np.array([0, 0, -0.1]) / scale)
    crowd = Crowd(solver, contact="off")
    ids = crowd.add(avatar, motion=Given(wild("shake at 100 m/s^2", avatar), 120.0))
    for _ in range(60):
        crowd.advance(1 / 60)
        assert np.isfinite(crowd.positions(ids)).all()
    points = np.concatenate([crowd.roots(ids)[0], crowd.positions(ids)[0]])
    found = np.linalg.norm(np.diff(points, axis=0), axis=1)
    assert np.abs(found - np.array(links)).max() < 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_collider_that_holds_the_root_is_calm(solver):
    avatar = strand(colliders=(sphere([0, 0, -0.1], 0.15, node=0),))
    crowd = Crowd(solver, contact="segment")
    ids = crowd.add(avatar)
    for _ in range(300):
        crowd.advance(1 / 60)
    before = crowd.positions(ids)
    crowd.advance(1 / 60)
    assert np.isfinite(before).all()
    assert np.abs(crowd.positions(ids) - before).max() < 1e-7
    assert crowd.overlaps(int(ids[0]))[0][2] > 0.1

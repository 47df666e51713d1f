"""Hair that settles on the pose that its body holds: no burst at a clip's first tick, and nobody else notices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rigs import Given, avatar_of, branched, sphere, strand

from taichi_hair import rotations
from taichi_hair.avatar.avatar import Avatar
from taichi_hair.sim.crowd import Crowd
from taichi_hair.sim.settling import begins_elsewhere


def bowed(avatar, pitch: float = 0.6, speed: float = 0.0) -> Given:
    """A body that begins bowed and turns on from there."""
    t = np.arange(241) / 120
    turn = np.tile(np.eye(4), (len(t), 1, 1, 1))
    q = rotations.from_axis_angle([1.0, 0.0, 0.0], np.full(len(t), pitch))
    turn[:, 0, :3, :3] = rotations.to_matrix(
        rotations.multiply(rotations.from_axis_angle([0.0, 1.0, 0.0], speed * t), q)
    )
    rest = avatar.skeleton.rest_world
    about = np.eye(4)
    about[:3, 3] = rest[0, :3, 3]
    return Given(about @ turn @ np.linalg.inv(about) @ np.tile(rest, (len(t), 1, 1, 1)), 120.0, seconds=2.0)


def hit() -> Avatar:
    """A strand, and a ball that hangs in the world where the bowed head's rest shape lies."""
    crowd, free = Crowd("rod"), strand()
    (member,) = crowd.add(free, motion=bowed(free))
    middle = crowd.positions(member)[0][2]
    return strand(colliders=(sphere(middle + [0.0, 0.0, 0.03], 0.06),))


def first_steps(crowd, member, ticks: int = 30) -> np.ndarray:
    """(ticks,) metres that the fastest end point moves in each tick from now on."""
    points, out = crowd.positions(member)[0], []
    for _ in range(ticks):
        crowd.advance(1 / 120)
        now = crowd.positions(member)[0]
        out.append(np.linalg.norm(now - points, axis=1).max())
        points = now
    return np.array(out)


@pytest.mark.parametrize("solver", ["rod", "arc", "spring-bone", "mass-spring"])
def test_settled_hair_does_not_burst_out_of_what_its_rest_shape_lies_in(solver):
    avatar = hit()
    crowd = Crowd(solver, contact="segment")
    motion = bowed(avatar)
    assert begins_elsewhere(motion, avatar.skeleton)
    (put_on,) = crowd.add(avatar, motion=motion)
    assert first_steps(crowd, put_on)[0] > 0.01
    (settled,) = crowd.add(avatar, motion=motion)
    crowd.settle(settled)
    assert first_steps(crowd, settled).max() < 1e-4


def test_a_branch_settles_with_its_trunk():
    free = branched()
    crowd = Crowd("rod")
    (member,) = crowd.add(free, motion=bowed(free))
    middle = crowd.positions(member)[0][5]
    ball = (sphere(middle + [0.0, 0.0, 0.03], 0.06),)
    avatar = avatar_of(free.skeleton, [replace(c, colliders=(0,)) for c in free.hair.chains], ball)
    (member,) = crowd.add(avatar, motion=bowed(avatar))
    crowd.settle(member, 6.0)
    roots = crowd.roots(member)[0]
    assert first_steps(crowd, member).max() < 1e-4
    assert np.abs(crowd.roots(member)[0] - roots).max() < 1e-4


def test_others_and_the_clock_know_nothing_of_it_and_it_is_the_same_in_a_crowd():
    avatar = hit()
    motion = bowed(avatar, speed=1.0)
    found = []
    for others in (0, 3):
        crowd = Crowd("rod")
        beside = crowd.add(avatar, count=others, motion=motion, at=np.zeros((others, 3))) if others else []
        (member,) = crowd.add(avatar, motion=motion)
        before = crowd.positions(beside) if others else None
        crowd.settle(member)
        assert crowd.time == 0.0
        if others:
            assert np.array_equal(crowd.positions(beside), before)
            assert np.abs(before[0] - crowd.positions(member)[0]).max() > 0.01
        crowd.advance(0.5)
        found.append(crowd.positions(member)[0])
    assert np.array_equal(*found)


def test_what_cannot_be_settled_is_refused():
    avatar = strand()
    crowd = Crowd("rod")
    member = crowd.add(avatar, motion=bowed(avatar))
    with pytest.raises(ValueError, match="seconds"):
        crowd.settle(member, 0.0)
    with pytest.raises(KeyError, match="member 7"):
        crowd.settle(7)
    long = strand((0.05,) * 12)
    (reduced,) = crowd.add(long, motion=bowed(long))
    crowd.set_level(reduced, "reduced")
    with pytest.raises(ValueError, match="reduced"):
        crowd.settle(reduced)
    assert not begins_elsewhere(Given(avatar.skeleton.rest_world[None], 120.0), avatar.skeleton)

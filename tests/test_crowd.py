"""Crowd: members come, go, jump, are driven and go wrong without touching one another."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from rigs import Given, avatar_of, strand

from taichi_hair import rotations
from taichi_hair.motion.turn import HeadTurn
from taichi_hair.sim.crowd import Crowd
from taichi_hair.sim.pose import apply_hair
from taichi_hair.sim.solvers.kinds import SOLVERS


def lengths(crowd: Crowd, member) -> np.ndarray:
    """(S,) length of each segment of a one-chain member."""
    points = np.concatenate([crowd.roots(member)[0], crowd.positions(member)[0]])
    return np.linalg.norm(np.diff(points, axis=0), axis=1)


def rigid(avatar, worlds) -> np.ndarray:
    """(S, 3) end points of the rest shape on posed worlds (N, 4, 4)."""
    chain = avatar.hair.chains[0]
    return (worlds[chain.joints][:, :3, :3] @ chain.tails[:, :, None])[..., 0] + worlds[chain.joints][:, :3, 3]


@pytest.mark.parametrize("solver", SOLVERS)
def test_hair_starts_at_rest_and_a_still_head_keeps_it_there(solver):
    avatar = strand(gravity_power=np.zeros(4))
    crowd = Crowd(solver)
    ids = crowd.add(avatar)
    rest = rigid(avatar, avatar.skeleton.rest_world)
    assert np.abs(crowd.positions(ids)[0] - rest).max() < 1e-7
    for _ in range(60):
        crowd.advance(1 / 60)
    assert np.abs(crowd.positions(ids)[0] - rest).max() < 1e-6


@pytest.mark.parametrize("solver", ["arc", "rod"])
def test_sag_free_rest_keeps_the_style_and_without_it_gravity_sags(solver):
    avatar = strand()
    rest = rigid(avatar, avatar.skeleton.rest_world)
    sag = {}
    for sag_free in (True, False):
        crowd = Crowd(solver, sag_free=sag_free)
        ids = crowd.add(avatar)
        for _ in range(8 * 60):
            crowd.advance(1 / 60)
        sag[sag_free] = np.abs(crowd.positions(ids)[0] - rest).max()
    assert sag[True] < 1e-6
    assert sag[False] > 5e-3


@pytest.mark.parametrize("solver", SOLVERS)
def test_lengths_hold_in_every_tick(solver):
    avatar = strand()
    crowd = Crowd(solver)
    ids = crowd.add(avatar, motion=HeadTurn(avatar))
    worst = 0.0
    for _ in range(480):
        crowd.advance(1 / 120)
        worst = max(worst, np.abs(lengths(crowd, ids) / 0.06 - 1.0).max())
    assert worst < 1e-6


def test_members_of_different_kinds_do_not_touch_one_another():
    one, other = strand(), strand((0.03, 0.09), bend=-0.4)
    alone = Crowd("rod")
    a = alone.add(one, motion=HeadTurn(one))
    crowd = Crowd("rod")
    crowd.add(other, count=3, motion=HeadTurn(other), at=[[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    b = crowd.add(one, motion=HeadTurn(one))
    for _ in range(60):
        alone.advance(1 / 60)
        crowd.advance(1 / 60)
    assert alone.positions(a).tobytes() == crowd.positions(b).tobytes()


def test_members_that_leave_make_room_for_others():
    avatar = strand()
    crowd = Crowd("rod")
    first = crowd.add(avatar, count=5)
    used = crowd._storage.state_pools["joint"].used
    crowd.remove(first[1:3])
    assert list(crowd.ids) == [first[0], first[3], first[4]]
    later = crowd.add(avatar, count=2)
    assert crowd._storage.state_pools["joint"].used == used
    assert set(later).isdisjoint(first)
    with pytest.raises(KeyError, match="no member"):
        crowd.positions(first[1])


def test_a_crowd_that_is_gone_gives_its_columns_back():
    avatar = strand()
    crowd = Crowd("rod")
    crowd.add(avatar, count=7)
    pools = crowd._storage.state_pools
    used = pools["joint"].used
    del crowd
    again = Crowd("arc")
    again.add(avatar, count=7)
    assert pools["joint"].used == used


def test_storage_grows_in_big_steps_and_keeps_what_it_held():
    avatar = strand()
    crowd = Crowd("rod")
    ids = crowd.add(avatar, motion=HeadTurn(avatar))
    alone = Crowd("rod")
    one = alone.add(avatar, motion=HeadTurn(avatar))
    for _ in range(30):
        crowd.advance(1 / 60)
        alone.advance(1 / 60)
    before = crowd.positions(ids)
    capacity = crowd._storage.state_pools["joint"].capacity
    more = crowd.add(avatar, count=capacity // 4 + 1, motion=HeadTurn(avatar))
    assert crowd._storage.state_pools["joint"].capacity > capacity
    assert crowd.positions(ids).tobytes() == before.tobytes()
    crowd.remove(more)
    for _ in range(30):
        crowd.advance(1 / 60)
        alone.advance(1 / 60)
    assert crowd.positions(ids).tobytes() == alone.positions(one).tobytes()


def moved(avatar, shift, yaw: float = 0.0) -> np.ndarray:
    """(N, 4, 4) the rest pose turned about y and shifted."""
    m = np.eye(4)
    m[:3, :3] = rotations.to_matrix(rotations.from_axis_angle([0, 1, 0], yaw))
    m[:3, 3] = shift
    return m @ avatar.skeleton.rest_world


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_jump_carries_the_hair_rigidly(solver):
    avatar = strand(gravity_power=np.zeros(4))
    crowd = Crowd(solver)
    member = int(crowd.add(avatar)[0])
    crowd.drive(member, moved(avatar, [0, 0, 0]))
    crowd.advance(1 / 120)
    there = moved(avatar, [5.0, 0.0, 3.0], yaw=2.0)
    crowd.drive(member, there)
    crowd.advance(1 / 120)
    assert np.abs(crowd.positions(member)[0] - rigid(avatar, there)).max() < 1e-5


def test_an_announced_jump_is_rigid_and_a_step_of_the_same_size_is_not():
    avatar = strand()
    for announced in (True, False):
        crowd = Crowd("rod")
        member = int(crowd.add(avatar)[0])
        there = moved(avatar, [0.2, 0.0, 0.0], yaw=1.0)
        if announced:
            crowd.teleport(member)
        crowd.drive(member, there)
        crowd.advance(1 / 120)
        off = np.abs(crowd.positions(member)[0] - rigid(avatar, there)).max()
        assert (off < 1e-5) if announced else (off > 0.02)


def test_driven_poses_are_interpolated_to_ticks():
    avatar = strand()
    t = np.arange(0, 61) / 60
    poses = np.array([moved(avatar, [0.1 * np.sin(3 * x), 0, 0], yaw=0.8 * np.sin(4 * x)) for x in t])
    crowd = Crowd("arc")
    member = int(crowd.add(avatar)[0])
    fine = Crowd("arc")
    other = fine.add(avatar, motion=Given(poses, 60.0))
    for pose in poses[1:]:
        crowd.drive(member, pose)
        crowd.advance(1 / 60)
        fine.advance(1 / 60)
    assert np.abs(crowd.positions(member) - fine.positions(other)).max() < 0.01
    assert np.abs(crowd.positions(member)[0] - rigid(avatar, poses[-1])).max() > 0.005


def test_input_that_is_not_finite_stops_one_member_and_is_reported():
    avatar = strand()
    crowd = Crowd("rod")
    bad, good = (int(i) for i in crowd.add(avatar, count=2, motion=HeadTurn(avatar)))
    alone = Crowd("rod")
    one = alone.add(avatar, motion=HeadTurn(avatar))
    for frame in range(30):
        if frame == 15:
            kept = crowd.positions(bad)
            crowd.drive(bad, np.full((len(avatar.skeleton), 4, 4), np.nan))
        crowd.advance(1 / 60)
        alone.advance(1 / 60)
        if frame == 15:
            assert list(crowd.problems) == [bad]
            assert crowd.positions(bad).tobytes() == kept.tobytes()
    assert crowd.positions(good).tobytes() == alone.positions(one).tobytes()
    assert crowd.problems == {}
    crowd.drive(bad, avatar.skeleton.rest_world)
    crowd.advance(1 / 60)
    assert np.isfinite(crowd.positions(bad)).all()


def test_ten_kilometres_away_the_hair_moves_the_same():
    avatar = strand()
    crowd = Crowd("rod")
    near, far = crowd.add(avatar, count=2, motion=HeadTurn(avatar), at=[[0, 0, 0], [10_000, 0, -7_000]])
    for _ in range(600):
        crowd.advance(1 / 60)
    away = crowd.positions(far) - np.array([10_000, 0, -7_000])
    assert np.abs(away - crowd.positions(near)).max() < 1e-8


def test_a_turned_and_scaled_placement_turns_and_scales_the_hair():
    avatar = strand()
    place = np.eye(4)
    place[:3, :3] = 3.0 * rotations.to_matrix(rotations.from_axis_angle([0, 1, 0], 0.7))
    place[:3, 3] = [4.0, 1.0, 2.0]
    crowd = Crowd("rod")
    plain, placed = crowd.add(avatar, count=2, at=np.stack([np.eye(4), place]))
    rest = crowd.positions(plain)[0]
    crowd.advance(1 / 60)
    assert np.abs(crowd.positions(placed)[0] - (rest @ place[:3, :3].T + place[:3, 3])).max() < 1e-5
    with pytest.raises(ValueError, match="at: found shape"):
        crowd.add(avatar, at=[1.0, 2.0])


def test_a_hitch_is_logged(caplog):
    crowd = Crowd("rod")
    crowd.add(strand())
    with caplog.at_level(logging.WARNING, logger="taichi_hair"):
        step = crowd.advance(1.0)
    assert step.ticks == 30
    assert "hitch" in caplog.text


def test_pose_reaches_the_end_points_and_rotations_rebuild_it():
    avatar = strand()
    crowd = Crowd("rod")
    member = crowd.add(avatar, motion=HeadTurn(avatar))[0]
    for _ in range(45):
        crowd.advance(1 / 60)
    pose = crowd.pose(member)
    ends = crowd.positions(member)[0]
    chain = avatar.hair.chains[0]
    assert np.abs(pose[chain.ends][:, :3, 3] - ends).max() < 1e-6
    local = avatar.skeleton.rotations.copy()
    local[chain.joints] = crowd.rotations(member)[0]
    body = crowd.body(member)
    rebuilt = avatar.skeleton.world(rotations_=local)
    rebuilt = body[0] @ np.linalg.inv(rebuilt[0]) @ rebuilt
    assert np.abs(rebuilt[chain.ends][:, :3, 3] - ends).max() < 1e-6


def test_rest_positions_give_back_the_rest_pose():
    avatar = strand()
    rest = avatar.skeleton.rest_world
    assert np.abs(apply_hair(avatar.skeleton, avatar.hair, rest, rigid(avatar, rest)) - rest).max() < 1e-9


def test_an_avatar_without_hair_is_no_trouble():
    avatar = avatar_of(strand().skeleton, [])
    crowd = Crowd("rod")
    ids = crowd.add(avatar)
    crowd.advance(1 / 60)
    assert crowd.positions(ids).shape == (1, 0, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"solver": "spring"}, "solver: 'spring' is unknown"),
        ({"contact": "mesh"}, "contact: 'mesh' is unknown"),
        ({"solver": "rod", "contact": "end"}, "belongs to spring-bone"),
    ],
)
def test_unknown_choices_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Crowd(**arguments)


def test_interpolated_positions_lie_between_the_last_two_ticks():
    avatar = strand()
    crowd = Crowd("rod")
    ids = crowd.add(avatar, motion=HeadTurn(avatar))
    crowd.advance(0.5)
    crowd.advance(0.25)
    before = crowd.positions(ids)
    crowd.advance(1 / 120)
    after = crowd.positions(ids)
    crowd.advance(0.5 / 120)
    middle = crowd.positions(ids, interpolated=True)
    assert crowd.positions(ids).tobytes() == after.tobytes()
    assert np.abs(middle - 0.5 * (before + after)).max() < 1e-3
    assert np.abs(middle - after).max() > 1e-4


def test_avatars_that_come_one_by_one_begin_each_on_its_own_pose():
    avatar = strand()
    turn, other = HeadTurn(avatar), HeadTurn(avatar)
    sideways = np.eye(4)
    sideways[:3, :3] = rotations.to_matrix(rotations.from_axis_angle([0.0, 1.0, 0.0], np.array(1.0)))
    ways = [{"motion": turn}, {"motion": turn, "phase": 1.3}, {"motion": other, "phase": 1.3}]
    ways += [{"motion": turn, "phase": 1.3, "at": sideways}, {"motion": turn}, {}]
    crowd = Crowd("rod")
    found = [crowd.positions(crowd.add(avatar, **way)) for way in ways]
    for way, points in zip(ways, found, strict=True):
        alone = Crowd("rod")
        assert np.array_equal(points, alone.positions(alone.add(avatar, **way)))
    assert not np.allclose(found[0], found[1]) and not np.allclose(found[1], found[3])

"""Levels of detail of one avatar: fewer joints move nearly the same, and no change of level is seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rigs import Given, branched, sphere, strand

import taichi_hair as th
from taichi_hair import rotations
from taichi_hair.hair import HairRig, Limit
from taichi_hair.measure.bench_rig import Turning, bench_avatar
from taichi_hair.motion.turn import HeadTurn
from taichi_hair.sim.crowd import Crowd
from taichi_hair.sim.reduction import MOST, keep, reduction

LONG = bench_avatar(3, 12, 0)
TIPS = LONG.hair.spans[:, 0] + LONG.hair.spans[:, 1] - 1


def lengths(crowd, member, avatar) -> np.ndarray:
    """(S,) metres of the links that are shown."""
    ends, roots = crowd.positions(member)[0], crowd.roots(member)[0]
    starts = np.concatenate([np.concatenate([roots[c : c + 1], ends[a : a + n - 1]])
                             for c, (a, n) in enumerate(avatar.hair.spans)])  # fmt: skip
    return np.linalg.norm(ends - starts, axis=1)


def rest_lengths(avatar) -> np.ndarray:
    return np.concatenate([np.linalg.norm(c.tails, axis=1) for c in avatar.hair.chains])


def test_which_joints_stay():
    assert list(keep(np.ones(4), 5)) == [0, 1, 2, 3]
    assert list(keep(np.ones(10), 5)) == [1, 3, 5, 7, 9]
    assert list(keep(np.array([4.0, 1, 1, 1, 1, 4.0]), 4)) == [0, 2, 4, 5]
    assert {2, 3} <= set(keep(np.ones(12), 5, {3}))
    assert keep(np.ones(40), 5, set(range(1, 40)))[-1] == 39


def test_a_reduced_rig_ends_where_the_full_one_does_and_short_chains_stay():
    r = reduction(LONG.skeleton, LONG.hair)
    assert [len(c) for c in r.rig.chains] == [MOST] * 3
    for full, short in zip(LONG.hair.chains, r.rig.chains, strict=True):
        world = LONG.skeleton.rest_world
        tip = [world[c.joints[-1]][:3, :3] @ c.tails[-1] + world[c.joints[-1]][:3, 3] for c in (full, short)]
        assert np.abs(tip[0] - tip[1]).max() < 1e-12
        assert short.hit_radius.max() >= full.hit_radius.max() - 1e-12
    short = bench_avatar(2, 5, 0)
    assert reduction(short.skeleton, short.hair) is None


@pytest.mark.parametrize(("solver", "share"), [("rod", 0.03), ("arc", 0.05), ("mass-spring", 0.04)])
def test_the_tip_of_a_reduced_strand_stays_near_the_full_one(solver, share):
    crowd = Crowd(solver, contact="off")
    full, reduced = crowd.add(LONG, count=2, motion=HeadTurn(LONG))
    crowd.set_level(reduced, "reduced")
    off, swing, first = [], [], None
    for _ in range(300):
        crowd.advance(1 / 60)
        both = crowd.positions([full])[0][TIPS], crowd.positions([reduced])[0][TIPS]
        off.append(np.linalg.norm(both[0] - both[1], axis=1))
        first = both[0] if first is None else first
        swing.append(np.linalg.norm(both[0] - first, axis=1))
    size = rest_lengths(LONG).reshape(3, -1).sum(axis=1).mean()
    rms = np.sqrt(np.mean(np.square(off)))
    assert rms < share * size
    assert np.sqrt(np.mean(np.square(swing))) > 5.0 * rms or solver == "arc"
    assert np.abs(lengths(crowd, reduced, LONG) / rest_lengths(LONG) - 1.0).max() < 1e-5


@pytest.mark.parametrize("solver", ["rod", "arc"])
def test_no_change_of_level_is_seen(solver):
    pops = {("full", "reduced"): 2e-5, ("reduced", "full"): 2e-5, ("reduced", "half"): 1e-9,
            ("half", "full"): 2e-5, ("half", "frozen"): 1e-9}  # fmt: skip
    for (before, after), most in pops.items():
        crowd = Crowd(solver, contact="off")
        member, other = (int(i) for i in crowd.add(LONG, count=2, motion=Turning(LONG), phase=0.3))
        crowd.set_level(member, before)
        steps = []
        for _ in range(60):
            last = crowd.positions(other)
            crowd.advance(1 / 60)
            steps.append(np.linalg.norm(crowd.positions(other) - last, axis=-1).max())
        seen = crowd.positions(member)
        crowd.set_level(member, after)
        assert np.linalg.norm(crowd.positions(member) - seen, axis=-1).max() < most, (before, after)
        for _ in range(20):
            last = crowd.positions(member)
            crowd.advance(1 / 60)
            assert np.linalg.norm(crowd.positions(member) - last, axis=-1).max() < 1.5 * max(steps)


def test_at_rest_a_change_of_level_changes_nothing_and_nothing_moves_after():
    crowd = Crowd("rod")
    member = int(crowd.add(LONG)[0])
    rest = crowd.positions(member)
    for level in ("reduced", "half", "full", "half", "reduced", "full"):
        crowd.set_level(member, level)
        assert np.abs(crowd.positions(member) - rest).max() < 2e-6
        for _ in range(10):
            crowd.advance(1 / 60)
        assert np.abs(crowd.positions(member) - rest).max() < 5e-6


@pytest.mark.parametrize("solver", ["rod", "arc"])
def test_branches_hang_where_their_trunk_is(solver):
    avatar = branched()
    r = reduction(avatar.skeleton, avatar.hair)
    assert len(r.rig.chains[0]) == len(r.rig.chains[1]) == MOST
    crowd = Crowd(solver)
    full, reduced = crowd.add(avatar, count=2, motion=HeadTurn(avatar))
    for _ in range(30):
        crowd.advance(1 / 60)
    crowd.set_level(reduced, "reduced")
    assert np.abs(crowd.positions(reduced) - crowd.positions(full)).max() < 0.01
    assert np.abs(crowd.roots(reduced) - crowd.roots(full)).max() < 0.01
    worst = 0.0
    for _ in range(120):
        crowd.advance(1 / 60)
        worst = max(worst, np.abs(crowd.positions(reduced) - crowd.positions(full)).max())
    assert worst < 0.15
    crowd.set_level(reduced, "full")
    assert np.abs(lengths(crowd, reduced, avatar) / rest_lengths(avatar) - 1.0).max() < 1e-5


def test_limits_of_a_run_of_joints_add_up():
    cone = Limit("cone", np.array([0.0, 0.0, 0.0, 1.0]), (0.1,))
    rig = HairRig(tuple(replace(c, limits=(cone,) * 12) for c in LONG.hair.chains))
    short = reduction(LONG.skeleton, rig).rig.chains[0]
    runs = np.diff([-1, *reduction(LONG.skeleton, rig).kept[0]])
    assert short.limits[0].angles[0] == pytest.approx(0.1 * (runs[0] + 1) / 2, rel=0.02)
    middle = (runs[0] - 1) / 2 + (runs[1] + 1) / 2  # what is left of the links above, and its own
    assert short.limits[1].angles[0] == pytest.approx(0.1 * middle, rel=0.02)
    rig = HairRig(tuple(replace(c, limits=(*[cone] * 11, None)) for c in LONG.hair.chains))
    assert reduction(LONG.skeleton, rig).rig.chains[0].limits[-1] is None


def test_a_reset_at_any_level_is_at_rest():
    for level in ("reduced", "half"):
        crowd = Crowd("rod")
        alone = Crowd("rod")
        member, other = int(crowd.add(LONG)[0]), int(alone.add(LONG)[0])
        crowd.set_level(member, level)
        for _ in range(3):
            crowd.advance(1 / 60)
        crowd.reset(member)
        assert np.abs(crowd.positions(member) - alone.positions(other)).max() < 1e-6
        for _ in range(30):
            crowd.advance(1 / 60)
        assert np.abs(crowd.positions(member) - alone.positions(other)).max() < 1e-5


def test_an_engines_body_and_a_reduced_strand():
    avatar = strand(np.full(9, 0.05), colliders=(sphere([0.0, 1.1, -0.05], 0.06),))
    poses = np.repeat(avatar.skeleton.rest_world[None], 60, axis=0)
    poses[:, :, 0, 3] += 0.1 * np.sin(np.arange(60) / 5.0)[:, None]
    crowd = Crowd("rod")
    member = int(crowd.add(avatar)[0])
    other = int(crowd.add(avatar, motion=Given(poses, 60.0))[0])
    crowd.set_level([member, other], "half")
    for pose in poses:
        crowd.drive(member, pose)
        crowd.advance(1 / 60)
    assert crowd._members[member].stride == 1
    assert np.isfinite(crowd.positions(member)).all()
    assert np.abs(crowd.positions(member) - crowd.positions(other)).max() < 0.03


def test_spring_bone_has_no_levels_between():
    crowd = Crowd("spring-bone")
    member = crowd.add(LONG, at=[0.0, 0.0, -25.0])
    with pytest.raises(ValueError, match="spring-bone"):
        crowd.set_level(member, "reduced")
    crowd.look_from([0.0, 0.0, 0.0])
    assert crowd.levels(member) == ["full"]


@pytest.mark.parametrize("name", ["ponytail", "twin-tails"])
def test_tails_of_the_samples_swing_nearly_as_in_full(name):
    avatar = th.sample(name)
    crowd = Crowd("rod", contact="off")
    full, reduced = (int(i) for i in crowd.add(avatar, count=2, motion=HeadTurn(avatar)))
    crowd.set_level(reduced, "reduced")
    tips = (avatar.hair.spans.sum(axis=1) - 1)[[len(c) > MOST for c in avatar.hair.chains]]
    off = []
    for _ in range(240):
        crowd.advance(1 / 60)
        off.append(np.linalg.norm(crowd.positions(full)[0][tips] - crowd.positions(reduced)[0][tips], axis=1))
    assert np.sqrt(np.mean(np.square(off))) < 0.015  # of tails of 0.6 and 0.76 m
    assert np.isfinite(crowd.pose(reduced)).all()


def slow_turn(avatar, seconds: float = 8.0, speed: float = 0.02) -> Given:
    """A body that turns on the spot, so slowly that the cosine of a tick's turn is 1 in 32 bits."""
    t = np.arange(round(seconds * 120) + 1) / 120
    worlds = np.tile(avatar.skeleton.rest_world, (len(t), 1, 1, 1))
    turn = np.tile(np.eye(4), (len(t), 1, 1, 1))
    turn[:, 0, :3, :3] = rotations.to_matrix(rotations.from_axis_angle([0.0, 1.0, 0.0], speed * t))
    return Given(turn @ worlds, 120.0, seconds=seconds)


def test_frozen_hair_turns_with_a_head_that_turns_slowly():
    avatar = strand()
    crowd = Crowd("rod", contact="off")
    (member,) = crowd.add(avatar, motion=slow_turn(avatar))
    crowd.set_level(member, "frozen")
    for _ in range(8 * 60):
        crowd.advance(1 / 60)
    assert np.abs(lengths(crowd, member, avatar) / rest_lengths(avatar) - 1.0).max() < 1e-5


@pytest.mark.parametrize("solver", ["rod", "arc", "spring-bone", "mass-spring"])
def test_hair_with_a_centre_turns_with_it_however_slowly(solver):
    avatar = strand()
    rig = HairRig(tuple(replace(c, center=0) for c in avatar.hair.chains))
    motion = slow_turn(avatar)
    crowd = Crowd(solver, contact="off")
    (member,) = crowd.add(avatar, rig, motion=motion)
    (still,) = crowd.add(avatar, rig, motion=Given(motion.given[:1], 120.0))
    for _ in range(8 * 60):
        crowd.advance(1 / 60)
    head = motion.given[-1][0]
    there = (crowd.positions(still)[0] - motion.given[0][0][:3, 3]) @ head[:3, :3].T + head[:3, 3]
    assert np.abs(crowd.positions(member)[0] - there).max() < 2e-6

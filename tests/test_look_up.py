"""Level lut: the device's table is the NumPy table, bodies may face anywhere, and no change to it or back is seen."""

from __future__ import annotations

import numpy as np
import pytest

from taichi_hair import rotations
from taichi_hair.measure.bench_rig import HEAD, Turning, bench_avatar
from taichi_hair.motion.turn import HeadTurn, Nod
from taichi_hair.sim.crowd import Crowd
from taichi_hair.sim.equilibria import pose_table
from taichi_hair.sim.solvers.lut import Follower, PoseTable

AVATAR = bench_avatar(3, 6, 2)
MOTION = Turning(AVATAR)


@pytest.fixture(scope="module")
def table() -> PoseTable:
    return pose_table(AVATAR, seconds=1.0)


def lengths(crowd, member) -> np.ndarray:
    """(S,) metres of the links that are shown."""
    ends, roots = crowd.positions(member)[0], crowd.roots(member)[0]
    starts = np.concatenate([np.concatenate([roots[c : c + 1], ends[a : a + n - 1]])
                             for c, (a, n) in enumerate(AVATAR.hair.spans)])  # fmt: skip
    return np.linalg.norm(ends - starts, axis=1)


REST = np.concatenate([np.linalg.norm(c.tails, axis=1) for c in AVATAR.hair.chains])


def test_the_device_shows_what_the_table_says(table):
    crowd = Crowd("rod")
    crowd.use_table(AVATAR, table)
    member = int(crowd.add(AVATAR, motion=MOTION, phase=0.3, at=[3.0, 0.0, 1.0])[0])
    crowd.set_level(member, "lut")
    follower = Follower(MOTION.turn(np.array([0.3])))
    for frame in range(1, 61):
        crowd.advance(1 / 60)
        q = MOTION.turn(np.array([0.3 + frame / 60]))
        late = follower.step(q, 1 / 60)
    head = crowd.body(member)[HEAD]
    wanted = table.pose(q, late)[0] @ head[:3, :3].T + head[:3, 3]
    assert np.abs(crowd.positions(member)[0] - wanted).max() < 2e-4
    assert np.abs(lengths(crowd, member) / REST - 1.0).max() < 1e-5
    assert np.isfinite(crowd.rotations(member)).all()


@pytest.mark.parametrize("motion", [HeadTurn, Nod])
def test_a_table_with_its_lag_is_nearer_to_the_rod_than_hair_that_does_not_move(table, motion):
    crowd = Crowd("rod")
    crowd.use_table(AVATAR, table)
    full, posed, frozen = (int(i) for i in crowd.add(AVATAR, count=3, motion=motion(AVATAR)))
    crowd.set_level(posed, "lut")
    crowd.set_level(frozen, "frozen")
    tips = AVATAR.hair.spans.sum(axis=1) - 1
    off = []
    for _ in range(240):
        crowd.advance(1 / 60)
        ends = crowd.positions([full, posed, frozen])[:, tips]
        off.append(ends[1:] - ends[0])
    by_table, by_nothing = np.sqrt(np.mean(np.sum(np.square(off), axis=-1), axis=(0, 2)))
    assert by_table < 0.85 * by_nothing


def test_where_a_body_faces_does_not_matter(table):
    place = np.eye(4)
    place[:3, :3] = rotations.to_matrix(rotations.from_axis_angle([0.0, 1.0, 0.0], 2.0))
    crowd = Crowd("rod")
    crowd.use_table(AVATAR, table)
    plain, turned = crowd.add(AVATAR, count=2, motion=MOTION, at=np.stack([np.eye(4), place]))
    crowd.set_level([plain, turned], "lut")
    for _ in range(50):
        crowd.advance(1 / 60)
    assert np.abs(crowd.positions(plain)[0] @ place[:3, :3].T - crowd.positions(turned)[0]).max() < 1e-5


@pytest.mark.parametrize("other", ["full", "reduced", "half", "frozen"])
def test_no_change_to_or_from_a_table_is_seen(table, other):
    crowd = Crowd("rod")
    crowd.use_table(AVATAR, table)
    member, plain = (int(i) for i in crowd.add(AVATAR, count=2, motion=MOTION, phase=0.3))
    crowd.set_level(member, other)
    normal = []

    def step() -> float:
        last = crowd.positions(member), crowd.positions(plain)
        crowd.advance(1 / 60)
        normal.append(np.linalg.norm(crowd.positions(plain) - last[1], axis=-1).max())
        return np.linalg.norm(crowd.positions(member) - last[0], axis=-1).max()

    for _ in range(40):
        step()
    for level in ("lut", other, "lut"):
        seen = crowd.positions(member)
        crowd.set_level(member, level)
        assert np.linalg.norm(crowd.positions(member) - seen, axis=-1).max() < 5e-5, level
        moved = max(step() for _ in range(45))
        assert moved < 1.6 * max(normal), level
        assert np.abs(lengths(crowd, member) / REST - 1.0).max() < 1e-4


def test_who_comes_back_from_a_table_after_a_long_time_does_not_catch_up(table):
    crowd = Crowd("rod")
    crowd.use_table(AVATAR, table)
    member = int(crowd.add(AVATAR, motion=HeadTurn(AVATAR))[0])
    crowd.set_level(member, "lut")
    for _ in range(360):
        crowd.advance(1 / 60)
    shown = crowd.positions(member)
    crowd.set_level(member, "full")
    steps = []
    for _ in range(60):
        last = crowd.positions(member)
        crowd.advance(1 / 60)
        steps.append(np.abs(crowd.positions(member) - last).max())
    assert max(steps) < 0.004  # a table of a second's hanging is a few millimetres off rest
    assert np.abs(crowd.positions(member) - shown).max() < 0.03


def test_the_same_bits_at_every_frame_rate_and_beside_neighbours(table):
    def found(fps, neighbours):
        crowd = Crowd("rod")
        crowd.use_table(AVATAR, table)
        if neighbours:
            crowd.set_level(crowd.add(AVATAR, count=7, motion=MOTION, phase=np.arange(7) * 0.1), "lut")
        member = crowd.add(AVATAR, motion=MOTION, speed=0.7)
        crowd.set_level(member, "lut")
        for _ in range(2 * fps):
            crowd.advance(1 / fps)
        return crowd.positions(member).tobytes()

    assert len({found(60, False), found(30, True), found(120, True)}) == 1


def test_a_pause_a_jump_and_another_clip(table):
    crowd = Crowd("rod")
    crowd.use_table(AVATAR, table)
    member = int(crowd.add(AVATAR, motion=MOTION)[0])
    crowd.set_level(member, "lut")
    for _ in range(31):
        crowd.advance(1 / 60)
    crowd.pause(member)
    seen = crowd.positions(member)
    for _ in range(40):
        crowd.advance(1 / 60)
    assert np.abs(crowd.positions(member) - seen).max() < 1e-9 + np.abs(seen).max() * 0.1
    still = crowd.positions(member)
    crowd.advance(1 / 60)
    assert crowd.positions(member).tobytes() == still.tobytes()
    crowd.resume(member)
    crowd.teleport(member, [50.0, 0.0, 0.0])
    crowd.advance(1 / 60)
    assert np.abs(lengths(crowd, member) / REST - 1.0).max() < 1e-5
    crowd.play(member, HeadTurn(AVATAR))
    assert crowd.levels(member) == ["lut"]
    crowd.advance(1 / 60)
    assert np.isfinite(crowd.positions(member)).all()
    crowd.drive(member, AVATAR.skeleton.rest_world)
    assert crowd.levels(member) == ["full"]
    crowd.advance(1 / 60)
    assert np.isfinite(crowd.positions(member)).all()
    with pytest.raises(ValueError, match="clip"):
        crowd.set_level(member, "lut")
    crowd.remove(member)


def test_culled_and_back(table):
    crowd = Crowd("rod")
    crowd.use_table(AVATAR, table)
    member, plain = (int(i) for i in crowd.add(AVATAR, count=2, motion=MOTION))
    crowd.set_level(plain, "lut")
    for level in ("culled", "lut", "culled", "full", "culled", "lut"):
        crowd.set_level(member, level)
        for _ in range(17):
            crowd.advance(1 / 60)
    for _ in range(300):
        crowd.advance(1 / 60)
    assert np.abs(crowd.positions(member) - crowd.positions(plain)).max() < 1e-3


def test_levels_by_distance_use_tables_where_there_are_some(table):
    other = bench_avatar(2, 4, 0)
    crowd = Crowd("rod")
    crowd.use_table(AVATAR, table)
    ids = [int(crowd.add(a, motion=Turning(a), at=[0.0, 0.0, -50.0])[0]) for a in (AVATAR, other)]
    crowd.look_from([0.0, 0.0, 0.0])
    assert crowd.levels(ids) == ["lut", "half"]
    with pytest.raises(ValueError, match="use_table"):
        crowd.set_level(ids[1], "lut")
    with pytest.raises(ValueError, match="lut: the table has chains"):
        crowd.use_table(other, table)


def test_what_a_crowd_held_is_given_back(table):
    from taichi_hair.sim.tables import shared_tables

    def once():
        crowd = Crowd("rod")
        crowd.use_table(AVATAR, table)
        ids = crowd.add(AVATAR, count=5, motion=MOTION)
        crowd.set_level(ids, "lut")
        crowd.advance(1 / 60)

    once()
    used = {name: pool.used for name, pool in shared_tables().pools.items()}
    once()
    assert {name: pool.used for name, pool in shared_tables().pools.items()} == used

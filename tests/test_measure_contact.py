"""Depth, count and near passes of hair segments in colliders, against hand-worked distances and a slow search."""

from __future__ import annotations

import numpy as np
import pytest

import taichi_hair as th
from taichi_hair import rotations
from taichi_hair.avatar.skeleton import Skeleton
from taichi_hair.hair import Chain, Collider, HairRig
from taichi_hair.measure.contact import contact, swept_contact
from taichi_hair.measure.run import hair_chains
from taichi_hair.measure.trace import Trace, rigid_hair
from taichi_hair.rig.shapes import gap, segment_distance
from taichi_hair.sim.crowd import Crowd

X, Y, Z = np.eye(3)
ORIGIN = np.zeros(3)
IDENTITY = rotations.IDENTITY


def test_distances_worked_out_by_hand():
    # Crossing at right angles, 3 apart; side by side, 2 apart; end to end with a gap of 1; beyond an end: 3, 4, 5.
    assert segment_distance(-X, X, 3 * Z - Y, 3 * Z + Y) == pytest.approx(3.0)
    assert segment_distance(ORIGIN, X, 2 * Y, 2 * Y + X) == pytest.approx(2.0)
    assert segment_distance(ORIGIN, X, 2 * X, 3 * X) == pytest.approx(1.0)
    assert segment_distance(ORIGIN, X, 4 * X + 4 * Y, 4 * X + 4 * Y) == pytest.approx(5.0)
    assert segment_distance(ORIGIN, ORIGIN, 3 * X, 3 * X) == pytest.approx(3.0)
    assert segment_distance(-X, X, -Y, Y) == pytest.approx(0.0)


def test_distance_against_a_slow_search():
    rng = np.random.default_rng(2)
    u = np.linspace(0.0, 1.0, 401)
    for kind in range(300):
        p0, p1, q0, q1 = rng.normal(size=(4, 3))
        if kind % 4 == 1:
            q1 = q0 + (p1 - p0) * rng.normal()  # parallel
        if kind % 4 == 2:
            q1 = q0.copy()  # a point
        if kind % 4 == 3:
            p1 = p0 + 1e-7 * rng.normal(size=3)  # nearly a point
        p = p0 + u[:, None] * (p1 - p0)
        q = q0 + u[:, None] * (q1 - q0)
        slow = np.min(np.linalg.norm(p[:, None] - q[None], axis=-1))
        found = segment_distance(p0, p1, q0, q1)
        assert slow - 0.02 <= found <= slow + 1e-9


@pytest.mark.parametrize(
    ("shape", "b", "start", "end", "depth"),
    [
        # Radius 1 about the origin, hair of radius 0.1. The middle of the segment is 0.9 from the centre, both ends are
        # clear of the sphere: 1.1 - 0.9 deep.
        ("sphere", ORIGIN, 0.9 * X - 2 * Y, 0.9 * X + 2 * Y, 0.2),
        ("capsule", 5 * Z, 0.9 * X - 2 * Y + 3 * Z, 0.9 * X + 2 * Y + 3 * Z, 0.2),
        # Hair stays above the plane y = 0; the lower end is 0.05 under it.
        ("plane", Y, 3 * Y, -0.05 * Y, 0.15),
        # Hair stays inside; the far end is 1.2 from the centre (the axis).
        ("inside_sphere", ORIGIN, ORIGIN, 1.2 * X, 0.3),
        ("inside_capsule", 5 * Z, 3 * Z, 3 * Z + 1.2 * X, 0.3),
    ],
)
def test_depth_in_every_shape(shape, b, start, end, depth):
    def depth_of(p, q):
        return -gap(Collider("c", -1, shape, ORIGIN), ORIGIN, b, 1.0, 1.0, IDENTITY, 1.0, p, q, 0.1)

    assert depth_of(start, end) == pytest.approx(depth)
    if shape.startswith("inside"):
        assert depth_of(0.5 * start, 0.5 * end) < 0.0
    else:
        away = 5 * Y if shape == "plane" else 5 * X
        assert depth_of(start + away, end + away) < 0.0


def hanging(samples: int, at: float, allowance_at: float | None = None):
    """One chain of two links of 0.1 m under a head at the origin, a sphere of radius 30 mm with its centre at x = `at`
    beside the middle of the second link, hair of radius 5 mm; T still samples."""
    skeleton = Skeleton(
        names=("head", "hair1", "hair2"),
        parents=np.array([-1, 0, 1]),
        translations=np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, -0.1, 0.0]]),
        rotations=np.tile(rotations.IDENTITY, (3, 1)),
        scales=np.ones((3, 3)),
    )
    chain = Chain(
        name="strand",
        joints=np.array([1, 2]),
        ends=np.array([2, -1]),
        tails=np.array([[0.0, -0.1, 0.0]] * 2),
        attach=0,
        stiffness=np.ones(2),
        drag=np.ones(2),
        gravity_power=np.zeros(2),
        gravity_dir=np.tile([0.0, -1.0, 0.0], (2, 1)),
        hit_radius=np.full(2, 0.005),
        colliders=(0,),
    )
    ball = Collider(name="ball", node=0, shape="sphere", offset=np.array([at, -0.15, 0.0]), radius=0.03)
    rig = HairRig(chains=(chain,), colliders=(ball,))
    worlds = np.repeat(skeleton.rest_world[None], samples, axis=0)
    ends, origins, turns = rigid_hair(rig, worlds)
    return skeleton, rig, worlds, ends, origins, turns


def shifted(made, x: float) -> tuple:
    """The trace with both links moved sideways by x metres as a whole."""
    skeleton, rig, worlds, ends, origins, turns = made
    move = np.array([x, 0.0, 0.0])
    trace = Trace(np.arange(len(ends)) / 30, ends + move, origins + move, ends, origins, turns, rig.spans)
    return trace, rig, skeleton, worlds


def test_a_segment_is_deep_though_its_ends_are_clear():
    # At rest the ball's centre is 60 mm away: 25 mm of air. Moved 40 mm towards it: 20 mm from the centre, radii 35 mm,
    # so 15 mm deep. The first link passes 50 mm above the centre: hypot(20, 50) = 53.9, clear by 18.9 mm: near.
    made = hanging(10, at=0.06)
    found = contact(*shifted(made, 0.04))
    assert found.depth_mm == pytest.approx(15.0)
    assert found.count == 10
    assert found.near == 20
    both_ends = made[3][0] + np.array([0.04, 0.0, 0.0])
    assert np.linalg.norm(both_ends - np.array([0.06, -0.15, 0.0]), axis=-1).min() > 0.035 + 0.01, "the ends are clear"


def test_clear_hair_has_no_depth_and_no_count():
    found = contact(*shifted(hanging(10, at=0.06), 0.0))
    assert (found.depth_mm, found.count, found.near) == (0.0, 0, 0)
    close = contact(*shifted(hanging(10, at=0.06), 0.006))  # 19 mm of air beside the second link, 38.6 mm at the first
    assert (close.depth_mm, close.count, close.near) == (0.0, 0, 10)


def test_overlap_of_the_rest_pose_is_allowed_and_no_more():
    # At rest the centre is 25 mm away: 10 mm deep already. Moved on by 6 mm it is 16 mm deep: 6 mm count.
    made = hanging(4, at=0.025)
    assert contact(*shifted(made, 0.0)).depth_mm == pytest.approx(0.0)
    assert contact(*shifted(made, 0.0), allowance=False).depth_mm == pytest.approx(10.0)
    assert contact(*shifted(made, 0.006)).depth_mm == pytest.approx(6.0)
    assert contact(*shifted(made, 0.0005)).count == 0, "half a millimetre is not counted"


def test_without_colliders_contact_is_not_measured():
    skeleton, rig, worlds, ends, origins, turns = hanging(3, at=0.06)
    free = rig.with_chains([Chain(**{**vars(rig.chains[0]), "colliders": ()})])
    trace = Trace(np.arange(3) / 30, ends, origins, ends, origins, turns, rig.spans)
    assert contact(trace, free, skeleton, worlds) is None


def test_a_tail_that_is_squeezed_in_a_back_flip_is_cleared(assets):
    avatar = th.load(assets / "unity-chan" / "unitychan.vrm")
    rig = th.fit_colliders(avatar)
    flip = th.retarget(th.load_clip(assets / "vrma" / "cmu_backflip.vrma"), avatar, travel="remove")
    found = swept_contact(avatar, rig, flip, flip.seconds, Crowd("rod"), hair_chains(avatar, rig), between=1)
    assert found.near > 1000
    assert found.depth_mm < 1.0

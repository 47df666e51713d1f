"""Head motions given by formulas: what they do at known times, on any rest frame of the head."""

from __future__ import annotations

import numpy as np
import pytest

from taichi_hair import rotations
from taichi_hair.avatar.avatar import Avatar
from taichi_hair.avatar.skeleton import Skeleton
from taichi_hair.hair import HairRig
from taichi_hair.motion.turn import MOTIONS, HeadTurn, Nod, Run, Sideways, Sine, StopTurn, Tilt, carrying_node

REST_TURN = rotations.from_axis_angle([1.0, 1.0, 0.3], 1.9)


def avatar(humanoid: dict[str, int], turn=rotations.IDENTITY) -> Avatar:
    """Root, head (with rest rotation `turn`), a hair node on the head, a hand on the root."""
    skeleton = Skeleton(
        ("root", "head", "hair", "hand"),
        np.array([-1, 0, 1, 0]),
        np.array([[0.0, 1.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, -0.1], [0.4, 0.2, 0.0]]),
        np.array([rotations.IDENTITY, turn, rotations.IDENTITY, rotations.IDENTITY]),
        np.ones((4, 3)),
    )
    return Avatar("doll", None, skeleton, (), (), (), (), humanoid, HairRig())


def test_the_turn_at_known_times():
    """At 0.5 s: sin(pi/2) = 1, so yaw 60 degrees, pitch 0.15 sin(pi) = 0, 3 cm to the left; still from 4 s on."""
    motion = HeadTurn(avatar({"head": 1}))
    assert motion.seconds == 12.0
    worlds = motion.worlds(np.array([0.0, 0.5, 4.0, 9.0]))
    rest = motion.avatar.skeleton.rest_world
    for still in (0, 2, 3):
        assert np.allclose(worlds[still], rest, atol=1e-15)
    head = worlds[1, 1]
    assert np.allclose(head[:3, 3], rest[1, :3, 3] + [0.03, 0.0, 0.0])
    assert np.allclose(head[:3, 2], [np.sin(np.pi / 3), 0.0, np.cos(np.pi / 3)])
    assert np.allclose(worlds[1, 3, :3, :3], np.eye(3))  # the hand is carried, not turned
    assert np.allclose(worlds[1, 3, :3, 3], rest[3, :3, 3] + [0.03, 0.0, 0.0])


def test_yaw_comes_after_pitch_and_ramps_scale_both():
    """At 0.125 s the ramp is a half: yaw 30 sin(22.5) degrees, pitch 0.075 sin(45)."""
    turn = HeadTurn(avatar({"head": 1})).turn(np.array([0.125]))[0]
    yaw = np.radians(30.0) * np.sin(np.pi / 8)
    pitch = 0.075 * np.sin(np.pi / 4)
    forward = rotations.rotate(turn, [0.0, 0.0, 1.0])
    expected = [np.sin(yaw) * np.cos(pitch), -np.sin(pitch), np.cos(yaw) * np.cos(pitch)]
    assert np.allclose(forward, expected)


def test_a_rotated_rest_frame_turns_the_same_way():
    """The head's own axes do not matter: every node below moves as it would with body axes."""
    times = np.linspace(0.0, 4.0, 33)
    plain = HeadTurn(avatar({"head": 1})).worlds(times)
    turned = HeadTurn(avatar({"head": 1}, REST_TURN))
    worlds = turned.worlds(times)
    assert np.allclose(worlds[:, 1, :3, :3], plain[:, 1, :3, :3] @ rotations.to_matrix(REST_TURN))
    assert np.allclose(worlds[:, 1, :3, 3], plain[:, 1, :3, 3])
    # A child stays where the rest pose has it in the head's frame.
    relative = np.linalg.inv(worlds[:, 1]) @ worlds[:, 2]
    rest = turned.avatar.skeleton.rest_world
    assert np.allclose(relative, np.linalg.inv(rest[1]) @ rest[2])


def test_without_a_head_the_node_that_carries_hair_turns():
    from test_reference import straight_chain

    chain, skeleton = straight_chain()
    doll = Avatar("doll", None, skeleton, (), (), (), (), {}, HairRig((chain,)))
    assert carrying_node(doll) == chain.attach == 1
    assert carrying_node(avatar({})) == -1
    still = HeadTurn(avatar({})).worlds(np.array([0.5]))
    assert np.allclose(still[0, :, :3, :3], np.eye(3))  # nothing to turn; the body still sways
    assert np.allclose(still[0, 0, :3, 3], [0.03, 1.0, 0.0])


@pytest.mark.parametrize("name", sorted(MOTIONS))
def test_every_motion_starts_at_rest_is_smooth_and_depends_on_time_alone(name):
    motion = MOTIONS[name](avatar({"head": 1}, REST_TURN))
    assert motion.name == name and motion.seconds > 0.0
    times = np.arange(0.0, 6.0, 1.0 / 480.0)
    worlds = motion.worlds(times)
    assert worlds.shape == (len(times), 4, 4, 4) and worlds.dtype == np.float64
    assert np.allclose(worlds[0], motion.avatar.skeleton.rest_world, atol=1e-15)
    assert np.abs(np.diff(worlds, axis=0)).max() < 0.02
    assert np.abs(worlds - worlds[0]).max() > 0.05
    shuffled = np.random.default_rng(0).permutation(len(times))[:50]
    assert np.array_equal(motion.worlds(times[shuffled]), worlds[shuffled])
    determinants = np.linalg.det(worlds[..., :3, :3])
    assert np.allclose(determinants, 1.0)


def test_sizes_of_the_other_motions():
    doll = avatar({"head": 1})
    times = np.arange(0.0, 6.0, 1.0 / 240.0)
    angles = {kind: np.degrees(rotations.angle(kind(doll).turn(times))) for kind in (Nod, Tilt, StopTurn, Sine)}
    assert angles[Nod].max() == pytest.approx(26.0, abs=0.01)
    assert angles[Nod][times >= 4.0].max() == 0.0
    assert angles[Tilt][-1] == pytest.approx(30.0)
    assert np.allclose(angles[StopTurn][times >= 0.4], 60.0)
    assert angles[Sine][times > 1.0].max() == pytest.approx(15.0, abs=0.01)
    assert np.abs(Sideways(doll).shift(times)).max(axis=0) == pytest.approx([0.15, 0.0, 0.08], abs=0.002)
    run = Run(doll).shift(times)
    assert run[-1, 2] == pytest.approx(3.0 * 3.75)  # 4 s less two ramps of half their length
    assert run[:, 1].max() == pytest.approx(0.04, abs=1e-4)
    speed = np.diff(run[:, 2]) * 240.0
    assert speed.max() == pytest.approx(3.0) and speed[-1] == 0.0


def test_lowered_arms_hang_and_the_rest_of_the_body_stays():
    from taichi_hair.avatar.samples import sample

    avatar = sample("layered")
    rest = avatar.skeleton.rest_world
    pose = HeadTurn(avatar, arms=70.0).worlds(np.array([0.0]))[0]
    for side, sign in (("left", 1.0), ("right", -1.0)):
        shoulder, hand = avatar.humanoid[f"{side}UpperArm"], avatar.humanoid[f"{side}Hand"]
        arm = pose[hand, :3, 3] - pose[shoulder, :3, 3]
        assert np.degrees(np.arctan2(-arm[1], sign * arm[0])) == pytest.approx(70.0, abs=6.0)
    head, foot = avatar.humanoid["head"], avatar.humanoid["leftFoot"]
    assert np.abs(pose[[head, foot]] - rest[[head, foot]]).max() < 1e-9
    sleeves = [c.node for c in avatar.constraints]
    assert np.abs(pose[sleeves] - rest[sleeves]).max() > 0.1
    assert np.abs(HeadTurn(avatar).worlds(np.array([0.0]))[0] - rest).max() < 1e-12

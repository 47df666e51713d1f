"""Angle limits: no joint turns farther than it may, hinges turn about one axis, and contact has the last word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rigs import Given, sphere, strand
from test_hard_inputs import wild

from taichi_hair import rotations
from taichi_hair.avatar.springs import initial_frame
from taichi_hair.hair import Limit
from taichi_hair.rig.shapes import segment_distance
from taichi_hair.sim.crowd import Crowd
from taichi_hair.sim.solvers.kinds import SOLVERS

LIMITS = {
    "cone": Limit("cone", rotations.IDENTITY, (0.15,)),
    "hinge": Limit("hinge", rotations.from_axis_angle([0.0, 1.0, 0.0], 0.4), (0.3,)),
    "spherical": Limit("spherical", rotations.IDENTITY, (0.25, 0.1)),
}


def limited(limit: Limit | None, **settings):
    """A strand whose joints all have the limit, its frame turned onto the segment as files have it."""
    avatar = strand(bend=0.1, **settings)
    chain = avatar.hair.chains[0]
    if limit is not None:
        turned = replace(limit, rotation=rotations.multiply(initial_frame(chain.tails[0]), limit.rotation))
        chain = replace(chain, limits=(turned,) * len(chain))
    return replace(avatar, hair=avatar.hair.with_chains([chain]))


def directions(avatar, worlds: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """(J, 3) each segment's direction in its limit's frame, which a bent parent carries."""
    chain, skeleton = avatar.hair.chains[0], avatar.skeleton
    out = []
    for joint, end in zip(chain.joints, chain.ends, strict=True):
        above = rotations.from_matrix(worlds[skeleton.parents[joint]])
        turn = rotations.multiply(rotations.multiply(above, skeleton.rotations[joint]), frame)
        link = worlds[end, :3, 3] - worlds[joint, :3, 3]
        out.append(rotations.rotate(rotations.inverse(turn), link / np.linalg.norm(link)))
    return np.array(out)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", LIMITS)
def test_no_joint_turns_farther_than_it_may(solver, kind):
    limit = LIMITS[kind]
    avatar, free = limited(limit), limited(None)
    frame = avatar.hair.chains[0].limits[0].rotation
    most = {"limited": 0.0, "free": 0.0}
    for name, subject in (("limited", avatar), ("free", free)):
        crowd = Crowd(solver, contact="off")
        ids = crowd.add(subject, motion=Given(wild("shake at 100 m/s^2", subject), 120.0))
        for _ in range(120):
            crowd.advance(1 / 60)
            d = directions(subject, crowd.pose(int(ids[0])), frame)
            if kind == "cone":
                most[name] = max(most[name], np.arccos(np.clip(d[:, 1], -1, 1)).max() / 0.15)
            elif kind == "hinge":
                pitch = np.abs(np.arctan2(d[:, 2], d[:, 1])) / 0.3
                most[name] = max(most[name], pitch.max(), 1.0 + np.abs(d[:, 0]).max())
            else:
                pitch, yaw = np.abs(np.arctan2(d[:, 2], d[:, 1])), np.abs(np.arcsin(np.clip(d[:, 0], -1, 1)))
                most[name] = max(most[name], pitch.max() / 0.25, yaw.max() / 0.1)
            assert np.isfinite(d).all()
    assert most["limited"] < 1.0 + 2e-3
    assert most["free"] > 1.2


@pytest.mark.parametrize("solver", SOLVERS)
def test_within_its_limits_a_strand_moves_as_without(solver):
    wide = Limit("cone", rotations.IDENTITY, (3.1,))
    found = []
    for subject in (limited(wide), limited(None)):
        crowd = Crowd(solver, contact="off")
        ids = crowd.add(subject, motion=Given(wild("shake at 100 m/s^2", subject), 120.0))
        for _ in range(60):
            crowd.advance(1 / 60)
        found.append(crowd.positions(ids)[0])
    assert np.abs(found[0] - found[1]).max() < 1e-5


@pytest.mark.parametrize("solver", SOLVERS)
def test_contact_has_the_last_word(solver):
    """A ball where the strand hangs pushes it beyond its narrow cones; it stays out of the ball all the same."""
    ball = sphere([0.0, 1.2, -0.105], 0.05)
    subject = limited(Limit("cone", rotations.IDENTITY, (0.02,)), colliders=(ball,))
    crowd = Crowd(solver, contact="segment", keep_overlap=False)
    ids = crowd.add(subject)
    for _ in range(120):
        crowd.advance(1 / 60)
    p = np.concatenate([crowd.roots(ids)[0], crowd.positions(ids)[0]])
    gap = segment_distance(p[:-1], p[1:], ball.offset, ball.offset) - 0.06
    assert gap.min() > -1e-3 and gap.min() < 1e-4


@pytest.mark.parametrize("solver", SOLVERS)
def test_same_bits_from_phase_kernels_and_frame_kernel(solver):
    found = set()
    for phases in (False, True):
        subject = limited(LIMITS["spherical"])
        crowd = Crowd(solver, contact="segment", phases=phases)
        ids = crowd.add(subject, motion=Given(wild("shake at 100 m/s^2", subject), 120.0))
        for _ in range(30):
            crowd.advance(1 / 30)
        found.add(crowd.positions(ids).tobytes())
    assert len(found) == 1

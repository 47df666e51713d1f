"""The solvers against slow float64 references and against three-vrm's trajectories."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from rigs import Given, arc_numbers, avatar_of, rod_numbers, strand
from test_reference import PEER_FILES, peer_rig

from taichi_hair.motion.turn import HeadTurn
from taichi_hair.sim.crowd import Crowd


def run(crowd: Crowd, ids, ticks: int) -> np.ndarray:
    """(ticks, S, 3) end points after each tick."""
    return np.array([(crowd.advance(crowd.clock.tick), crowd.positions(ids)[0])[1] for _ in range(ticks)])


@pytest.mark.parametrize("solver", ["arc", "rod"])
@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_solver_follows_the_reference_over_the_turn(solver, scale):
    offset = np.array([0.0, 0.0, -0.1]) / scale
    links = np.array([0.06, 0.05, 0.07, 0.06, 0.05]) / scale
    avatar = strand(links, offset=offset, scale=scale, arc=arc_numbers(5, 400.0, 20.0), rod=rod_numbers(5))
    chain = avatar.hair.chains[0]
    motion = HeadTurn(avatar)
    worlds = motion.worlds(np.arange(481) / 120.0)
    law = getattr(reference, solver)
    wanted = law(chain, avatar.skeleton, reference.attach_frames(chain, worlds), getattr(chain, solver))
    crowd = Crowd(solver, contact="off")
    found = run(crowd, crowd.add(avatar, motion=motion), 480)
    assert np.abs(wanted[1:] - wanted[0]).max() > 0.03  # it swings
    assert np.abs(found - wanted[1:]).max() < 1e-5


@pytest.mark.parametrize("solver", ["arc", "rod"])
def test_solver_follows_the_reference_on_real_hair(assets, solver):
    from taichi_hair.avatar.avatar import load
    from taichi_hair.rig import parameters

    avatar = load(assets / "seed-san" / "seed-san.vrm")
    motion = HeadTurn(avatar)
    worlds = motion.worlds(np.arange(481) / 120.0)
    crowd = Crowd(solver, contact="off")
    ids = crowd.add(avatar, motion=motion)
    found = run(crowd, ids, 480)
    for chain, (start, count) in zip(avatar.hair.chains, avatar.hair.spans, strict=True):
        if chain.center >= 0:
            continue  # the references of arc and rod know no centre
        numbers = getattr(parameters, f"{solver}_parameters")(chain, avatar.skeleton)
        frames = reference.attach_frames(chain, worlds)
        wanted = getattr(reference, solver)(chain, avatar.skeleton, frames, numbers)
        assert np.abs(found[:, start : start + count] - wanted[1:]).max() < 1e-5, chain.name


@pytest.mark.parametrize(
    ("name", "count", "tolerance"), [("headturn", 0, 1e-4), ("flip", 0, 1e-4), ("headturn", 8, 1e-3)]
)
def test_spring_bone_agrees_with_three_vrm(peers, name, count, tolerance):
    folder = peers / "three-vrm" / "golden"
    skeleton, chains, colliders, head = peer_rig(folder, count)
    golden = np.load(folder / f"{name}-{count}-colliders.npz")
    ticks = len(golden["t"]) + 1
    translations = np.repeat(skeleton.translations[None], ticks, axis=0)
    turns = np.repeat(skeleton.rotations[None], ticks, axis=0)
    translations[1:, 0] = golden["root_position"]
    turns[1:, 0] = golden["root_rotation"]
    turns[1:, head] = golden["head_rotation"]
    avatar = avatar_of(skeleton, chains, colliders)
    crowd = Crowd("spring-bone", rate=60)
    found = run(crowd, crowd.add(avatar, motion=Given(skeleton.world(translations, turns), 60.0)), ticks - 1)
    found = found.reshape(ticks - 1, len(chains), -1, 3)
    assert np.abs(found - golden["positions"][:, :, 1:]).max() < tolerance


@pytest.mark.parametrize("name", PEER_FILES)
def test_spring_bone_agrees_with_three_vrm_on_files(assets, peers, name):
    from taichi_hair.avatar.avatar import load

    folder, tolerance = PEER_FILES[name]
    avatar = load(assets / folder / f"{name}.vrm")
    golden = np.load(peers / "three-vrm" / "golden" / f"file-{name}.npz")
    crowd = Crowd("spring-bone", rate=60)
    found = run(crowd, crowd.add(avatar, motion=HeadTurn(avatar)), 480)[1::2]
    order = [avatar.skeleton.names[joint] for joint in avatar.hair.joints]
    for b, (bone, _) in enumerate(golden["bones"]):
        assert np.abs(found[:, order.index(bone)] - golden["positions"][:, b]).max() < tolerance, bone

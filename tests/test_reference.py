"""The float64 references against facts: three-vrm's trajectories, exact lengths, rest, figures worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import reference
from reference import Frames

from taichi_hair import rotations
from taichi_hair.avatar.skeleton import Skeleton
from taichi_hair.hair import ArcParameters, Chain, Collider, RodParameters

H = reference.TICK


def straight_chain(lengths=(0.05, 0.05, 0.05, 0.05), bend=0.2, scale=1.0, **settings) -> tuple[Chain, Skeleton]:
    """A hanging chain on a turned node, each joint turned by `bend` at rest."""
    count = len(lengths)
    names = ["root", "head"] + [f"joint {j}" for j in range(count + 1)]
    parents = np.arange(-1, count + 2)
    translations = np.array([[0, 1.0, 0], [0, 0.5, 0], [0.02, 0.05, -0.1]] + [[0.0, -l, 0.0] for l in lengths])
    turns = np.tile(rotations.IDENTITY, (count + 3, 1))
    turns[1] = rotations.from_axis_angle([1.0, 2.0, 0.5], 0.7)
    turns[3 : 2 + count] = rotations.from_axis_angle([1.0, 0.0, 0.3], np.full(count - 1, bend))
    scales = np.ones((count + 3, 3))
    scales[0] = scale
    skeleton = Skeleton(tuple(names), parents, translations, turns, scales)
    joints = np.arange(2, 2 + count)
    values = dict(stiffness=1.0, drag=0.4, gravity_power=0.2, hit_radius=0.01)
    values.update(settings)
    chain = Chain(
        name="strand",
        joints=joints,
        ends=joints + 1,
        tails=translations[3:],
        attach=1,
        gravity_dir=np.tile([0.0, -1.0, 0.0], (count, 1)),
        **{key: np.full(count, value) for key, value in values.items()},
    )
    return chain, skeleton


def still_frames(chain: Chain, skeleton: Skeleton, ticks: int) -> Frames:
    return reference.attach_frames(chain, np.repeat(skeleton.rest_world[None], ticks, axis=0))


def wild_frames(ticks: int, scale: float = 1.0) -> Frames:
    t = np.arange(ticks) * H
    position = np.stack([0.3 * np.sin(9.0 * t), 1.5 + 0.2 * np.sin(7.0 * t), 0.4 * t], axis=1)
    rotation = rotations.multiply(
        rotations.from_axis_angle([0.0, 1.0, 0.2], 1.5 * np.sin(5.0 * t)),
        rotations.from_axis_angle([1.0, 0.3, 0.0], 0.8 * np.sin(8.0 * t)),
    )
    return Frames(scale * position, rotation, scale)


def arc_numbers(count: int, k=800.0, c=34.0, follow=0.0, gravity=9.81) -> ArcParameters:
    return ArcParameters(np.full(count, k), np.full(count, c), np.full(count, follow), np.array([0.0, -gravity, 0.0]))


def rod_numbers(count: int, frequency=0.85, damping=0.4, gravity=9.81, **other) -> RodParameters:
    values = dict(air=0.5, air_tip=0.0, softness=2.0, root_share=0.03, profile=np.ones(count))
    values.update(other)
    return RodParameters(frequency=frequency, damping=damping, gravity=np.array([0.0, -gravity, 0.0]), **values)


def segment_lengths(frames: Frames, root: np.ndarray, points: np.ndarray) -> np.ndarray:
    first = frames.position + rotations.rotate(frames.rotation, frames.scale * root)
    joints = np.concatenate([first[:, None], points[:, :-1]], axis=1)
    return np.linalg.norm(points - joints, axis=-1)


# ---------- spring-bone against three-vrm ----------


def peer_rig(folder, count: int) -> tuple[Skeleton, list[Chain], tuple[Collider, ...], int]:
    """The neutral rig of the comparison: skeleton below a moving root node, chains, colliders, head node."""
    rig = json.loads((folder / f"rig-{count}-colliders.json").read_text())
    nodes = [{"name": "scene", "parent": -2, "translation": [0, 0, 0], "rotation": [0, 0, 0, 1]}, *rig["nodes"]]
    skeleton = Skeleton(
        tuple(node["name"] for node in nodes),
        np.array([node["parent"] + 1 for node in nodes]),
        np.array([node["translation"] for node in nodes], dtype=np.float64),
        np.array([node["rotation"] for node in nodes], dtype=np.float64),
        np.ones((len(nodes), 3)),
    )
    colliders = tuple(
        Collider(f"{i}", c["node"] + 1, "capsule", np.array(c["offset"]), c["radius"], np.array(c["tail"]))
        for i, c in enumerate(rig["colliders"])
    )
    chains = []
    for i, entry in enumerate(rig["chains"]):
        ids = np.array(entry["nodes"]) + 1
        size = len(ids) - 1
        chains.append(
            Chain(
                name=f"{i}",
                joints=ids[:-1],
                ends=ids[1:],
                tails=skeleton.translations[ids[1:]],
                attach=int(skeleton.parents[ids[0]]),
                stiffness=np.full(size, entry["stiffness"], dtype=np.float64),
                drag=np.full(size, entry["dragForce"], dtype=np.float64),
                gravity_power=np.full(size, entry["gravityPower"], dtype=np.float64),
                gravity_dir=np.tile(np.array(entry["gravityDir"], dtype=np.float64), (size, 1)),
                hit_radius=np.full(size, entry["hitRadius"], dtype=np.float64),
                colliders=tuple(range(len(colliders))),
            )
        )
    return skeleton, chains, colliders, rig["head"] + 1


@pytest.mark.parametrize(
    ("name", "count", "tolerance"), [("headturn", 0, 1e-4), ("flip", 0, 1e-4), ("headturn", 8, 1e-3)]
)
def test_spring_bone_follows_three_vrm(peers, name, count, tolerance):
    folder = peers / "three-vrm" / "golden"
    skeleton, chains, colliders, head = peer_rig(folder, count)
    golden = np.load(folder / f"{name}-{count}-colliders.npz")
    ticks = len(golden["t"]) + 1
    translations = np.repeat(skeleton.translations[None], ticks, axis=0)
    turns = np.repeat(skeleton.rotations[None], ticks, axis=0)
    translations[1:, 0] = golden["root_position"]
    turns[1:, 0] = golden["root_rotation"]
    turns[1:, head] = golden["head_rotation"]
    worlds = skeleton.world(translations, turns)
    touched = 0.0
    for c, chain in enumerate(chains):
        frames = reference.attach_frames(chain, worlds)
        shapes = reference.collider_shapes(chain, colliders, worlds)
        points = reference.spring_bone(chain, skeleton, frames, 1.0 / 60.0, shapes)
        assert np.abs(points[1:] - golden["positions"][:, c, 1:]).max() < tolerance
        if shapes:
            free = reference.spring_bone(chain, skeleton, frames, 1.0 / 60.0)
            touched = max(touched, np.abs(free - points).max())
    if count:
        assert touched > 0.01  # contact took place


def center_of(chain: Chain, worlds: np.ndarray) -> np.ndarray | None:
    return worlds[:, chain.center] if chain.center >= 0 else None


PEER_FILES = {
    "smoke_spring": ("vrm-conformance", 1e-4),
    "springbone_collider_capsule_x0p02_r0p05": ("vrm-conformance", 1e-3),
    "springbone_collider_sphere_x0p02_r0p05": ("vrm-conformance", 1e-3),
    "springbone_collider_sphere_x0p02_r0p1": ("vrm-conformance", 1e-3),
    "swing_springbone_stiffness_0": ("vrm-conformance", 1e-4),
    "swing_springbone_stiffness_0p8": ("vrm-conformance", 1e-4),
    "swing_springbone_stiffness_1": ("vrm-conformance", 1e-4),
    "vroid16_rig": ("vroid-rig", 1e-4),
}


@pytest.mark.parametrize("name", PEER_FILES)
def test_spring_bone_follows_three_vrm_on_files(assets, peers, name):
    from taichi_hair.avatar.avatar import load
    from taichi_hair.motion.turn import HeadTurn

    folder, tolerance = PEER_FILES[name]
    avatar = load(assets / folder / f"{name}.vrm")
    golden = np.load(peers / "three-vrm" / "golden" / f"file-{name}.npz")
    worlds = HeadTurn(avatar).worlds(np.arange(481) / 60.0)
    found = {}
    for chain in avatar.hair.chains:
        frames = reference.attach_frames(chain, worlds)
        shapes = reference.collider_shapes(chain, avatar.hair.colliders, worlds)
        points = reference.spring_bone(chain, avatar.skeleton, frames, 1.0 / 60.0, shapes, center_of(chain, worlds))
        for j, joint in enumerate(chain.joints):
            found[avatar.skeleton.names[joint]] = points[2::2, j]
    assert len(found) == len(golden["bones"])
    for b, (bone, _) in enumerate(golden["bones"]):
        assert np.abs(found[bone] - golden["positions"][:, b]).max() < tolerance, bone


def test_spring_bone_swings_on_a_known_first_update():
    """One segment of 0.1 m hanging down, the head steps 0.1 m sideways: by hand with stiffness 0, drag and gravity 0.

    tail stays at (0, -0.1), joint at (0.1, 0): direction (-0.1, -0.1), so the new tail is (0.1 - 0.0707, -0.0707).
    """
    chain, skeleton = straight_chain((0.1,), stiffness=0.0, drag=1.0, gravity_power=0.0)
    skeleton = replace(skeleton, rotations=np.tile(rotations.IDENTITY, (4, 1)))
    frames = still_frames(chain, skeleton, 2)
    frames = Frames(frames.position + np.array([[0, 0, 0], [0.1, 0, 0]]), frames.rotation)
    points = reference.spring_bone(chain, skeleton, frames, 1.0 / 60.0)
    moved = points[1, 0] - points[0, 0]
    assert np.allclose(moved, [0.1 - 0.1 / np.sqrt(2), 0.1 - 0.1 / np.sqrt(2), 0.0], atol=1e-12)


def test_center_takes_the_inertia_away():
    chain, skeleton = straight_chain(gravity_power=0.0)
    frames = wild_frames(60)
    worlds = np.tile(np.eye(4), (60, 1, 1))
    worlds[:, :3, :3] = rotations.to_matrix(frames.rotation)
    worlds[:, :3, 3] = frames.position
    carried = reference.rest_shape(chain, skeleton, frames)
    held = reference.spring_bone(chain, skeleton, frames, 1.0 / 60.0, center=worlds)
    free = reference.spring_bone(chain, skeleton, frames, 1.0 / 60.0)
    assert np.abs(held - carried).max() < 1e-9
    assert np.abs(free - carried).max() > 0.02


@pytest.mark.parametrize("shape", ["sphere", "capsule", "plane", "inside_sphere", "inside_capsule"])
def test_colliders_push_the_end_point_out(shape):
    """A ball of radius 0.1 at the point (0.3, 0.4, 0), distance 0.5 from the origin: every distance by hand."""
    zero, up = np.zeros((1, 3)), np.array([[0.0, 2.0, 0.0]])
    normal = np.array([[0.0, 1.0, 0.0]])
    item = reference.Shape(shape, zero, up if "capsule" in shape else zero, 0.6, normal)
    distance, direction = reference.push_out(item, 0, np.array([0.3, 0.4, 0.0]), 0.1)
    expected = {
        "sphere": (0.5 - 0.6 - 0.1, [0.6, 0.8, 0]),
        "capsule": (0.3 - 0.6 - 0.1, [1, 0, 0]),
        "plane": (0.4 - 0.1, [0, 1, 0]),
        "inside_sphere": (0.6 - 0.1 - 0.5, [-0.6, -0.8, 0]),
        "inside_capsule": (0.6 - 0.1 - 0.3, [-1, 0, 0]),
    }[shape]
    assert distance == pytest.approx(expected[0])
    assert np.allclose(direction, expected[1])


# ---------- arc and rod ----------


@pytest.mark.parametrize("law", ["arc", "rod"])
@pytest.mark.parametrize("scale", [1.0, 0.01, 30.0])
def test_rest_is_kept_exactly(law, scale):
    chain, skeleton = straight_chain(scale=scale)
    frames = still_frames(chain, skeleton, 240)
    numbers = arc_numbers(4) if law == "arc" else rod_numbers(4)
    points = getattr(reference, law)(chain, skeleton, frames, numbers)
    assert np.abs(points - points[0]).max() < 1e-13 * scale


@pytest.mark.parametrize("law", ["arc", "rod"])
@pytest.mark.parametrize("scale", [1.0, 0.01, 30.0])
def test_lengths_are_exact(law, scale):
    chain, skeleton = straight_chain(scale=scale)
    frames = wild_frames(360, scale)
    numbers = arc_numbers(4, follow=0.3) if law == "arc" else rod_numbers(4)
    points = getattr(reference, law)(chain, skeleton, frames, numbers)
    shape = reference.strand(chain, skeleton)
    lengths = segment_lengths(frames, shape.root, points)
    assert np.abs(lengths / (0.05 * scale) - 1.0).max() < 1e-9
    carried = reference.rest_shape(chain, skeleton, frames)
    assert np.abs(points - carried).max() > 0.02 * scale


def test_one_tick_of_arc_by_hand():
    """Segment 0.1 m down, k 100, c 12, no gravity, head steps 0.01 m along x: f = 100 * (joint of the start) = 0.

    In the first tick the spring still aims from the old joint, so y = x = (0, -0.1) and the segment points from
    (0.01, 0) to it. In the second: f = 100 * (rest point - x), damped by exp(-12/120) = exp(-0.1).
    """
    chain, skeleton = straight_chain((0.1,))
    skeleton = replace(skeleton, rotations=np.tile(rotations.IDENTITY, (4, 1)))
    frames = still_frames(chain, skeleton, 3)
    frames = Frames(frames.position + np.array([[0, 0, 0], [0.01, 0, 0], [0.01, 0, 0]]), frames.rotation)
    points = reference.arc(chain, skeleton, frames, arc_numbers(1, 100.0, 12.0, gravity=0.0))
    at = points[:, 0] - points[0, 0] - [0.0, 0.1, 0.0]  # origin at the first joint's start
    size = np.hypot(0.01, 0.1)
    one = np.array([0.01 - 0.01 * 0.1 / size, -0.1 * 0.1 / size])
    assert np.allclose(at[1, :2], one, atol=1e-14)
    v = (one - [0.0, -0.1]) * 120
    y = one + (np.exp(-0.1) * (v + 100.0 * (np.array([0.01, -0.1]) - one) / 120)) / 120
    along = y - [0.01, 0.0]
    assert np.allclose(at[2, :2], [0.01, 0.0] + 0.1 * along / np.hypot(*along), atol=1e-14)


def test_follow_exempts_the_carried_motion_from_damping():
    """Without spring and gravity a fully followed strand turns with the head under any damping."""
    chain, skeleton = straight_chain()
    t = np.arange(120) * H
    frames = still_frames(chain, skeleton, 120)
    steady = Frames(
        frames.position, rotations.multiply(rotations.from_axis_angle([0, 1.0, 0], 0.5 * t), frames.rotation)
    )
    gap = {}
    for follow in (0.0, 1.0):
        points = reference.arc(chain, skeleton, steady, arc_numbers(4, 0.0, 60.0, follow, gravity=0.0))
        gap[follow] = np.abs(points - reference.rest_shape(chain, skeleton, steady))[-1].max()
    assert gap[1.0] < 0.1 * gap[0.0]


def test_rod_dense_and_factored_agree():
    chain, skeleton = straight_chain((0.05, 0.03, 0.08, 0.05, 0.06, 0.04))
    frames = wild_frames(480)
    for numbers in (rod_numbers(6), rod_numbers(6, frequency=30.0, damping=1.0, softness=3.0, air=0.1)):
        dense = reference.rod(chain, skeleton, frames, numbers, dense=True)
        factored = reference.rod(chain, skeleton, frames, numbers)
        assert np.abs(dense - factored).max() < 1e-11


@pytest.mark.parametrize("count", [1, 2, 3, 12])
def test_rod_swings_at_the_asked_frequency(count):
    """K's first mode is 2 pi f, and a small kick without damping oscillates at it (less the implicit step's delay)."""
    lengths = np.linspace(0.03, 0.06, count)
    numbers = rod_numbers(count, frequency=1.3, damping=0.0, gravity=0.0)
    matrices = reference.rod_matrices(lengths, numbers)
    assert np.sqrt(np.linalg.eigvalsh(matrices.K)[0]) / (2 * np.pi) == pytest.approx(1.3, rel=1e-9)
    assert np.all(np.linalg.eigvalsh(matrices.S) >= 1.0)


def test_rod_modes_spread_as_the_taper_makes_them():
    """Six equal links, taper 2, no root share: modes about 1, 3.6, 8.3, 16, 28, 46 times the first."""
    matrices = reference.rod_matrices(np.full(6, 0.066), rod_numbers(6, root_share=0.0))
    modes = np.sqrt(np.linalg.eigvalsh(matrices.K))
    assert np.allclose(modes / modes[0], [1, 3.6, 8.3, 16, 27.9, 46], rtol=0.01)
    seed_san = np.array([0.056, 0.070, 0.079, 0.072, 0.065, 0.060])
    assert np.linalg.cond(reference.rod_matrices(seed_san, rod_numbers(6)).S) == pytest.approx(31, rel=0.02)


def test_a_single_rod_link_is_a_damped_oscillator():
    """J = 1: z'' = -w^2 z - 2 zeta w z' in small motion; after one tick of the implicit step by hand."""
    numbers = rod_numbers(1, frequency=2.0, damping=0.3, gravity=0.0)
    w = 4.0 * np.pi
    matrices = reference.rod_matrices(np.array([0.1]), numbers)
    assert matrices.K[0, 0] == pytest.approx(w * w)
    assert matrices.beta == pytest.approx(2 * 0.3 * 0.5 / w)
    assert matrices.alpha[0] == pytest.approx(2 * 0.3 * 0.5 * w)
    assert matrices.S[0, 0] == pytest.approx(1 + (H * H + matrices.beta * H) * w * w)


@pytest.mark.parametrize("law", ["arc", "rod"])
def test_zero_length_segments_and_wild_motion_stay_finite(law):
    chain, skeleton = straight_chain((0.05, 0.0, 0.05, 0.05))
    numbers = arc_numbers(4) if law == "arc" else rod_numbers(4)
    t = np.arange(240) * H
    spin = Frames(np.zeros((240, 3)), rotations.from_axis_angle([0, 0, 1.0], 2 * np.pi * 100 * t))
    points = getattr(reference, law)(chain, skeleton, spin, numbers)
    assert np.all(np.isfinite(points))
    lengths = segment_lengths(spin, reference.strand(chain, skeleton).root, points)
    assert np.abs(lengths - [0.05, 0.0, 0.05, 0.05]).max() < 1e-12


@pytest.mark.parametrize("law", ["arc", "rod"])
def test_a_tilted_head_droops_and_upright_gravity_does_not(law):
    """Sag-free gravity: none at the bind pose; at a tilt the strand hangs away from the carried shape, downward."""
    chain, skeleton = straight_chain()
    numbers = arc_numbers(4, k=400.0) if law == "arc" else rod_numbers(4, frequency=1.5)
    frames = still_frames(chain, skeleton, 960)
    u = np.clip(np.arange(960) / 120.0, 0.0, 1.0)
    tilt = rotations.multiply(rotations.from_axis_angle([0.0, 0.0, 1.0], 0.5 * u), frames.rotation)
    frames = Frames(frames.position, tilt)
    points = getattr(reference, law)(chain, skeleton, frames, numbers)
    carried = reference.rest_shape(chain, skeleton, frames)
    assert np.abs(points[-1] - points[-2]).max() < 1e-7
    assert 0.002 < np.linalg.norm(points[-1, -1] - carried[-1, -1]) < 0.1
    assert points[-1, -1, 1] < carried[-1, -1, 1]

"""The small problem files, simulated: every check that their list names, under every solver."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import shared_folder
from rigs import Given

from taichi_hair import rotations
from taichi_hair.avatar.avatar import load
from taichi_hair.avatar.errors import AssetError
from taichi_hair.motion.body import frames, mean_scale
from taichi_hair.sim.constants import rest_overlap
from taichi_hair.sim.crowd import Crowd
from taichi_hair.sim.solvers.kinds import SOLVERS

LOOK = 4  # frames between two looks at the hair
FOLDER = shared_folder("cases")
CASES = [] if FOLDER is None else json.loads((FOLDER / "cases.json").read_text())["cases"]
DRIVEN = [case for case in CASES if case.get("drive") and case["load"] != "error"]


def avatar_of(case):
    try:
        return load(Path(FOLDER) / case["file"])
    except AssetError:
        if case["load"] == "ok":
            raise
        pytest.skip("refused, as its case allows")


def head_of(avatar) -> int:
    if "head" in avatar.humanoid:
        return avatar.humanoid["head"]
    return int(next(c.attach for c in avatar.hair.chains if c.parent is None))


def turned(avatar, angles) -> np.ndarray:
    """(T, N, 4, 4) the rest pose with the head turned about the world's y by angles (T,) radians."""
    skeleton, head = avatar.skeleton, head_of(avatar)
    below = np.zeros(len(skeleton), dtype=bool)
    for node in skeleton.order:
        below[node] = node == head or (skeleton.parents[node] >= 0 and below[skeleton.parents[node]])
    rest = skeleton.rest_world
    m = np.tile(np.eye(4), (len(angles), 1, 1))
    m[:, :3, :3] = rotations.to_matrix(rotations.from_axis_angle([0.0, 1.0, 0.0], angles))
    pivot = rest[head, :3, 3]
    m[:, :3, 3] = pivot - m[:, :3, :3] @ pivot
    worlds = np.repeat(rest[None], len(angles), axis=0)
    worlds[:, below] = m[:, None] @ rest[below]
    return worlds


def drive(avatar, case, seconds: float, rate: float = 120.0) -> Given:
    t = np.arange(int(seconds * rate) + 2) / rate
    text = case["drive"]["root_motion"]
    if text.startswith("head yaw"):
        angles = np.radians(60) * np.interp(t, [0.0, 0.5, 1.0], [0.0, 1.0, 0.0])
    elif text.startswith("one 30 deg"):
        angles = np.radians(30) * np.interp(t, [0.0, 0.25], [0.0, 1.0])
    else:
        angles = np.zeros_like(t)
    worlds = turned(avatar, angles)
    if "slides" in text:
        worlds[..., 0, 3] += 5.0 * t[:, None]
    return Given(worlds, rate)


def segments(avatar, crowd, ids) -> tuple[np.ndarray, np.ndarray]:
    """(S, 3) joints and (S, 3) end points of the first of ids."""
    ends, roots = crowd.positions(ids)[0], crowd.roots(ids)[0]
    starts = np.concatenate([[ends[0]], ends[:-1]]) if len(ends) else ends.copy()
    starts[avatar.hair.spans[:, 0]] = roots
    return starts, ends


def depth(avatar, starts, ends, whole: bool) -> float:
    """Largest overlap, metres, of end points or whole segments with the chains' own colliders at the rest pose."""
    rest = avatar.skeleton.rest_world
    f = frames(avatar.skeleton, avatar.hair, rest[None])
    worst = 0.0
    for chain, (first, count) in zip(avatar.hair.chains, avatar.hair.spans, strict=True):
        j = slice(first, first + count)
        radii = chain.hit_radius * mean_scale(rest[chain.joints])
        for b in chain.colliders:
            joints = starts[j] if whole else ends[j]
            worst = max(worst, rest_overlap(avatar.hair.colliders[b], f, b, joints, ends[j], radii).max())
    return worst


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("case", DRIVEN, ids=[case["id"] for case in DRIVEN])
def test_the_case_behaves(case, solver):
    avatar = avatar_of(case)
    if not avatar.hair.chains:
        pytest.skip("no chain is left in it, as its case allows")
    checks = set(case["checks"])
    spec = case["drive"]
    dt = spec["dt"][0] if isinstance(spec["dt"], list) else spec["dt"]
    seconds = min(spec.get("seconds", spec.get("steps", 0) * dt), 12.0)
    clears = bool({"no_penetration_1e-3", "no_segment_penetration_1e-3"} & checks)
    contact = "segment" if "no_segment_penetration_1e-3" in checks else None
    crowd = Crowd(solver, contact=contact, keep_overlap=not clears)
    ids = crowd.add(avatar, count=2, motion=drive(avatar, case, seconds))
    starts, ends = segments(avatar, crowd, ids)
    rest_ends, rest_length = ends.copy(), np.linalg.norm(ends - starts, axis=1)
    rest_direction = (ends - starts) / np.maximum(rest_length, 1e-12)[:, None]
    speeds, moved = [], 0.0
    for _ in range(round(seconds / dt / LOOK)):
        before = ends
        for _ in range(LOOK):
            crowd.advance(dt)
        starts, ends = segments(avatar, crowd, ids)
        assert np.isfinite(ends).all()
        if "bone_length_1e-4" in checks:
            assert np.abs(np.linalg.norm(ends - starts, axis=1) - rest_length).max() < 1e-4
        moved = np.linalg.norm(ends - before, axis=1).max()
        speeds.append(moved / (LOOK * dt))
        for tolerance in ("1e-4", "1e-3"):
            if f"stays_at_rest_{tolerance}" in checks:
                assert np.abs(ends - rest_ends).max() < float(tolerance)
    if "returns_to_rest_0.5deg" in checks:
        direction = (ends - starts) / np.maximum(rest_length, 1e-12)[:, None]
        assert np.degrees(np.arccos(np.clip(np.sum(direction * rest_direction, axis=1), -1, 1))).max() < 0.5
    if "settles" in checks:
        assert moved < 1e-3  # in four frames
    if "no_energy_gain" in checks:
        per_second = round(1 / (LOOK * dt))
        late = [max(speeds[k : k + per_second]) for k in range(2 * per_second, len(speeds) - per_second, per_second)]
        assert max(late) <= max(speeds[: 2 * per_second]) + 1e-6
    if "no_penetration_1e-3" in checks:
        assert depth(avatar, starts, ends, whole=False) < 1e-3
    if "no_segment_penetration_1e-3" in checks:
        assert depth(avatar, starts, ends, whole=True) < 1e-3
    if "batch_equals_single_1e-5" in checks:
        both = crowd.positions(ids)
        assert both[0].tobytes() == both[1].tobytes()
        for c, chain in enumerate(avatar.hair.chains):
            alone = Crowd(solver, contact=contact)
            rig = avatar.hair.with_chains([chain])
            one = alone.add(avatar, rig, motion=drive(avatar, case, seconds))
            for _ in range(round(seconds / dt)):
                alone.advance(dt)
            first, count = avatar.hair.spans[c]
            assert np.abs(alone.positions(one)[0] - both[0, first : first + count]).max() < 1e-5


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_branch_follows_its_trunk_in_the_same_tick(cases, solver):
    avatar = load(cases / "vrm1_branch_listed_first.vrm")
    case = next(c for c in CASES if c["file"] == "vrm1_branch_listed_first.vrm")
    branch = next(c for c, chain in enumerate(avatar.hair.chains) if chain.parent is not None)
    trunk, above = avatar.hair.chains[branch].parent
    crowd = Crowd(solver)
    member = crowd.add(avatar, motion=drive(avatar, case, 4.0))[0]
    root = avatar.hair.chains[branch].joints[0]
    joint = avatar.hair.chains[trunk].joints[above]
    offset = np.linalg.inv(avatar.skeleton.rest_world[joint]) @ avatar.skeleton.rest_world[root]
    moved = 0.0
    for _ in range(120):
        crowd.advance(1 / 60)
        pose = crowd.pose(member)
        wanted = (pose[joint] @ offset)[:3, 3]
        assert np.abs(crowd.roots(member)[0, branch] - wanted).max() < 1e-4
        moved = max(moved, np.abs(wanted - avatar.skeleton.rest_world[root][:3, 3]).max())
    assert moved > 0.005


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_centre_takes_the_travel_out_of_a_chain(cases, solver):
    avatar = load(cases / "vrm1_center_hips.vrm")
    case = next(c for c in CASES if c["file"] == "vrm1_center_hips.vrm")
    still, slid = Crowd(solver), Crowd(solver)
    a = still.add(avatar)[0]
    b = slid.add(avatar, motion=drive(avatar, case, 2.0))[0]
    for _ in range(120):
        still.advance(1 / 60)
        slid.advance(1 / 60)
    turn = rotations.angle(rotations.multiply(rotations.inverse(still.rotations(a)[0]), slid.rotations(b)[0]))
    for chain, (first, count) in zip(avatar.hair.chains, avatar.hair.spans, strict=True):
        swing = turn[first : first + count].max()
        assert (swing < 1e-3) if chain.center >= 0 else (swing > 0.05)


def test_gravity_points_down_in_the_world_with_a_centre_too(cases):
    avatar = load(cases / "vrm1_center_hips.vrm")
    over = np.diag([-1.0, -1.0, 1.0, 1.0])
    crowd = Crowd("spring-bone")
    ids = crowd.add(avatar, at=over)
    before = crowd.positions(ids)[0]
    for _ in range(300):
        crowd.advance(1 / 60)
    tips = avatar.hair.spans[:, 0] + avatar.hair.spans[:, 1] - 1
    fell = (crowd.positions(ids)[0] - before)[tips, 1]
    powers = np.array([chain.gravity_power.max() for chain in avatar.hair.chains])
    assert (fell[powers > 0] <= 1e-6).all()
    assert powers.max() > 0

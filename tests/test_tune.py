"""tune_profile and refine_weights: less stretch on motions seen, no worse on motions not seen, the rest untouched."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from taichi_hair.avatar.avatar import load
from taichi_hair.avatar.samples import sample
from taichi_hair.hair import HairRig
from taichi_hair.measure.pace import match_swing
from taichi_hair.measure.reweigh import refine_weights
from taichi_hair.measure.tune import ChainMesh, play, tune_profile, with_profile
from taichi_hair.rig.fit import fit_hair
from taichi_hair.rig.parameters import at_frequency, rod_parameters


@pytest.fixture(scope="module")
def tail(assets):
    avatar = load(assets / "seed-san" / "seed-san.vrm")
    rig = fit_hair(avatar, "hair_tail", joints=6)
    return avatar, replace(rig, chains=tuple(replace(c, center=-1) for c in rig.chains))


def test_profile_lowers_stretch_and_is_checked_on_motions_it_did_not_see(tail):
    avatar, rig = tail
    found = tune_profile(avatar, rig, generations=2, candidates=6, seen=("turn", "nod"), unseen=("stop",))
    assert found.chains == rig.fitted
    assert found.mean("after", found.seen) <= found.mean("before", found.seen) + 1e-9
    assert found.mean("after", found.unseen) <= 1.01 * found.mean("before", found.unseen) + 1e-9
    tuned, base = found.rig.chains[rig.fitted[0]], rod_parameters(rig.chains[rig.fitted[0]], rig.avatar.skeleton)
    assert tuned.rod.frequency == base.frequency and tuned.rod.damping == base.damping
    assert all(a is b for k, (a, b) in enumerate(zip(found.rig.chains, rig.chains, strict=True)) if k not in rig.fitted)
    assert found.rig.avatar.hair.chains == found.rig.chains


def test_a_swing_is_kept_in_every_motion(tail):
    """The rod of this strand swings 0.7 times as wide as its spring bone sideways and in the run."""
    avatar, rig = tail
    asked = {"seen": ("turn", "sideways"), "unseen": ("run",), "swing": 0.8}
    found = tune_profile(avatar, rig, generations=6, candidates=8, **asked)
    bone = play(rig.avatar, [rig], ("turn", "sideways", "run"), solver="spring-bone")
    c = rig.fitted[0]
    for motion, rows in bone.items():
        assert found.after[motion][0].swing_mm >= 0.8 * rows[0][1][c], motion
    assert found.before["sideways"][0].swing_mm < 0.75 * bone["sideways"][0][1][c]
    assert found.mean("after", found.seen) <= 1.2 * found.mean("before", found.seen)  # wider for little more stretch
    assert found.mean("after", found.unseen) <= 1.3 * found.mean("before", found.unseen)
    rod, base = found.rig.chains[c].rod, rod_parameters(rig.chains[c], rig.avatar.skeleton)
    assert rod.frequency < base.frequency
    assert np.allclose(rod.gravity, base.gravity * (rod.frequency / base.frequency) ** 2)
    with pytest.raises(ValueError, match="swing"):
        tune_profile(avatar, rig, swing=1.5)


def test_gravity_goes_with_the_frequency_and_stays_below_the_earths():
    avatar = sample("ponytail")
    base = rod_parameters(max(avatar.hair.chains, key=len), avatar.skeleton)
    slow, fast = at_frequency(base, 0.5 * base.frequency), at_frequency(base, 50.0 * base.frequency)
    assert slow.frequency == 0.5 * base.frequency and np.allclose(slow.gravity, 0.25 * base.gravity)
    assert np.linalg.norm(fast.gravity) == pytest.approx(9.81)


def test_a_profile_is_kept_within_bounds_and_scale():
    avatar = sample("ponytail")
    chain = max(avatar.hair.chains, key=len)
    base = rod_parameters(chain, avatar.skeleton)
    wild = with_profile(chain, base, np.array([9.0, -9.0, 0, 0, 0, 0, 9.0, 9.0])).rod
    assert wild.profile.min() > 0.19 * base.profile.min() and wild.profile.max() < 5.1 * base.profile.max()
    assert wild.root_share <= 0.3 and wild.softness <= 2.6
    same = with_profile(chain, base, np.zeros(8)).rod
    assert np.allclose(same.profile, base.profile) and same.softness == base.softness


def test_edges_belong_to_the_chain_that_moves_them():
    avatar = sample("twin-tails")
    long = [k for k, c in enumerate(avatar.hair.chains) if len(c) > 5]
    mesh = ChainMesh(avatar, avatar.hair, long)
    for blend, edges, _, belongs in mesh.pieces:
        x = blend.positions(avatar.skeleton.rest_world)[edges].mean(axis=1)[:, 0]
        for k, c in enumerate(long):
            side = np.sign(avatar.skeleton.rest_world[avatar.hair.chains[c].joints[0], 0, 3])
            assert np.all(side * x[belongs == k] > 0.0)


def test_play_tells_rigs_apart(tail):
    _, rig = tail
    c = rig.fitted[0]
    base = rod_parameters(rig.chains[c], rig.avatar.skeleton)
    stiff = replace(rig.chains[c], rod=replace(base, frequency=3.0 * base.frequency))
    rows = list(rig.chains)
    rows[c] = stiff
    played = play(rig.avatar, [rig, replace(rig, chains=tuple(rows))], ("turn",))["turn"]
    assert played[1][1][c] < 0.5 * played[0][1][c]


def test_weights_refined_on_the_rods_poses(tail):
    avatar, rig = tail
    better = refine_weights(avatar, rig, motions=("turn",), rounds=60)
    assert better.refinement.after.worst <= better.refinement.before.worst
    assert better.refinement.after.p99 < better.refinement.before.p99
    assert better.chains == rig.chains
    plan, old = better.table["plan"], rig.table["plan"]
    assert np.array_equal(plan.weights[plan.fixed], old.weights[old.fixed])
    with pytest.raises(ValueError, match="fit_hair"):
        refine_weights(avatar, HairRig())


def test_weights_refined_with_contact_stretch_less_where_hair_meets_the_body(assets):
    """In the turn the tails are caught by arms that stretch out to the sides."""
    avatar = load(assets / "unity-chan" / "unitychan.vrm")
    rig = fit_hair(avatar, ["tail", "hair_accce", "tail_bottom"], joints=7, chains="auto")
    chosen, found = list(rig.fitted), []
    for contact in (False, True):
        better = refine_weights(avatar, rig, motions=("turn",), contact=contact)
        poses, swings = play(better.avatar, [better], ("turn",), contact=True)["turn"][0]
        figures = ChainMesh(better.avatar, better, chosen, most=1 << 30).figures(poses, swings[chosen])
        found.append(np.mean([f.p99 for f in figures]))
    assert found[1] < 0.7 * found[0], found


def test_swing_is_matched_to_the_spring_bone(tail):
    """Sideways the rod of this strand swings 0.7 times as wide as its spring bone."""
    avatar, rig = tail
    found = match_swing(avatar, rig, unseen=("run",))
    assert found.chains == rig.fitted and min(found.before["sideways"]) < 0.75
    for motion in ("turn", "nod", "sideways"):
        assert min(found.after[motion]) >= 0.8, motion
    assert min(found.after["run"]) > min(found.before["run"])  # it took no part
    c = rig.fitted[0]
    before, after = rod_parameters(rig.chains[c], rig.avatar.skeleton), found.rig.chains[c].rod
    assert after.frequency == pytest.approx(found.factors[0] * before.frequency) and 0.7 <= found.factors[0] < 1.0
    assert after.damping == before.damping and np.array_equal(after.profile, before.profile)
    again = match_swing(avatar, found.rig, seen=("sideways",), unseen=())
    assert again.factors == (1.0,)  # enough is enough
    with pytest.raises(ValueError, match="share"):
        match_swing(avatar, rig, share=0.0)

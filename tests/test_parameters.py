"""From spring settings to the laws' numbers: order, limits, and any input a file may hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import TICK, rod_matrices
from test_reference import arc_numbers, rod_numbers, straight_chain

from taichi_hair.rig import parameters
from taichi_hair.rig.parameters import arc_parameters, rod_parameters, segment_lengths, trail


def test_trail_by_hand():
    """Two links of 0.1 m, stiffness 2, drag 1 (with inertia sqrt(1.01)): (0.2 + 0.1) / 2 * 1.00499 s."""
    chain, skeleton = straight_chain((0.1, 0.1), stiffness=2.0, drag=1.0)
    lengths = segment_lengths(chain, skeleton)
    assert lengths == pytest.approx([0.1, 0.1])
    assert trail(chain, lengths) == pytest.approx(0.15 * np.sqrt(1.01))


def test_rod_numbers_by_hand():
    """The same chain: trail 0.15075 s, f^2 = floor^2 + (rate (1 + (short / trail)^2))^2 / trail."""
    chain, skeleton = straight_chain((0.1, 0.1), stiffness=2.0, drag=1.0, gravity_power=0.0)
    numbers = rod_parameters(chain, skeleton)
    rate = parameters.ROD_RATE * (1 + (parameters.SHORT / 0.15075) ** 2)
    assert numbers.frequency == pytest.approx(np.sqrt(parameters.ROD_FLOOR**2 + rate**2 / 0.15075), rel=1e-4)
    assert numbers.damping == parameters.ROD_DAMPING
    w = 2 * np.pi * numbers.frequency
    droop = parameters.DROOP * w * w * 0.2 / parameters.ROD_REACH
    assert numbers.gravity == pytest.approx([0.0, -min(9.81, droop), 0.0])


def test_what_the_chain_states_wins():
    chain, skeleton = straight_chain()
    arc, rod = arc_numbers(4), rod_numbers(4)
    stated = replace(chain, arc=arc, rod=rod)
    assert arc_parameters(stated, skeleton) is arc
    assert rod_parameters(stated, skeleton) is rod


def test_stiffer_settings_give_stiffer_laws():
    soft, skeleton = straight_chain(stiffness=0.3)
    hard, _ = straight_chain(stiffness=3.0)
    assert rod_parameters(hard, skeleton).frequency > 1.5 * rod_parameters(soft, skeleton).frequency
    assert np.all(arc_parameters(hard, skeleton).stiffness > 1.5 * arc_parameters(soft, skeleton).stiffness)


def test_more_drag_trails_farther():
    light, skeleton = straight_chain(drag=0.2)
    heavy, _ = straight_chain(drag=0.9)
    assert rod_parameters(heavy, skeleton).frequency < rod_parameters(light, skeleton).frequency


def test_soft_tips_stay_soft():
    chain, skeleton = straight_chain()
    chain = replace(chain, stiffness=np.array([4.0, 3.0, 2.0, 1.0]))
    profile = rod_parameters(chain, skeleton).profile
    assert np.all(np.diff(profile) < 0.0) and profile[0] / profile[-1] == pytest.approx(2.0)
    even, _ = straight_chain(stiffness=2.5)
    bent, straight = (arc_parameters(c, skeleton).stiffness for c in (chain, even))
    assert bent[0] / bent[-1] > straight[0] / straight[-1] > 1.0


def test_a_short_lock_is_stiffer_than_a_long_one():
    """Bangs of one link against a ponytail, both with the same settings."""
    bang, bang_skeleton = straight_chain((0.03,))
    tail, tail_skeleton = straight_chain((0.07,) * 6)
    assert rod_parameters(bang, bang_skeleton).frequency > 3.0 * rod_parameters(tail, tail_skeleton).frequency


def test_stated_gravity_turns_and_strengthens_the_droop():
    none, skeleton = straight_chain((0.02,) * 4, gravity_power=0.0, stiffness=0.2)
    some, _ = straight_chain((0.02,) * 4, gravity_power=0.4, stiffness=0.2)
    side = replace(some, gravity_dir=np.tile([1.0, 0.0, 0.0], (4, 1)))
    for law in (arc_parameters, rod_parameters):
        weak, strong, sideways = (law(c, skeleton).gravity for c in (none, some, side))
        assert weak[1] < 0.0 and strong[1] < weak[1] and strong[1] >= -9.81
        assert sideways == pytest.approx([-strong[1], 0.0, 0.0])


values = st.one_of(st.floats(0.0, 5.0), st.sampled_from([0.0, 1e-6, 1e6]))


@settings(max_examples=150, deadline=None)
@given(
    stiffness=st.lists(values, min_size=1, max_size=7),
    drag=st.floats(0.0, 1.0),
    power=st.floats(0.0, 50.0),
    length=st.sampled_from([0.0, 1e-10, 1e-3, 0.05, 0.3]),
    gap=st.booleans(),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_any_settings_give_sane_numbers(stiffness, drag, power, length, gap, scale):
    count = len(stiffness)
    lengths = [length] * count
    if gap:
        lengths[count // 2] = 0.0
    chain, skeleton = straight_chain(tuple(lengths), drag=drag, gravity_power=power, scale=scale)
    chain = replace(chain, stiffness=np.array(stiffness))
    arc, rod = arc_parameters(chain, skeleton), rod_parameters(chain, skeleton)
    for array in (arc.stiffness, arc.damping, rod.profile):
        assert array.shape == (count,) and np.all(np.isfinite(array)) and np.all(array > 0.0)
    assert np.all(arc.stiffness <= parameters.ARC_HIGHEST)
    assert np.max(arc.stiffness) * TICK**2 < 1.0
    assert parameters.ROD_FLOOR <= rod.frequency <= parameters.ROD_HIGHEST
    assert 0.3 <= rod.damping <= 1.0
    for gravity in (arc.gravity, rod.gravity):
        assert np.all(np.isfinite(gravity)) and np.linalg.norm(gravity) <= 9.81 + 1e-9
    matrices = rod_matrices(segment_lengths(chain, skeleton), rod)
    assert np.all(np.isfinite(matrices.K)) and np.linalg.cond(matrices.S) < 1e6

"""The strands' measures against numbers that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from taichi_hair import rotations
from taichi_hair.measure import motion
from taichi_hair.measure.trace import Trace

RATE = 30


def made(t, rest, offsets=None, turns=None, shift=None, spans=None) -> Trace:
    """A trace of hair with end points `rest` (S, 3) on a frame that turns (T, 3, 3) and shifts (T, 3), displaced by
    `offsets` (T, S, 3) in that frame. Chains start at the frame's origin."""
    t, rest = np.asarray(t, dtype=float), np.asarray(rest, dtype=float)
    spans = np.array([[0, len(rest)]]) if spans is None else np.asarray(spans)
    turns = np.broadcast_to(np.eye(3), (len(t), 3, 3)) if turns is None else turns
    shift = np.zeros((len(t), 3)) if shift is None else shift
    offsets = np.zeros((len(t), len(rest), 3)) if offsets is None else offsets

    def world(points):
        return np.einsum("tij,tsj->tsi", turns, points) + shift[:, None]

    origins = np.repeat(shift[:, None], len(spans), axis=1)
    return Trace(
        t=t,
        positions=world(rest + offsets),
        origins=origins,
        carried=world(np.broadcast_to(rest, offsets.shape)),
        carried_origins=origins,
        turns=np.repeat(turns[:, None], len(spans), axis=1),
        spans=spans,
    )


def times(seconds):
    return np.arange(round(seconds * RATE) + 1) / RATE


def yaw(angles):
    return rotations.to_matrix(rotations.from_axis_angle([0.0, 1.0, 0.0], np.asarray(angles)))


HANGING = [[0.0, -0.1, 0.0], [0.0, -0.2, 0.0], [0.0, -0.3, 0.0]]


def offsets(t, tip_path):
    """Only the tip is displaced, along x."""
    out = np.zeros((len(t), 3, 3))
    out[:, -1, 0] = tip_path
    return out


def test_swing_is_the_tip_s_distance_from_the_rigid_strand_while_the_body_moves():
    # The head turns half the time; meanwhile the tip is 30 mm off on every other sample and 40 mm off on the others.
    # Afterwards it is 500 mm off, which does not count.
    t = times(2.0)
    angles = np.minimum(t, 1.0)
    path = np.where(np.arange(len(t)) % 2 == 0, 0.03, 0.04)
    path[t > 1.0 + 1e-9] = 0.5
    trace = made(t, HANGING, offsets(t, path), yaw(angles))
    assert trace.moving().tolist() == [True] * 31 + [False] * 30
    # 31 samples move: 16 of 30 mm and 15 of 40 mm.
    assert motion.swing(trace) == pytest.approx(np.sqrt((16 * 30**2 + 15 * 40**2) / 31), abs=1e-9)


def test_swing_is_read_about_where_the_strand_comes_to_rest():
    # While the head turns the tip is 130 mm or 70 mm off, afterwards it hangs 100 mm off: it sags by 100, swings by 30.
    t = times(6.0)
    path = np.where(np.arange(len(t)) % 2 == 0, 0.13, 0.07)
    path[t > 2.0 + 1e-9] = 0.1
    trace = made(t, HANGING, offsets(t, path), yaw(np.minimum(t, 2.0)))
    assert motion.swing(trace) == pytest.approx(30.0, abs=1e-9)


def test_swing_does_not_see_the_head_s_own_movement():
    t = times(2.0)
    shift = np.stack([np.sin(t), 0 * t, t], axis=-1)
    assert motion.swing(made(t, HANGING, turns=yaw(t), shift=shift)) == pytest.approx(0.0, abs=1e-9)


def test_swing_leaves_short_chains_out_where_there_are_longer_ones():
    t = times(1.0)
    rest = [*HANGING, [0.1, 0.0, 0.0]]
    off = np.zeros((len(t), 4, 3))
    off[:, 2, 0] = 0.05
    off[:, 3, 0] = 0.001
    both = made(t, rest, off, yaw(t), spans=[[0, 3], [3, 1]])
    assert motion.swing(both) == pytest.approx(50.0)
    assert motion.swing(both.select([1])) == pytest.approx(1.0)


def test_settle_is_the_largest_step_of_the_last_two_seconds():
    t = times(6.0)
    path = np.zeros(len(t))
    path[60:] = 0.1  # a jump of 100 mm at 2 s: before the last 2 s
    path[150:] += 0.0004  # a step of 0.4 mm at 5 s
    still = made(t, HANGING, offsets(t, path))
    assert motion.settle(still) == pytest.approx(0.4)
    assert motion.settle(still, seconds=5.0) == pytest.approx(100.0)
    assert motion.settle(made(t, HANGING)) == 0.0


def test_what_needs_a_body_at_rest_is_not_measured_while_it_moves():
    t = times(6.0)
    moving = made(t, HANGING, offsets(t, 0.01 + 0 * t), yaw(t))
    assert motion.settle(moving) is None
    assert motion.sag(moving) is None
    assert motion.curl_rest(moving) is None
    assert motion.after_stop(moving) is None


def test_sag_is_the_root_mean_square_of_all_end_points_at_the_end():
    # Of three end points one stays 3 mm off, one 4 mm: sqrt((9 + 16 + 0) / 3) = 2.887 mm. What was before is over.
    t = times(4.0)
    off = np.zeros((len(t), 3, 3))
    off[: len(t) // 2] = 1.0
    off[-1, 0, 2] = 0.003
    off[-1, 1, 1] = 0.004
    assert motion.sag(made(t, HANGING, off)) == pytest.approx(np.sqrt(25 / 3))


def bent(first, last):
    """End points of two links of 0.1 m that point `first` and `last` degrees from straight down, in the x-y plane."""
    first, last = np.radians(first), np.radians(last)
    down = np.stack([np.sin(first), -np.cos(first), 0 * first], axis=-1)
    further = np.stack([np.sin(last), -np.cos(last), 0 * last], axis=-1)
    return 0.1 * np.stack([down, down + further], axis=-2)


def test_curl_is_the_angle_between_first_and_last_link_beyond_its_rest_value():
    # At rest 20 degrees. 100 samples at 0, 1, ... 99 degrees more: the 95th percentile is 94.05 (position 0.95 * 99).
    t = np.arange(100) / RATE
    rest = bent(np.array(10.0), np.array(30.0))
    shape = bent(0 * t + 10.0, 30.0 + np.arange(100.0))
    trace = made(t, rest, shape - rest)
    assert motion.curl(trace) == pytest.approx(94.05, abs=1e-9)
    assert motion.curl_rest(trace) == pytest.approx(99.0, abs=1e-9)


def test_curl_is_zero_for_a_strand_that_turns_as_a_whole_or_straightens():
    t = np.arange(100) / RATE
    rest = bent(np.array(10.0), np.array(30.0))
    turned = bent(10.0 + np.arange(100.0), 30.0 + np.arange(100.0))
    assert motion.curl(made(t, rest, turned - rest)) == pytest.approx(0.0, abs=1e-9)
    straight = bent(10.0 + 0 * t, 30.0 - np.minimum(np.arange(100.0), 20.0))
    assert motion.curl(made(t, rest, straight - rest)) == 0.0
    assert motion.curl(made(t, [[0.0, -0.1, 0.0]])) is None, "one segment has no curl"


def test_curl_of_several_chains_is_that_of_the_worst():
    t = np.arange(100) / RATE
    rest = np.concatenate([bent(np.array(0.0), np.array(0.0))] * 2)
    shape = np.concatenate([bent(0 * t, 5.0 + 0 * t), bent(0 * t, 40.0 + 0 * t)], axis=1)
    both = made(t, rest, shape - rest, spans=[[0, 2], [2, 2]])
    assert motion.curl(both) == pytest.approx(40.0, abs=1e-9)
    assert motion.curl(both.select([0])) == pytest.approx(5.0, abs=1e-9)


@pytest.mark.parametrize("wanted", [(10.0, 45.0, 100.0), (17.0, 122.0, 202.0)])
def test_lag_is_the_phase_behind_the_rigid_strand(wanted):
    # The hair does what the rigid strand did, each place so many degrees of phase ago, at 1 Hz and with amplitudes of
    # its own.
    t = times(6.0)
    rest = np.array([[0.1, 0.0, 0.0], [0.2, 0.0, 0.0], [0.3, 0.0, 0.0]])
    carried = rest + np.zeros((len(t), 3, 3))
    hair = carried.copy()
    for s in range(3):
        carried[:, s, 2] += 0.05 * np.sin(2 * np.pi * t)
        hair[:, s, 2] += (0.02 + 0.03 * s) * np.sin(2 * np.pi * t - np.radians(wanted[s]))
        hair[:, s, 1] += 0.01 * np.sin(6 * np.pi * t)  # another frequency does not count
    plain = made(t, rest)
    trace = Trace(t, hair, plain.origins, carried, plain.carried_origins, plain.turns, plain.spans)
    assert motion.lag(trace) == pytest.approx(wanted, abs=1e-9)
    assert motion.lag(Trace(t, carried, plain.origins, carried, plain.carried_origins, plain.turns, plain.spans)) == (
        pytest.approx([0.0, 0.0, 0.0], abs=1e-9)
    )
    assert motion.lag(plain) is None, "nothing moves"
    with pytest.raises(ValueError, match="no period"):
        motion.lag(plain, hertz=0.2)


def test_first_harmonic_of_a_known_wave():
    # 3 cos(wt) + 4 sin(wt) = Re((3 - 4i) exp(iwt)), whatever its mean.
    t = times(2.0)[:-1]
    wave = 7.0 + 3 * np.cos(2 * np.pi * t) + 4 * np.sin(2 * np.pi * t)
    assert motion.first_harmonic(t, wave, 1.0) == pytest.approx(3 - 4j)


def test_overshoot_and_swings_of_a_known_path():
    # Half swings of 100, -40, 16, -6, 2.4, -1 mm: overshoot 40 %; four of them pass 2 mm after the peak.
    t = times(6.0)
    path = np.zeros(len(t))
    for k, size in enumerate([100.0, -40.0, 16.0, -6.0, 2.4, -1.0]):
        path[10 + 20 * k : 30 + 20 * k] = 1e-3 * size * np.sin(np.pi * (np.arange(20) + 0.5) / 20)
        path[20 + 20 * k] = 1e-3 * size
    turned = yaw(np.minimum(t, 0.3))
    overshoot, swings = motion.after_stop(made(t, HANGING, offsets(t, path), turned))
    assert overshoot == pytest.approx(40.0)
    assert swings == 4


def test_a_strand_that_creeps_back_does_not_overshoot():
    t = times(6.0)
    turned = yaw(np.minimum(t, 0.3))
    assert motion.after_stop(made(t, HANGING, offsets(t, 0.1 * np.exp(-t)), turned)) == (0.0, 0)
    assert motion.after_stop(made(t, HANGING, offsets(t, 0.001 + 0 * t), turned)) is None, "no lag that one could see"


def test_excursions():
    assert motion.excursions(np.array([3.0, 5.0, 0.0, -2.0, -1.0, 0.5])).tolist() == [5.0, -2.0, 0.5]


def test_length_error_finds_the_one_wrong_link():
    # One link of 100 mm is 101 mm long in one sample: 0.01.
    t = times(1.0)
    off = np.zeros((len(t), 3, 3))
    off[7, 1:, 1] = -0.001
    assert motion.length_error(made(t, HANGING, off, yaw(t))) == pytest.approx(0.01)
    assert motion.length_error(made(t, HANGING, turns=yaw(t))) < 1e-12
    flat = [[0.0, -0.1, 0.0], [0.0, -0.1, 0.0]]
    assert motion.length_error(made(t, flat)) == pytest.approx(0.0, abs=1e-12), "a segment without length is left out"


def test_long_chains_come_from_the_rig_alone():
    t = times(1.0)
    rest = np.array([[0, -0.1, 0], [0, -0.2, 0], [0, -0.3, 0], [0, -0.1, 0], [0, -0.2, 0], [0, -0.25, 0], [0, -0.9, 0]])
    trace = made(t, rest, spans=[[0, 3], [3, 3], [6, 1]])
    assert trace.lengths == pytest.approx([0.3, 0.25, 0.9])
    assert motion.long_chains(trace).tolist() == [0, 1], "a single long link is no strand"
    assert motion.long_chains(trace.select([2])).tolist() == [0]


def test_a_trace_refuses_what_does_not_fit():
    t = times(1.0)
    good = made(t, HANGING)
    with pytest.raises(ValueError, match="rising times"):
        made(t[::-1], HANGING)
    with pytest.raises(ValueError, match=r"positions has shape \(31, 2, 3\), wanted \(31, 3, 3\)"):
        Trace(t, good.positions[:, :2], good.origins, good.carried, good.carried_origins, good.turns, good.spans)
    broken = good.positions.copy()
    broken[3, 1, 2] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        Trace(t, broken, good.origins, good.carried, good.carried_origins, good.turns, good.spans)

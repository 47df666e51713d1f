"""mass-spring: the frequency it is given, the stability bound that is computed, and what is beyond it."""

from __future__ import annotations

import logging
from itertools import pairwise

import numpy as np
import pytest
from rigs import strand

from taichi_hair.motion.turn import HeadTurn, StopTurn
from taichi_hair.sim.crowd import Crowd
from taichi_hair.sim.solvers.mass_spring import DAMPING, FREQUENCY, STRETCH, springs, stiffest, unit_springs

H = 1.0 / 120.0


def test_one_mass_has_the_stiffness_of_the_article():
    k, keep = springs(1, H)
    assert k == pytest.approx((2.0 * np.pi * 1.2) ** 2)  # (2 pi f)^2 m = 56.8, m = 1
    assert keep == pytest.approx(np.exp(-2.0 * 0.35 * 2.0 * np.pi * 1.2 / 120.0))


@pytest.mark.parametrize("count", [1, 6, 8, 12])
def test_the_strand_as_a_whole_swings_at_the_frequency(count):
    k, _ = springs(count, H)
    lowest = np.linalg.eigvalsh(k * unit_springs(count))[0]
    assert np.sqrt(lowest) / (2.0 * np.pi) == pytest.approx(FREQUENCY)


def growth(count: int, k: float, keep: float) -> float:
    """Largest |eigenvalue| of one tick of the linear law, x and v together."""
    stiff = k * unit_springs(count, STRETCH)
    one = np.eye(count)
    v = np.concatenate([-keep * H * stiff, keep * one], axis=1)
    x = np.concatenate([one, np.zeros((count, count))], axis=1) + H * v
    return float(np.abs(np.linalg.eigvals(np.concatenate([x, v]))).max())


@pytest.mark.parametrize("count", [1, 6, 12])
def test_the_bound_is_where_a_tick_begins_to_grow(count):
    _, keep = springs(count, H)
    k = stiffest(count, keep, H)
    assert growth(count, 0.999 * k, keep) < 1.0
    assert growth(count, 1.001 * k, keep) > 1.0


def test_what_cannot_be_stable_is_held_at_what_is_and_said(caplog):
    with caplog.at_level(logging.WARNING, logger="taichi_hair"):
        k, keep = springs(12, H, frequency=20.0)
    assert growth(12, k, keep) < 1.0
    assert "held at" in caplog.text


def test_stiffness_without_damping_takes_the_damping_ratio_with_it():
    k, keep = springs(6, H)
    stiffer, _ = springs(6, H, frequency=2.0 * FREQUENCY)
    rate = -np.log(keep) / H
    ratio = [rate / (2.0 * np.sqrt(np.linalg.eigvalsh(s * unit_springs(6))[0])) for s in (k, stiffer)]
    assert ratio == pytest.approx([DAMPING, 0.5 * DAMPING])


def test_hair_swings_comes_to_rest_and_keeps_its_lengths():
    avatar = strand(np.full(9, 0.04))
    crowd = Crowd("mass-spring", contact="off")
    member = crowd.add(avatar, motion=HeadTurn(avatar))
    rest = crowd.positions(member)[0]
    swing, worst = 0.0, 0.0
    for _ in range(14 * 60):
        crowd.advance(1 / 60)
        points = np.concatenate([crowd.roots(member)[0], crowd.positions(member)[0]])
        worst = max(worst, np.abs(np.linalg.norm(np.diff(points, axis=0), axis=1) / 0.04 - 1.0).max())
        swing = max(swing, np.abs(points[1:] - rest).max())
    assert worst < 1e-5
    assert swing > 0.05
    assert np.abs(crowd.positions(member)[0] - rest).max() < 1e-3


def test_after_a_stop_it_swings_two_or_three_times():
    avatar = strand(np.full(8, 0.045), bend=0.0)
    crowd = Crowd("mass-spring", contact="off")
    member = crowd.add(avatar, motion=StopTurn(avatar))
    tip = []
    for _ in range(6 * 60):
        crowd.advance(1 / 60)
        head = crowd.body(member[0])[0]
        tip.append(((crowd.positions(member)[0, -1] - head[:3, 3]) @ head[:3, :3])[0])
    after = np.array(tip[30:])
    crossings = np.flatnonzero(np.diff(np.sign(after - after[-1])) != 0)
    peaks = [np.abs(after[a:b] - after[-1]).max() for a, b in pairwise(crossings)]
    seen = [p for p in peaks if p > 0.002]
    assert 1 <= len(seen) <= 6

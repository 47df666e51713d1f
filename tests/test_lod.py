"""Levels of detail as plain functions: limits with hysteresis, and a budget that goes to who is largest."""

from __future__ import annotations

import numpy as np
import pytest

from taichi_hair.sim.lod import COSTS, LEVELS, Budget, by_budget, by_distance, by_size, screen_size


def test_distance_decides_and_a_walk_along_a_limit_does_not_flicker():
    assert list(by_distance(np.array([5.0, 15.0, 30.0, 55.0, 90.0, 150.0]), np.zeros(6, dtype=int))) == list(range(6))
    walk, changes, now = 10.0 + 0.5 * np.sin(np.arange(200)), 0, np.zeros(1, dtype=int)
    for d in walk:
        new = by_distance(np.array([d]), now)
        changes += int(new[0] != now[0])
        now = new
    assert changes == 0
    assert by_distance(np.array([11.5]), np.array([0]))[0] == 1
    assert by_distance(np.array([9.5]), np.array([1]))[0] == 1
    assert by_distance(np.array([8.5]), np.array([1]))[0] == 0


def test_size_on_the_screen_goes_with_one_over_the_distance():
    assert screen_size(np.array([10.0]))[0] == pytest.approx(0.0536, abs=1e-4)  # 0.5 / (2 tan 25 deg 10)
    sizes = np.array([0.2, 0.03, 0.015, 0.01, 0.006, 0.001])
    assert list(by_size(sizes, np.zeros(6, dtype=int))) == list(range(6))


def test_a_budget_is_kept_and_goes_to_the_largest():
    size = screen_size(np.linspace(1.0, 50.0, 100))
    level = np.zeros(100, dtype=int)
    for budget in (0.2, 1.0, 3.0, 6.0, 8.0, 20.0):
        chosen = by_budget(size, level, 0.1, budget)
        cost = 0.1 * np.sum(np.asarray(COSTS)[chosen])
        assert cost <= max(budget, 0.1 * 100 * COSTS[LEVELS.index("frozen")]) + 1e-9
        assert np.all(np.diff(chosen) >= 0)
    assert set(by_budget(size, level, 0.1, 20.0)) == {LEVELS.index("full")}


def test_a_budget_gives_only_levels_that_a_member_can_have():
    size = screen_size(np.linspace(1.0, 50.0, 60))
    allowed = np.ones((60, len(LEVELS)), dtype=bool)
    allowed[::2, LEVELS.index("lut")] = False
    for budget in (0.3, 1.0, 3.0, 5.0):
        chosen = by_budget(size, np.zeros(60, dtype=int), 0.1, budget, allowed=allowed)
        assert allowed[np.arange(60), chosen].all()
        assert 0.1 * np.sum(np.asarray(COSTS)[chosen]) <= max(budget, 0.1 * 60 * COSTS[LEVELS.index("frozen")]) + 1e-9


def test_a_budget_learns_what_a_member_costs():
    budget = Budget(2.0, every=5)
    level = np.zeros(40, dtype=int)
    due = [budget.spent(4.0, level) for _ in range(5)]
    assert due == [False, False, False, False, True]
    assert budget.full_ms == pytest.approx(0.1)
    level = budget.choose(np.linspace(1.0, 0.1, 40), level)
    assert 0.1 * np.sum(np.asarray(COSTS)[level]) <= 2.0
    with pytest.raises(ValueError, match="budget"):
        Budget(0.0)

"""The clock: frames of any length become whole ticks."""

from __future__ import annotations

import math

import pytest

from taichi_hair.sim.ticks import Clock


@pytest.mark.parametrize("fps", [1, 7, 24, 30, 59.94, 60, 75, 90, 120, 144, 165, 240, 1000])
def test_the_same_time_is_the_same_number_of_ticks(fps):
    clock = Clock(120.0)
    seconds = 10
    frames = round(seconds * fps)
    for _ in range(frames):
        clock.advance(min(1.0 / fps, 0.25)) if fps >= 4 else [clock.advance(0.125) for _ in range(round(8 / fps))]
    assert clock.ticks == math.floor(120.0 * (frames / fps) + 1e-4)


def test_a_hitch_runs_a_quarter_of_a_second_and_says_what_it_dropped():
    clock = Clock(120.0)
    step = clock.advance(3.0)
    assert step.ticks == 30
    assert step.dropped == pytest.approx(2.75)
    assert clock.advance(1 / 120).ticks == 1  # no debt is left


@pytest.mark.parametrize("dt", [0.0, -1.0, -1e-9])
def test_no_time_is_no_tick(dt):
    clock = Clock(120.0)
    assert clock.advance(dt).ticks == 0
    assert clock.time == 0.0


@pytest.mark.parametrize("dt", [math.nan, math.inf, -math.inf])
def test_a_time_that_is_no_number_is_refused(dt):
    with pytest.raises(ValueError, match="dt: found"):
        Clock(120.0).advance(dt)


def test_fraction_is_the_way_to_the_next_tick():
    clock = Clock(120.0)
    clock.advance(1.25 / 120.0)
    assert clock.fraction == pytest.approx(0.25)


@pytest.mark.parametrize("rate", [0.0, -60.0, math.nan])
def test_a_rate_that_cannot_tick_is_refused(rate):
    with pytest.raises(ValueError, match="rate: found"):
        Clock(rate)

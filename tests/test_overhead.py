"""A crowd from above: a dot for everyone, in the colours of the levels; pictures in a window where one opens."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import ImageColor

from taichi_hair.measure.bench_rig import Turning, bench_avatar
from taichi_hair.sim.crowd import Crowd
from taichi_hair.view.display import WindowError
from taichi_hair.view.overhead import COLOURS, overhead
from taichi_hair.view.screen import show


def test_dots_have_the_colours_of_the_levels_that_members_are_at():
    avatar = bench_avatar(2, 3, 0)
    crowd = Crowd("rod")
    ids = crowd.add(avatar, count=3, motion=Turning(avatar), at=[[-1.0, 0, -2.0], [0, 0, -5.0], [1.0, 0, -8.0]])
    crowd.set_level(ids[1], "half")
    crowd.set_level(ids[2], "frozen")
    for coloured, wanted in ((True, {"full", "half", "frozen"}), (False, {"full"})):
        picture = overhead(crowd, np.array([0.0, 1.5, 4.0]), 300, coloured)
        assert picture.shape == (300, 200, 3) and picture.dtype == np.uint8
        below = picture[40:].reshape(-1, 3)
        found = {name for name, c in COLOURS.items() if (below == ImageColor.getrgb(c)).all(axis=1).any()}
        assert found == wanted


def test_without_a_display_no_window_and_no_crash(monkeypatch):
    monkeypatch.setenv("DISPLAY", "")
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(WindowError, match="no display"):
        show([np.zeros((8, 8, 3), dtype=np.uint8)])

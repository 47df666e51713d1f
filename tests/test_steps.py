"""The built-in clips: whole, standing on the floor, and what they say they are."""

from __future__ import annotations

import numpy as np
import pytest

import taichi_hair as th
from taichi_hair.motion.names import missing_required
from taichi_hair.motion.steps import CLIPS


@pytest.mark.parametrize("name", CLIPS)
def test_a_built_in_clip_plays_on_a_built_in_avatar(name):
    clip = th.made_clip(name)
    assert not missing_required(clip.humanoid)
    avatar = th.sample("layered")
    motion = th.retarget(clip, avatar)
    assert motion.report.good and motion.report.cycle == (name != "look")
    feet = [avatar.humanoid[f"{side}Foot"] for side in ("left", "right")]
    heights = motion.worlds(np.linspace(0.0, clip.seconds, 40))[:, feet, 1, 3].min(axis=1)
    assert heights == pytest.approx(np.full(40, avatar.skeleton.rest_world[feet, 1, 3].min()), abs=0.006)


def test_the_stroll_goes_forward_and_an_unknown_name_is_refused():
    clip = th.made_clip("stroll")
    hips = clip.humanoid["hips"]
    ends = clip.sample(np.array([0.0, clip.seconds]))[0][:, hips]
    assert ends[1] - ends[0] == pytest.approx([0.0, 0.0, 1.32], abs=1e-9)
    with pytest.raises(ValueError, match="'stroll', 'dance', 'look'"):
        th.made_clip("moonwalk")


def test_the_public_names_are_there_whatever_was_imported_first():
    import taichi_hair.bake

    assert callable(th.bake) and callable(taichi_hair.bake)
    with pytest.raises(ValueError, match=r"\.fbx"):
        taichi_hair.bake(th.sample("ponytail"), None, None, "x.fbx")

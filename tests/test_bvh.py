"""BVH: units, channel orders, joints of no length, and the lines that are wrong."""

from __future__ import annotations

import numpy as np
import pytest

from taichi_hair import rotations
from taichi_hair.avatar.errors import AssetError
from taichi_hair.motion.bvh import read_bvh
from taichi_hair.motion.clip import load_clip
from taichi_hair.motion.names import missing_required

HEADER = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition %s
  JOINT LeftUpLeg
  {
    OFFSET 1 0 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0 -9 0
    }
  }
}
MOTION
Frames: %d
Frame Time: 0.05
"""
ORDER = "Zrotation Xrotation Yrotation"


def written(tmp_path, frames, order=ORDER, header=HEADER, count=None):
    path = tmp_path / "take.bvh"
    path.write_text(header % (order, len(frames) if count is None else count) + "\n".join(frames) + "\n")
    return path


def row(*numbers):
    return " ".join(map(str, [*numbers, *[0] * (9 - len(numbers))]))


@pytest.mark.parametrize(
    "order", ["Zrotation Xrotation Yrotation", "Xrotation Yrotation Zrotation", "Yrotation Zrotation Xrotation"]
)
def test_rotations_multiply_in_the_order_of_their_channels(tmp_path, order):
    clip = read_bvh(written(tmp_path, [row(0, 0, 0, 20, 30, 40)] * 2, order), unit=0.1)
    wanted = rotations.IDENTITY
    for name, degrees in zip(order.split(), (20, 30, 40), strict=True):
        axis = np.eye(3)["XYZ".index(name[0])]
        wanted = rotations.multiply(wanted, rotations.from_axis_angle(axis, np.radians(degrees)))
    got = clip.sample(np.zeros(1))[1][0, 0]
    assert np.abs(got @ wanted) == pytest.approx(1.0, abs=1e-12)


def test_positions_and_offsets_are_in_the_unit_that_is_asked_for(tmp_path):
    clip = read_bvh(written(tmp_path, [row(1, 2, 3), row(3, 2, 1)]), unit=0.1)
    assert clip.seconds == pytest.approx(0.05)
    assert clip.sample(np.array([0.0, 0.025]))[0][:, 0] == pytest.approx(np.array([[0.1, 0.2, 0.3], [0.2, 0.2, 0.2]]))
    assert clip.skeleton.translations[1] == pytest.approx([0.1, 0, 0])
    assert clip.skeleton.names[2] == "LeftUpLeg_end" and 2 not in clip.keyed


def test_a_long_turn_between_frames_goes_the_short_way(tmp_path):
    clip = read_bvh(written(tmp_path, [row(0, 0, 0, 170), row(0, 0, 0, -170)]), unit=0.1)
    middle = clip.sample(np.array([0.025]))[1][0, 0]
    assert rotations.angle(middle) == pytest.approx(np.pi, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("OFFSET 1 0 0", "OFFSET 1 x 0"), "line 8: found 'x'"),
        (("CHANNELS 3 Zrotation", "CHANNELS 3 Wrotation"), "'wrotation'"),
        (("CHANNELS 3 Zrotation Xrotation", "CHANNELS 3 Zrotation Zrotation"), "the same channel twice"),
        (("Frame Time: 0.05", "Frame Time: 0"), "Frame Time"),
        (("MOTION", "NOTION"), "no HIERARCHY or no MOTION"),
        (("    }\n  }\n}", "    }\n  }"), "closing brace for every joint"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, change, words):
    path = written(tmp_path, [row()] * 2)
    path.write_text(path.read_text().replace(*change, 1))
    with pytest.raises(AssetError, match=r"take\.bvh") as caught:
        read_bvh(path)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("frames", "count", "words"),
    [
        ([row()], 2, "1 frames"),
        ([row(), "1 2 3"], 2, "line 20: found 3 numbers; wanted 9"),
        ([row(), row(float("nan"))], 2, "line 20: found a value that is not finite"),
        ([], 0, "1 to"),
        ([row(), row("seven")], 2, "wanted numbers"),
    ],
)
def test_frames_that_are_missing_short_or_no_numbers_are_named(tmp_path, frames, count, words):
    with pytest.raises(AssetError) as caught:
        read_bvh(written(tmp_path, frames, count=count))
    assert words in str(caught.value)


@pytest.mark.parametrize(("name", "joints"), [("cmu_131_03_hop", 22), ("cmu_10_01_kick", 19)])
def test_both_cmu_conventions_are_people_of_ordinary_height(assets, name, joints):
    clip = load_clip(assets / "bvh" / f"{name}.bvh")
    assert len(clip.humanoid) == joints and not missing_required(clip.humanoid)
    hips = clip.sample(np.linspace(0.0, clip.seconds, 50))[0][:, clip.humanoid["hips"], 1]
    assert 0.7 < np.median(hips) < 1.1  # metres
    assert any("made 1.7 m tall" in note for note in clip.notes)

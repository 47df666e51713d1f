"""BVH: units, channel orders, joints of no length, and the lines that are wrong."""

from __future__ import annotations

import numpy as np
import pytest

from taichi_hair import rotations
from taichi_hair.avatar.errors import AssetError
from taichi_hair.avatar.samples import sample
from taichi_hair.motion.bvh import read_bvh
from taichi_hair.motion.clip import load_clip
from taichi_hair.motion.names import missing_required
from taichi_hair.motion.retarget import retarget

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


# The 27 joints that mocopi sends and exports, each with six channels: (name, parent, offset in cm, end site).
MOCOPI = [
    ("root", None, (0, 92, 0)),
    ("torso_1", "root", (0, 5, 0)),
    *[(f"torso_{k}", f"torso_{k - 1}", (0, 6, 0)) for k in range(2, 8)],
    ("neck_1", "torso_7", (0, 10, 0)),
    ("neck_2", "neck_1", (0, 4, 0)),
    ("head", "neck_2", (0, 4, 0)),
    *[
        row
        for side, x in (("l", 1), ("r", -1))
        for row in (
            (f"{side}_shoulder", "torso_7", (3 * x, 7, 0)),
            (f"{side}_up_arm", f"{side}_shoulder", (14 * x, 0, 0)),
            (f"{side}_low_arm", f"{side}_up_arm", (26 * x, 0, 0)),
            (f"{side}_hand", f"{side}_low_arm", (24 * x, 0, 0)),
            (f"{side}_up_leg", "root", (9 * x, -2, 0)),
            (f"{side}_low_leg", f"{side}_up_leg", (0, -40, 0)),
            (f"{side}_foot", f"{side}_low_leg", (0, -42, 0)),
            (f"{side}_toes", f"{side}_foot", (0, -6, 13)),
        )
    ],
]


def mocopi(tmp_path, degrees):
    """A take in which the head looks aside by `degrees` (one number per frame), all else stands."""
    children = {name: [row for row in MOCOPI if row[1] == name] for name, _, _ in MOCOPI}
    lines, names = ["HIERARCHY"], []

    def write(row, kind, depth):
        name, _, offset = row
        names.append(name)
        channels = "CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation"
        lines.extend([f"{kind} {name}", "{", f"OFFSET {offset[0]} {offset[1]} {offset[2]}", channels])
        for child in children[name]:
            write(child, "JOINT", depth + 1)
        if not children[name]:
            lines.extend(["End Site", "{", "OFFSET 0 0 0" if "hand" in name else "OFFSET 0 12 0", "}"])
        lines.append("}")

    write(MOCOPI[0], "ROOT", 0)
    lines += ["MOTION", f"Frames: {len(degrees)}", "Frame Time: 0.02"]
    offsets = {name: offset for name, _, offset in MOCOPI}
    for yaw in degrees:
        rows = [[*offsets[name], 0, 0, yaw if name == "head" else 0] for name in names]
        lines.append(" ".join(str(v) for own in rows for v in own))
    path = tmp_path / "mocopi.bvh"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_mocopi_s_skeleton_is_known_by_its_names(tmp_path):
    clip = load_clip(mocopi(tmp_path, [0, 20, 40]))
    assert clip.skeleton.names[clip.humanoid["hips"]] == "root"
    assert not missing_required(clip.humanoid) and "a unit is a centimetre" in clip.notes[0]
    named = {role: clip.skeleton.names[node] for role, node in clip.humanoid.items()}
    assert (named["spine"], named["upperChest"], named["head"]) == ("torso_1", "torso_7", "head")
    for side, letter in (("left", "l"), ("right", "r")):
        limbs = [named[f"{side}{r}"] for r in ("Shoulder", "UpperArm", "LowerArm", "Hand")]
        assert limbs == [f"{letter}_{part}" for part in ("shoulder", "up_arm", "low_arm", "hand")]
        limbs = [named[f"{side}{r}"] for r in ("UpperLeg", "LowerLeg", "Foot", "Toes")]
        assert limbs == [f"{letter}_{part}" for part in ("up_leg", "low_leg", "foot", "toes")]


def test_a_mocopi_take_plays_on_an_avatar(tmp_path):
    avatar = sample("ponytail")
    motion = retarget(load_clip(mocopi(tmp_path, [0, 20, 40])), avatar)
    assert motion.report.good
    worlds = motion.worlds(np.array([0.0, 0.04]))
    head = rotations.from_matrix(worlds[:, avatar.humanoid["head"]])
    turned = rotations.multiply(head[1], rotations.inverse(head[0]))
    wanted = rotations.from_axis_angle(np.array([0.0, 1.0, 0.0]), np.radians(40.0))
    assert np.abs(turned @ wanted) == pytest.approx(1.0, abs=1e-6)
    rest = avatar.skeleton.rest_world
    feet = [avatar.humanoid["leftFoot"], avatar.humanoid["rightFoot"]]
    assert np.abs(worlds[:, feet, 1, 3] - rest[feet, 1, 3]).max() < 0.005  # both stand as at rest, within 5 mm

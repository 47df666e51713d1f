"""Clips: sampled as the file says, exact at keys, and refused with a sentence where they are broken."""

from __future__ import annotations

import json

import numpy as np
import pytest
from conftest import shared_folder
from glb import Glb

from taichi_hair import rotations
from taichi_hair.avatar.document import parse_document
from taichi_hair.avatar.errors import AssetError
from taichi_hair.motion.clip import clips_of, load_clip, load_clips

FOLDER = shared_folder("cases")
CASES = json.loads((FOLDER / "cases.json").read_text())["cases"] if FOLDER else []
ANIMATED = [c for c in CASES if "anim_check" in c.get("facts", {})]
Z = np.array([0.0, 0.0, 1.0])


def turn(degrees):
    return rotations.from_axis_angle(Z, np.radians(degrees))


def animated(times, values, path="rotation", kind="LINEAR", target=None, dtype="f4", **output):
    """A GLB with one node and one track."""
    glb = Glb()
    node = glb.node("bone")
    sampler = {"input": glb.accessor(times), "output": glb.accessor(values, dtype, **output), "interpolation": kind}
    target = {"node": node, "path": path} if target is None else target
    glb.add("animations", {"name": "move", "samplers": [sampler], "channels": [{"sampler": 0, "target": target}]})
    return glb


def without_keys():
    glb = animated([0.0], [turn(0)])
    for accessor in glb.json["accessors"]:
        accessor["count"] = 0
    return glb


def clip_of(glb):
    return clips_of(parse_document(glb.bytes(), "test.glb"))[0]


@pytest.mark.parametrize("case", ANIMATED or [pytest.param(None, marks=pytest.mark.skip("no cases"))], ids=str)
def test_the_small_problem_files_give_the_values_that_their_cases_state(case):
    clips = load_clips(FOLDER / case["file"])
    for check in case["facts"]["anim_check"]:
        got = clips[check["anim"]].sample(np.array([check["t"]]))
        value = got[("translation", "rotation", "scale").index(check["path"])][0, check["node"]]
        wanted = np.array(check["value"])
        if check["path"] == "rotation":
            wanted = wanted * np.sign(wanted @ value)
        assert np.abs(value - wanted).max() < check["tol"], check
    if "duration" in case["facts"]:
        assert clips[0].seconds == pytest.approx(case["facts"]["duration"])
    for node in case["facts"].get("untouched_nodes", []):
        assert node not in clips[0].keyed


@pytest.mark.parametrize("kind", ["LINEAR", "STEP", "CUBICSPLINE"])
def test_a_key_is_met_exactly_whatever_the_interpolation(kind):
    times = np.array([0.0, 0.1, 0.7, 1.3], dtype=np.float32)
    points = np.array([[0.1, 0.2, 0.3], [1.1, -0.7, 5.0], [1e-3, 1e3, 0.0], [0.7, 0.1, -2.0]], dtype=np.float32)
    values = np.repeat(points[:, None], 3, axis=1).reshape(-1, 3) if kind == "CUBICSPLINE" else points
    clip = clip_of(animated(times, values, "translation", kind))
    got = clip.sample(times.astype(np.float64))[0][:, 0]
    assert np.array_equal(got, points.astype(np.float64))


def test_a_spline_follows_hermite_with_tangents_times_the_key_distance():
    # p = 0, 1 with slopes 1 and 0 a second over 2 s; at the middle h = (.5, .125, .5, -.125): 0.5 + 0.125 * 2 * 1
    values = [[0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]]
    clip = clip_of(animated([0.0, 2.0], values, "translation", "CUBICSPLINE"))
    assert clip.sample(np.array([1.0]))[0][0, 0] == pytest.approx([0.75, 0.0, 0.0])


def test_a_flipped_sign_takes_the_short_way_also_in_a_spline():
    linear = clip_of(animated([0.0, 1.0], [turn(10), -turn(30)]))
    assert rotations.angle(linear.sample(np.array([0.5]))[1][0, 0]) == pytest.approx(np.radians(20))
    zero = np.zeros(4)
    keys = [zero, turn(10), zero, zero, -turn(30), zero]
    spline = clip_of(animated([0.0, 1.0], keys, kind="CUBICSPLINE"))
    assert rotations.angle(spline.sample(np.array([0.5]))[1][0, 0]) == pytest.approx(np.radians(20))


def test_looping_wraps_and_once_holds():
    clip = clip_of(animated([0.0, 1.0], [turn(0), turn(40)]))
    times = np.array([-0.25, 0.25, 1.25, 7.25])
    once = np.degrees(rotations.angle(clip.sample(times)[1][:, 0]))
    loop = np.degrees(rotations.angle(clip.sample(times, loop=True)[1][:, 0]))
    assert once == pytest.approx([0, 10, 40, 40], abs=1e-4)
    assert loop == pytest.approx([30, 10, 10, 10], abs=1e-4)


def test_several_clips_of_one_file_are_found_by_number_and_by_name(tmp_path):
    glb = animated([0.0, 1.0], [turn(0), turn(40)])
    body = glb.json["animations"][0]
    glb.json["animations"].append({**body, "name": "second"})
    path = tmp_path / "two.glb"
    path.write_bytes(glb.bytes())
    assert [c.name for c in load_clips(path)] == ["move", "second"]
    assert load_clip(path, "second").name == load_clip(path, 1).name == "second"
    with pytest.raises(AssetError, match="'move', 'second'"):
        load_clip(path, "third")
    with pytest.raises(AssetError, match="2 clips"):
        load_clip(path, 2)


@pytest.mark.parametrize(
    ("glb", "words"),
    [
        (without_keys(), "no keys"),
        (animated([0.0, 1.0, 0.5], [turn(0)] * 3), "key 2 at 0.5 s"),
        (animated([-1.0, 1.0], [turn(0)] * 2), "key 0 at -1 s"),
        (animated([0.0, np.nan], [turn(0)] * 2), "NaN"),
        (animated([0.0, 1.0], [turn(0), [np.nan, 0, 0, 1]]), "NaN"),
        (animated([0.0, 1.0], [turn(0), [0, 0, 0, 0]]), "quaternion of length 0"),
        (animated([0.0, 1.0], [turn(0)] * 3), "3 values"),
        (animated([0.0, 1.0], [turn(0)] * 2, target={"node": 7, "path": "rotation"}), "target.node"),
        (animated([0.0, 1.0], [turn(0)] * 2, target={"node": 0, "path": "twist"}), "'twist'"),
        (animated([0.0, 1.0], [turn(0)] * 2, "translation"), "VEC3"),
        (animated([0.0, 1.0], [turn(0)] * 2, kind="BEZIER"), "'BEZIER'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_broken_clip_is_refused_with_its_file_and_what_was_found(glb, words):
    with pytest.raises(AssetError) as caught:
        clip_of(glb)
    assert words in str(caught.value) and "test.glb" in str(caught.value)


def test_two_tracks_of_one_property_are_refused_and_other_channels_left_out_with_a_note():
    glb = animated([0.0, 1.0], [turn(0)] * 2)
    channels = glb.json["animations"][0]["channels"]
    channels.append(dict(channels[0]))
    with pytest.raises(AssetError, match="a second rotation track of node 0"):
        clip_of(glb)
    channels[1] = {"sampler": 0, "target": {"node": 0, "path": "weights"}}
    channels.append({"sampler": 0, "target": {"path": "rotation"}})
    clip = clip_of(glb)
    assert len(clip.tracks) == 1 and len(clip.notes) == 2


def test_vrm_animations_are_read_without_version_and_without_bounds(assets):
    clip = load_clip(assets / "vrma" / "fm_002_dogeza.vrma")
    assert clip.seconds == pytest.approx(7.3) and len(clip.humanoid) == 51
    assert "specVersion" in clip.notes[0]
    idle = load_clip(assets / "vrma" / "pixiv_idle_loop.vrma")  # centimetres below a node of scale 0.01
    assert idle.skeleton.rest_world[idle.humanoid["hips"], 1, 3] == pytest.approx(0.906, abs=1e-3)


def test_every_clip_of_the_assets_is_a_humanoid_whose_numbers_are_finite(assets):
    files = [
        p for kind in ("vrma/*.vrma", "bvh/*.bvh", "unity-chan/clips/*.glb", "kaykit/*.glb") for p in assets.glob(kind)
    ]
    clips = [clip for path in files for clip in load_clips(path)]
    assert len(clips) == 29
    for clip in clips:
        assert "hips" in clip.humanoid and "head" in clip.humanoid
        for values in clip.sample(np.linspace(0.0, clip.seconds, 7)):
            assert np.isfinite(values).all()

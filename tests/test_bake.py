"""Baking: what the file plays is what was simulated, loops close, and the artist's file comes back byte for byte."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from moves import bouncing, nodding

from taichi_hair import rotations
from taichi_hair.avatar.avatar import load
from taichi_hair.avatar.document import parse_document, read_document
from taichi_hair.avatar.errors import AssetError
from taichi_hair.avatar.samples import sample, sample_glb, write_sample
from taichi_hair.avatar.saving import member_spans
from taichi_hair.bake.bake import bake, write_retargeted
from taichi_hair.bake.export import ADDED, facts_of, undo
from taichi_hair.bake.files import write_unseen
from taichi_hair.bake.reduce import interpolated, kept_keys, reaches
from taichi_hair.bake.splice import append_items, remove_items
from taichi_hair.bake.take import end_points, take
from taichi_hair.motion.clip import load_clip, load_clips
from taichi_hair.motion.retarget import retarget
from taichi_hair.motion.turn import HeadTurn
from taichi_hair.rig.fit import fit_hair
from taichi_hair.rig.write import rig_bytes

NODE = os.environ.get("TAICHI_HAIR_NODE")
needs_node = pytest.mark.skipif(
    not NODE or not shutil.which("node"),
    reason="set TAICHI_HAIR_NODE to a folder with gltf-validator, three, three-vrm",
)


@pytest.fixture(scope="module")
def avatar():
    return sample("ponytail")


@pytest.fixture(scope="module")
def cycle(avatar):
    return retarget(nodding(), avatar)


def test_a_loop_comes_round_and_its_seam_is_no_step(avatar, cycle):
    taken = take(avatar, avatar.hair, cycle, fps=60.0)
    assert taken.loop and len(taken.times) == 61
    assert taken.seam.raw_mm < 0.1 and taken.seam.position_mm < 1e-6 and taken.seam.rounds == 1
    assert taken.seam.step_mm_s < taken.seam.usual_mm_s and taken.seam.cause == "" and not taken.notes
    assert np.abs(np.sum(taken.rotations[0] * taken.rotations[-1], axis=-1)) == pytest.approx(1.0, abs=1e-12)
    swing = np.linalg.norm(taken.positions - taken.positions[0], axis=-1).max()
    assert swing > 0.03  # the hair did move: 3 cm and more
    assert (np.sum(taken.rotations[1:] * taken.rotations[:-1], axis=-1) > 0.0).all()


def test_a_kink_at_the_clip_s_own_seam_is_told_apart_from_the_closing(avatar):
    """yaw = 25 deg |sin pi t|: its speed jumps by 2 pi 25 deg = 157 degrees a second where the clip comes round."""
    seam = (taken := take(avatar, avatar.hair, retarget(bouncing(), avatar))).seam
    assert seam.body_step_degrees_s == pytest.approx(157.0, rel=0.02)
    assert seam.body_step_mm_s > 5.0 * seam.body_usual_mm_s and seam.step_mm_s > seam.usual_mm_s
    assert seam.cause == "clip" and any("clip's own last and first pose" in note for note in taken.notes)
    assert seam.raw_mm < 0.1 and seam.position_mm < 1e-6  # the hair itself had come round


def test_a_motion_that_is_no_cycle_is_recorded_once_and_said_to_be(avatar):
    motion = retarget(nodding(cycle=False), avatar)
    taken = take(avatar, avatar.hair, motion, loop=True, fps=30.0)
    assert not taken.loop and taken.seam is None
    assert any("not a cycle" in note and "degrees" in note for note in taken.notes)
    turning = take(avatar, avatar.hair, HeadTurn(avatar, 5.0), loop=False, fps=30.0)
    assert len(turning.times) == 151 and np.isfinite(turning.positions).all()


@pytest.mark.parametrize("ending", [".vrm", ".vrma", ".gltf"])
def test_the_written_file_plays_the_simulation_at_its_keys(avatar, cycle, tmp_path, ending):
    path = tmp_path / f"nod{ending}"
    report = bake(avatar, None, cycle, path, error_mm=0.5)
    assert report.loop and report.playback_mm < 0.1 and report.key_error_mm <= 0.5
    assert report.hair_tracks == len(avatar.hair.joints) and report.body_tracks > 0
    assert report.keys < report.keys_recorded
    clip = load_clips(path)[-1]
    assert clip.seconds == pytest.approx(1.0) and clip.name == "nodding with hair"


def test_an_animation_played_again_gives_the_hair_back_through_the_authored_tracks(avatar, cycle, tmp_path):
    path = tmp_path / "nod.vrma"
    bake(avatar, None, cycle, path, error_mm=0.01)
    taken = take(avatar, avatar.hair, cycle)
    again = retarget(load_clip(path), avatar, ground=False, loop=False)
    assert len(again.authored) == len(avatar.hair.chains)
    ends = end_points(avatar.hair, again.worlds(taken.times))
    assert 1e3 * np.linalg.norm(ends - taken.positions, axis=-1).max() < 0.1


def test_hair_tracks_alone_hang_on_whatever_moves_the_body(avatar, cycle, tmp_path):
    for ending in (".vrm", ".vrma"):
        report = bake(avatar, None, cycle, tmp_path / f"hair{ending}", body=False)
        assert report.body_tracks == 0 and report.playback_mm < 0.1


def unchanged(before: bytes, after: bytes) -> None:
    """All of the JSON but the lists that grew is the same text, and the lists begin as they did."""
    old, new = (parse_document(data, "x") for data in (before, after))
    texts = [d.json_text.decode().rstrip() for d in (old, new)]
    spans = [member_spans(t) for t in texts]
    for name in spans[0]:
        a, b = (t[slice(*s[name])] for t, s in zip(texts, spans, strict=True))
        assert a == b or name in (*ADDED, "nodes"), name
    for name in ("animations", "accessors", "bufferViews"):
        first = old.json.get(name) or []
        assert new.json[name][: len(first)] == first
    if old.binary is not None:
        assert bytes(new.binary[: len(old.binary)]) == bytes(old.binary) or "uri" in new.json["buffers"][-1]


def test_the_artists_file_is_unchanged_and_comes_back(avatar, cycle, tmp_path):
    original = sample_glb("ponytail")
    path = tmp_path / "nod.glb"
    bake(avatar, None, cycle, path)
    unchanged(original, path.read_bytes())
    facts = facts_of(path)[0]
    assert facts["solver"] == "rod" and facts["loop"] and set(facts["nodes"]) == set(avatar.hair.joints.tolist())
    once = path.read_bytes()
    second = tmp_path / "twice.glb"
    bake(load(path), None, retarget(nodding(0.5), load(path)), second)
    assert len(load_clips(second)) == 2
    assert undo(second) == once and undo(path) == original
    with pytest.raises(AssetError, match="no baked animation"):
        undo(write_sample("ponytail", tmp_path / "plain.glb"))
    path.write_bytes(once.replace(b'"name":"ponytail"', b'"name":"pony-ail"'))
    if path.read_bytes() != once:
        with pytest.raises(AssetError, match="changed after"):
            undo(path)


@pytest.mark.parametrize("name", ["seed-san/seed-san.vrm", "unity-chan/unitychan.vrm", "godette/Godette_vrm_v4.vrm"])
def test_files_of_others_come_back_byte_for_byte(assets, tmp_path, name):
    source = assets / name
    avatar = load(source)
    path = tmp_path / source.name
    report = bake(avatar, None, retarget(nodding(0.5), avatar), path, fps=30.0)
    assert report.playback_mm < 0.1
    unchanged(source.read_bytes(), path.read_bytes())
    assert undo(path) == source.read_bytes()


def test_a_fitted_rig_is_written_with_its_motion_and_undone_to_the_rig_alone(avatar, cycle, tmp_path):
    rig = fit_hair(avatar, "ponytail", 4, refine=False)
    for ending in (".vrm", ".vrma"):
        report = bake(avatar, rig, cycle, tmp_path / f"fitted{ending}", fps=30.0)
        assert report.playback_mm < 0.1 and report.hair_tracks == len(rig.joints)
    path = tmp_path / "fitted.vrm"
    assert len(load(path).skeleton) == len(rig.avatar.skeleton) > len(avatar.skeleton)
    assert undo(path) == rig_bytes(rig)


def test_an_animated_node_keeps_no_matrix_and_gets_it_back(cases, tmp_path):
    source = cases / "vrm1_matrix_nodes.vrm"
    avatar = load(source)
    path = tmp_path / source.name
    assert bake(avatar, None, retarget(nodding(0.5), avatar), path, fps=30.0).playback_mm < 0.1
    document = read_document(path)
    moved = {c["target"]["node"] for c in document.json["animations"][-1]["channels"]}
    assert moved & {i for i, n in enumerate(read_document(source).json["nodes"]) if "matrix" in n}
    assert not any("matrix" in document.json["nodes"][n] for n in moved)
    assert undo(path) == source.read_bytes()


def test_names_beyond_ascii_survive(cases, tmp_path):
    source = cases / "vrm1_names_nonascii_duplicate.vrm"
    avatar = load(source)
    path = tmp_path / "out.vrm"
    bake(avatar, None, retarget(nodding(0.5), avatar), path, fps=30.0)
    assert [n.get("name") for n in read_document(path).json["nodes"]] == [
        n.get("name") for n in read_document(source).json["nodes"]
    ]
    assert undo(path) == source.read_bytes()


def test_chains_that_the_clip_animates_are_kept_or_blended(assets, tmp_path):
    avatar = load(assets / "unity-chan" / "unitychan.vrm")
    motion = retarget(load_clip(assets / "unity-chan" / "clips" / "JUMP00.glb"), avatar)
    alone = take(avatar, avatar.hair, motion, fps=30.0)
    assert any("yielded" in note and "J_L_HairTail" in note for note in alone.notes)
    tail = next(c for c in avatar.hair.chains if c.name == "J_L_HairTail")
    assert not set(tail.joints.tolist()) & set(alone.joints.tolist())
    mixed = {w: take(avatar, avatar.hair, motion, fps=30.0, blend={tail.name: w}) for w in (0.0, 0.5, 0.999)}
    assert any("blended" in note and tail.name in note for note in mixed[0.5].notes)
    at = [mixed[0.5].joints.tolist().index(j) for j in tail.joints.tolist()]
    simulated, half, nearly = (mixed[w].rotations[:, at] for w in (0.0, 0.5, 0.999))
    own = motion.locals(mixed[0.5].times)[1][:, tail.joints]
    apart = rotations.angle(rotations.multiply(rotations.inverse(simulated), own))
    assert apart.max() > 0.3
    assert rotations.angle(rotations.multiply(rotations.inverse(simulated), half)) == pytest.approx(apart / 2, abs=1e-3)
    assert rotations.angle(rotations.multiply(rotations.inverse(nearly), own)).max() < 0.01
    with pytest.raises(ValueError, match="no chain is named Tail"):
        take(avatar, avatar.hair, motion, blend={"Tail": 0.5})


def test_a_retargeted_clip_is_written_without_a_track_on_hair(assets, tmp_path):
    avatar = load(assets / "unity-chan" / "unitychan.vrm")
    motion = retarget(load_clip(assets / "unity-chan" / "clips" / "RUN00_F.glb"), avatar)
    for ending in (".vrma", ".glb"):
        path = tmp_path / f"run{ending}"
        assert write_retargeted(avatar, motion, path) > 15
        clip = load_clips(path)[-1]
        hair = {avatar.skeleton.names[j] for j in avatar.hair.joints}
        assert hair.isdisjoint(clip.skeleton.names[n] for n in clip.keyed)
        again = retarget(clip, avatar, ground=False, loop=False)
        bare = replace(motion, authored={}, loop=False)
        times = np.linspace(0.0, motion.seconds, 5)
        assert np.abs(again.worlds(times) - bare.worlds(times))[..., :3, :].max() < 2e-4


def test_keys_are_dropped_only_while_the_sum_of_angle_times_reach_stays_small():
    times = np.linspace(0.0, 1.0, 101)
    axis = np.array([0.0, 0.0, 1.0])
    turns = np.stack(
        [rotations.from_axis_angle(axis, 0.4 * np.sin(6 * times)), rotations.from_axis_angle(axis, times)], 1
    )
    reach = np.array([0.3, 0.1])
    kept = kept_keys(times, turns, reach, 1e-3)
    wrong = rotations.angle(rotations.multiply(rotations.inverse(interpolated(times, kept, turns)), turns)) @ reach
    assert wrong.max() <= 1e-3 and wrong[kept].max() < 1e-7  # angles near 0 cost half the digits
    assert len(kept) < 40 and len(kept_keys(times, turns[:, 1:], reach[1:], 1e-6)) == 2  # an even turn needs its ends


def test_chains_that_hang_on_a_chain_share_its_keys_and_the_allowed_error(assets, tmp_path):
    avatar = load(assets / "unity-chan" / "unitychan.vrm")
    assert any(chain.parent is not None for chain in avatar.hair.chains)
    motion = retarget(load_clip(assets / "vrma" / "fm_002_dogeza.vrma"), avatar)
    report = bake(avatar, None, motion, tmp_path / "bow.vrma", fps=30.0, error_mm=0.5)
    assert report.key_error_mm <= 0.5 and report.playback_mm < 0.05
    nodes = read_document(tmp_path / "bow.vrma").json["nodes"]
    assert max(abs(v) for body in nodes for v in body.get("rotation", [0.0])) <= 1.0
    win = retarget(load_clip(assets / "unity-chan" / "clips" / "WIN00.glb"), avatar)
    assert win.authored  # chains that are simulated hang on chains that the clip animates
    for ending in (".vrma", ".glb"):
        assert bake(avatar, None, win, tmp_path / f"win{ending}", fps=30.0).playback_mm < 0.05
    reach, depth = reaches(avatar.skeleton, avatar.hair)
    assert sorted(set(depth.tolist())) == [1, 2]
    for (start, count), chain in zip(avatar.hair.spans, avatar.hair.chains, strict=True):
        if chain.parent is not None:
            parent, segment = chain.parent
            assert reach[avatar.hair.spans[parent][0] + segment] > reach[start]
        assert (np.diff(reach[start : start + count]) < 0.0).all()


def test_items_added_to_a_list_come_out_again_whatever_the_text_looks_like():
    for text in ('{"a":1}', '{ "list" : [ 1,\n 2 ] , "b":{} }', '{"list":[]}', "{}", '{"x":"}]","list":[{"y":"]"}]}'):
        made = "list" not in json.loads(text)
        grown = append_items(text, "list", [{"n": 1}, {"n": 2}])
        assert json.loads(grown)["list"][-2:] == [{"n": 1}, {"n": 2}]
        assert remove_items(grown, "list", 2, made) == text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fps": 0.0}, "fps"),
        ({"error_mm": 0.0}, "error_mm"),
        ({"blend": {"nothing": 0.5}}, "no chain is named nothing"),
    ],
)
def test_options_that_mean_nothing_are_refused(avatar, cycle, tmp_path, options, words):
    with pytest.raises(ValueError, match=words):
        bake(avatar, None, cycle, tmp_path / "x.vrm", **options)
    assert not list(tmp_path.iterdir())


def test_a_wrong_ending_and_a_clip_without_length_are_refused(avatar, cycle, tmp_path):
    with pytest.raises(AssetError, match=r"\.fbx"):
        bake(avatar, None, cycle, tmp_path / "x.fbx")
    pose = replace(cycle, seconds=0.0)
    with pytest.raises(ValueError, match="a motion of 0 s"):
        bake(avatar, None, pose, tmp_path / "x.vrm")


WRITER = """
import sys
from taichi_hair.bake.files import write_unseen
data = bytes(30_000_000)
while True:
    write_unseen(sys.argv[1], data)
"""


def test_a_killed_writer_leaves_no_half_file(tmp_path):
    write_unseen(tmp_path / "whole", b"one")
    write_unseen(tmp_path / "whole", b"two")  # over another
    assert (tmp_path / "whole").read_bytes() == b"two" and len(list(tmp_path.iterdir())) == 1
    root = Path(__file__).resolve().parent.parent
    for delay in (0.02, 0.05, 0.11):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "big")], cwd=root)
        while not (tmp_path / "big").exists() and writer.poll() is None:
            time.sleep(0.01)
        time.sleep(delay)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        assert all(p.stat().st_size == 30_000_000 for p in tmp_path.iterdir() if p.name != "whole")
        (tmp_path / "big").unlink(missing_ok=True)


VALIDATE = """
import { validateBytes } from 'gltf-validator';
import { readFileSync } from 'node:fs';
const bad = [];
for (const file of process.argv.slice(2)) {
  const found = await validateBytes(new Uint8Array(readFileSync(file)), { maxIssues: 0 });
  const errors = found.issues.messages.filter((m) => m.severity === 0).map((m) => m.code + ' ' + m.pointer);
  bad.push(errors.sort());
}
process.stdout.write(JSON.stringify(bad));
"""


def node(script: str, text: str, *arguments) -> dict:
    path = Path(NODE) / script
    path.write_text(text)
    done = subprocess.run(["node", str(path), *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@needs_node
def test_the_khronos_validator_finds_no_error_that_was_not_there(assets, cycle, avatar, tmp_path):
    files = [tmp_path / f"nod{ending}" for ending in (".vrm", ".vrma", ".gltf")]
    for path in files:
        bake(avatar, None, cycle, path)
    originals = [assets / "seed-san" / "seed-san.vrm", assets / "godette" / "Godette_vrm_v4.vrm"]
    for source in originals:
        own = load(source)
        files.append(tmp_path / source.name)
        bake(own, None, retarget(nodding(0.5), own), files[-1], fps=30.0)
    assert node("validate-baked.mjs", VALIDATE, *files) == [[]] * len(files)


@needs_node
def test_three_js_plays_the_same_joints(assets, avatar, cycle, tmp_path):
    script = (Path(__file__).parent / "playback.mjs").read_text()
    seed = load(assets / "seed-san" / "seed-san.vrm")
    for own, motion in ((avatar, cycle), (seed, retarget(nodding(0.5), seed))):
        path = tmp_path / "baked.glb"
        bake(own, None, motion, path)
        clip = load_clips(path)[-1]
        times = np.linspace(0.0, clip.seconds, 9)
        played = node("playback.mjs", script, path, json.dumps(times.tolist()))
        assert played["tracks"] == len(clip.tracks)
        places, turns, _ = clip.sample(times)
        worlds = clip.skeleton.world(places, turns)
        for k, frame in enumerate(played["frames"]):
            assert len(frame) == len(clip.skeleton)
            for index, matrix in frame.items():
                assert np.abs(np.reshape(matrix, (4, 4)).T - worlds[k, int(index)]).max() < 1e-4


@needs_node
def test_three_vrm_plays_our_animation_as_we_do(assets, tmp_path):
    script = (Path(__file__).parent / "playback.mjs").read_text()
    source = assets / "seed-san" / "seed-san.vrm"
    avatar = load(source)
    motion = retarget(load_clip(assets / "vrma" / "fm_001_motion_pose.vrma"), avatar)
    write_retargeted(avatar, motion, tmp_path / "pose.vrma")
    times = np.round(np.linspace(0.0, motion.seconds, 5) * 60) / 60
    played = node("playback.mjs", script, source, json.dumps(times.tolist()), tmp_path / "pose.vrma")
    worlds = motion.worlds(times)
    for role, index in avatar.humanoid.items():
        if "Eye" not in role:
            for k, frame in enumerate(played["frames"]):
                got = np.reshape(frame[str(index)], (4, 4)).T
                assert np.abs(got - worlds[k, index])[:3].max() < 2e-4, role

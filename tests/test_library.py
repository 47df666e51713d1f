"""The library: every pair has one row and at most one file, whatever fails, dies or is done again."""

from __future__ import annotations

import argparse
import json
import os
import signal

import numpy as np
import pytest
from glb import Glb
from moves import nodding, person

from taichi_hair.avatar.samples import write_sample
from taichi_hair.bake.commands import add_parsers, sorted_files
from taichi_hair.bake.jobs import Options, finished, plan, result_path, run
from taichi_hair.bake.library import bake_library, table
from taichi_hair.motion.clip import load_clips

FAST = Options(fps=30.0)


def write_clips(path, *seconds):
    """A GLB with one nodding clip per length."""
    glb, skeleton = Glb(), person()
    for node, name in enumerate(skeleton.names):
        parent = int(skeleton.parents[node])
        glb.node(name, parent if parent >= 0 else None, translation=skeleton.translations[node].tolist())
    for number, length in enumerate(seconds):
        track = nodding(length).tracks[0]
        sampler = {"input": glb.accessor(track.times), "output": glb.accessor(track.values)}
        channel = {"sampler": 0, "target": {"node": track.node, "path": "rotation"}}
        glb.add("animations", {"name": f"nod {number}", "samplers": [sampler], "channels": [channel]})
    path.write_bytes(glb.bytes())
    return str(path)


def outputs(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and ".done" not in p.parts)


def test_every_pair_is_baked_once_and_kept_the_next_time(tmp_path):
    clips = write_clips(tmp_path / "nods.glb", 0.5, 0.6)
    avatar = str(write_sample("ponytail", tmp_path / "pony tail.vrm"))
    folder = tmp_path / "out"
    seen = []
    made = bake_library(
        [avatar], [clips], folder, options=FAST, workers=0, progress=lambda *what: seen.append(what[:2])
    )
    assert made.count("done") == 2 and made.kept == 0 and seen == [(0, 2), (1, 2), (2, 2)]
    assert outputs(folder) == ["pony_tail/nods.nod_0.vrma", "pony_tail/nods.nod_1.vrma", "summary.json", "summary.md"]
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["pairs"] == summary["done"] == 2 and summary["failed"] == summary["body_tracks_on_hair"] == 0
    assert summary["worst_playback_mm"] < 0.1 and all(row["seam"]["position_mm"] < 0.5 for row in summary["rows"])
    assert "| pony_tail/nods.nod_0.vrma | loop | 0.50 |" in (folder / "summary.md").read_text()
    again = bake_library([avatar], [clips], folder, options=FAST, workers=0)
    assert again.kept == 2 and again.count("done") == 2
    other = bake_library([avatar], [clips], folder, options=Options(fps=20.0), workers=0)
    assert other.kept == 0
    (folder / "pony_tail" / "nods.nod_0.vrma").write_bytes(b"cut short")
    jobs, _ = plan([avatar], [clips], folder, Options(fps=20.0))
    assert finished(jobs[0]) is None and finished(jobs[1])["status"] == "done"


def test_what_cannot_be_read_is_a_failed_row_and_stops_nothing(tmp_path):
    clips = write_clips(tmp_path / "nods.glb", 0.5)
    broken_clip, broken_avatar = tmp_path / "broken.vrma", tmp_path / "broken.vrm"
    broken_clip.write_bytes(b"glTF not")
    broken_avatar.write_bytes(b"nothing")
    library = bake_library(
        ["ponytail", str(broken_avatar)], [str(broken_clip), clips], tmp_path / "out", options=FAST, workers=0
    )
    rows = {row["pair"]: row for row in library.rows}
    assert rows["ponytail/nods.vrma"]["status"] == "done"
    assert rows["broken/nods.vrma"]["status"] == "failed" and "broken.vrm" in rows["broken/nods.vrma"]["error"]
    assert rows["broken.vrma"]["status"] == "failed" and "truncated" in rows["broken.vrma"]["error"]
    assert table(library).count("**failed**") == 2
    assert outputs(tmp_path / "out") == ["ponytail/nods.vrma", "summary.json", "summary.md"]


def test_an_avatar_without_hair_gets_its_body_and_a_remark(assets, tmp_path):
    clip = write_clips(tmp_path / "nods.glb", 0.5)
    (job,), _ = plan([str(assets / "quaternius" / "women_Casual.glb")], [clip], tmp_path, FAST)
    row = run(job)
    assert row["status"] == "done" and "body only" in row["notes"][-1]
    assert json.loads(result_path(job).read_text())["key"] == job.key


def test_two_files_of_one_name_get_two_outputs(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    paths = [write_clips(tmp_path / folder / "nod.glb", 0.5) for folder in "ab"]
    jobs, broken = plan(["ponytail"], paths, tmp_path, FAST)
    assert len({job.output for job in jobs}) == 2 and not broken


def killing(killed):
    """A progress callback that kills the worker of the first finished pair: it has begun another one by then."""

    def tell(done, total, row):
        if row is not None and not killed and row.get("pid") not in (None, os.getpid()):
            killed.append(row["pid"])
            os.kill(row["pid"], signal.SIGKILL)

    return tell


def check_nothing_lost(library, folder, pairs):
    assert [row["status"] for row in library.rows] == ["done"] * pairs, [r.get("error") for r in library.rows]
    assert len({row["pair"] for row in library.rows}) == pairs
    found = [name for name in outputs(folder) if name.endswith(".vrma")]
    assert len(found) == pairs and len(outputs(folder)) == pairs + 2
    for name in found:
        (clip,) = load_clips(folder / name)
        assert np.isfinite(clip.sample(np.array([0.1]))[1]).all()


@pytest.mark.slow
def test_a_killed_worker_loses_nothing_and_doubles_nothing(tmp_path):
    clips = write_clips(tmp_path / "nods.glb", *np.linspace(0.5, 1.0, 6))
    folder, killed = tmp_path / "out", []
    library = bake_library(["ponytail"], [clips], folder, options=FAST, workers=2, progress=killing(killed))
    assert len(killed) == 1
    check_nothing_lost(library, folder, 6)
    assert len({row["pid"] for row in library.rows}) >= 2


@pytest.mark.slow
def test_ray_runs_the_same_and_survives_a_killed_worker(tmp_path):
    pytest.importorskip("ray", reason="the extra [cluster] is not installed")
    clips = write_clips(tmp_path / "nods.glb", *np.linspace(0.5, 1.0, 6))
    folder, killed = tmp_path / "out", []
    library = bake_library(
        ["ponytail"], [clips], folder, options=FAST, workers=2, engine="ray", progress=killing(killed)
    )
    assert len(killed) == 1 and library.engine == "ray"
    check_nothing_lost(library, folder, 6)


def test_an_unknown_engine_is_refused(tmp_path):
    with pytest.raises(ValueError, match="local, ray"):
        bake_library(["ponytail"], [], tmp_path, engine="grid")


def command(*words) -> int:
    parser = argparse.ArgumentParser()
    add_parsers(parser.add_subparsers())
    args = parser.parse_args([str(w) for w in words])
    return args.run(args)


def test_the_verbs_bake_undo_and_retarget_do_what_they_say(tmp_path, capsys):
    clips = write_clips(tmp_path / "nods.glb", 0.5, 0.6)
    avatar, baked = write_sample("ponytail", tmp_path / "pony.vrm"), tmp_path / "baked.vrm"
    assert command("bake", avatar, clips, "--clip", "nod 1", "-o", baked, "--fps", 30, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["loop"] and report["motion"] == "nod 1" and report["playback_mm"] < 0.1
    assert command("bake", "--undo", baked) == 0
    assert baked.read_bytes() == avatar.read_bytes()
    assert command("retarget", clips, "ponytail", "-o", tmp_path / "nod.vrma", "--json") == 0
    assert json.loads(capsys.readouterr().out)["good"]
    assert command("bake", avatar) == 2
    assert command("bake", avatar, clips, "-o", baked, "--blend", "Tail=half") == 2


def test_the_verb_bake_library_sorts_avatars_from_clips(tmp_path, capsys):
    clips = write_clips(tmp_path / "nods.glb", 0.5)
    avatar = str(write_sample("ponytail", tmp_path / "pony.vrm"))
    assert sorted_files([str(tmp_path), "layered"]) == ([avatar, "layered"], [clips])
    folder = tmp_path / "out"
    assert command("bake-library", avatar, clips, "-o", folder, "--fps", 30, "--workers", 0, "--json") == 0
    assert json.loads(capsys.readouterr().out)["done"] == 1
    assert command("bake-library", avatar, "-o", folder) == 2

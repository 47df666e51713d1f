"""The bench: rows have what the contract names, the avatar is the one that is stated, the peer has the same rig."""

from __future__ import annotations

import argparse
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from taichi_hair.measure import bench
from taichi_hair.measure.bench_plot import markdown, plot, sizes
from taichi_hair.measure.bench_rig import CAPSULES, Turning, bench_avatar

HOUSE = Path(__file__).resolve().parent.parent


def script(name: str):
    """A module of benchmarks/."""
    spec = importlib.util.spec_from_file_location(name, HOUSE / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_avatar_is_what_its_name_says_and_turns_for_ever():
    avatar = bench_avatar(12, 6, 10)
    assert [len(chain) for chain in avatar.hair.chains] == [6] * 12
    assert len(avatar.hair.colliders) == 10
    assert all(chain.colliders == tuple(range(10)) for chain in avatar.hair.chains)
    motion = Turning(avatar)
    assert np.abs(motion.worlds(np.array([0.3])) - motion.worlds(np.array([2.3]))).max() < 1e-12


def test_the_peer_has_the_same_capsules():
    peer = (HOUSE / "benchmarks" / "peer" / "three_vrm.mjs").read_text()
    radii = [str(radius).rstrip("0") for *_, radius in CAPSULES]
    assert all(radius in peer for radius in radii)


def test_a_row_has_what_the_contract_names():
    row = bench.timed("arc", 2, 0, contact="off", frames=3)
    wanted = {"solver", "avatars", "chains", "joints", "capsules", "threads", "ns_per_joint_tick"}
    assert wanted | {"ms_per_frame_p50", "ms_per_frame_p95"} <= set(row)
    assert row["ns_per_joint_tick"] > 0.0
    joint_ticks = 2 * 12 * 6 * 2
    assert abs(row["ms_per_frame_p50"] * 1e6 / joint_ticks / row["ns_per_joint_tick"] - 1.0) < 0.05


def test_an_avatar_takes_at_most_eight_kibibytes():
    assert bench.memory()["bytes_per_avatar"] <= 8192


def test_the_verb_has_its_options():
    parser = argparse.ArgumentParser()
    bench.add_parser(parser.add_subparsers())
    args = parser.parse_args(["bench", "--json", "--peer", "three-vrm", "--quick"])
    assert (args.json, args.peer, args.quick, args.run) == (True, "three-vrm", True, bench.run)


@pytest.mark.parametrize("level", ["reduced", "lut", "frozen"])
def test_levels_are_timed(level):
    row = bench.timed("rod", 3, 0, contact="off", frames=3, level=level, joints=7)
    assert (row["level"], row["joints"]) == (level, 7)
    assert row["ns_per_joint_tick"] > 0.0


def test_what_was_measured_is_in_the_readme_and_can_be_drawn(tmp_path):
    result = json.loads((HOUSE / "benchmarks" / "bench.json").read_text(encoding="utf-8"))
    table = markdown(result)
    assert {"arc", "rod"} <= set(sizes(result))
    readme = (HOUSE / "README.md").read_text(encoding="utf-8")
    assert table in readme
    assert script("readme").placed(readme, table) == readme
    with pytest.raises(ValueError, match="bench"):
        script("readme").placed("no marks", table)
    pytest.importorskip("matplotlib")
    plot(result, tmp_path / "bench.png")
    assert (tmp_path / "bench.png").stat().st_size > 5000


def test_limits_of_a_card_by_hand():
    gpu = script("gpu")
    found = gpu.limits("arc", 1000.0, 10.0)
    # 8080 bytes twice over 144 joint-ticks are 112 bytes, 0.112 ns at 1000 GB/s; 685 flops are 0.0685 ns at 10 TFLOP/s.
    assert found["limit_by_bytes_ns"] == pytest.approx(0.112, abs=0.003)
    assert found["limit_by_flops_ns"] == pytest.approx(0.0685, abs=1e-4)
    assert gpu.limits("rod", None, None) == {"limit_by_bytes_ns": None, "limit_by_flops_ns": None}

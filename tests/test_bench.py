"""The bench: rows have what the contract names, the avatar is the one that is stated, the peer has the same rig."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from taichi_hair.measure import bench
from taichi_hair.measure.bench_rig import CAPSULES, Turning, bench_avatar


def test_the_avatar_is_what_its_name_says_and_turns_for_ever():
    avatar = bench_avatar(12, 6, 10)
    assert [len(chain) for chain in avatar.hair.chains] == [6] * 12
    assert len(avatar.hair.colliders) == 10
    assert all(chain.colliders == tuple(range(10)) for chain in avatar.hair.chains)
    motion = Turning(avatar)
    assert np.abs(motion.worlds(np.array([0.3])) - motion.worlds(np.array([2.3]))).max() < 1e-12


def test_the_peer_has_the_same_capsules():
    script = (Path(__file__).resolve().parent.parent / "benchmarks" / "peer" / "three_vrm.mjs").read_text()
    radii = [str(radius).rstrip("0") for *_, radius in CAPSULES]
    assert all(radius in script for radius in radii)


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

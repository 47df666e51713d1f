"""A GPU under crowds of 1,000 to 1,000,000 avatars, on CUDA and on Vulkan, beside its limits by bytes and by flops.

    python benchmarks/gpu.py [--avatars 1000 10000 100000 1000000] [--backends cuda vulkan] [--solvers arc rod]
                             [--bandwidth GB/s] [--flops TFLOP/s] [-o gpu.json]

Each backend runs in a process of its own and stops at the first size that it has no memory for. The limits come from a
short list of cards, or from the two options. By bytes: all that an avatar holds, read and written once a frame. By
flops: counted by hand, 80 for a capsule and a joint, 45 for the rest of `arc` and 97 for that of `rod`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from taichi_hair.measure.bench import CAPSULES, CHAINS, JOINTS, TICKS, machine, memory

CARDS = {  # GB/s and TFLOP/s in f32, as their makers state
    "H200": (4800.0, 67.0),
    "H100": (3350.0, 67.0),
    "A100": (2039.0, 19.5),
    "L40": (864.0, 90.5),
    "L4": (300.0, 30.3),
    "T4": (320.0, 8.1),
    "RTX 4090": (1008.0, 82.6),
    "RTX 3090": (936.0, 35.6),
}
OWN = {"arc": 45, "rod": 97}  # flops of a joint and tick without contact
ONE = """
import json, sys
from taichi_hair.sim.backend import init
init(sys.argv[1])
from taichi_hair.measure.bench import timed
for avatars in map(int, sys.argv[4:]):
    print(json.dumps(timed(sys.argv[2], avatars, frames=int(sys.argv[3]))), flush=True)
"""


def card() -> str:
    """The name of the first NVIDIA card, or nothing."""
    try:
        command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.split("\n")[0]
    except (OSError, subprocess.SubprocessError):
        return ""


def limits(solver: str, bandwidth: float | None, flops: float | None) -> dict:
    """Least ns per joint and tick that the card's memory and its arithmetic allow; None where they are not known."""
    joints = CHAINS * JOINTS * TICKS
    moved = 2.0 * memory()["bytes_per_avatar"] / joints
    counted = OWN[solver] + 80.0 * CAPSULES
    return {
        "limit_by_bytes_ns": None if bandwidth is None else round(moved / bandwidth, 5),
        "limit_by_flops_ns": None if flops is None else round(counted / (1e3 * flops), 5),
    }


def rows(backend: str, solver: str, avatars: list[int], frames: int, bound: dict) -> list[dict]:
    """As many sizes as fit; a size that fails ends the list, and says why on stderr."""
    command = [sys.executable, "-c", ONE, backend, solver, str(frames), *map(str, avatars)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    out = [json.loads(line) | bound for line in run.stdout.splitlines() if line.startswith("{")]
    if run.returncode:
        why = (run.stderr.strip().splitlines() or ["no word"])[-1]
        sys.stderr.write(f"{backend}, {solver}: stopped after {len(out)} sizes: {why}\n")
    for r in out:
        r["frames_per_second"] = round(1e3 / r["ms_per_frame_p50"], 1)
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--avatars", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--backends", nargs="+", default=["cuda", "vulkan"])
    parser.add_argument("--solvers", nargs="+", default=["arc", "rod"], choices=sorted(OWN))
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--bandwidth", type=float, help="GB/s of the card's memory")
    parser.add_argument("--flops", type=float, help="TFLOP/s of the card in f32")
    parser.add_argument("-o", "--output", help="write the rows as JSON")
    args = parser.parse_args()
    name = card()
    known = next((values for key, values in CARDS.items() if key in name), (None, None))
    bandwidth, flops = args.bandwidth or known[0], args.flops or known[1]
    result = {"machine": machine(), "card": name or None, "rows": []}
    for backend in args.backends:
        for solver in args.solvers:
            result["rows"] += rows(backend, solver, args.avatars, args.frames, limits(solver, bandwidth, flops))
    print(f"{result['machine']}; {name or 'no NVIDIA card'}")
    print(
        f"{'backend':8} {'solver':6} {'avatars':>9} {'ns/joint/tick':>14} {'ms/frame':>9} {'frames/s':>9}  bytes, flops"
    )
    for r in result["rows"]:
        bound = f"{r['limit_by_bytes_ns']}, {r['limit_by_flops_ns']}"
        cells = (
            f"{r['avatars']:9} {r['ns_per_joint_tick']:14.3f} {r['ms_per_frame_p50']:9.3f} {r['frames_per_second']:9}"
        )
        print(f"{r['backend']:8} {r['solver']:6} {cells}  {bound}")
    if args.output:
        with open(args.output, "w", encoding="utf-8") as file:
            file.write(json.dumps(result, indent=1) + "\n")
    return 0 if result["rows"] else 1


if __name__ == "__main__":
    sys.exit(main())
